"""The server's process in Linux's files: its limits, and the disks of its data folder.

All paths are below a ``root``, so that a folder of files can stand for a machine. A file that is missing, unreadable or
malformed gives None: nothing here raises, and nothing is guessed.
"""
