"""Flushing, doublewrite, purge and the redo log under other defaults: said where the window shows them, unnumbered.

There is no model of these. What is said of them rests on the sources: buf0flu.cc, buf0dblwr.cc, srv0srv.cc and
log0write.cc of MySQL 5.7 to 9.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from advisor.contract.recommendation import Evidence, tidy
from advisor.contract.settings import SETTINGS, json_value
from advisor.contract.templates import binary
from advisor.contract.upgrade import Cause, NotForetold, OptionLine, UpgradeEffect
from advisor.facts.base import metric, ratio, status
from advisor.upgrade.upgrade import Upgrade
from exporter.collectors.innodb_metrics import INNODB_METRICS

_POOLS = "information_schema.INNODB_BUFFER_POOL_STATS"
_METRICS = "information_schema.INNODB_METRICS"
_STATUS = "SHOW GLOBAL STATUS"
_NEARLY = 0.1
"""Change of the redo log's size that does not matter."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What a window shows of a kind of work, and from where on it is worth a word.

    Attributes:
        name, unit, source: Of the evidence.
        value: In an upgrade's window; None where it is not known.
        least: Below it the work does not matter.
    """

    name: str
    unit: str
    source: str
    value: Callable[[Upgrade], float | None]
    least: float

    def evidence(self, upgrade: Upgrade) -> Evidence | None:
        """None where the work was not seen."""
        value = self.value(upgrade)
        if value is None or value < self.least:
            return None
        return Evidence(name=self.name, value=tidy(value), unit=self.unit, source=self.source)


@dataclass(frozen=True, slots=True)
class WriteSetting:
    """A setting of writes.

    Attributes:
        name: Of the setting.
        summary: What it does with its new value, ``{before}`` and ``{after}`` in it.
        seen: What the window must show.
        hdd: Whether today's value is better on a hard disk.
        unless: A behaviour of knowledge.toml; a server that has it today sees nothing of the change.
    """

    name: str
    summary: str
    seen: Observation
    hdd: bool = False
    unless: str | None = None


def _changed_rows(upgrade: Upgrade) -> float | None:
    """Rows updated and deleted a second, which leave work for the purge."""
    changed = [status(upgrade.window, f"handler_{kind}") for kind in ("update", "delete")]
    return None if None in changed else ratio(sum(rows or 0.0 for rows in changed), upgrade.window.seconds)


def _redo_bytes(upgrade: Upgrade) -> float | None:
    return ratio(status(upgrade.window, "innodb_os_log_written"), upgrade.window.seconds)


PAGES_WRITTEN = Observation(
    "pages_written_per_second", "pages per second", _POOLS, lambda u: u.facts.io.pages_written_per_second, 10.0
)
"""Fewer have no cost that was measurable, as of merges (change-buffering-without-benefit)."""
DIRTY_SHARE = Observation("dirty_share", "0 to 1", _POOLS, lambda u: u.facts.io.dirty_share, 0.1)
"""From the low water mark of MySQL 8.0 on."""
CHANGED_ROWS = Observation("rows_changed_per_second", "rows per second", f"{_STATUS}, Handler_%", _changed_rows, 10.0)
REDO_BYTES = Observation(
    "redo_bytes_per_second", "bytes per second", f"{_STATUS}, Innodb_os_log_written", _redo_bytes, 2.0**20
)
CHECKPOINT_AGE = Observation(
    "checkpoint_age_share", "0 to 1", "SHOW ENGINE INNODB STATUS", lambda u: u.facts.io.checkpoint_age_share, 0.25
)
"""Of the age at which writers wait. The page cleaner writes for the redo log's sake long before."""
CAPACITY, LOG_FILE, LOG_FILES = "innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_files_in_group"

SETTINGS_OF_WRITES = (
    WriteSetting(
        "innodb_io_capacity",
        "An idle server flushes up to {after:,} dirty pages a second in place of {before:,}, and a flush for the"
        " redo log writes at least as many: pages that change often are written more often",
        PAGES_WRITTEN,
    ),
    WriteSetting(
        "innodb_max_dirty_pages_pct_lwm",
        "Flushing begins when {after} % of the pool are dirty (0: when the redo log asks for it): pages that change"
        " often are written more often, and a checkpoint has less left to write",
        DIRTY_SHARE,
    ),
    WriteSetting(
        "innodb_max_dirty_pages_pct",
        "Up to {after} % of the pool may be dirty before pages are written at full speed, {before} % today",
        DIRTY_SHARE,
    ),
    WriteSetting(
        "innodb_flush_neighbors",
        "Dirty neighbours of a page are not written with it: fewer pages are written, each on its own",
        PAGES_WRITTEN,
        hdd=True,
        unless="flush_neighbors_rotational_only",
    ),
    WriteSetting(
        "innodb_doublewrite_pages",
        "The doublewrite buffer takes {after} pages at once, {before} today: larger writes, and fewer of them",
        PAGES_WRITTEN,
    ),
    WriteSetting(
        "innodb_page_cleaners",
        "The page cleaner has {after} threads, {before} today",
        PAGES_WRITTEN,
    ),
    WriteSetting(
        "innodb_purge_threads",
        "Purge has {after} threads, {before} today: where they do not keep up, deleted entries and undo pages take"
        " more of the pool",
        CHANGED_ROWS,
    ),
    WriteSetting(
        "innodb_purge_batch_size",
        "A purge takes {after} undo records at once, {before} today",
        CHANGED_ROWS,
    ),
    WriteSetting(
        "innodb_log_writer_threads",
        "Threads of their own write and flush the redo log if ON; if OFF, each commit does it itself: {before} today,"
        " {after} then",
        REDO_BYTES,
    ),
)


def writes(upgrade: Upgrade) -> Iterator[UpgradeEffect | NotForetold]:
    """The settings of writes that move, where the window shows what they control."""
    yield from _redo_capacity(upgrade)
    for of_writes in SETTINGS_OF_WRITES:
        setting = upgrade.settings.get(of_writes.name)
        evidence = of_writes.seen.evidence(upgrade)
        if setting is None or not setting.moves or setting.before is None or setting.after is None or evidence is None:
            continue
        if of_writes.unless is not None and upgrade.before.has(of_writes.unless):
            continue
        hdd = of_writes.hdd and upgrade.facts.machine.storage == "hdd"
        keep = OptionLine(
            line=f"{setting.name} = {json_value(setting.before)}", reason="a hard disk writes neighbours in one go"
        )
        yield UpgradeEffect(
            cause=Cause.DEFAULT,
            name=setting.name,
            from_=json_value(setting.before),
            to=json_value(setting.after),
            summary=of_writes.summary.format(before=json_value(setting.before), after=json_value(setting.after)),
            evidence=(evidence, *_history(upgrade, of_writes)),
            better=False if hdd else None,
            keep=(keep,) if hdd else (),
            references=(SETTINGS[setting.name].entry.reference,),
        )


def _redo_capacity(upgrade: Upgrade) -> Iterator[UpgradeEffect]:
    """A redo log of another size, of a server that uses a part of it."""
    before, after = (_redo_bytes_of(upgrade, after=later) for later in (False, True))
    evidence = CHECKPOINT_AGE.evidence(upgrade)
    if before is None or after is None or evidence is None or abs(after - before) < _NEARLY * before:
        return
    smaller = after < before
    name = CAPACITY if upgrade.settings.get(CAPACITY) is not None else LOG_FILE
    line = OptionLine(line=f"{name} = {tidy(before)}", reason="a redo log as large as today")
    yield UpgradeEffect(
        cause=Cause.DEFAULT,
        name=name,
        from_=tidy(before),
        to=tidy(after),
        summary=f"The redo log has {binary(after)} in place of {binary(before)}: pages that change often are written"
        f" {'more' if smaller else 'less'} often",
        evidence=(evidence,),
        better=not smaller,
        keep=(line,) if smaller else (),
        references=(SETTINGS[name].entry.reference,),
    )


def _redo_bytes_of(upgrade: Upgrade, *, after: bool) -> float | None:
    """The size of the whole redo log."""
    capacity = upgrade.number(CAPACITY, after=after)
    if capacity is not None:
        return capacity
    size, files = upgrade.number(LOG_FILE, after=after), upgrade.number(LOG_FILES, after=after)
    return None if size is None else size * (files or 1.0)


def _history(upgrade: Upgrade, of_writes: WriteSetting) -> Iterator[Evidence]:
    """The history list, beside what purge has to do."""
    length = (upgrade.window.latest[INNODB_METRICS] or {}).get("trx_rseg_history_len")
    grown = metric(upgrade.window, "trx_rseg_history_len")
    if of_writes.seen is CHANGED_ROWS and length is not None:
        yield Evidence(name="history_list", value=length, unit="undo logs", source=f"{_METRICS}, trx_rseg_history_len")
        if grown:
            yield Evidence(name="history_list_grown", value=tidy(grown), unit="undo logs", source=_METRICS)
