"""Limits of an observation that options are checked against; imports nothing, so that --help stays cheap."""

LONGEST_GAP = 120.0
"""Seconds without a snapshot after which what happened in between is unknown."""
LEAST_SECONDS = 1.0
"""No rule judges a shorter window: a few reads in an instant make any rate."""
MAY_READ = 10.0
"""Pages a second that a smaller buffer pool may read more by default: a tenth of the random reads of a hard disk, and
next to nothing for an SSD."""
RECENT_SECONDS = 300.0
"""The newest part of a longer window, which is judged beside the whole: trouble of minutes drowns in an hour's mean."""
