"""Scanned tables beside lookups, page by page: what passes read, and what they leave to everything else.

The scans are known: tables, periods, and how each fetches its pages. The lookups are those of a load. The list is
simulated at today's settings and at others (advisor/models/lru); every answer starts from what was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

from advisor.facts import Facts, ScanFacts
from advisor.facts.base import over_pools
from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import Pass, Pool, Settings
from advisor.models.lru.workload import LOOKED_UP, OTHER, Rates, TableScan, Workload, passes_of, rates, run
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.pool.settings import POOL_SIZE, SETTINGS_OF_MODEL
from advisor.pool.tables import GROWTH, is_full, kept_share, last_pass, table_scans, tables_in_model
from exporter.collectors.pools import POOLS
from exporter.collectors.table_io import TABLE_IO
from exporter.rows import number
from exporter.server import Server

_READERS = "innodb_parallel_read_threads"
_DICTIONARY_PAGES = 965
"""Pages that a fresh server with a data dictionary reads of it (seen on MySQL 8.0.43 and 9.7.4)."""
_CACHED = 0.01
"""Share of a table: a pass that reads no more finds the table cached."""
_SEARCHED = 100
"""Pages from the tail of each instance that a search for a page to evict looks at (BUF_LRU_SEARCH_SCAN_THRESHOLD,
buf0lru.cc). Only when all of them are dirty does the page cleaner write some, so that many may stay at the tail."""
_ROLLBACK_SEGMENTS, _UNDO_TABLESPACES = 128, 2
"""The defaults, where the settings do not exist any more."""
_PAGES_OF_WRITE = 2
"""Header of a rollback segment, and undo log. Each transaction takes the next segment (trx0trx.cc), so that all of
them stay young. Seen on MySQL 9.7 under updates: 256 headers and 256 undo pages, most of them in the young sublist."""
_EXPLAINED = 0.5
"""Share of a measured value that the model has to explain before it may scale it."""
_MOVED, _PERIOD_MOVED = 0.05, 0.1
"""Share of sizes, and of periods, that scans may move by and be the same: the last pass of a scan alone varies by 6 %
under a steady load (seen beside lab.demo)."""
_RESERVED = 0.01
"""Share of the pool that the reserved pages may grow by: a value chosen for fewer of them may be too small."""


@dataclass(frozen=True, slots=True)
class ScannedPool:
    """The pool and the scans beside the lookups.

    Attributes:
        settings: The SETTINGS_OF_MODEL that the server has.
        reserved: Pages of the pool that a scanned table may not get.
        scans: The facts of the tables in the workload, by their name there.
        left_out: Scanned tables that the model does not take.
        workload: The scans, without lookups.
        per_pass: Pages read by the last pass, by table.
    """

    server: Server
    settings: Mapping[str, float]
    pool: Pool
    reserved: int
    scans: Mapping[str, ScanFacts]
    left_out: Sequence[ScanFacts]
    workload: Workload
    per_pass: Mapping[str, float]

    @property
    def by_table(self) -> dict[str, float]:
        """Pages that the scans of each table read a second."""
        return {name: pages * self.workload.scans_per_second[name] for name, pages in self.per_pass.items()}

    def pool_with(self, settings: Mapping[str, float]) -> Pool:
        """The pool under other settings; its pages are in proportion to its size."""
        pages = self.pool.pages
        size, before = settings.get(POOL_SIZE), self.settings.get(POOL_SIZE)
        if size and before:
            pages = round(pages * size / before)
        return _pool(settings, pages, self.pool.instances, self.server)

    def scans_with(self, settings: Mapping[str, float]) -> tuple[TableScan, ...]:
        """The scans under other settings: one reader thread reads nothing in parallel."""
        if settings.get(_READERS) == self.settings.get(_READERS):
            return self.workload.scans
        kept = {scan.name: scan.kept for scan in self.workload.scans}
        return tuple(_scans(self.scans, kept, settings, self.server))

    def on(self, server: Server, settings: Mapping[str, float], instances: int, scans: Mapping[str, ScanFacts]) -> Self:
        """The pool of another server with other settings and scans, as it starts: empty but for the server's own pages.

        Args:
            server: With its version.
            settings: The SETTINGS_OF_MODEL that it has.
            instances: Of the pool.
            scans: By the names of their objects in the workload, which may be several of a table.
        """
        pages, size, before = self.pool.pages, settings.get(POOL_SIZE), self.settings.get(POOL_SIZE)
        if size and before:
            pages = round(pages * size / before)
        parts = tuple(_scans(scans, dict.fromkeys(scans, 0.0), settings, server))
        own_pages = _DICTIONARY_PAGES if server.data_dictionary else 0
        return replace(
            self,
            server=server,
            settings=settings,
            pool=_pool(settings, pages, instances, server),
            scans=scans,
            workload=Workload(parts, own_pages, self.workload.lookups),
            per_pass={name: self.per_pass.get(name, 0.0) for name in scans},
        )

    def changed(self, changes: Mapping[str, float]) -> Self:
        """The same pool, started with other settings of the model."""
        settings = {**self.settings, **changes}
        workload = replace(self.workload, scans=self.scans_with(settings))
        return replace(self, settings=settings, pool=self.pool_with(settings), workload=workload)

    def beginning(self, begins: Sequence[tuple[float, str]], seconds: float) -> Self:
        """The same, with passes that begin at known times of a round of so many seconds."""
        return replace(self, workload=replace(self.workload, begins=tuple(begins), least_seconds=seconds))

    def same(self, other: ScannedPool) -> bool:
        """Whether the settings are those of another one, and the scans about the same."""
        mine, others = (sorted(pool.workload.scans, key=_identity) for pool in (self, other))
        most = _MOVED * self.pool.pages
        return (
            (self.server, self.settings, self.pool) == (other.server, other.settings, other.pool)
            and other.reserved <= self.reserved + _RESERVED * self.pool.pages
            and abs(self.workload.other_pages - other.workload.other_pages) <= most
            and list(map(_identity, mine)) == list(map(_identity, others))
            and all(map(_same_scan, mine, others))
        )


def scanned(window: Window, known: Facts) -> ScannedPool:
    """The pool and the scans of a window.

    Raises:
        Unanswerable: A fact is missing.
    """
    server = window.latest.server
    settings = {name: value for name in SETTINGS_OF_MODEL if isinstance(value := known.setting[name], float)}
    pages, instances = (_needed(f"pool.{name}", getattr(known.pool, name)) for name in ("pages", "instances"))
    pool = _pool(settings, int(pages), int(instances), server)
    scans, left_out = tables_in_model(known.lists["scans"])
    kept = {name: kept_share(scan) for name, scan in scans.items()}
    parts = tuple(_scans(scans, kept, settings, server))
    workload = Workload(parts, _before(window, pool, sum(scan.pages or 0.0 for scan in scans.values())))
    per_pass = {name: last_pass(scan) for name, scan in scans.items()}
    return ScannedPool(server, settings, pool, _reserved(window, pool), scans, left_out, workload, per_pass)


def begun(today: ScannedPool, lookups: tuple[Pages, ...], check_time: Callable[[], None]) -> ScannedPool:
    """The same, with what the pool holds of the tables to begin with: what the last pass found, or nothing.

    Some of both last. What explains the last pass better is how it was.
    """
    scans = tuple(replace(scan, kept=0.0) for scan in today.workload.scans)
    anew = replace(today, workload=replace(today.workload, scans=scans))

    def off(begin: ScannedPool) -> float:
        by_model = predict(begin, lookups, {}, check_time).rates.per_pass
        per_second = today.workload.scans_per_second
        return math.fsum(abs(by_model[name] - pages) * per_second[name] for name, pages in today.per_pass.items())

    return min(anew, today, key=off) if any(scan.kept for scan in today.workload.scans) else today


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the simulation says of some settings.

    Attributes:
        rates: Reads of the last rounds.
        others: Pages in the pool that the scanned tables leave for everything else.
        young: How many of these are in the young sublist.
        until_cached: By table, the passes until it is cached; None where it never is.
    """

    rates: Rates
    others: float
    young: float
    until_cached: Mapping[str, int | None]


def predict(
    today: ScannedPool,
    lookups: tuple[Pages, ...],
    changes: Mapping[str, float],
    check_time: Callable[[], None],
    *,
    strained: bool = False,
) -> Prediction:
    """What the simulation says of some changes.

    Args:
        today: The pool and the scans.
        lookups: Beside them.
        changes: To settings of the model.
        check_time: Called between two simulations; an exception from it ends the work.
        strained: With scanned tables that have grown, and without the pages that the pool may not be able to give to
            them (``ScannedPool.reserved``). What only just fits does not fit then.

    Raises:
        TooManySteps: It would take too long.
    """
    settings = {**today.settings, **changes}
    workload, pool = replace(today.workload, lookups=lookups), today.pool
    then, then_pool = replace(workload, scans=today.scans_with(settings)), today.pool_with(settings)
    if strained:
        workload, then = _grown(workload), _grown(then)
        pool, then_pool = _shrunk(pool, today.reserved), _shrunk(then_pool, today.reserved)
    check_time()
    if then_pool.pages != pool.pages:  # a pool of another size starts empty
        simulation = run(then, then_pool)
    elif changes:
        simulation = run(workload, pool, (_settings(then_pool), then))
    else:
        simulation = run(workload, pool)
    after = simulation.passes[-passes_of(then) :] if changes else simulation.passes
    others = [simulation.pages_of(name) for name in (LOOKED_UP, OTHER)]
    return Prediction(
        rates=rates(then, simulation.passes),
        others=sum(young + old for young, old in others),
        young=sum(young for young, _ in others),
        until_cached={
            scan.name: _until_cached(scan.pages, [row for row in after if row.object == scan.name])
            for scan in then.scans
        },
    )


def scaled(measured: float, now: float, then: float) -> float:
    """The value after a change, of one that is measured today.

    The model is never exact. Today's value is the measured one, and the model says by how much it changes: by a share
    where it falls and the model explains most of it; else by an amount, since a share of nearly nothing says nothing,
    and what the model does not explain stays.

    Args:
        measured: On the server, today.
        now: By the model, today.
        then: By the model, after the change.
    """
    if then < now and now >= _EXPLAINED * measured:
        return measured * then / now
    return max(0.0, measured + then - now)


def _scans(
    scans: Mapping[str, ScanFacts], kept: Mapping[str, float], settings: Mapping[str, float], server: Server
) -> Iterator[TableScan]:
    # Before 8.0.17 parallel readers get their pages as the row path does.
    threads = settings.get(_READERS) if server.has("scan_never_promotes") else None
    for name, scan in scans.items():
        yield from table_scans(name, scan, threads, kept[name])


def _same_scan(before: TableScan, now: TableScan) -> bool:
    return (
        abs(before.pages - now.pages) <= _MOVED * before.pages
        and abs(before.period - now.period) <= _PERIOD_MOVED * before.period
        and abs(before.seconds - now.seconds) <= _PERIOD_MOVED * before.period
        and abs(before.kept - now.kept) <= _PERIOD_MOVED
    )


def _identity(scan: TableScan) -> tuple[str, str]:
    return scan.name, scan.fetch


def _grown(workload: Workload) -> Workload:
    """The workload with larger tables, and no part of them kept from before: a restart would lose it."""
    scans = (replace(scan, pages=math.ceil(scan.pages * GROWTH), kept=float(scan.kept == 1)) for scan in workload.scans)
    return replace(workload, scans=tuple(scans))


def _shrunk(pool: Pool, pages: int) -> Pool:
    """The pool without some of its pages, of which it keeps half at least."""
    return pool.model_copy(update={"pages": pool.pages - min(pages, pool.pages // 2)})


def _settings(pool: Pool) -> Settings:
    return Settings(
        old_blocks_pct=pool.old_blocks_pct,
        old_blocks_time_ms=pool.old_blocks_time_ms,
        free_low=pool.free_low,
        free_high=pool.free_high,
    )


def _until_cached(pages: int, passes: Sequence[Pass]) -> int | None:
    reading = [number for number, row in enumerate(passes, 1) if row.pages_read > _CACHED * pages]
    last = reading[-1] if reading else 0
    return None if last == len(passes) else last


def _needed(name: str, value: float | None) -> float:
    if value is None:
        raise Unanswerable(name, f"{name} is not known")
    return value


def _pool(settings: Mapping[str, float], pages: int, instances: int, server: Server) -> Pool:
    depth = 0
    if server.has("free_list_kept"):  # before, and on MySQL, pages are evicted one by one where they are needed
        depth = int(_needed("setting.innodb_lru_scan_depth", settings.get("innodb_lru_scan_depth")))
        depth = min(depth, pages // instances // 2)
    return Pool(
        pages=pages,
        instances=instances,
        old_blocks_pct=int(_needed("setting.innodb_old_blocks_pct", settings.get("innodb_old_blocks_pct"))),
        old_blocks_time_ms=_needed("setting.innodb_old_blocks_time", settings.get("innodb_old_blocks_time")),
        free_low=depth // 2,
        free_high=depth,
    )


def _reserved(window: Window, pool: Pool) -> int:
    """Pages of the pool that tables may not get: dirty ones at the tail, undo logs, and those kept free.

    Dirty pages at the tail cannot be evicted, so pages of the table are evicted before them (seen on MariaDB 10.5 with
    200 to 500 of 1,530 pages dirty: an old sublist of 774 pages did not hold a table of 737; one of 781 did). What the
    page cleaner keeps free is seen, up to innodb_lru_scan_depth in each instance; MariaDB's is in the model already.
    Pages that were free before the pool filled are not kept free: with them, one load got 79 in a window that began
    with the last of these, and 74 in a later one (lab.demo).
    """
    dirty = sum(min(instance.modified_pages, _SEARCHED) for instance in window.latest[POOLS] or ())
    taken = dirty + _undo_pages(window)
    depth = number(window.latest.setting("innodb_lru_scan_depth"))
    if pool.free_high or depth is None:
        return taken
    free = [sum(instance.free_pages for instance in snapshot[POOLS] or ()) for snapshot in window.snapshots]
    filled = next((number for number, (before, after) in enumerate(pairwise(free)) if after >= before), len(free) - 1)
    return taken + min(max(free[filled:]), int(depth) * pool.instances)


def _undo_pages(window: Window) -> int:
    """Pages of rollback segments that the rows written while the pool is read anew may use, a transaction each."""
    read = window.delta(over_pools("pages_read")) or 0.0
    pages = sum(instance.size_pages for instance in window.latest[POOLS] or ())
    written = min(1.0, pages / max(read, 1.0)) * sum(
        window.growth(lambda s: s[TABLE_IO], index, lambda io: io.written) or 0.0
        for index in window.latest[TABLE_IO] or ()
    )
    segments = number(window.latest.setting("innodb_rollback_segments")) or _ROLLBACK_SEGMENTS
    if window.latest.server.has("rollback_segments_per_tablespace"):
        segments *= max(_UNDO_TABLESPACES, number(window.latest.setting("innodb_undo_tablespaces")) or 0.0)
    return _PAGES_OF_WRITE * int(min(written, segments))


def _before(window: Window, pool: Pool, scanned_pages: float) -> int:
    """Pages that nothing asks for any more: all of a full pool, else the used pages that hold no scanned table."""
    if is_full(window.latest):
        return pool.pages
    return max(0, round((over_pools("database_pages")(window.latest) or 0.0) - scanned_pages))
