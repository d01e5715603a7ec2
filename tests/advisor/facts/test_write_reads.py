"""Bounds of the reads of new index entries, from the growth of counters by table and index."""

from typing import Any

import pytest

from advisor.facts.write_reads import WriteReads, write_reads
from advisor.observe.window import Window
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.table_io import NO_INDEX, IndexIo
from exporter.snapshot import Index, Snapshot, Table
from tests.advisor.building import server, snapshot

EVENTS = Table("shop", "events")
NONE = IndexIo(0, 0, 0, 0, 0.0, 0.0)
PRIMARY, K, U = (Index("shop", "events", name) for name in ("PRIMARY", "k", "u"))
ROWS = 100_000
SIZES = {PRIMARY: IndexSize(1_000, 1_000, ROWS), K: IndexSize(400, 400, None), U: IndexSize(400, 400, None)}


def io(**by_index: IndexIo) -> dict[Index, IndexIo]:
    """Rows and time by index name; ``none`` is for rows without an index."""
    return {Index("shop", "events", NO_INDEX if name == "none" else name): rows for name, rows in by_index.items()}


def inserts(rows: int, seconds: float) -> IndexIo:
    return IndexIo(0, rows, 0, 0, 0.0, seconds)


def fetches(rows: int, seconds: float) -> IndexIo:
    return IndexIo(rows, 0, 0, 0, seconds, 0.0)


def bounds(read: int, rows: dict[Index, IndexIo], *, questions: float = 1e6, **sections: Any) -> WriteReads | None:
    """The bounds over a window in which each read took 1 ms."""

    def at(share: int) -> Snapshot:
        defaults: dict[str, Any] = {
            "of": server("9.7.4"),
            "status": {"uptime": 100.0 + share, "questions": share * questions},
            "indexes": {K: 0},
            "index_sizes": IndexSizes(SIZES, 0),
            "auto_increments": {EVENTS},
            "table_files": {EVENTS: FileReads(share * read, 0, share * read / 1000.0)},
            "table_io": rows if share else dict.fromkeys(rows, NONE),
        }
        return snapshot(100.0 + share, **(defaults | sections))

    return write_reads(Window((at(0), at(1))), EVENTS)


def least_and_most(read: int, rows: dict[Index, IndexIo], **others: Any) -> tuple[float, float]:
    reads = bounds(read, rows, **others)
    assert reads is not None
    return reads.least, reads.most


def test_inserts_alone_made_all_reads() -> None:
    reads = bounds(900, io(none=inserts(1_000, 2.0)))
    assert reads == WriteReads(entries=1_000.0, least=900.0, most=900.0, least_in_all=900.0, most_in_all=900.0)


def test_an_entry_reads_one_page_at_most() -> None:
    assert least_and_most(5_000, io(none=inserts(1_000, 9.0))) == (1_000.0, 1_000.0)


def test_inserts_that_took_less_time_than_the_reads_did_not_make_them() -> None:
    rows = io(none=inserts(10_000, 0.2), k=fetches(4_000, 4.5))
    least, most = least_and_most(4_000, rows)
    assert least == 0.0
    assert most == pytest.approx(200.0)


def test_keys_that_are_not_numbered_may_have_been_read_instead() -> None:
    assert least_and_most(1_900, io(none=inserts(1_000, 2.0)), auto_increments=frozenset()) == (900.0, 1_000.0)
    assert least_and_most(1_900, io(none=inserts(1_000, 2.0)), indexes={K: 0, U: 2}) == (900.0, 1_000.0)


def test_a_full_scan_reads_each_page_once() -> None:
    rows = io(none=IndexIo(3 * ROWS, 2_000, 0, 0, 2.0, 5.0))
    assert least_and_most(4_500, rows) == (1_500.0, 2_000.0)


def test_a_row_found_by_the_primary_key_is_on_one_page() -> None:
    assert least_and_most(3_000, io(none=inserts(2_500, 3.0), PRIMARY=fetches(1_000, 9.0))) == (2_000.0, 2_500.0)
    resident = io(none=inserts(2_500, 3.0), PRIMARY=fetches(50_000, 0.1))  # 500 pages, were they in order
    assert least_and_most(3_000, resident) == (2_500.0, 2_500.0)


def test_the_primary_key_in_order_reads_each_page_once_in_however_little_time() -> None:
    assert least_and_most(3_000, io(none=inserts(2_500, 3.0), PRIMARY=fetches(ROWS, 0.1))) == (2_000.0, 2_500.0)


def test_rows_found_by_a_secondary_index_may_have_taken_as_many_reads_as_fit_into_their_time() -> None:
    # One row is counted where InnoDB prefetched hundreds; estimates of ranges are in no table's time.
    rows = io(none=inserts(2_000, 2.5), k=fetches(10, 1.0))
    assert least_and_most(3_000, rows) == (3_000 - 1_000 - 11 * 10, 2_000.0)


def test_few_statements_estimated_few_ranges() -> None:
    rows = io(none=inserts(2_000, 2.5), k=fetches(ROWS, 1.5))
    assert least_and_most(3_000, rows, questions=2.0) == (3_000 - 1_500 - 420, 2_000.0)


def test_deletes_have_no_new_entries() -> None:
    rows = io(PRIMARY=IndexIo(1_000, 0, 0, 1_000, 1.0, 3.0))
    assert bounds(3_000, rows) == WriteReads(entries=0.0, least=0.0, most=0.0, least_in_all=0.0, most_in_all=0.0)


def test_half_to_a_third_of_an_updates_reads_are_of_the_new_entry() -> None:
    rows = io(PRIMARY=IndexIo(1_000, 0, 1_000, 0, 1.0, 5.0))
    assert least_and_most(2_800, rows) == (600.0, 1_000.0)
    assert least_and_most(2_200, rows) == (400.0, 1_000.0)


def test_old_entries_of_updated_rows_are_read_as_well() -> None:
    reads = bounds(2_800, io(PRIMARY=IndexIo(1_000, 0, 1_000, 0, 1.0, 5.0)))
    assert reads is not None
    assert (reads.least_in_all, reads.most_in_all) == (1_800.0, 2_000.0)


@pytest.mark.parametrize("section", ["indexes", "table_files", "table_io"])
def test_without_a_source_there_are_no_bounds(section: str) -> None:
    lacking: dict[str, Any] = {section: None}
    assert bounds(900, io(none=inserts(1_000, 2.0)), **lacking) is None


def test_counters_that_were_reset_give_no_bounds() -> None:
    rows = io(none=inserts(1_000, 2.0))
    before = {index: IndexIo(0, 5_000, 0, 0, 0.0, 9.0) for index in rows}
    parts = [
        snapshot(
            seconds,
            status={"uptime": seconds, "questions": seconds},
            indexes={K: 0},
            table_files={EVENTS: FileReads(1, 0, 0.1)},
            table_io=rows_now,
        )
        for seconds, rows_now in ((100.0, before), (110.0, rows))
    ]
    assert write_reads(Window(tuple(parts)), EVENTS) is None
