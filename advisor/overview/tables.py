"""The tables that are read from disk, that are scanned, or that are large."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.facts import ScanFacts
from advisor.observe.window import Window
from advisor.overview.lacks import why
from advisor.overview.residents import Residents
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


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables.

    Attributes:
        shown: The one that reads most first; None where no source of tables is known.
        more: Tables beyond these that have statistics; each partition counts as one. None where not known.
        lack: Why something of them is not known.
    """

    shown: tuple[TableOverview, ...] | None
    more: int | None
    lack: str | None


@dataclass(frozen=True, slots=True)
class _Size:
    pages: int = 0
    leaf_pages: int = 0


def tables(window: Window, scans: Sequence[ScanFacts], residents: Residents) -> Tables:
    """The tables that read most, then the scanned ones, then the largest.

    Args:
        window: What has been watched.
        scans: What is known of the scanned tables in it.
        residents: What the pool holds.
    """
    latest = window.latest
    sizes, files = latest[INDEX_SIZES], latest[TABLE_FILES]
    lack = why(latest, INDEX_SIZES, TABLE_FILES, TABLE_SCANS, COUNT_STATEMENTS)
    if sizes is None and files is None:
        return Tables(None, None, lack)
    size, scan = _sizes(window), {Table(each.schema, each.table): each for each in scans}
    resident, grown = _resident(residents), _grown(window)

    def rank(table: Table) -> tuple[int, bool, int, str, str]:
        # Nearly all are equal in the first two: the names make the order a fixed one.
        pages = size.get(table, _Size()).pages
        return -grown.get(table, 0), table not in scan, -pages, table.schema, table.table

    known = {each for each in (*size, *scan) if each.schema not in SYSTEM_SCHEMAS}
    known |= {table for table, reads in grown.items() if reads}
    shown = tuple(
        _table(window, each, size.get(each), scan.get(each), _resident_pages(resident, residents, each))
        for each in heapq.nsmallest(MOST_TABLES, known, key=rank)
    )
    in_all = None if sizes is None or sizes.tables is None else max(sizes.tables, len(known))
    return Tables(shown, None if in_all is None else in_all - len(shown), lack)


def _sizes(window: Window) -> dict[Table, _Size]:
    sizes, found = window.latest[INDEX_SIZES], dict[Table, _Size]()
    for index, size in ({} if sizes is None else sizes.sizes).items():
        before = found.get(table := Table(index.schema, index.table), _Size())
        found[table] = _Size(before.pages + size.pages, before.leaf_pages + size.leaf_pages)
    return found


def _grown(window: Window) -> dict[Table, int]:
    """Reads of each table's file over the window, roughly; empty where not known."""
    first, last = window.snapshots[0][TABLE_FILES], window.latest[TABLE_FILES]
    return {} if first is None or last is None else reads_since(first, last)


def _resident(residents: Residents) -> dict[Table, int]:
    found: dict[Table, int] = {}
    for index, pages in (residents.by_index or {}).items():
        table = Table(index.schema, index.table)
        found[table] = found.get(table, 0) + pages
    return found


def _resident_pages(pages: Mapping[Table, int], residents: Residents, table: Table) -> int | None:
    """Pages of a table in the pool; None where the server named none of its indexes, but not all that it has."""
    return pages.get(table, 0 if residents.complete else None)


def _table(
    window: Window, table: Table, size: _Size | None, scan: ScanFacts | None, resident_pages: int | None
) -> TableOverview:
    reads = None
    if table in (window.latest[TABLE_FILES] or {}):
        reads = window.growth(lambda s: s[TABLE_FILES], table, lambda f: float(f.reads))
    scanned = _scanned(window, table, scan)
    per_scan = None
    if scan is not None and scanned:
        last = scan.pages_read_last_pass
        per_scan = scan.pages_read_per_pass if last is None else last
    return TableOverview(
        schema_=table.schema,
        table=table.table,
        pages=None if size is None else size.pages,
        leaf_pages=None if size is None else size.leaf_pages,
        resident_pages=resident_pages,
        pages_read_per_second=None if reads is None or not window.seconds else tidy(reads / window.seconds),
        scans_per_hour=_tidy(0.0 if scanned is False else None if scan is None else scan.passes_per_hour),
        pages_read_per_scan=_tidy(per_scan),
        scanned=scanned,
        scanned_pages=int(scan.pages) if scan is not None and scanned and scan.pages else None,
        fetch=_fetch(scan) if scan is not None and scanned and scan.passes else None,
    )


def _scanned(window: Window, table: Table, scan: ScanFacts | None) -> bool | None:
    """Whether the table was scanned; None where the traces of scans are not known."""
    if scan is not None and scan.passes is not None:
        return scan.passes >= _A_PART
    fetched = window.growth(lambda s: s[TABLE_SCANS], table, float)
    if scan is not None:  # a table without a size, or with a count that nobody attributes
        return bool(fetched) or None
    return None if fetched is None or window.latest[COUNT_STATEMENTS] is None else False


def _fetch(scan: ScanFacts) -> Literal["normal", "scan"]:
    return "scan" if (scan.parallel_passes or 0.0) > (scan.serial_passes or 0.0) else "normal"


def _tidy(value: float | None) -> Number | None:
    return None if value is None else tidy(value)
