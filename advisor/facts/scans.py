"""Tables of which an index was scanned as a whole, mostly the clustered one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning, over_pools, ratio
from advisor.facts.key_order import read_in_order, rows_in_order
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.rows import number
from exporter.snapshot import Index, Table

_ALONE = 0.75
"""Share of a table: a scan that reads no less of it reads for itself."""
_MOST_SHARED = 10.0
"""Scans that share a reading at most. Fewer reads are of a table that the pool holds but for a few pages."""


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """A table of which an index was scanned as a whole in the window: of several, the one with most scanned pages."""

    schema: Annotated[str, Meaning("Schema of the table.")]
    table: Annotated[str, Meaning("Name of the table.")]
    what: Annotated[
        str, Meaning("What was scanned, in words: the table's name, or a secondary index and the table's name.")
    ] = ""
    pages: Annotated[float | None, Meaning("Size of the scanned index.", unit="pages")] = None
    leaf_pages: Annotated[float | None, Meaning("Size of the scanned index's leaf level.", unit="pages")] = None
    bytes: Annotated[float | None, Meaning("Size of the scanned index on disk.", unit="bytes")] = None
    passes: Annotated[
        float | None, Meaning("Scans in the window; a part of one counts as that part.", unit="scans")
    ] = None
    serial_passes: Annotated[float | None, Meaning("Scans in the window by the row path.", unit="scans")] = None
    ordered_passes: Annotated[
        float | None,
        Meaning(
            "Scans in the window in the order of the index's key, as by ORDER BY or in batches: its fetched rows, "
            "less one for each statement, over all rows. Ranges of a large index count as parts of a scan.",
            unit="scans",
        ),
    ] = None
    parallel_passes: Annotated[float | None, Meaning("Scans in the window by parallel readers.", unit="scans")] = None
    counts: Annotated[
        float | None,
        Meaning(
            "Scans in the window by COUNT(*). Parallel readers do these where the server has them and more than one "
            "is allowed.",
            unit="scans",
        ),
    ] = None
    count_seconds: Annotated[float | None, Meaning("Time of one COUNT(*).", unit="seconds")] = None
    read_seconds: Annotated[
        float | None, Meaning("Time that a scan waited for reads of the table's data file.", unit="seconds")
    ] = None
    passes_per_hour: Annotated[float | None, Meaning("Scans in an hour.", unit="scans/h")] = None
    pages_read: Annotated[
        float | None, Meaning("Pages read from the table's data file in the window.", unit="pages")
    ] = None
    pages_read_per_pass: Annotated[
        float | None, Meaning("Pages read from the table's data file in the window, per scan.", unit="pages")
    ] = None
    pages_read_last_pass: Annotated[
        float | None,
        Meaning(
            "Pages read from the table's data file per scan, over the newest part of the window that holds a whole "
            "scan.",
            unit="pages",
        ),
    ] = None
    sharers: Annotated[
        float,
        Meaning(
            "Scans that share one reading of the table, because sessions scan it side by side: the later ones find the "
            "pages that the first one reads. 1 where each scan reads for itself.",
            unit="scans",
        ),
    ] = 1.0
    other_pages_read_per_pass: Annotated[
        float | None,
        Meaning(
            "Pages read for anything else, per scan: they enter the old sublist beside the scan's own.",
            unit="pages",
        ),
    ] = None

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"schema": self.schema, "table": self.table}


@dataclass(frozen=True, slots=True)
class _Passes:
    """Scans of an index.

    Attributes:
        full: Of the clustered index without a key.
        ordered: In the order of its key.
        counts: By COUNT(*), where these are not among the full ones.
    """

    full: float = 0.0
    ordered: float = 0.0
    counts: float = 0.0

    @property
    def all(self) -> float:
        return self.full + self.ordered + self.counts


@dataclass(frozen=True, slots=True)
class _Scanned:
    """An index with its size, the rows of its table, and whether it was read in the order of its key."""

    index: Index
    size: IndexSize
    rows: int | None
    in_order: bool

    @property
    def table(self) -> Table:
        return Table(self.index.schema, self.index.table)


def scans(window: Window) -> list[ScanFacts]:
    """Each table with a trace of a full scan in the window, by scanned pages in falling order."""
    sizes = window.latest[INDEX_SIZES]
    if sizes is None:
        return []
    in_order = read_in_order(window)
    sized = {Table(index.schema, index.table): size for index, size in sizes.sizes.items() if index.clustered}
    found: dict[Table, ScanFacts] = {}
    for index, size in sizes.sizes.items():
        table = Table(index.schema, index.table)
        if index.clustered or index in in_order:
            rows = sized[table].rows if table in sized else None
            scan = _scan(window, _Scanned(index, size, rows, index in in_order))
            if scan is not None and (table not in found or _scanned_pages(scan) > _scanned_pages(found[table])):
                found[table] = scan
    if not sizes.other_pages:  # otherwise a table without a size may be a small one
        for table in window.latest[TABLE_SCANS] or {}:
            if table not in sized and window.growth(lambda s: s[TABLE_SCANS], table, float) != 0:
                found[table] = ScanFacts(table.schema, table.table)
    return sorted(found.values(), key=lambda scan: -_scanned_pages(scan))


def _scanned_pages(scan: ScanFacts) -> float:
    return (scan.passes or 0.0) * (scan.pages or 0.0)


def _scan(window: Window, scanned: _Scanned) -> ScanFacts | None:
    """The scans of an index, as far as known; None without scans."""
    index, table, size = scanned.index, scanned.table, scanned.size
    what = f"{table.schema}.{table.table}" if index.clustered else f"{index.index} of {table.schema}.{table.table}"
    passes = _passes(window, scanned)
    if passes is None:
        return ScanFacts(table.schema, table.table, what, pages=float(size.pages))
    if not passes.all:
        return None
    # From 8.0.14 on InnoDB counts the rows itself, even with one thread; rows_examined does not tell these apart.
    threads = number(window.latest.setting("innodb_parallel_read_threads"))
    parallel = passes.counts if window.latest.server.parallel_read and threads != 1 else 0.0
    # Nobody counts what parallel readers read that performance_schema does not know.
    counted = not parallel or window.latest.server.has("parallel_readers_instrumented")
    read, last = (_pages_from_file(window, table), _last_pass(window, scanned, passes.all)) if counted else (None, None)
    waited = window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.seconds) if counted else None
    all_read = window.delta(over_pools("pages_read"))
    return ScanFacts(
        schema=table.schema,
        table=table.table,
        what=what,
        pages=float(size.pages),
        leaf_pages=float(size.leaf_pages),
        bytes=_bytes(window, table, size),
        passes=passes.all,
        serial_passes=passes.all - parallel,
        ordered_passes=passes.ordered,
        parallel_passes=parallel,
        counts=passes.counts,
        count_seconds=ratio(window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.seconds), passes.counts),
        read_seconds=ratio(waited, passes.all),
        passes_per_hour=ratio(passes.all * 3600.0, window.seconds),
        pages_read=read,
        pages_read_per_pass=ratio(read, passes.all),
        pages_read_last_pass=last,
        sharers=_sharers(last, float(size.pages)),
        other_pages_read_per_pass=(
            None if read is None or all_read is None else max(0.0, all_read - read) / passes.all
        ),
    )


def _sharers(pages_read: float | None, pages: float) -> float:
    """Scans that share one reading of a table of so many pages, of which a scan reads these on average.

    A single scan of a table that exceeds the old sublist reads nearly all of it, or nothing once the table is cached:
    by the time it returns to a page, it has evicted it. Reads of a part show scans that run side by side. Where it was
    one scan after all, and a part of the table is cached, the advice holds too: it makes room for the whole table.
    """
    if pages_read is None or not _MOST_SHARED * pages_read >= pages > pages_read / _ALONE:
        return 1.0
    return pages / pages_read


def _last_pass(window: Window, scanned: _Scanned, passes: float) -> float | None:
    """Pages read per pass over the shortest part at the window's end that holds a pass of each scan in a reading."""

    def passes_in(part: Window) -> float:
        found = _passes(part, scanned)
        return 0.0 if found is None else found.all

    def newest(least: float) -> Window:
        return window.tail(lambda part: passes_in(part) >= least)

    def per_pass(part: Window) -> float | None:
        return ratio(_pages_from_file(part, scanned.table), passes_in(part))

    # The half, because the scans may have read the table at first and found it cached later.
    sharers = _sharers(per_pass(newest(passes / 2)), float(scanned.size.pages))
    return per_pass(newest(min(sharers, passes)))


def _passes(window: Window, scanned: _Scanned) -> _Passes | None:
    """Scans of an index, from table I/O and from COUNT(*); None where not known."""
    if scanned.rows is None:
        return None
    ordered = rows_in_order(window, scanned.index) if scanned.in_order else None
    in_order = (ratio(ordered, scanned.rows) or 0.0) if ordered else 0.0
    if not scanned.index.clustered:
        return _Passes(ordered=in_order)
    table = scanned.table
    fetched = window.growth(lambda s: s[TABLE_SCANS], table, float)
    counts = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.executions)
    examined = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.rows_examined)
    if fetched is None or counts is None or examined is None:
        return None
    if hidden(window.latest[COUNT_STATEMENTS] or {}, table):
        return None
    if not scanned.rows:
        return _Passes()
    server = window.latest.server
    if server.has("count_star_in_table_io"):
        # Its optimiser treats COUNT(*) as a table scan, so that table I/O counts it, too (seen on 11.8, not on 10.11).
        fetched = max(0.0, fetched - examined)
    return _Passes(fetched / scanned.rows, in_order, counts if _counts_clustered(window, table) else 0.0)


def _counts_clustered(window: Window, table: Table) -> bool:
    """Whether COUNT(*) of the table reads the clustered index.

    With a secondary index the optimiser counts by that one, unless told otherwise, or where it cannot.
    """
    server, sizes = window.latest.server, window.latest[INDEX_SIZES]
    if sizes is None:
        return False
    if not _has_secondary(sizes, table) or server.has("count_star_takes_clustered_index"):
        return True
    statement = (window.latest[COUNT_STATEMENTS] or {}).get(table)
    return statement is not None and statement.forced_primary == statement.executions


def _has_secondary(sizes: IndexSizes, table: Table) -> bool:
    return any((i.schema, i.table) == (table.schema, table.table) and not i.clustered for i in sizes.sizes)


def _pages_from_file(window: Window, table: Table) -> float | None:
    """Pages read from a table's file: InnoDB reads data files page by page, compressed pages at their own size.

    None for a table without its own file, as in a general tablespace: its reads are not known.
    """
    if table not in (window.latest[TABLE_FILES] or {}):
        return None
    return window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.reads)


def _bytes(window: Window, table: Table, size: IndexSize) -> float | None:
    """Bytes of an index on disk, by the size of its pages."""
    if size.page_bytes is not None:
        return float(size.pages * size.page_bytes)
    files = (window.latest[TABLE_FILES] or {}).get(table)
    page_bytes = files.bytes / files.reads if files and files.reads else None
    page_bytes = page_bytes or number(window.latest.setting("innodb_page_size"))
    return None if page_bytes is None else size.pages * page_bytes
