"""Slices of a window: they show whether a condition lasts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from advisor.observe.limits import LEAST_SECONDS
from advisor.observe.window import Window

SLICES = 8
"""Most slices of a window."""


def slices(window: Window) -> Iterator[Window]:
    """A window in up to SLICES slices, oldest first.

    Each has at least two snapshots and LEAST_SECONDS, or is the whole window. It shares its ends with its neighbours.
    """
    steps = len(window.snapshots) - 1
    count = max(1, min(SLICES, steps))
    marks = [0]
    for mark in (round(steps * number / count) for number in range(1, count + 1)):
        if window.snapshots[mark].at - window.snapshots[marks[-1]].at >= LEAST_SECONDS:
            marks.append(mark)
    marks[1:] = [*marks[1:-1], steps]  # what is left at the end belongs to the last slice
    for first, last in pairwise(marks):
        yield Window(window.snapshots[first : last + 1])
