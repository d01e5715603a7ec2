"""Slices share their ends and leave nothing out."""

from __future__ import annotations

from itertools import pairwise

import pytest

from advisor.observe.window import Window, slices
from tests.advisor.building import snapshot


@pytest.mark.parametrize("refusals", [1, 2, 7, 8, 9, 360])
def test_the_slices_of_a_window_leave_nothing_out(refusals: int) -> None:
    window = Window(tuple(snapshot(10 * n) for n in range(refusals + 1)))
    parts = list(slices(window))
    assert len(parts) == min(8, refusals)
    assert (parts[0].snapshots[0], parts[-1].latest) == (window.snapshots[0], window.latest)
    assert all(before.latest is after.snapshots[0] for before, after in pairwise(parts))
    lengths = [len(part.snapshots) for part in parts]
    assert max(lengths) - min(lengths) <= 1
