"""Bounds of the pages that new index entries read, by table: from its reads, rows and time.

The server counts reads by file, and rows and time by index, but not who read which page. Bounds follow:

- A statement that writes reads at most one page for each change, and spends at least the time of its reads.
- A full scan reads each page of the table once; a row found by the clustered index is on one page.
- A row found by a secondary index has no such bound: InnoDB prefetches the rows that the optimizer expects (9.7.4: 600
  rows and 28 pages for ``WHERE k >= … ORDER BY k LIMIT 1``). But the statement spends at least the time of its reads.
- The optimizer's estimate of a range reads pages in no table's time: one for ``k = …``, up to eleven for a wide range
  (btr_estimate_n_rows_in_range).

Only new entries count: of inserted rows, and of updated columns. The change buffer saves hardly any of a DELETE's reads
(9.7.4: 4.9 pages a row without, 4.4 with it). Purge soon removes the entries that it marked, and reads their pages: it
buffers nothing unless the buffer has inserts for the page (ibuf_insert_low, min_n_recs).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from advisor.facts.base import NO_SIZES, file_reads, status
from advisor.observe.window import Window, total
from exporter.collectors.auto_increments import AUTO_INCREMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.indexes import INDEXES
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO, IndexIo
from exporter.snapshot import Index, Table

NON_UNIQUE = 0
"""TYPE of an index whose changes may be buffered: not clustered, unique, full-text or spatial."""
_UNIQUE = 2
_DELETED = 2
"""Most reads for an entry of a deleted row: it is marked, and removed by purge. Purge mostly finds the page there."""
_UPDATED = 3
"""The same for an update of its column, which also inserts an entry."""
_EQUAL_RANGES = 200
"""eq_range_index_dive_limit: equal ranges that a statement estimates."""
_WIDE_RANGE = 10
"""Pages that the estimate of a wide range reads beside those at its ends (N_PAGES_READ_LIMIT)."""


@dataclass(frozen=True, slots=True)
class WriteReads:
    """Writes to a table over a window.

    Attributes:
        entries: Rows inserted and updated, times the non-unique secondary indexes.
        least, most: Pages of these indexes that new entries read.
        least_in_all, most_in_all: The same with the old entries of updated rows, which the buffer may save too.
    """

    entries: float
    least: float
    most: float
    least_in_all: float
    most_in_all: float


def write_reads(window: Window, table: Table) -> WriteReads | None:
    """The bounds; None where a source is missing or was reset."""
    kinds, grown = window.latest[INDEXES], _grown(window, table)
    read = file_reads(window, table)
    seconds = window.growth(lambda s: s[TABLE_FILES], table, lambda file: file.seconds)
    questions = status(window, "questions")
    if kinds is None or grown is None or read is None or seconds is None or questions is None:
        return None
    of_table = [kind for index, kind in kinds.items() if index.of_table == table]
    buffered = of_table.count(NON_UNIQUE)
    inserted, updated, deleted, spent = (
        total(io[name] for io in grown.values()) for name in ("inserted", "updated", "deleted", "write_seconds")
    )

    def in_time(spent: float) -> float:
        """The reads that fit into the time of statements."""
        return read * min(1.0, spent / seconds) if seconds else read

    written = min(read, in_time(spent))
    by_inserts = min(written, buffered * inserted)
    new_of_updates = min((written - by_inserts) / (_UPDATED - 1), buffered * updated)
    most, most_in_all = by_inserts + new_of_updates, by_inserts + (_UPDATED - 1) * new_of_updates
    numbered = table in (window.latest[AUTO_INCREMENTS] or ())
    own = inserted * (sum(1 for kind in of_table if kind & _UNIQUE) + (0 if numbered else 1))
    by_queries = total(
        _fetched(window, index, io["fetched"], in_time(io["fetch_seconds"]), questions) for index, io in grown.items()
    )
    by_writes = max(0.0, read - by_queries - own - _DELETED * buffered * deleted)
    by_updates = min(by_writes, _UPDATED * buffered * updated)
    least = by_writes - by_updates + by_updates / _UPDATED
    return WriteReads(
        entries=buffered * (inserted + updated),
        least=min(least, most),
        most=most,
        least_in_all=min(by_writes, most_in_all),
        most_in_all=most_in_all,
    )


def _fetched(window: Window, index: Index, rows: float, in_time: float, questions: float) -> float:
    """The most pages that queries read for the rows that they fetched by an index."""
    in_order = rows * _pages_per_row(window, index)
    if index.index == NO_INDEX:
        return in_order
    if index.clustered:
        return max(in_order, min(rows, in_time))
    estimated = min(rows, _EQUAL_RANGES * questions) + _WIDE_RANGE * min(rows, questions)
    return max(in_order, in_time) + estimated


def _pages_per_row(window: Window, index: Index) -> float:
    """Leaf pages of an index for a row of the table; 1 where they are not known."""
    sizes = window.latest[INDEX_SIZES] or NO_SIZES
    of_table = {other.index: size for other, size in sizes.of(index.of_table).items()}
    clustered = of_table.get("PRIMARY", of_table.get("GEN_CLUST_INDEX"))
    size = clustered if index.index == NO_INDEX else of_table.get(index.index)
    if size is None or clustered is None or not size.leaf_pages or not clustered.rows:
        return 1.0
    return min(1.0, size.leaf_pages / clustered.rows)


def _grown(window: Window, table: Table) -> dict[Index, dict[str, float]] | None:
    """Growth of each field of IndexIo over the window, by index of the table; None where one is not known."""
    now = window.latest[TABLE_IO]
    if now is None:
        return None
    growths: dict[Index, dict[str, float]] = {}
    for index in now:
        if index.of_table == table:
            grown = {field.name: _growth(window, index, field.name) for field in fields(IndexIo)}
            growths[index] = {name: value for name, value in grown.items() if value is not None}
            if len(growths[index]) < len(grown):
                return None
    return growths


def _growth(window: Window, index: Index, name: str) -> float | None:
    return window.growth(lambda snapshot: snapshot[TABLE_IO], index, lambda io: getattr(io, name))
