"""Slices of a window: they show whether a condition lasts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from advisor.observe.window import Window

SLICES = 8
"""Most slices of a window."""


def slices(window: Window) -> Iterator[Window]:
    """A window in up to SLICES slices; each has at least two snapshots and shares its ends with its neighbours."""
    steps = len(window.snapshots) - 1
    count = max(1, min(SLICES, steps))
    marks = [round(steps * number / count) for number in range(count + 1)]
    for first, last in pairwise(marks):
        yield Window(window.snapshots[first : last + 1])
