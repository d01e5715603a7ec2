"""Slices of a window, which tell how lasting a condition is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from advisor.observe.window import Window

SLICES = 8
"""At most, into which a window is cut."""


def slices(window: Window) -> Iterator[Window]:
    """A window cut into up to SLICES parts, each with a snapshot at least at either end, that share their ends."""
    steps = len(window.snapshots) - 1
    count = max(1, min(SLICES, steps))
    marks = [round(steps * number / count) for number in range(count + 1)]
    for first, last in pairwise(marks):
        yield Window(window.snapshots[first : last + 1])
