"""Recordings: rows to a file and back, the history in a folder, and recordings without the owner's names."""
