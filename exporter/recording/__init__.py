"""Recordings: files of rows, the stored history, and recordings without the owner's names."""
