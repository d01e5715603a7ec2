"""Scanned tables, from what was measured of them to what the model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from advisor.facts import ScanFacts
from advisor.models.lru.workload import TableScan
from advisor.observe.window import Window
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.pools import POOLS
from exporter.collectors.table_io import TABLE_IO
from exporter.rows import number
from exporter.snapshot import Snapshot, Table

GROWTH = 1.05
"""Factor that tables are larger by under strain: statistics lag behind by up to a tenth of the rows."""
_SPLIT = 2
"""Factor that random insertions into full indexes grow them by, before a tenth of the rows has changed and statistics
are made anew: each page is split once. The rest of a larger file is free."""
MOST_SCANNED = 12
"""The model takes longer with each table. Reads of further tables count as other reads."""
_FROM_MEMORY = 10e-6
"""Seconds that the row path takes for a page in memory (seen on MySQL 9.7: 9,258 pages in 0.1 s)."""
_PASSES = 1.0
"""Over the window: less than a whole pass is a range that is long, or the rest of a scan."""
_WHOLE = 0.98
"""Share of a table that the last pass found in the pool. From here on the pool holds the whole table, if it can."""

_KEPT = 1.2
"""Times innodb_lru_scan_depth in each instance, for collections between two rounds of the page cleaner."""
_FREE = 0.02
"""Share of the pool: with fewer free pages it is full."""


def is_full(snapshot: Snapshot) -> bool:
    """Whether the pool has no more free pages than the page cleaner keeps."""
    pools = snapshot[POOLS] or ()
    size = float(sum(instance.size_pages for instance in pools))
    return sum(instance.free_pages for instance in pools) <= max(_FREE * size, kept_free(snapshot))


def kept_free(snapshot: Snapshot) -> float:
    """The most free pages that the page cleaner keeps."""
    pools, depth = snapshot[POOLS] or (), number(snapshot.setting("innodb_lru_scan_depth"))
    return _KEPT * (depth or 0.0) * len(pools)


def table_name(scan: ScanFacts) -> str:
    """The name of a scanned table in the workload."""
    return f"{scan.schema}.{scan.table}"


def is_measured(scan: ScanFacts) -> bool:
    """Whether enough is known of the scans of a table for the model."""
    whole = (scan.passes or 0.0) >= _PASSES
    return bool(whole and scan.pages and scan.passes_per_hour) and scan.pages_read is not None


def tables_in_model(scans: Sequence[ScanFacts]) -> tuple[dict[str, ScanFacts], list[ScanFacts]]:
    """The tables that the model takes, by name, and the rest."""
    tables: dict[str, ScanFacts] = {}
    left_out: list[ScanFacts] = []
    for scan in scans:
        if is_measured(scan) and len(tables) < MOST_SCANNED:
            tables[table_name(scan)] = scan
        else:
            left_out.append(scan)
    return tables, left_out


def read_by_scans(scan: ScanFacts) -> float:
    """Pages that the scans of a table read over the window: what is read of its file beyond that, lookups read."""
    return min(scan.pages_read or 0.0, (scan.pages or 0.0) * (scan.passes or 0.0))


def last_pass(scan: ScanFacts) -> float:
    """Pages read by the last scan of a table, or by a scan on average where the last is not known."""
    last = scan.pages_read_per_pass if scan.pages_read_last_pass is None else scan.pages_read_last_pass
    return min(last or 0.0, scan.pages or 0.0)  # it includes point reads of the same table


def table_scans(name: str, scan: ScanFacts, threads: float | None, kept: float) -> list[TableScan]:
    """The scans of a table: one for the row path and one for parallel readers.

    Args:
        name: Of the table in the workload.
        scan: Its facts.
        threads: Parallel reader threads that are allowed; None where the server has none.
        kept: Share of the table, 0 to 1, that the pool holds to begin with.
    """
    passes, per_hour = scan.passes or 1.0, scan.passes_per_hour or 1.0
    in_parallel = (scan.counts or 0.0) if threads is not None and threads != 1 else 0.0
    parts = []
    for count, parallel in ((passes - in_parallel, False), (in_parallel, True)):
        if count <= 0.01 * passes:
            continue
        estimate = (scan.read_seconds or 0.0) + _FROM_MEMORY * (scan.pages or 0.0)
        parts.append(
            TableScan(
                name,
                pages=_read_whole(scan),
                period=3600.0 * scan.sharers / (per_hour * count / passes),
                seconds=(scan.count_seconds or estimate) if parallel else estimate,
                fetch="scan" if parallel else "normal",
                kept=kept,
                sharers=scan.sharers,
            )
        )
    return parts


def _read_whole(scan: ScanFacts) -> int:
    """Pages that a pass reads while the table is not cached: at least the leaves, at most the whole index.

    Whether the unused rest of the last extent is read ahead depends on how much of it the pool holds (seen on MySQL
    9.7: 2,700 of 2,724; on MariaDB 10.5: 4,642 of 4,646, with 4,601 leaves).
    """
    pages, last = scan.pages or 1.0, scan.sharers * (scan.pages_read_last_pass or 0.0)
    return round(min(last, pages) if last >= (scan.leaf_pages or pages) - 1 else pages)


def kept_share(scan: ScanFacts) -> float:
    """Share of a table, 0 to 1, that the last pass found in the pool."""
    kept = 1 - scan.sharers * last_pass(scan) / _read_whole(scan)
    return 1.0 if kept >= _WHOLE else kept


def grown(window: Window, pages: Mapping[Table, int]) -> dict[Table, int]:
    """The most pages that each written table may have by now, where its file tells; ``pages`` by the statistics."""
    files, page_bytes = window.latest[FILE_SIZES], number(window.latest.setting("innodb_page_size"))
    if files is None or page_bytes is None:
        return {}
    written = {
        Table(index.schema, index.table)
        for index in window.latest[TABLE_IO] or ()
        if window.growth(lambda s: s[TABLE_IO], index, lambda io: io.written)
    }
    return {
        table: max(pages[table], min(round(files[table] / page_bytes), _SPLIT * pages[table]))
        for table in written & pages.keys() & files.keys()
    }


def written_growth(window: Window) -> float:
    """How many times as many pages the tables may have as by their statistics: those that are written grow."""
    sizes = window.latest[INDEX_SIZES]
    pages: dict[Table, int] = {}
    for index, size in (sizes.sizes if sizes else {}).items():
        table = Table(index.schema, index.table)
        pages[table] = pages.get(table, 0) + size.pages
    return sum((pages | grown(window, pages)).values()) / max(sum(pages.values()), 1)
