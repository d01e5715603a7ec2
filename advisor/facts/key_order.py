"""Indexes that statements read in the order of their keys, page after page, as a full scan does.

``ORDER BY id``, ``WHERE id > …``, a job that goes through a table in batches, and scans of a secondary index fetch rows
by an index, as lookups do. What tells them apart is that InnoDB reads the next pages ahead, or that a statement fetches
a large part of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from advisor.facts.base import NO_SIZES, SECONDARY, file_reads, over_pools, ratio, statements, status
from advisor.observe.window import Window, total
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.collectors.table_statements import TABLE_STATEMENTS
from exporter.snapshot import Index, Table

_AHEAD = 0.5
"""Share of the pages read that read-ahead brings, at least, where an index is read in order. Seen: 0.69 to 0.97 by
ORDER BY, ranges and batches on MySQL and MariaDB, and 0 by lookups and by ranges of 100 rows."""
_READ = 0.75
"""Share of an index that scans read at least, where a rule finds fault with them: half of it, one and a half times."""
_LARGE = 0.1
"""Share of an index's rows: a statement that fetches more reads the index, and does not look up rows."""


def rows_in_order(window: Window, index: Index) -> float | None:
    """Rows fetched by an index in the window, less a row for each statement on its table, which may be a lookup's.

    None where it is not known.
    """
    rows = window.growth(lambda s: s[TABLE_IO], index, lambda io: io.fetched)
    lookups = statements(window, index.of_table)
    return None if rows is None or lookups is None else max(0.0, rows - lookups)


def read_in_order(window: Window) -> frozenset[Index]:
    """The indexes that were read in the order of their keys."""
    sizes, scanned = window.latest[INDEX_SIZES] or NO_SIZES, window.latest[TABLE_SCANS] or {}
    # Read-ahead is counted for the whole server: full scans have their part of it, then the longest reads.
    left = (window.delta(over_pools("read_ahead")) or 0.0) - total(
        file_reads(window, table) or 0.0 for table in scanned if window.growth(lambda s: s[TABLE_SCANS], table, float)
    )
    rows_of, in_order = sizes.rows, {index: _rows_per_statement(window, index) or 0.0 for index in sizes.sizes}
    read = set()
    for index, rows in sorted(in_order.items(), key=lambda item: -item[1]):
        all_rows, pages = rows_of.get(index.of_table), file_reads(window, index.of_table) or 0.0
        if rows and all_rows and (rows / all_rows >= _LARGE or (pages and left >= _AHEAD * pages)):
            read.add(index)
            left -= pages
    return frozenset(read)


def _rows_per_statement(window: Window, index: Index) -> float | None:
    return ratio(rows_in_order(window, index), statements(window, index.of_table))


def may_be_in_order(window: Window, rows: Mapping[Table, int | None]) -> dict[Table, Index]:
    """For each table, the largest index that may have been read in the order of its key, where no source decides.

    A finding about such scans takes three quarters of the index read from the table's file, and all its rows fetched.

    Args:
        window: What has been watched.
        rows: Of each table, as last estimated.
    """
    sizes, largest = window.latest[INDEX_SIZES] or NO_SIZES, dict[Table, Index]()
    for index, size in sorted(sizes.sizes.items(), key=lambda item: item[1].pages):
        table = index.of_table
        read = file_reads(window, table)
        least = 0.0 if index.index == SECONDARY else _READ * size.pages
        fetched = _most_in_order(window, index)
        if (read is None or read > least) and (fetched is None or fetched >= max(rows.get(table) or 0, 1)):
            largest[table] = index
    return largest


def _most_in_order(window: Window, index: Index) -> float | None:
    """Upper bound of the rows fetched in the order of an index; None if unknown, 0 if `read_in_order` decides."""
    latest, io = window.latest, window.latest[TABLE_IO]
    if io is None or latest[TABLE_STATEMENTS] is None:
        # Where nobody tried to read the sources, as in an old recording, scans have no order.
        shut = any((of := latest.outcomes.get(section.name)) and of.failure for section in (TABLE_IO, TABLE_STATEMENTS))
        return status(window, "innodb_rows_read") if shut else 0.0
    if index.index != SECONDARY:
        return 0.0
    named = [other for other in io if other.of_table == index.of_table]
    most = [rows_in_order(window, other) for other in named if not other.clustered and other.index != NO_INDEX]
    return None if None in most else max((rows for rows in most if rows is not None), default=0.0)
