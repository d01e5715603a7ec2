"""Tables whose clustered index was scanned as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning, over_pools, ratio
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.rows import number
from exporter.snapshot import Table

_ALONE = 0.75
"""Share of a table: a scan that reads no less of it reads for itself."""
_MOST_SHARED = 10.0
"""Scans that share a reading at most. Fewer reads are of a table that the pool holds but for a few pages."""


@dataclass(frozen=True, slots=True)
class ScanFacts:
    """A table whose clustered index was scanned as a whole in the window."""

    schema: Annotated[str, Meaning("Schema of the table.")]
    table: Annotated[str, Meaning("Name of the table.")]
    pages: Annotated[float | None, Meaning("Size of the clustered index.", unit="pages")] = None
    leaf_pages: Annotated[float | None, Meaning("Size of the clustered index's leaf level.", unit="pages")] = None
    bytes: Annotated[float | None, Meaning("Size of the clustered index on disk.", unit="bytes")] = None
    passes: Annotated[
        float | None, Meaning("Scans in the window; a part of one counts as that part.", unit="scans")
    ] = None
    serial_passes: Annotated[float | None, Meaning("Scans in the window by the row path.", unit="scans")] = None
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


def scans(window: Window) -> list[ScanFacts]:
    """Each table with a trace of a full scan in the window, by scanned pages in falling order."""
    sizes = window.latest[INDEX_SIZES]
    if sizes is None:
        return []
    sized = {Table(index.schema, index.table): size for index, size in sizes.sizes.items() if index.clustered}
    found = [scan for table, size in sized.items() if (scan := _scan(window, table, size)) is not None]
    if not sizes.other_pages:  # otherwise a table without a size may be a small one
        found += [
            ScanFacts(table.schema, table.table)
            for table in window.latest[TABLE_SCANS] or {}
            if table not in sized and window.growth(lambda s: s[TABLE_SCANS], table, float) != 0
        ]
    return sorted(found, key=lambda scan: -(scan.passes or 0.0) * (scan.pages or 0.0))


def _scan(window: Window, table: Table, size: IndexSize) -> ScanFacts | None:
    """The scans of a table, as far as known; None without scans."""
    passes = _passes(window, table, size)
    if passes is None:
        return ScanFacts(table.schema, table.table, pages=float(size.pages))
    fetched, counts = passes
    total_passes = fetched + counts
    if not total_passes:
        return None
    # From 8.0.14 on InnoDB counts the rows itself, even with one thread; rows_examined does not tell these apart.
    threads = number(window.latest.setting("innodb_parallel_read_threads"))
    parallel = counts if window.latest.server.parallel_read and threads != 1 else 0.0
    # Nobody counts what parallel readers read that performance_schema does not know.
    counted = not parallel or window.latest.server.has("parallel_readers_instrumented")
    read, last = (
        (_pages_from_file(window, table), _last_pass(window, table, size, total_passes)) if counted else (None, None)
    )
    waited = window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.seconds) if counted else None
    all_read = window.delta(over_pools("pages_read"))
    return ScanFacts(
        schema=table.schema,
        table=table.table,
        pages=float(size.pages),
        leaf_pages=float(size.leaf_pages),
        bytes=_bytes(window, table, size),
        passes=total_passes,
        serial_passes=total_passes - parallel,
        parallel_passes=parallel,
        counts=counts,
        count_seconds=ratio(window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.seconds), counts),
        read_seconds=ratio(waited, total_passes),
        passes_per_hour=ratio(total_passes * 3600.0, window.seconds),
        pages_read=read,
        pages_read_per_pass=ratio(read, total_passes),
        pages_read_last_pass=last,
        sharers=_sharers(last, float(size.pages)),
        other_pages_read_per_pass=(
            None if read is None or all_read is None else max(0.0, all_read - read) / total_passes
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


def _last_pass(window: Window, table: Table, size: IndexSize, passes: float) -> float | None:
    """Pages read per pass over the shortest part at the window's end that holds a pass of each scan in a reading."""

    def newest(least: float) -> Window:
        return window.tail(lambda part: sum(_passes(part, table, size) or ()) >= least)

    def per_pass(part: Window) -> float | None:
        return ratio(_pages_from_file(part, table), sum(_passes(part, table, size) or ()))

    # The half, because the scans may have read the table at first and found it cached later.
    sharers = _sharers(per_pass(newest(passes / 2)), float(size.pages))
    return per_pass(newest(min(sharers, passes)))


def _passes(window: Window, table: Table, size: IndexSize) -> tuple[float, float] | None:
    """Scans of the clustered index by table I/O, and COUNT(*) of it beside these; None where not known."""
    fetched = window.growth(lambda s: s[TABLE_SCANS], table, float)
    counts = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.executions)
    examined = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.rows_examined)
    if fetched is None or counts is None or examined is None or size.rows is None:
        return None
    if hidden(window.latest[COUNT_STATEMENTS] or {}, table):
        return None
    if not size.rows:
        return 0.0, 0.0
    server = window.latest.server
    if server.has("count_star_in_table_io"):
        # Its optimiser treats COUNT(*) as a table scan, so that table I/O counts it, too (seen on 11.8, not on 10.11).
        fetched = max(0.0, fetched - examined)
    if not _counts_clustered(window, table):
        counts = 0.0
    return fetched / size.rows, counts


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
    """Bytes of the clustered index on disk, by the size of its pages in reads."""
    if size.page_bytes is not None:
        return float(size.pages * size.page_bytes)
    files = (window.latest[TABLE_FILES] or {}).get(table)
    page_bytes = files.bytes / files.reads if files and files.reads else None
    page_bytes = page_bytes or number(window.latest.setting("innodb_page_size"))
    return None if page_bytes is None else size.pages * page_bytes
