"""What Linux tells in files about the server's process: its limits and the disks of its data folder.

All paths are below a ``root``, so that a tree of files can stand for a machine. A file that is not there, may not be
read or holds something else is None: nothing here raises, and nothing is guessed.
"""
