"""What a history tells of the accesses to each table, and of a pool that filled."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.curve.curve import OTHERS
from advisor.curve.explain import Measured, Table
from advisor.facts import Facts, ScanFacts
from advisor.facts.base import over_pools, ratio
from advisor.models.steady import List, Scan
from advisor.observe.window import Window, total
from advisor.whatif.errors import Unanswerable
from advisor.whatif.tables import read_by_scans, table_name
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO
from exporter.midpoint import old_target
from exporter.rows import number
from exporter.snapshot import Snapshot

MOST_TABLES = 12
"""Tables with a distribution of their own, those with the most reads; the others count as one."""
_GROUPS, _LEAST_GROUPS = 72, 8
"""Groups of pages in a model, of all tables and of one at least: they are what it takes time for."""
_LEAF_FANOUT = 1000
"""Children of a branch page: a tree of more leaf pages has another level (keys of some bytes)."""
_LEVELS = 3.0
"""Of an index where it is not known which ones are used: root, branch, leaf."""
_FEW, _LONG, _MOST_GETS = 200, 5.0, 50.0
"""Fewer reads tell nothing of the gets of a visit. Nor do they where pages do not stay for so many times
innodb_old_blocks_time. More gets than the last are no gets of one visit."""
_GETS_OF_SCAN = 2.0
"""Gets per page of a scan (seen: 1.0 to 2.9)."""
_ENOUGH = 400
"""Pages read from one point of the filling to the next: chance moves it by a twentieth."""
_KEPT = 1.2
"""Times innodb_lru_scan_depth in each instance, for collections between two rounds of the page cleaner."""
_LONG_ENOUGH = 0.25
"""Share of a window: less of it is too little to leave out the rest."""
_FREE = 0.02
"""Share of the pool: with fewer free pages it is full."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was watched.

    Attributes:
        seconds: Length of the window.
        pages: Pages of data in the pool, on average.
        size: Pages of the pool.
        kept_free: Of these, pages that a full pool does not fill, as far as that was seen.
        most_free: The most that there may be.
        page_bytes: Size of a page.
        measured: For the fit.
        reads: Pages read a second, by everything.
        unexplained: Of these, reads of no known table: undo logs, the data dictionary.
        read_again: Share of the reads that had been read before for certain; None where not known.
    """

    seconds: float
    pages: float
    size: float
    kept_free: float
    most_free: float
    page_bytes: float
    measured: Measured
    reads: float
    unexplained: float
    read_again: float | None = None


def evidence(history: Sequence[Snapshot], window: Window, known: Facts) -> Evidence:
    """The evidence of a window, and of the history before it.

    Raises:
        Unanswerable: A section is not known, or the window is too short.
    """
    if len(window.snapshots) < 2:
        raise Unanswerable("window", "only one collection since the server or its settings changed: wait for the next")
    for section in ("pools", "index_sizes", "table_files", "table_scans", "count_statements"):
        if window.latest.sections.get(section) is None:
            outcome = window.latest.outcomes.get(section)
            why = f": {outcome.reason}{'; ' + outcome.cure if outcome.cure else ''}" if outcome else ""
            raise Unanswerable(section, f"what is read of each table is not known{why}")
    reads = (window.delta(over_pools("pages_read")) or 0.0) / window.seconds
    made_young = ratio(window.delta(over_pools("made_young")), window.seconds)
    scans = {table_name(scan): scan for scan in known.lists["scans"] if scan.pages and scan.passes}
    scanned = tuple(_scanned(window, scans))
    lists = [sizes for snapshot in window.snapshots if (sizes := _sublists(snapshot)) is not None]
    if not lists:
        raise Unanswerable("pool.old_pages", "the length of the old sublist is not known")
    size = float(sum(each.size_pages for each in window.latest[POOLS] or ()))
    full = _is_full(window.latest)
    if not full:  # it grows: what it holds at the end counts
        lists = lists[-1:]
    pages = sum(data for data, _ in lists) / len(lists)
    old = sum(old for _, old in lists) / len(lists)
    gets_of_visit = _gets_of_visit(window, scanned, reads, old)
    visited = sum((scan.pages or 0.0) * (scan.passes or 0.0) for scan in scans.values())
    tables = _tables(window, scans, _accesses(window, visited, gets_of_visit) / window.seconds)
    milliseconds = number(window.latest.setting("innodb_old_blocks_time")) or 0.0
    if not full:  # nothing was evicted: what was read of a table is what is asked for
        so_far = {
            f"{table.schema}.{table.table}": file.reads for table, file in (window.latest[TABLE_FILES] or {}).items()
        }
        tables = {
            name: replace(table, pages=max(1.0, min(table.pages, so_far.get(name, table.pages))))
            for name, table in tables.items()
        }
    filling = tuple(_filling(history, tables.keys(), gets_of_visit))
    explained = sum(table.reads for table in tables.values()) + sum(scan.read / scan.period for scan in scanned)
    return Evidence(
        seconds=window.seconds,
        pages=pages,
        size=size,
        kept_free=size - pages if full else 0.0,
        most_free=size - pages if full else min(_kept_free(window.latest), size / 2),
        page_bytes=float(number(window.latest.setting("innodb_page_size")) or 16384.0),
        measured=Measured(List(pages - old, old, milliseconds / 1000), tables, made_young, scanned, full, filling),
        reads=reads,
        unexplained=max(0.0, reads - explained),
        read_again=known.pool.read_again,
    )


def _sublists(snapshot: Snapshot) -> tuple[float, float] | None:
    """Pages of data and, of these, old ones: where these are not known, as many as the server steers to."""
    data, old = over_pools("database_pages")(snapshot), over_pools("old_pages")(snapshot)
    pct = number(snapshot.setting("innodb_old_blocks_pct"))
    if old is None and pct is not None:
        old = total(old_target(each.database_pages, int(pct)) for each in snapshot[POOLS] or ())
    return None if data is None or old is None else (data, old)


def since_full(window: Window) -> Window:
    """The part of a window since its pool is full, where that is enough of it: filling is no steady state."""
    filling = [number for number, snapshot in enumerate(window.snapshots) if not _is_full(snapshot)]
    if not filling or not _is_full(window.latest):
        return window
    rest = Window(window.snapshots[filling[-1] + 1 :])
    return rest if rest.seconds >= _LONG_ENOUGH * window.seconds else window


def _is_full(snapshot: Snapshot) -> bool:
    pools = snapshot[POOLS] or ()
    size = float(sum(each.size_pages for each in pools))
    return sum(each.free_pages for each in pools) <= max(_FREE * size, _kept_free(snapshot))


def _kept_free(snapshot: Snapshot) -> float:
    """The most free pages that the page cleaner keeps."""
    depth = float(number(snapshot.setting("innodb_lru_scan_depth")) or 0.0)
    pools = snapshot[POOLS] or ()
    return _KEPT * depth * len(pools)


def _gets_of_visit(window: Window, scanned: Sequence[Scan], reads: float, old: float) -> float:
    """Page gets for a visit to a leaf page: one for each level of the index, and more where a range is read.

    Each row, or each few rows, of a range get their page anew. While its first access is younger than
    innodb_old_blocks_time such a get counts as "not made young", and so does one by each lookup that reads its page:
    the server gets the page again once it has been read (1.00 for lookups by key on MySQL 9.7 and MariaDB 11.8, 3.2 for
    sysbench's oltp_read_only). Where pages leave the old sublist within some times innodb_old_blocks_time, other visits
    count too, and nothing can be said.
    """
    seconds = float(number(window.latest.setting("innodb_old_blocks_time")) or 0.0) / 1000
    not_young = ratio(window.delta(over_pools("not_made_young")), window.seconds)
    by_scans = math.fsum(scan.read / scan.period for scan in scanned)
    lookups = reads - by_scans
    if not_young is None or not seconds or lookups * window.seconds < _FEW or old < _LONG * seconds * reads:
        return _levels(window)
    again = (not_young - _GETS_OF_SCAN * by_scans) / lookups
    return _levels(window) - 1.0 + min(max(again, 1.0), _MOST_GETS)


def _accesses(window: Window, scanned: float, gets_of_visit: float) -> float:
    """Visits to leaf pages by lookups over the window, from the page gets that scans do not explain.

    MySQL counts one more get where the page is read; MariaDB doesn't (seen on 9.7 and 11.8).
    """
    gets = window.delta(over_pools("gets"))
    if gets is None:
        raise Unanswerable("pools", "the page gets were reset")
    reads = 0.0 if window.latest.server.mariadb else window.delta(over_pools("pages_read")) or 0.0
    return max(0.0, (gets - reads - _GETS_OF_SCAN * scanned) / gets_of_visit)


def _levels(window: Window) -> float:
    """Levels of the indexes that rows are fetched by, on average over the rows."""
    sizes, rows, levels = window.latest[INDEX_SIZES], 0.0, 0.0
    for index in window.latest[TABLE_IO] or ():
        size = sizes.sizes.get(index) if sizes else None
        fetched = window.growth(lambda s: s[TABLE_IO], index, lambda io: io.fetched)
        if size is not None and fetched and index.index != NO_INDEX:
            leaves = max(size.leaf_pages or size.pages, 1)
            rows += fetched
            levels += fetched * (1 + math.ceil(math.log(leaves, _LEAF_FANOUT)))
    return levels / rows if rows else _LEVELS


def _tables(window: Window, scans: Mapping[str, ScanFacts], accesses: float) -> dict[str, Table]:
    """The tables that are looked up: size, accesses and reads a second.

    Accesses are shared out by rows: read by an index, inserted, updated or deleted.
    """
    sizes = window.latest[INDEX_SIZES]
    pages: dict[str, float] = {}
    for index, size in (sizes.sizes if sizes else {}).items():
        name = f"{index.schema}.{index.table}"
        pages[name] = pages.get(name, 0.0) + (size.pages if size.leaf_pages is None else size.leaf_pages)
    rows: dict[str, float] = {}
    for index in window.latest[TABLE_IO] or ():
        name = f"{index.schema}.{index.table}"
        fetched = window.growth(lambda s: s[TABLE_IO], index, lambda io: io.fetched) or 0.0
        written = window.growth(lambda s: s[TABLE_IO], index, lambda io: io.written) or 0.0
        if pages.get(name) and (count := written + (fetched if index.index != NO_INDEX else 0.0)):
            rows[name] = rows.get(name, 0.0) + count
    reads: dict[str, float] = {}
    for table in window.latest[TABLE_FILES] or ():
        name = f"{table.schema}.{table.table}"
        read = window.growth(lambda s: s[TABLE_FILES], table, lambda file: file.reads) or 0.0
        scan = scans.get(name)
        reads[name] = max(0.0, read - (read_by_scans(scan) if scan else 0.0)) / window.seconds
    if window.latest[TABLE_IO] is None:  # whose accesses they are is not known
        known = [name for name in pages if reads.get(name)]
        asked, read = sum(pages[name] for name in known), sum(reads[name] for name in known)
        return _fewer({OTHERS: Table(asked, max(accesses, read), read)} if known else {})
    whole = sum(rows.values())
    found = {
        name: Table(pages[name], max(accesses * count / whole, reads.get(name, 0.0), 1e-3), reads.get(name, 0.0))
        for name, count in rows.items()
    }
    return _fewer(found)


def _fewer(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables with the most reads and accesses, and the others as one."""
    ranked = sorted(tables, key=lambda name: (tables[name].reads, tables[name].accesses), reverse=True)
    found = {name: tables[name] for name in ranked[:MOST_TABLES]}
    rest = [tables[name] for name in ranked[MOST_TABLES:]]
    if rest:
        found[OTHERS] = Table(
            sum(each.pages for each in rest), sum(each.accesses for each in rest), sum(each.reads for each in rest)
        )
    groups = max(_GROUPS // max(len(found), 1), _LEAST_GROUPS)
    return {name: replace(table, groups=groups) for name, table in found.items()}


def _scanned(window: Window, scans: Mapping[str, ScanFacts]) -> Iterator[Scan]:
    for scan in scans.values():
        pages, passes = scan.pages or 0.0, scan.passes or 1.0
        yield Scan(pages, window.seconds / passes, read_by_scans(scan) / passes)


def _filling(history: Sequence[Snapshot], tables: Collection[str], gets_of_visit: float) -> list[tuple[float, float]]:
    """Pages of tables, and pages of tables read an access, while the pool filled for the last time.

    While nothing is evicted, the pages of a table in the pool are those that were read of its file. The pool holds
    pages of the data dictionary too, some 900 on MySQL 9.7, which are no part of the curve.
    """
    found: list[tuple[float, float]] = []
    begin: tuple[float, float] | None = None  # pages of tables and accesses, where the next point begins
    for snapshot in history:
        pools = snapshot[POOLS]
        if pools is None or snapshot[TABLE_FILES] is None or any(each.gets is None for each in pools):
            continue
        files = {f"{t.schema}.{t.table}": float(file.reads) for t, file in (snapshot[TABLE_FILES] or {}).items()}
        pages = math.fsum(reads for name, reads in files.items() if name in tables)
        gets = sum(each.gets - (0 if snapshot.server.mariadb else each.pages_read) for each in pools)
        asked = (gets - _GETS_OF_SCAN * (math.fsum(files.values()) - pages)) / gets_of_visit
        if begin is not None and (pages < begin[0] or asked < begin[1]):
            found, begin = [], None  # a restart: the pool is empty again
        if not _fills(snapshot, pages):
            begin = None
        elif begin is None:
            begin = pages, asked
        elif pages - begin[0] >= _ENOUGH and asked > begin[1]:
            read = min(1.0, (pages - begin[0]) / (asked - begin[1]))
            found.append(((begin[0] + pages) / 2, read))
            begin = pages, asked
    return found[1:]  # the first one holds what the server did while it started


def _fills(snapshot: Snapshot, pages: float) -> bool:
    """Whether the pool has free pages, and every page of a table that was read is still there."""
    pools = snapshot[POOLS] or ()
    free = sum(each.free_pages for each in pools)
    least = max(_FREE * sum(each.size_pages for each in pools), _kept_free(snapshot))
    return free > least and pages <= sum(each.database_pages for each in pools)
