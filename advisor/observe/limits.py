"""Limits of an observation that options are checked against; imports nothing, so that --help stays cheap."""

LONGEST_GAP = 120.0
"""Seconds without a snapshot after which what happened in between is unknown."""
LEAST_SECONDS = 1.0
"""No rule judges a shorter window: a few reads in an instant make any rate."""
RECENT_SECONDS = 300.0
"""The newest part of a longer window, which is judged beside the whole: trouble of minutes drowns in an hour's mean."""
