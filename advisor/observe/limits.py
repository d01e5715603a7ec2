"""Limits of an observation that options are checked against; imports nothing, so that --help stays cheap."""

LONGEST_GAP = 120.0
"""Seconds without a snapshot after which what happened in between is unknown."""
