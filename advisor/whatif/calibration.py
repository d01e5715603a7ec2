"""The model of the LRU list fitted to a window: today's pool, the scans that were seen, and what else must go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.facts import Facts, ScanFacts
from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import UNSEEN, TableScan, Workload
from advisor.observe.window import Window
from advisor.whatif.fit import ACCEPTED_ERROR, Fit, Measured, fit
from exporter.server import Server
from exporter.snapshot import Table

SETTINGS_OF_MODEL = (
    "innodb_old_blocks_pct",
    "innodb_old_blocks_time",
    "innodb_buffer_pool_size",
    "innodb_parallel_read_threads",
    "innodb_lru_scan_depth",
)
"""What the model has an answer for."""
MOST_TABLES = 12
"""In the model, which takes the longer the more there are; the reads of others count as other reads."""
_FROM_MEMORY = 10e-6
"""Seconds that the row path takes for a page in memory (seen on MySQL 9.7: 9,258 pages in 0.1 s)."""
_FULL = 0.02
_WHOLE = 0.98
"""A table of which the last pass found so much in the pool is held there as a whole, if it can be."""
_EXPLAINED = 0.8
"""So much of the other reads must be reads of known tables: else any table may be read."""
_GETS_OF_SCAN = 2.0, 3.0
"""Gets that a scan makes a page, and at most (seen: 1.0 to 2.9)."""
_GETS_OF_LOOKUP = 3.0
"""Root, branch and leaf."""


class Unanswerable(Exception):
    """The model cannot be fitted; ``lacks`` names what is not known."""

    def __init__(self, lacks: str, reason: str) -> None:
        super().__init__(reason)
        self.lacks = lacks


@dataclass(frozen=True, slots=True)
class Fitted:
    """The model at today's settings.

    Attributes:
        settings: SETTINGS_OF_MODEL that the server has.
        scans: The facts of the tables in the workload, by the name they have there.
        notes: What to know of it, in sentences.
    """

    server: Server
    settings: Mapping[str, float]
    pool: Pool
    scans: Mapping[str, ScanFacts]
    measured: Measured
    fit: Fit
    notes: tuple[str, ...]

    def pool_with(self, settings: Mapping[str, float]) -> Pool:
        """The pool under other settings; it has other pages in proportion to its size."""
        pages = self.pool.pages
        size, before = settings.get("innodb_buffer_pool_size"), self.settings.get("innodb_buffer_pool_size")
        if size and before:
            pages = round(pages * size / before)
        return _pool(settings, pages, self.pool.instances, self.server)

    def workload_with(self, settings: Mapping[str, float]) -> Workload:
        """The workload under other settings: with one reader thread nothing is read in parallel."""
        threads = settings.get("innodb_parallel_read_threads")
        if threads == self.settings.get("innodb_parallel_read_threads"):
            return self.fit.workload
        kept = {scan.name: scan.kept for scan in self.fit.workload.scans}
        scans = tuple(part for name, scan in self.scans.items() for part in _parts(name, scan, threads, kept[name]))
        return replace(self.fit.workload, scans=scans)


def fitted(window: Window, known: Facts, check_time: Callable[[], None] = lambda: None) -> Fitted:
    """Fit the model to a window.

    Args:
        window: What has been watched.
        known: Its facts.
        check_time: Called between two simulations; what it raises ends the fit.

    Raises:
        Unanswerable: It lacks something.
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
        if getattr(window.latest, section) is None:
            outcome = window.latest.outcomes.get(section)
            why = f": {outcome.reason}{'; ' + outcome.cure if outcome.cure else ''}" if outcome else ""
            raise Unanswerable(section, f"which tables are scanned is not known{why}")
    scans, left_out = _usable(known.lists["scans"])
    threads = settings.get("innodb_parallel_read_threads")
    parts = [part for name, scan in scans.items() for part in _parts(name, scan, threads, _kept(scan))]
    scanned_pages = sum(scan.pages or 0.0 for scan in scans.values())
    scanned = sum((scan.pages or 0.0) * (scan.passes or 0.0) for scan in scans.values())
    other = max(0.0, pages_read - sum(scan.pages_read or 0.0 for scan in scans.values())) / window.seconds
    measured = Measured(
        per_pass={name: _last(scan) for name, scan in scans.items()},
        other=other,
        made_young=None if known.pool.made_young is None else known.pool.made_young / window.seconds,
        accesses=_accesses(known, scanned, other),
        other_pages=_other_pages(window, scans, other),
    )
    found = fit(Workload(tuple(parts), _before(known, pool, scanned_pages)), pool, measured, check_time)
    return Fitted(server, settings, pool, scans, measured, found, tuple(_notes(found, scans, left_out)))


def table_name(scan: ScanFacts) -> str:
    """What a scanned table is called in the workload."""
    return f"{scan.schema}.{scan.table}"


def is_measured(scan: ScanFacts) -> bool:
    """Whether enough is known of the scans of a table for the model."""
    return bool(scan.pages and scan.passes and scan.passes_per_hour) and scan.pages_read is not None


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


def _usable(found: Sequence[ScanFacts]) -> tuple[dict[str, ScanFacts], list[ScanFacts]]:
    """The tables whose scans are measured, by name, and those that are left out."""
    usable: dict[str, ScanFacts] = {}
    left_out: list[ScanFacts] = []
    for scan in found:
        if is_measured(scan) and len(usable) < MOST_TABLES:
            usable[table_name(scan)] = scan
        else:
            left_out.append(scan)
    return usable, left_out


def _last(scan: ScanFacts) -> float:
    last = scan.pages_read_per_pass if scan.pages_read_last_pass is None else scan.pages_read_last_pass
    return min(last or 0.0, scan.pages or 0.0)  # point reads of the same table count in


def _parts(name: str, scan: ScanFacts, threads: float | None, kept: float) -> list[TableScan]:
    """The scans of a table, by the row path and by parallel readers."""
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
                period=3600.0 / (per_hour * count / passes),
                seconds=(scan.count_seconds or estimate) if parallel else estimate,
                fetch="scan" if parallel else "normal",
                kept=kept,
            )
        )
    return parts


def _read_whole(scan: ScanFacts) -> int:
    """Pages that a pass over a table that is not cached reads.

    Its leaves at least, and its index's at most: whether the unused rest of the last extent is read ahead depends on
    what the pool holds of it (seen on MySQL 9.7: 2,700 of 2,724; on MariaDB 10.5: 4,642 of 4,646, with 4,601 leaves).
    """
    pages, last = scan.pages or 1.0, scan.pages_read_last_pass or 0.0
    return round(min(last, pages) if last >= (scan.leaf_pages or pages) - 1 else pages)


def _kept(scan: ScanFacts) -> float:
    """The part of a table that the last pass over it found in the pool."""
    kept = 1 - _last(scan) / _read_whole(scan)
    return 1.0 if kept >= _WHOLE else kept


def _before(known: Facts, pool: Pool, scanned_pages: float) -> int:
    """Pages that nobody asks for any more: all of a full pool at first, else what the tables leave of the used part."""
    free, length = known.pool.free_pages or 0.0, known.pool.list_pages or 0.0
    if free <= pool.free_high * pool.instances + _FULL * pool.pages:
        return pool.pages
    depth = known.setting["innodb_lru_scan_depth"]
    if isinstance(depth, float) and free <= depth * pool.instances + _FULL * pool.pages:
        return pool.pages  # MySQL's page cleaner, too, refills the free list now and then
    return max(0, round(length - scanned_pages))


def _accesses(known: Facts, scanned: float, other: float) -> tuple[float, float] | None:
    """Accesses to single pages per second, and at least, from what the scans leave of all gets."""
    if known.pool.gets is None:
        return None
    usual, least = (
        (known.pool.gets - gets * scanned) / _GETS_OF_LOOKUP / known.window.seconds for gets in _GETS_OF_SCAN
    )
    return max(usual, other, 1.0), max(least, 0.0)


def _other_pages(window: Window, scans: Mapping[str, ScanFacts], other: float) -> int | None:
    """Pages that the other reads may fall on: those of the tables whose files were read, where that is known."""
    sizes = window.latest.index_sizes
    if sizes is None:
        return None
    pages: dict[Table, int] = {}
    for index, size in sizes.sizes.items():
        if f"{index.schema}.{index.table}" not in scans:
            table = Table(index.schema, index.table)
            pages[table] = pages.get(table, 0) + size.pages
    reads = {table: window.growth(lambda s: s.table_files, table, lambda f: f.reads) or 0.0 for table in pages}
    if sum(reads.values()) >= _EXPLAINED * other * window.seconds:
        return sum(pages[table] for table, count in reads.items() if count)
    return sum(pages.values()) + sizes.other_pages


def _notes(found: Fit, scans: Mapping[str, ScanFacts], left_out: Sequence[ScanFacts]) -> list[str]:
    notes = []
    if found.error > ACCEPTED_ERROR:
        notes.append(
            f"the model reads {found.rates.read:,.1f} pages/s and is {found.error:.0%} off what was measured:"
            " what it predicts is as uncertain"
        )
    if left_out:
        names = ", ".join(map(table_name, left_out[:3]))
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        notes.append(f"scans of {names}{more} are left out: too little is known of them, or they are too many")
    if scans and any(part.fetch == "normal" for part in found.workload.scans):
        notes.append("how long a serial scan takes is estimated from the time its reads took")
    unseen = found.background(UNSEEN)
    if unseen:
        notes.append(
            f"{unseen.per_second:,.0f} accesses a second read nothing, so that how many pages they fall on cannot be"
            f" told: the model takes {unseen.pages:,}, as many as could be; what they would lose is the worst case"
        )
    elif not found.workload.backgrounds:
        notes.append("hardly a page was read or asked for beside the scans: no hot set is in the model")
    return notes
