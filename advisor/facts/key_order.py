"""Indexes that statements read in the order of their keys, page after page, as a full scan does.

``ORDER BY id``, ``WHERE id > …``, a job that goes through a table in batches, and scans of a secondary index fetch rows
by an index, as lookups do. What tells them apart is that InnoDB reads the next pages ahead, or that a statement fetches
a large part of all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.facts.base import SECONDARY, over_pools, status
from advisor.observe.window import Window, total
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An index by which statements fetch more than a row each.

    Attributes:
        rows: That a statement on the table fetches by this index, on average.
        share: The same, as a share of all rows.
        read: Pages read from the table's data file.
    """

    index: Index
    rows: float
    share: float
    read: float


def rows_in_order(window: Window, index: Index) -> float | None:
    """Rows fetched by an index in the window, less a row for each statement on its table, which may be a lookup's.

    None where it is not known.
    """
    rows = window.growth(lambda s: s[TABLE_IO], index, lambda io: io.fetched)
    statements = window.growth(lambda s: s[TABLE_STATEMENTS], Table(index.schema, index.table), float)
    return None if rows is None or statements is None else max(0.0, rows - statements)


def read_in_order(window: Window) -> frozenset[Index]:
    """The indexes that were read in the order of their keys."""
    ahead = window.delta(over_pools("read_ahead"))
    scanned = window.latest[TABLE_SCANS] or {}
    read = set()
    # Read-ahead is counted for the whole server: full scans have their part of it, then the longest reads.
    left = (ahead or 0.0) - total(_pages_read(window, index) for index in scanned if _is_scanned(window, index))
    for candidate in sorted(_candidates(window), key=lambda candidate: -candidate.rows):
        if candidate.share >= _LARGE or (candidate.read and left >= _AHEAD * candidate.read):
            read.add(candidate.index)
            left -= candidate.read
    return frozenset(read)


def may_be_in_order(window: Window, rows: Mapping[Table, int | None]) -> dict[Table, Index]:
    """Of each table the largest index that may have been read in the order of its key, where nobody tells whether.

    A finding about such scans takes three quarters of the index read from the table's file, and all its rows fetched.

    Args:
        window: What has been watched.
        rows: Of each table, as last estimated.
    """
    sizes, largest = window.latest[INDEX_SIZES], dict[Table, Index]()
    for index, size in sorted((sizes.sizes if sizes else {}).items(), key=lambda item: item[1].pages):
        table = Table(index.schema, index.table)
        read = window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.reads)
        least = 0.0 if index.index == SECONDARY else _READ * size.pages
        fetched = _most_in_order(window, index)
        if (read is None or read > least) and (fetched is None or fetched >= max(rows.get(table) or 0, 1)):
            largest[table] = index
    return largest


def _most_in_order(window: Window, index: Index) -> float | None:
    """The most rows that were fetched in the order of an index; 0 where it is known what was, None where nothing is."""
    latest, io = window.latest, window.latest[TABLE_IO]
    if io is None or latest[TABLE_STATEMENTS] is None:
        # A recording from before they were read does not say that they cannot be: its scans had no order then.
        shut = any((of := latest.outcomes.get(section.name)) and of.failure for section in (TABLE_IO, TABLE_STATEMENTS))
        return status(window, "innodb_rows_read") if shut else 0.0
    if index.index != SECONDARY:
        return 0.0
    named = [other for other in io if (other.schema, other.table) == (index.schema, index.table)]
    most = [rows_in_order(window, other) for other in named if not other.clustered and other.index != NO_INDEX]
    return None if None in most else max((rows for rows in most if rows is not None), default=0.0)


def _candidates(window: Window) -> list[_Candidate]:
    sizes = window.latest[INDEX_SIZES]
    known = {} if sizes is None else sizes.sizes
    rows = {Table(index.schema, index.table): size.rows for index, size in known.items() if index.clustered}
    candidates = []
    for index in known:
        table = Table(index.schema, index.table)
        in_order, of_table = rows_in_order(window, index), rows.get(table)
        statements = window.growth(lambda s: s[TABLE_STATEMENTS], table, float)
        if in_order and of_table and statements:
            rows_per_statement = in_order / statements
            candidates.append(
                _Candidate(index, rows_per_statement, rows_per_statement / of_table, _pages_read(window, table))
            )
    return candidates


def _is_scanned(window: Window, table: Table) -> bool:
    return bool(window.growth(lambda s: s[TABLE_SCANS], table, float))


def _pages_read(window: Window, table: Table) -> float:
    return window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.reads) or 0.0
