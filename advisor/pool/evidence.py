"""Evidence from a history: the reads of each table, its pages in the pool, and how the pool filled."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from advisor.facts import Facts, ScanFacts
from advisor.facts.base import over_pools, ratio
from advisor.observe.window import Window, total
from advisor.overview.residents import resident_pages
from advisor.pool.errors import Unanswerable
from advisor.pool.load import OTHERS, TableReads, residents_known
from advisor.pool.scanned import ScannedPool, scanned
from advisor.pool.settings import POOL_SIZE
from advisor.pool.steady import Sublists
from advisor.pool.tables import is_full, kept_free, read_by_scans
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO
from exporter.midpoint import old_target
from exporter.rows import number
from exporter.snapshot import Snapshot, Table


@dataclass(frozen=True, slots=True)
class _Visit:
    """Page gets of a visit to a leaf page.

    Attributes:
        leaf_fanout: Children of a branch page: a tree of more leaf pages has another level (keys of some bytes).
        levels: Of an index where the indexes in use are not known: root, branch, leaf.
        few_reads: Fewer are no measure of the gets of a visit.
        long_stay: Times innodb_old_blocks_time. Where pages stay no longer, the gets of one visit cannot be counted.
        most_gets: More are no gets of one visit.
        gets_of_scan: Per page of a scan (seen: 1.0 to 2.9).
    """

    leaf_fanout: int = 1000
    levels: float = 3.0
    few_reads: int = 200
    long_stay: float = 5.0
    most_gets: float = 50.0
    gets_of_scan: float = 2.0


_VISIT = _Visit()
_ENOUGH = 400
"""Pages read from one point of the filling to the next: chance moves it by a twentieth."""
_LONG_ENOUGH = 0.25
"""Share of a window: less of it is too little to leave out the rest."""


@dataclass(frozen=True, slots=True)
class PoolEvidence:
    """What was watched.

    Attributes:
        seconds: Length of the window.
        page_bytes: Size of a page.
        pool_bytes: innodb_buffer_pool_size.
        size: Pages of the pool.
        full: Whether they are all used: else nothing is evicted, and all reads are first reads.
        kept_free: Free pages of a full pool.
        most_free: The most free pages that a full pool may have.
        held: The LRU list, on average.
        tables: By name, those that lookups read.
        resting: Those that were asked for, and read nothing.
        scanned: The scans beside these.
        made_young: Pages made young a second by lookups.
        reads: Pages read a second, by everything: by scans as the last pass of each read.
        unexplained: Of these, reads of no table: undo logs, the data dictionary.
        accesses: To leaf pages by lookups, a second.
        filling: Pages of tables in the pool and pages read an access, while the pool filled.
    """

    seconds: float
    page_bytes: float
    pool_bytes: float
    size: float
    full: bool
    kept_free: float
    most_free: float
    held: Sublists
    tables: Mapping[str, TableReads]
    resting: Mapping[str, TableReads]
    scanned: ScannedPool
    made_young: float
    reads: float
    unexplained: float
    accesses: float
    filling: tuple[tuple[float, float], ...]

    @property
    def pages(self) -> float:
        """Pages of data in the pool."""
        return self.held.young + self.held.old

    @property
    def by_scans(self) -> float:
        """Pages that scans read a second."""
        return math.fsum(self.scanned.by_table.values())

    @property
    def by_lookups(self) -> float:
        """Pages of the tables that lookups read a second."""
        return math.fsum(table.reads for table in self.tables.values())

    @property
    def residents_known(self) -> bool:
        """Whether the server counts the pool's pages by table."""
        return residents_known(self.tables.values())

    @property
    def of_tables(self) -> float:
        """Pages of the tables in the pool; where the server does not count them, all that scans leave."""
        counted = math.fsum(table.resident or 0.0 for table in self.tables.values())
        return min(counted, self.pages) if self.residents_known else self.room

    @property
    def of_lists(self) -> Sublists:
        """The part of the list that the tables have."""
        share = self.of_tables / self.pages if self.pages else 0.0
        return Sublists(self.held.young * share, self.held.old * share, self.held.old_seconds)

    @property
    def tables_pages(self) -> float:
        """Pages of the tables that are read."""
        return math.fsum(table.pages for table in self.tables.values())

    @property
    def resting_pages(self) -> float:
        """Pages of those that are asked for and not read."""
        return math.fsum(table.pages for table in self.resting.values())

    @property
    def of_scans(self) -> float:
        """Pages of scanned tables in the pool, estimated: those that stay, and those that pass through."""
        stay = math.fsum(scan.kept * scan.pages for scan in self.scanned.workload.scans)
        passing = math.fsum((1.0 - scan.kept) * scan.pages for scan in self.scanned.workload.scans)
        return min(stay + min(passing, self.held.old), self.pages / 2)

    @property
    def room(self) -> float:
        """Pages in the pool beside those of scanned tables."""
        return self.pages - self.of_scans


def evidence(history: Sequence[Snapshot], window: Window, known: Facts) -> PoolEvidence:
    """The evidence of a window, and of the history before it.

    Raises:
        Unanswerable: A section or setting is not known, or the window is too short.
    """
    _require(window)
    latest, seconds = window.latest, window.seconds
    beside = scanned(window, known)
    by_scans = math.fsum(map(read_by_scans, beside.scans.values())) / seconds
    full = is_full(latest)
    pages, old = _list_pages(window, full=full)
    pool_bytes = number(latest.setting(POOL_SIZE))
    if pool_bytes is None:
        raise Unanswerable("variables", "the size of the pool is not known")
    size = float(sum(instance.size_pages for instance in latest[POOLS] or ()))
    reads = (window.delta(over_pools("pages_read")) or 0.0) / seconds
    gets_of_visit = _gets_of_visit(window, by_scans, reads, old)
    visited = sum((scan.pages or 0.0) * (scan.passes or 0.0) for scan in beside.scans.values())
    milliseconds = number(latest.setting("innodb_old_blocks_time")) or 0.0
    tables, resting = _tables(window, beside.scans, pages)
    by_lookups = math.fsum(table.reads for table in tables.values())
    unexplained = max(0.0, reads - by_lookups - by_scans)
    return PoolEvidence(
        seconds=seconds,
        page_bytes=float(number(latest.setting("innodb_page_size")) or 16384.0),
        pool_bytes=float(pool_bytes),
        size=size,
        full=full,
        kept_free=size - pages if full else 0.0,
        most_free=size - pages if full else min(kept_free(latest), size / 2),
        held=Sublists(pages - old, old, milliseconds / 1000),
        tables=tables,
        resting=resting,
        scanned=beside,
        made_young=_made_young(window, beside),
        reads=by_lookups + unexplained + math.fsum(beside.by_table.values()),
        unexplained=unexplained,
        accesses=max(_accesses(window, visited, gets_of_visit) / seconds, by_lookups),
        filling=tuple(_filling(history, tables.keys(), gets_of_visit)),
    )


def _require(window: Window) -> None:
    """Raises Unanswerable where the window has no growth, or a section is not known."""
    if len(window.snapshots) < 2:
        raise Unanswerable(
            "window", "only one collection since the server, its settings or the sidecar changed: wait for the next one"
        )
    for section in ("pools", "index_sizes", "table_files", "table_scans", "count_statements"):
        if window.latest.sections.get(section) is None:
            outcome = window.latest.outcomes.get(section)
            why = f": {outcome.reason}{'; ' + outcome.cure if outcome.cure else ''}" if outcome else ""
            raise Unanswerable(section, f"what is read of each table is not known{why}")


def _list_pages(window: Window, *, full: bool) -> tuple[float, float]:
    """Pages of data and, of these, old ones: on average over the window, or at its end where the pool fills."""
    lengths = [sizes for snapshot in window.snapshots if (sizes := _sublists(snapshot)) is not None]
    if not lengths:
        raise Unanswerable("pool.old_pages", "the length of the old sublist is not known")
    lengths = lengths if full else lengths[-1:]
    return sum(data for data, _ in lengths) / len(lengths), sum(old for _, old in lengths) / len(lengths)


def _made_young(window: Window, beside: ScannedPool) -> float:
    """Pages made young a second, beside those that scans promote."""
    promoted = math.fsum((scan.pages - beside.per_pass[scan.name]) / scan.period for scan in beside.workload.scans)
    return max(0.0, (ratio(window.delta(over_pools("made_young")), window.seconds) or 0.0) - promoted)


def _sublists(snapshot: Snapshot) -> tuple[float, float] | None:
    """Pages of data and, of these, old ones: as many as the server steers to, where it does not count them."""
    data, old = over_pools("database_pages")(snapshot), over_pools("old_pages")(snapshot)
    pct = number(snapshot.setting("innodb_old_blocks_pct"))
    if old is None and pct is not None:
        old = total(old_target(instance.database_pages, int(pct)) for instance in snapshot[POOLS] or ())
    return None if data is None or old is None else (data, old)


def since_full(window: Window) -> Window:
    """The part of a window since its pool is full, where that is enough of it: filling is no steady state."""
    filling = [number for number, snapshot in enumerate(window.snapshots) if not is_full(snapshot)]
    if not filling or not is_full(window.latest):
        return window
    rest = Window(window.snapshots[filling[-1] + 1 :])
    return rest if rest.seconds >= _LONG_ENOUGH * window.seconds else window


def _gets_of_visit(window: Window, by_scans: float, reads: float, old: float) -> float:
    """Page gets for a visit to a leaf page: one for each level of the index, and more where a range is read.

    Each row, or each few rows, of a range get their page anew. While its first access is younger than
    innodb_old_blocks_time such a get counts as "not made young", and so does one by each lookup that reads its page:
    the server gets the page again once it has been read (1.00 for lookups by key on MySQL 9.7 and MariaDB 11.8, 3.2 for
    sysbench's oltp_read_only). Where pages leave the old sublist within some times innodb_old_blocks_time, other visits
    count too: the levels of the indexes are taken.
    """
    seconds = float(number(window.latest.setting("innodb_old_blocks_time")) or 0.0) / 1000
    not_young = ratio(window.delta(over_pools("not_made_young")), window.seconds)
    lookups = reads - by_scans
    if (
        not_young is None
        or not seconds
        or lookups * window.seconds < _VISIT.few_reads
        or old < _VISIT.long_stay * seconds * reads
    ):
        return _levels(window)
    again = (not_young - _VISIT.gets_of_scan * by_scans) / lookups
    return _levels(window) - 1.0 + min(max(again, 1.0), _VISIT.most_gets)


def _accesses(window: Window, scanned: float, gets_of_visit: float) -> float:
    """Visits to leaf pages by lookups over the window, from the page gets that scans do not explain.

    MySQL counts one more get where the page is read; MariaDB doesn't (seen on 9.7 and 11.8).
    """
    gets = window.delta(over_pools("gets"))
    if gets is None:
        raise Unanswerable("pools", "the page gets were reset")
    reads = 0.0 if window.latest.server.mariadb else window.delta(over_pools("pages_read")) or 0.0
    return max(0.0, (gets - reads - _VISIT.gets_of_scan * scanned) / gets_of_visit)


def _levels(window: Window) -> float:
    """Levels of the indexes that rows are fetched by, on average over the rows."""
    sizes, rows, levels = window.latest[INDEX_SIZES], 0.0, 0.0
    for index in window.latest[TABLE_IO] or ():
        size = sizes.sizes.get(index) if sizes else None
        fetched = window.growth(lambda s: s[TABLE_IO], index, lambda io: io.fetched)
        if size is not None and fetched and index.index != NO_INDEX:
            leaves = max(size.leaf_pages or size.pages, 1)
            rows += fetched
            levels += fetched * (1 + math.ceil(math.log(leaves, _VISIT.leaf_fanout)))
    return levels / rows if rows else _VISIT.levels


def _tables(
    window: Window, scans: Mapping[str, ScanFacts], held: float
) -> tuple[dict[str, TableReads], dict[str, TableReads]]:
    """The tables that are read by anything but scans, and those that were asked for and read nothing.

    ``held`` are the pool's pages.
    """
    pages = _leaf_pages(window.latest)
    residents = _residents(window, pages, held)
    files = {f"{table.schema}.{table.table}": table for table in window.latest[TABLE_FILES] or ()}
    asked = _asked(window)
    read: dict[str, TableReads] = {}
    resting: dict[str, TableReads] = {}
    for name in sorted(pages.keys() & (files.keys() | asked)):
        by_lookups, since_start = _file_reads(window, files[name]) if name in files else (0.0, 0.0)
        if name in scans:
            by_lookups = max(0.0, by_lookups - read_by_scans(scans[name]))
        if not pages[name] or not (by_lookups or (name in asked and name not in scans)):
            continue
        resident = None if residents is None else residents.get(name, 0.0)
        table = TableReads(pages[name], by_lookups / window.seconds, resident, since_start)
        (read if by_lookups else resting)[name] = table
    if window.latest[TABLE_IO] is None and not read:  # any table may be asked for
        resting[OTHERS] = TableReads(held, 0.0)
    return read, resting


def _leaf_pages(snapshot: Snapshot) -> dict[str, float]:
    """Leaf pages of the indexes of each table."""
    sizes, pages = snapshot[INDEX_SIZES], defaultdict[str, float](float)
    for index, size in (sizes.sizes if sizes else {}).items():
        pages[f"{index.schema}.{index.table}"] += size.leaf_pages or size.pages
    return pages


def _file_reads(window: Window, table: Table) -> tuple[float, float]:
    """Pages read of a table's file over the window, and since the server's start."""
    growth = window.growth(lambda s: s[TABLE_FILES], table, lambda file: file.reads)
    return growth or 0.0, float((window.latest[TABLE_FILES] or {})[table].reads)


def _asked(window: Window) -> set[str]:
    """Tables of which rows were read by an index, or written."""
    return {
        f"{index.schema}.{index.table}"
        for index in window.latest[TABLE_IO] or ()
        if window.growth(lambda s: s[TABLE_IO], index, lambda io: io.written)
        or (index.index != NO_INDEX and window.growth(lambda s: s[TABLE_IO], index, lambda io: io.fetched))
    }


def _residents(window: Window, pages: Mapping[str, float], held: float) -> dict[str, float] | None:
    """Leaf pages of each table in the pool, on average; None where the server does not tell.

    The counts are upper bounds: no table has more pages there than it has, and all together no more than there are.
    """
    counts = [by_index for snapshot in window.snapshots if (by_index := resident_pages(snapshot)) is not None]
    if not counts:
        return None
    sums = defaultdict[str, float](float)
    for by_index in counts:
        for index, count in by_index.items():
            sums[f"{index.schema}.{index.table}"] += count
    means = {name: min(sums[name] / len(counts), most) for name, most in pages.items()}
    whole = math.fsum(means.values())
    return {name: count * min(1.0, held / whole) if whole else 0.0 for name, count in means.items()}


def _filling(history: Sequence[Snapshot], tables: Collection[str], gets_of_visit: float) -> list[tuple[float, float]]:
    """Pages of tables, and pages of tables read an access, while the pool filled for the last time.

    While nothing is evicted, the pages of a table in the pool are those that were read of its file. The pool holds
    pages of the data dictionary too, some 900 on MySQL 9.7, which are no part of the curve.
    """
    points: list[tuple[float, float]] = []
    begin: tuple[float, float] | None = None  # pages of tables and accesses, where the next point begins
    for snapshot in history:
        pools = snapshot[POOLS]
        if pools is None or snapshot[TABLE_FILES] is None or any(instance.gets is None for instance in pools):
            continue
        files = {f"{t.schema}.{t.table}": float(file.reads) for t, file in (snapshot[TABLE_FILES] or {}).items()}
        pages = math.fsum(reads for name, reads in files.items() if name in tables)
        gets = sum(instance.gets - (0 if snapshot.server.mariadb else instance.pages_read) for instance in pools)
        asked = (gets - _VISIT.gets_of_scan * (math.fsum(files.values()) - pages)) / gets_of_visit
        if begin is not None and (pages < begin[0] or asked < begin[1]):
            points, begin = [], None  # a restart: the pool is empty again
        if not _fills(snapshot, pages):
            begin = None
        elif begin is None:
            begin = pages, asked
        elif pages - begin[0] >= _ENOUGH and asked > begin[1]:
            read = min(1.0, (pages - begin[0]) / (asked - begin[1]))
            points.append(((begin[0] + pages) / 2, read))
            begin = pages, asked
    return points[1:]  # the first one holds what the server did while it started


def _fills(snapshot: Snapshot, pages: float) -> bool:
    """Whether the pool has free pages, and every page of a table that was read is still there."""
    held = sum(instance.database_pages for instance in snapshot[POOLS] or ())
    return not is_full(snapshot) and pages <= held
