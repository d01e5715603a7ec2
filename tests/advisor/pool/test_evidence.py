"""What counts as evidence: a pool in its steady state, not one that fills."""

from __future__ import annotations

import pytest

from advisor.observe.window import Window
from advisor.pool.evidence import since_full
from tests.advisor.building import pool, snapshot

SETTINGS = {"innodb_lru_scan_depth": "100", "innodb_buffer_pool_size": str(4_000 * 16_384)}


def window(*free: int) -> Window:
    """A snapshot a minute, with so many free pages of 4,000."""
    pools = [pool(size_pages=4_000, free_pages=pages, database_pages=4_000 - pages) for pages in free]
    return Window(tuple(snapshot(60.0 * n, variables=SETTINGS, pools=(instance,)) for n, instance in enumerate(pools)))


@pytest.mark.parametrize(
    ("free", "left"),
    [
        ((3_000, 1_000, 90, 80, 100, 90), 4),
        ((90, 80, 100, 90), 4),
        ((3_000, 90, 1_000, 80, 100, 90), 3),
        ((3_000, 2_000, 1_000, 500, 100, 90), 6),  # a minute of five is too little
        ((3_000, 2_000, 1_000, 500), 4),
    ],
)
def test_the_filling_of_a_pool_is_left_out_where_enough_is_left(free: tuple[int, ...], left: int) -> None:
    seen = window(*free)
    assert since_full(seen).snapshots == seen.snapshots[-left:]
