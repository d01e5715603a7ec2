"""What the newest snapshots say, for pictures: pools, residents, tables, change buffer, readers and index builds.

Pure: the same window gives the same overview. Missing is None, and ``lacks`` says why.
"""
