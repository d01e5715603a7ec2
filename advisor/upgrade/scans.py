"""Counts, scans and lookups after an upgrade, by the pool's model: the pages that they read, and what keeps them few.

The scans of the window become those of the new version (counted.py). The model then starts the pool empty, as an
upgrade does. Pure.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from advisor.contract.changes import release_name
from advisor.contract.recommendation import Evidence, tidy
from advisor.contract.upgrade import Cause, NotForetold, OptionLine, UpgradeEffect
from advisor.facts import ScanFacts
from advisor.facts.base import file_reads, ratio
from advisor.pool.curve import PoolSize
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import Reads
from advisor.pool.model import PoolModel
from advisor.pool.scanned import ScannedPool
from advisor.pool.settings import POOL_SIZE, SETTINGS_OF_MODEL
from advisor.pool.tables import GROWTH, table_name
from advisor.pool.trials import EXACT, ROUGH, WORTHWHILE
from advisor.upgrade.counted import CLUSTERED, READERS, MovedCount, begins, moved_counts, page_seconds, pool_after
from advisor.upgrade.upgrade import Upgrade
from exporter import knowledge
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
from exporter.snapshot import Table

_NEVER_PROMOTES, _FREE_LIST = "scan_never_promotes", "free_list_kept"
_INSTANCES, _PCT = "innodb_buffer_pool_instances", "innodb_old_blocks_pct"
_LARGEST_PCT = 95
_GIB, _STEPS = float(2**30), 8
"""The size of a pool is named in steps of 128 MiB, which servers take unchanged."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """What counts as a change of reads, and what the model may be off.

    Attributes:
        noise: Share of the reads by which the same load differs from one minute to the next (docs/miss-curve.md).
        few: Pages of a pass: the catalogue's, and the unused rest of an extent (tests/live/test_whatif.py).
        readers: Share of the reads that the model may be off where a parallel reader's fetch is no access
            (docs/lru-model.md).
        timed: Reads of a table's file that tell how long one takes.
        mostly: Share of an index: a scan that reads as much of it does so each time.
    """

    noise: float = 0.03
    few: float = 64.0
    readers: float = 0.03
    timed: float = 100.0
    mostly: float = 0.5


_LIMITS = _Limits()


@dataclass(frozen=True)
class ReadsAfterUpgrade:
    """The reads of a window's scans and lookups, now and after an upgrade.

    Attributes:
        upgrade: With the model.
        moved: Tables that COUNT(*) reads another index of, by name.
        now: The pool and the scans of today.
        then: Those after the upgrade.
        futures: Reads after it: the likeliest, then those that may come instead; today's where nothing changes.
    """

    upgrade: Upgrade
    moved: Mapping[str, MovedCount]
    now: ScannedPool
    then: ScannedPool
    futures: Sequence[Reads]

    @classmethod
    def of(cls, upgrade: Upgrade) -> ReadsAfterUpgrade:
        """By the model of the window.

        Raises:
            Unanswerable: The evidence is not enough, or time is over.
        """
        window, model = upgrade.window, upgrade.model
        moved = {f"{count.table.schema}.{count.table.table}": count for count in moved_counts(upgrade)}
        now = model.today
        then = pool_after(upgrade, now, moved)
        if not _differ(now, then):
            return cls(upgrade, {}, now, now, (model.reads({}),))
        now = now.beginning(begins(window, now, {}), window.seconds)
        then = then.beginning(begins(window, then, moved), window.seconds)
        return cls(upgrade, moved, now, then, tuple(_futures(model, now, then)))

    @property
    def tables(self) -> list[str]:
        """The scanned tables, those with the most additional reads first."""
        names = {**self.now.scans, **{_table(self.then, name): None for name in self.then.scans}}
        return sorted(names, key=lambda name: -abs(self.more(name)))

    def measured(self, table: str) -> float | None:
        """Pages that a scan of a table reads today; None where no scan of it is in the model."""
        return self.now.per_pass.get(table)

    def object(self, table: str) -> str:
        """The name of a table in the workload after the upgrade, of the index that COUNT(*) reads where it moves."""
        return self.moved[table].object if table in self.moved else table

    def per_pass(self, table: str) -> tuple[float, float, float]:
        """Pages that a scan of a table reads after the upgrade: as expected, at least and at most."""
        name = self.object(table)
        rate = self.then.workload.scans_per_second[name]
        per_pass = [reads.scans[name] / rate for reads in self.futures]
        most = GROWTH * (self.then.scans[name].pages or 0.0)
        off = self.error * max(per_pass[0], self.measured(table) or 0.0) + _LIMITS.few
        return per_pass[0], max(0.0, min(per_pass) - off), max(per_pass[0], min(max(per_pass) + off, most))

    def more(self, table: str) -> float:
        """Pages that scans of a table read a second beyond today's."""
        reads = self.futures[0].scans
        then = math.fsum(pages for name, pages in reads.items() if _table(self.then, name) == table)
        return then - self.now.by_table.get(table, 0.0)

    def lookups(self) -> tuple[float, float, float, float]:
        """Pages a second that everything but scans reads: today, and after it as expected, at least and at most."""
        now = self.upgrade.model.reads({}).others
        size = self._size()
        if size is not None:
            reads = size.pages_read_per_second
            return now, reads.expected, reads.low, reads.high
        then = [reads.others for reads in self.futures]
        off = self.error * max(then[0], now)
        return now, then[0], max(0.0, min(then) - off), max(then) + off

    @property
    def error(self) -> float:
        """What the model is known to be off, relative to the reads."""
        readers = any(scan.fetch == "scan" for scan in self.then.workload.scans)
        off = ROUGH if any(self.upgrade.model.lookups) else EXACT
        return off + (_LIMITS.readers if readers and not self.upgrade.after.has("parallel_read_is_an_access") else 0.0)

    @cached_property
    def cure(self) -> tuple[OptionLine, ...]:
        """Lines that keep at least half of the additional reads away; none where the model knows none in time."""
        now, then = self.upgrade.model.reads({}).all, self.futures[0].all
        for changes in _candidates(self.then) if then > now else ():
            with_lines = [reads.all for reads in self._with(changes)]
            if with_lines and with_lines[0] - now <= WORTHWHILE * (then - now):
                reason = (
                    f"counts, scans and lookups read {with_lines[0]:,.0f} pages/s then, {max(with_lines):,.0f} at most,"
                    f" and not {then:,.0f}"
                )
                return tuple(OptionLine(line=f"{name} = {value:.0f}", reason=reason) for name, value in changes.items())
        return ()

    @cached_property
    def enough_bytes(self) -> float | None:
        """Size of a pool that holds all that is scanned, from the second pass on; None where the model knows none."""
        then, size = self.then, self.then.settings[POOL_SIZE]
        pages = GROWTH * math.fsum(scan.pages or 0.0 for scan in then.scans.values())
        pages += then.workload.other_pages + then.reserved
        enough = math.ceil(size * pages / then.pool.pages / _GIB * _STEPS) * _GIB / _STEPS
        read = [math.fsum(reads.scans.values()) for reads in self._with({POOL_SIZE: enough})]
        kept = read and max(read) <= _LIMITS.noise * math.fsum(self.futures[0].scans.values())
        return enough if enough > size and kept else None

    def _size(self) -> PoolSize | None:
        """The miss curve's answer; None beside scans, and where more than the pool's size changes."""
        now, then = self.now, self.then
        if then.scans or now.pool_with(then.settings) != then.pool:
            return None
        changes = {name: value for name, value in then.settings.items() if now.settings.get(name) != value}
        return self.upgrade.model.size(changes)

    def _with(self, changes: Mapping[str, float]) -> list[Reads]:
        """The futures with other settings after the upgrade; none where time is over."""
        with contextlib.suppress(Unanswerable):
            return list(_futures(self.upgrade.model, self.now, self.then.changed(changes)))
        return []


def scans(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """What the upgrade does to the reads of counts, scans and lookups."""
    yield from _unknown_counts(upgrade)
    if not _concerns(upgrade):
        return
    try:
        reads = ReadsAfterUpgrade.of(upgrade)
    except Unanswerable as error:
        yield NotForetold(what="pages that counts, scans and lookups read", reason=str(error))
        return
    for table in reads.tables:
        yield from _of_table(reads, table)
    yield from _of_lookups(reads)
    yield from _of_readers(reads)


def _unknown_counts(upgrade: Upgrade) -> Iterator[NotForetold]:
    """Counts that may read another index, and of which the window does not tell enough."""
    if upgrade.before.has(CLUSTERED) == upgrade.after.has(CLUSTERED):
        return
    if upgrade.window.latest[COUNT_STATEMENTS] is None:
        yield NotForetold(
            what="which tables COUNT(*) reads by another index",
            reason="the window does not show which tables are counted",
            cure="performance_schema = ON",
        )
    unknown = [
        f"{count.schema}.{count.table}"
        for count in upgrade.facts.lists["counted"]
        if count.counts is None or (count.counts and count.pages is None)
    ]
    if unknown:
        yield NotForetold(
            what=f"COUNT(*) of {', '.join(unknown[:3])}" + (f" and {len(unknown) - 3} more" if unknown[3:] else ""),
            reason="how often they are counted, or the size of their indexes, is not known",
            cure="ANALYZE TABLE makes the sizes known; digests of statements show the counts",
        )


def _concerns(upgrade: Upgrade) -> bool:
    """Whether a behaviour or a setting of the model changes, and something was seen that it changes."""

    def differs(*behaviours: str) -> bool:
        return any(upgrade.gains(name) or upgrade.loses(name) for name in behaviours)

    counted = any(count.counts for count in upgrade.facts.lists["counted"])
    settings = (upgrade.settings.get(name) for name in (*SETTINGS_OF_MODEL, _INSTANCES))
    moves = any(setting is not None and setting.moves for setting in settings)
    return moves or differs(_FREE_LIST) or (counted and differs(CLUSTERED, _NEVER_PROMOTES))


def _differ(now: ScannedPool, then: ScannedPool) -> bool:
    """Whether the pool or a scan is another one after the upgrade."""
    return now.pool != then.pool or _fetches(now) != _fetches(then)


def _fetches(pool: ScannedPool) -> set[tuple[str, str]]:
    return {(scan.name, scan.fetch) for scan in pool.workload.scans}


def _futures(model: PoolModel, now: ScannedPool, then: ScannedPool) -> Iterator[Reads]:
    """The reads with a pool that something else has filled as far as today's, and with one that starts empty."""
    filled = min(now.workload.other_pages, then.pool.pages)
    if filled > then.workload.other_pages:
        yield from model.other(now, replace(then, workload=replace(then.workload, other_pages=filled)))
    yield from model.other(now, then)


def _candidates(pool: ScannedPool) -> Iterator[Mapping[str, float]]:
    """Settings that may keep scanned tables in the pool: the row path, an old sublist that holds the largest, both."""
    by_row_path = {READERS: 1.0} if any(scan.fetch == "scan" for scan in pool.workload.scans) else {}
    largest = max((scan.pages for scan in pool.workload.scans), default=0)
    pct = min(math.ceil(100.0 * (GROWTH * largest + pool.reserved) / pool.pool.pages), _LARGEST_PCT)
    held = {_PCT: float(pct)} if pct > pool.settings[_PCT] and largest < pool.pool.pages else {}
    yield from filter(None, (held, by_row_path, {**held, **by_row_path} if held and by_row_path else {}))


def _table(pool: ScannedPool, name: str) -> str:
    """The table of an object of the workload."""
    return table_name(pool.scans[name])


def _of_table(reads: ReadsAfterUpgrade, table: str) -> Iterator[UpgradeEffect]:
    """What happens to a table: COUNT(*) reads another index of it, or its scans read more or fewer pages."""
    now, (then, low, high) = reads.measured(table), reads.per_pass(table)
    moved = reads.moved.get(table)
    if moved is None and abs(then - (now or 0.0)) <= max(_LIMITS.few, _LIMITS.noise * max(then, now or 0.0)):
        return
    name, from_, to = _cause(reads, table)
    more = reads.more(table)
    scan = next(scan for scan in (*reads.then.scans.values(), *reads.now.scans.values()) if table_name(scan) == table)
    yield UpgradeEffect(
        cause=Cause.DEFAULT if name in reads.upgrade.settings else Cause.BEHAVIOUR,
        name=name,
        from_=from_,
        to=to,
        subject=scan.subject,
        summary=_summary(reads, table, now, then),
        evidence=tuple(_evidence(reads, scan, then)),
        quantity="pages read per count" if moved or scan.counts else "pages read per pass",
        unit="pages",
        now=None if now is None else round(now),
        predicted=round(then),
        low=math.floor(low),
        high=math.ceil(high),
        model="lru",
        pages_per_second=tidy(round(more, 2)),
        better=_better(moved, more),
        keep=reads.cure if more > 0.0 and table == reads.tables[0] else (),
        references=_references(name),
    )


def _better(moved: MovedCount | None, more: float) -> bool:
    """Fewer reads are better; of as many, those from a smaller index."""
    if moved is not None and not round(more, 2):
        return moved.pages[1] < moved.pages[0]
    return more < 0.0


def _summary(reads: ReadsAfterUpgrade, table: str, now: float | None, then: float) -> str:
    moved = reads.moved.get(table)
    size = reads.then.scans[reads.object(table)].pages or 0.0
    often = "each time" if then >= _LIMITS.mostly * size else "on average"
    pages = f"{then:,.0f} pages from disk {often}" + ("" if now is None else f", today {now:,.0f}")
    if moved is None:
        others = [other for other in reads.tables if other != table and reads.per_pass(other)[0] > _LIMITS.few]
        evict = f": scans of {', '.join(others[:3])} evict it" if others and then > (now or 0.0) else ""
        return f"A scan of {table} reads {pages}{evict}"
    (index, other), (index_pages, other_pages) = moved.indexes, moved.pages
    how = "" if moved.to_clustered else ", by one thread,"
    text = (
        f"COUNT(*) of {table} reads {other} of {other_pages:,.0f} pages{how} and no longer {index} of"
        f" {index_pages:,.0f}: {pages}"
    )
    server = reads.upgrade.after
    version = knowledge.BEHAVIOURS[CLUSTERED].ends_after(server.family, server.version) if moved.to_clustered else None
    if version is None:
        return text
    return f"{text}. {release_name(version)} and later count by {index} again"


def _cause(reads: ReadsAfterUpgrade, table: str) -> tuple[str, str | float | None, str | float | None]:
    """What changes: its name, and from what to what."""
    upgrade = reads.upgrade
    if table in reads.moved:
        return CLUSTERED, *reads.moved[table].indexes
    if reads.moved:
        return CLUSTERED, None, None
    if _fetches(reads.now) != _fetches(reads.then):
        return _NEVER_PROMOTES, None, None
    if reads.now.pool.free_high != reads.then.pool.free_high:
        return _FREE_LIST, None, None
    names = (name for name in (POOL_SIZE, _INSTANCES, *SETTINGS_OF_MODEL) if name in upgrade.settings)
    setting = next(upgrade.settings[name] for name in names if upgrade.settings[name].moves)
    return setting.name, setting.before, setting.after


def _evidence(reads: ReadsAfterUpgrade, scan: ScanFacts, then: float) -> Iterator[Evidence]:
    table, window = table_name(scan), reads.upgrade.window
    moved = reads.moved.get(table)
    if moved is not None:
        per_hour = ratio(moved.counts * 3600.0, window.seconds) or 0.0
        yield Evidence(name="counts per hour", value=tidy(round(per_hour, 1)), source="count_statements")
        for index, pages in zip(moved.indexes, moved.pages, strict=True):
            yield Evidence(name=f"size of {index}", value=round(pages), unit="pages", source=INDEX_SIZES.name)
    if reads.then.workload.begins:
        order = dict.fromkeys(_table(reads.then, name) for _, name in reads.then.workload.begins)
        if len(order) > 1:
            yield Evidence(name="order of the counts", value=", ".join(order), source=COUNT_STATEMENTS.name)
    enough = reads.enough_bytes if table == reads.tables[0] and reads.more(table) > 0.0 else None
    if enough is not None:
        yield Evidence(name="size of a pool that holds all that is scanned", value=enough, unit="bytes", source="lru")
    of_table = Table(scan.schema, scan.table)
    seconds, timed = page_seconds(window, of_table), file_reads(window, of_table) or 0.0
    if seconds is not None and timed >= _LIMITS.timed and then >= 1.0:
        yield Evidence(
            name="time to read them one after the other",
            value=tidy(round(then * seconds, 2)),
            unit="seconds",
            source=TABLE_FILES.name,
        )


def _of_lookups(reads: ReadsAfterUpgrade) -> Iterator[UpgradeEffect]:
    """What happens to everything but scans."""
    now, then, low, high = reads.lookups()
    if abs(then - now) <= max(1.0, _LIMITS.noise * reads.upgrade.model.reads({}).all):
        return
    name, from_, to = _cause(reads, "")
    yield UpgradeEffect(
        cause=Cause.DEFAULT if name in reads.upgrade.settings else Cause.BEHAVIOUR,
        name=name,
        from_=from_,
        to=to,
        summary=f"Lookups read {then:,.1f} pages/s from disk, today {now:,.1f}: scans and pool change around them",
        quantity="pages read per second by everything but scans",
        unit="pages per second",
        now=tidy(round(now, 2)),
        predicted=tidy(round(then, 2)),
        low=tidy(round(low, 2)),
        high=tidy(round(high, 2)),
        model="lru",
        pages_per_second=tidy(round(then - now, 2)),
        better=then < now,
        references=_references(name),
    )


def _of_readers(reads: ReadsAfterUpgrade) -> Iterator[UpgradeEffect]:
    """What parallel readers do in another way, which the model does not tell apart."""
    name, then = "parallel_read_is_an_access", {scan.name for scan in reads.then.workload.scans if scan.fetch == "scan"}
    tables = {scan.name for scan in reads.now.workload.scans if scan.fetch == "scan"} & then
    read = any(max(reads.now.per_pass[table], reads.per_pass(table)[0]) > _LIMITS.few for table in tables)
    if read and (reads.upgrade.gains(name) or reads.upgrade.loses(name)):
        yield UpgradeEffect(
            cause=Cause.BEHAVIOUR,
            name=name,
            summary="Parallel readers read ahead then, and their pages become young at the first lookup"
            if reads.upgrade.gains(name)
            else "Parallel readers read nothing ahead then, and their pages become young at the second lookup",
            references=_references(name),
        )


def _references(name: str) -> tuple[str, ...]:
    if name in knowledge.BEHAVIOURS:
        return knowledge.BEHAVIOURS[name].references
    return (knowledge.SETTINGS[name].reference,)
