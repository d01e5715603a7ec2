"""First reads of pages are told from repeated ones, as far as reads by file tell."""

from __future__ import annotations

import pytest

from advisor.facts import facts
from advisor.observe.window import Window
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.snapshot import Index
from tests.advisor.building import ORDERS, ROWS, captured, pool, scanned

SIZES = IndexSizes({Index("shop", "orders", "PRIMARY"): IndexSize(10_000, 9_950, ROWS)}, 0)


def again(before: int, read: int) -> float | None:
    """The share, where so many pages were read from the file before the window and in it."""

    def at(reads: int) -> FileReads:
        return FileReads(reads, reads * 16_384, 0.0)

    window = Window(
        tuple(
            scanned(10.0 * n, 0, 0, pools=(pool(pages_read=reads),), index_sizes=SIZES, table_files={ORDERS: at(reads)})
            for n, reads in enumerate((before, before + read))
        )
    )
    return facts(window).pool.read_again


@pytest.mark.parametrize(
    ("before", "read", "share"), [(0, 4_000, 0.0), (8_000, 4_000, 0.5), (10_000, 4_000, 1.0), (0, 40_000, 0.75)]
)
def test_a_file_gives_no_more_first_reads_than_its_table_has_pages(before: int, read: int, share: float) -> None:
    assert again(before, read) == pytest.approx(share)


def test_a_table_that_is_built_upon_for_the_first_time_is_read_for_the_first_time() -> None:
    assert facts(captured("mysql-9.7/index-build")).pool.read_again == 0.0
    assert (facts(captured("mysql-9.7/hot-set-exceeds-pool")).pool.read_again or 0.0) > 0.9
