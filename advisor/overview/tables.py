"""The tables that are read from disk, that are scanned, or that are large."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy_or_none
from advisor.facts import ScanFacts
from advisor.facts.base import file_reads, ratio
from advisor.observe.window import Window
from advisor.overview.residents import is_complete, resident_pages
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES, reads_since
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.snapshot import Table
from exporter.table_names import SYSTEM_SCHEMAS

MOST_TABLES = 50
_A_PART = 0.05
"""Of a whole scan: a statement that reads a few rows without an index does not make a table a scanned one."""


class TableOverview(Frozen):
    """A table."""

    schema_: str = Field(alias="schema")
    table: str
    pages: int | None = Field(description="Size of all its indexes, by the persistent statistics.")
    leaf_pages: int | None = Field(description="The leaf pages among them.")
    resident_pages: int | None = Field(description="In the pool, counted as residents are.")
    pages_read_per_second: Number | None = Field(description="Read from its data file.")
    scans_per_hour: Number | None = Field(description="Scans of it as a whole; a part of one counts as that part.")
    pages_read_per_scan: Number | None = Field(description="By the last whole scan, or by each on average.")
    scanned: bool | None = Field(description="Whether it was scanned in the window; null where nobody tells.")
    scanned_pages: int | None = Field(description="Size of the indexes that were scanned; null where none was.")
    fetch: Literal["normal", "scan"] | None = Field(
        description="How most scans read: normal, by the row path, whose pages can become young; scan, by parallel"
        " readers, whose pages never do. Null where it is not scanned, or not known."
    )


SOURCES = (INDEX_SIZES, TABLE_FILES, TABLE_SCANS, COUNT_STATEMENTS)
"""What the tables are made of."""


def tables(window: Window, scans: Sequence[ScanFacts]) -> tuple[tuple[TableOverview, ...] | None, int | None]:
    """The tables that read most, then the scanned ones, then the largest; None where no source of tables is known.

    Also the number of further tables that have statistics, each partition counted; None where it is not known.

    Args:
        window: What has been watched.
        scans: What is known of the scanned tables in it.
    """
    latest = window.latest
    sizes = latest[INDEX_SIZES]
    if sizes is None and latest[TABLE_FILES] is None:
        return None, None
    pages, leaves, resident = Counter[Table](), Counter[Table](), Counter[Table]()
    for index, size in ({} if sizes is None else sizes.sizes).items():
        pages[index.of_table] += size.pages
        leaves[index.of_table] += size.leaf_pages
    for index, count in (resident_pages(latest) or {}).items():
        resident[index.of_table] += count
    scan = {Table(facts.schema, facts.table): facts for facts in scans}
    grown = _grown(window)

    def rank(table: Table) -> tuple[int, bool, int, str, str]:
        # Nearly all are equal in the first two: the names make the order a fixed one.
        return -grown.get(table, 0), table not in scan, -pages[table], table.schema, table.table

    known = {table for table in (*pages, *scan) if table.schema not in SYSTEM_SCHEMAS}
    known |= {table for table, reads in grown.items() if reads}
    # Where the server names only some indexes, a table without a count may be in the pool.
    missing = 0 if is_complete(latest) else None
    shown = tuple(
        _table(
            window,
            table,
            scan.get(table),
            pages=pages.get(table),
            leaves=leaves.get(table),
            resident=resident.get(table, missing),
        )
        for table in heapq.nsmallest(MOST_TABLES, known, key=rank)
    )
    in_all = None if sizes is None or sizes.tables is None else max(sizes.tables, len(known))
    return shown, None if in_all is None else in_all - len(shown)


def _grown(window: Window) -> Mapping[Table, int]:
    """Reads of each table's file over the window, roughly; empty where not known."""
    first, last = window.snapshots[0][TABLE_FILES], window.latest[TABLE_FILES]
    return {} if first is None or last is None else reads_since(first, last)


def _table(
    window: Window, table: Table, scan: ScanFacts | None, *, pages: int | None, leaves: int | None, resident: int | None
) -> TableOverview:
    """A table with its sizes, and what is read of it."""
    reads = file_reads(window, table) if table in (window.latest[TABLE_FILES] or {}) else None
    scanned = _scanned(window, table, scan)
    facts = scan if scan is not None and scanned else ScanFacts(table.schema, table.table)
    rate = 0.0 if scanned is False else None if scan is None else scan.passes_per_hour
    last = facts.pages_read_last_pass
    parallel = (facts.parallel_passes or 0.0) > (facts.serial_passes or 0.0)
    return TableOverview(
        schema_=table.schema,
        table=table.table,
        pages=pages,
        leaf_pages=leaves,
        resident_pages=resident,
        pages_read_per_second=tidy_or_none(ratio(reads, window.seconds)),
        scans_per_hour=tidy_or_none(rate),
        pages_read_per_scan=tidy_or_none(facts.pages_read_per_pass if last is None else last),
        scanned=scanned,
        scanned_pages=int(facts.pages) if facts.pages else None,
        fetch=None if not facts.passes else "scan" if parallel else "normal",
    )


def _scanned(window: Window, table: Table, scan: ScanFacts | None) -> bool | None:
    """Whether the table was scanned; None where the traces of scans are not known."""
    if scan is not None and scan.passes is not None:
        return scan.passes >= _A_PART
    fetched = window.growth(lambda snapshot: snapshot[TABLE_SCANS], table, float)
    if scan is not None:  # a table without a size, or with a count that nobody attributes
        return bool(fetched) or None
    return None if fetched is None or window.latest[COUNT_STATEMENTS] is None else False
