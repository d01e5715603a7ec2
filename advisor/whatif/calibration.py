"""The calibration of the LRU model to a window: today's pool, the measured scans, and the accesses beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.facts import Facts, ScanFacts
from advisor.facts.base import over_pools
from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import UNSEEN, Workload
from advisor.observe.window import Window
from advisor.pool.errors import ACCEPTED_ERROR, Unanswerable
from advisor.pool.settings import SETTINGS_OF_MODEL
from advisor.pool.tables import grown, kept_share, last_pass, read_by_scans, table_name, table_scans, tables_in_model
from advisor.whatif.fit import Fit, Measured, fit
from exporter.collectors.base import KEPT
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO
from exporter.rows import number
from exporter.server import Server
from exporter.snapshot import Table

_FULL = 0.02
"""Share of the pool: with fewer free pages it is full."""
_EXPLAINED = 0.8
"""Share of the other reads that must be reads of known tables: below it, any table may be read."""
_GETS_OF_SCAN = 2.0, 3.0
"""Gets of a scan per page: the usual number and the largest (seen: 1.0 to 2.9)."""
_GETS_OF_LOOKUP = 3.0
"""Root, branch and leaf."""
_SEARCHED = 100
"""Pages from the tail of each instance that a search for a page to evict looks at (BUF_LRU_SEARCH_SCAN_THRESHOLD,
buf0lru.cc). Only when all of them are dirty does the page cleaner write some, so that many may stay at the tail."""

_ROLLBACK_SEGMENTS, _UNDO_TABLESPACES = 128, 2
"""The defaults, where the settings do not exist any more."""
_PAGES_OF_WRITE = 2
"""Header of a rollback segment, and undo log. Each transaction takes the next segment (trx0trx.cc), so that all of
them stay young. Seen on MySQL 9.7 under updates: 256 headers and 256 undo pages, most of them in the young sublist."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The model at today's settings.

    Attributes:
        settings: The SETTINGS_OF_MODEL that the server has.
        reserved: Pages of the pool that a scanned table may not get, as far as the server tells.
        scans: The facts of the tables in the workload, by their name there.
        notes: Limits of the calibration, in sentences.
    """

    server: Server
    settings: Mapping[str, float]
    pool: Pool
    reserved: int
    scans: Mapping[str, ScanFacts]
    measured: Measured
    fit: Fit
    notes: tuple[str, ...]

    def pool_with(self, settings: Mapping[str, float]) -> Pool:
        """The pool under other settings; its pages are in proportion to its size."""
        pages = self.pool.pages
        size, before = settings.get("innodb_buffer_pool_size"), self.settings.get("innodb_buffer_pool_size")
        if size and before:
            pages = round(pages * size / before)
        return _pool(settings, pages, self.pool.instances, self.server)

    def workload_with(self, settings: Mapping[str, float]) -> Workload:
        """The workload under other settings: one reader thread reads nothing in parallel."""
        threads = settings.get("innodb_parallel_read_threads")
        if threads == self.settings.get("innodb_parallel_read_threads"):
            return self.fit.workload
        shares = {scan.name: scan.kept for scan in self.fit.workload.scans}
        scans = tuple(
            part for name, scan in self.scans.items() for part in table_scans(name, scan, threads, shares[name])
        )
        return replace(self.fit.workload, scans=scans)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a window tells the model.

    Attributes:
        settings, reserved, scans: As in Calibration.
        left_out: Scanned tables that the model does not take.
        workload: The scans, without a background.
    """

    server: Server
    settings: Mapping[str, float]
    pool: Pool
    reserved: int
    scans: Mapping[str, ScanFacts]
    left_out: Sequence[ScanFacts]
    workload: Workload
    measured: Measured


def calibrate(window: Window, known: Facts, check_time: Callable[[], None] = lambda: None) -> Calibration:
    """Calibrate the model to a window.

    Args:
        window: What has been watched.
        known: Its facts.
        check_time: Called between two simulations; an exception from it ends the fit.

    Raises:
        Unanswerable: A fact or a section is not known.
    """
    found = evidence(window, known)
    return calibration(found, fit(found.workload, found.pool, found.measured, check_time))


def calibration(found: Evidence, fitted: Fit) -> Calibration:
    """The calibration by a fit to this evidence."""
    return Calibration(
        found.server,
        found.settings,
        found.pool,
        found.reserved,
        found.scans,
        found.measured,
        fitted,
        tuple(_notes(fitted, found.scans, found.left_out)),
    )


def evidence(window: Window, known: Facts) -> Evidence:
    """The evidence of a window: cheap, without a simulation.

    Raises:
        Unanswerable: A fact or a section is not known.
    """
    if len(window.snapshots) < 2:
        raise Unanswerable(
            "window", "only one collection since the server, its settings or the sidecar changed: wait for the next one"
        )
    server = window.latest.server
    settings = {name: value for name in SETTINGS_OF_MODEL if isinstance(value := known.setting[name], float)}
    pages = _needed("pool.pages", known.pool.pages)
    pages_read = _needed("pool.pages_read", known.pool.pages_read)
    pool = _pool(settings, int(pages), int(_needed("pool.instances", known.pool.instances)), server)
    for section in ("table_scans", "count_statements", "table_files", "index_sizes"):
        if window.latest.sections.get(section) is None:
            outcome = window.latest.outcomes.get(section)
            why = f": {outcome.reason}{'; ' + outcome.cure if outcome.cure else ''}" if outcome else ""
            raise Unanswerable(section, f"which tables are scanned is not known{why}")
    scans, left_out = tables_in_model(known.lists["scans"])
    threads = settings.get("innodb_parallel_read_threads")
    parts = [part for name, scan in scans.items() for part in table_scans(name, scan, threads, kept_share(scan))]
    scanned_pages = sum(scan.pages or 0.0 for scan in scans.values())
    scanned = sum((scan.pages or 0.0) * (scan.passes or 0.0) for scan in scans.values())
    other = max(0.0, pages_read - sum(map(read_by_scans, scans.values()))) / window.seconds
    measured = Measured(
        per_pass={name: last_pass(scan) for name, scan in scans.items()},
        other=other,
        made_young=None if known.pool.made_young is None else known.pool.made_young / window.seconds,
        accesses=_accesses(known, scanned, other),
        other_pages=_other_pages(window, scans, other),
        asked_pages=_asked_pages(window),
    )
    workload = Workload(tuple(parts), _before(known, pool, scanned_pages))
    return Evidence(server, settings, pool, _reserved(window, pool), scans, left_out, workload, measured)


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
    """
    dirty = sum(min(each.modified_pages, _SEARCHED) for each in window.latest[POOLS] or ())
    taken = dirty + _undo_pages(window)
    depth = number(window.latest.setting("innodb_lru_scan_depth"))
    if pool.free_high or depth is None:
        return taken
    free = max(sum(each.free_pages for each in snapshot[POOLS] or ()) for snapshot in window.snapshots)
    return taken + min(free, int(depth) * pool.instances)


def _undo_pages(window: Window) -> int:
    """Pages of rollback segments that the rows written while the pool is read anew may use, a transaction each."""
    read = window.delta(over_pools("pages_read")) or 0.0
    pages = sum(each.size_pages for each in window.latest[POOLS] or ())
    written = min(1.0, pages / max(read, 1.0)) * sum(
        window.growth(lambda s: s[TABLE_IO], index, lambda io: io.written) or 0.0
        for index in window.latest[TABLE_IO] or ()
    )
    segments = number(window.latest.setting("innodb_rollback_segments")) or _ROLLBACK_SEGMENTS
    if window.latest.server.has("rollback_segments_per_tablespace"):
        segments *= max(_UNDO_TABLESPACES, number(window.latest.setting("innodb_undo_tablespaces")) or 0.0)
    return _PAGES_OF_WRITE * int(min(written, segments))


def _before(known: Facts, pool: Pool, scanned_pages: float) -> int:
    """Pages that nothing asks for any more: all of a full pool, else the used pages that hold no scanned table."""
    free, length = known.pool.free_pages or 0.0, known.pool.list_pages or 0.0
    if free <= pool.free_high * pool.instances + _FULL * pool.pages:
        return pool.pages
    depth = known.setting["innodb_lru_scan_depth"]
    if isinstance(depth, float) and free <= depth * pool.instances + _FULL * pool.pages:
        return pool.pages  # MySQL's page cleaner refills the free list now and then, too
    return max(0, round(length - scanned_pages))


def _accesses(known: Facts, scanned: float, other: float) -> tuple[float, float] | None:
    """Accesses to single pages per second: the usual number and the least, from the gets that no scan explains."""
    if known.pool.gets is None:
        return None
    usual, least = (
        (known.pool.gets - gets * scanned) / _GETS_OF_LOOKUP / known.window.seconds for gets in _GETS_OF_SCAN
    )
    return max(usual, other, 1.0), max(least, 0.0)


def _other_pages(window: Window, scans: Mapping[str, ScanFacts], other: float) -> int | None:
    """Pages that the other reads may fall on: of the tables whose files were read, or of all tables where unknown.

    Statistics lag behind a table that is written, and its data file does not.
    """
    sizes = window.latest[INDEX_SIZES]
    if sizes is None:
        return None
    pages: dict[Table, int] = {}
    for index, size in sizes.sizes.items():
        scan = scans.get(f"{index.schema}.{index.table}")
        if scan is None or read_by_scans(scan) < _EXPLAINED * (scan.pages_read or 0.0):
            table = Table(index.schema, index.table)
            pages[table] = pages.get(table, 0) + size.pages
    pages |= grown(window, pages)
    reads = {table: window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.reads) or 0.0 for table in pages}
    if sum(reads.values()) >= _EXPLAINED * other * window.seconds:
        return sum(pages[table] for table, count in reads.items() if count)
    return sum(pages.values()) + sizes.other_pages


def _asked_pages(window: Window) -> int | None:
    """Pages of the tables of which rows were read by an index, or written, over the window; None where not known."""
    sizes, io = window.latest[INDEX_SIZES], window.latest[TABLE_IO]
    if sizes is None or io is None or len(io) >= KEPT:
        return None
    asked = set()
    for index in io:
        read = window.growth(lambda s: s[TABLE_IO], index, lambda i: i.fetched)
        written = window.growth(lambda s: s[TABLE_IO], index, lambda i: i.written)
        if read is None or written is None:
            return None
        if written or (read and index.index != NO_INDEX):
            asked.add((index.schema, index.table))
    named = (size.pages for index, size in sizes.sizes.items() if (index.schema, index.table) in asked)
    return sum(named) + sizes.other_pages


def _notes(found: Fit, scans: Mapping[str, ScanFacts], left_out: Sequence[ScanFacts]) -> list[str]:
    notes = []
    if found.error > ACCEPTED_ERROR:
        notes.append(
            f"the model reads {found.rates.read:,.1f} pages/s and deviates from the measured reads by"
            f" {found.error:.0%}: its predictions are as uncertain"
        )
    if left_out:
        names = ", ".join(map(table_name, left_out[:3]))
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        notes.append(
            f"scans of {names}{more} are not in the model: their facts are incomplete, or there are too many tables"
        )
    if scans and any(part.fetch == "normal" for part in found.workload.scans):
        notes.append("the time of a serial scan is estimated from the time of its reads")
    unseen = found.background(UNSEEN)
    if unseen:
        notes.append(
            f"{unseen.per_second:,.0f} accesses a second read nothing, so that their number of pages cannot be"
            f" measured: the model assumes {unseen.pages:,}, the most that fit; the predicted loss is the worst case"
        )
    elif not found.workload.backgrounds:
        notes.append("there are hardly any other reads or page gets beside the scans: the model has no hot set")
    return notes
