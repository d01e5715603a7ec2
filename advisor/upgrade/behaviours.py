"""Behaviours that no setting shows and no model answers for: said where the window shows the work, without a number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from advisor.contract.upgrade import Cause, NotForetold, OptionLine, UpgradeEffect
from advisor.facts.base import ratio, status
from advisor.pool.tables import table_name
from advisor.upgrade.upgrade import Upgrade
from advisor.upgrade.writes import CHECKPOINT_AGE, PAGES_WRITTEN, Observation
from exporter.knowledge import BEHAVIOURS


@dataclass(frozen=True, slots=True)
class BehaviourChange:
    """A behaviour that an upgrade gains or loses.

    Attributes:
        name: Its key in knowledge.toml.
        gained: Whether it is gained, not lost.
        seen: What the window must show.
        summary: What follows, as a sentence without its full stop.
        better: Whether that is better; None where it is not known.
        keep: The line that keeps today's behaviour.
    """

    name: str
    gained: bool
    seen: Observation
    summary: str
    better: bool | None = None
    keep: tuple[OptionLine, ...] = ()


def _inserted(upgrade: Upgrade) -> float | None:
    return ratio(status(upgrade.window, "handler_write"), upgrade.window.seconds)


SCANS = Observation(
    "scanned_tables", "tables", "the scans of this window", lambda u: float(len(u.facts.lists["scans"])), 1.0
)
ROWS_INSERTED = Observation("rows_inserted_per_second", "rows/s", "SHOW GLOBAL STATUS, Handler_write", _inserted, 10.0)
FULL_LOG = replace(CHECKPOINT_AGE, least=0.5)
POOL = Observation(
    "innodb_buffer_pool_size",
    "bytes",
    "SHOW GLOBAL VARIABLES",
    lambda u: u.number("innodb_buffer_pool_size", after=False),
    1.0,
)

CHANGES = (
    BehaviourChange(
        "linear_read_ahead_broken",
        gained=False,
        seen=SCANS,
        summary="Linear read-ahead works again: scans read the next 64 pages before they ask for them, in larger reads",
        keep=(OptionLine(line="innodb_read_ahead_threshold = 0", reason="no linear read-ahead, as today"),),
    ),
    BehaviourChange(
        "memory_pressure_shrinks_pool",
        gained=True,
        seen=POOL,
        summary="The server shrinks the pool by itself when the machine's memory gets short, and no setting forbids it",
        better=False,
    ),
    BehaviourChange(
        "log_bound_flushing_excessive",
        gained=False,
        seen=FULL_LOG,
        summary="A redo log that fills up no longer makes the page cleaner write more pages than a checkpoint needs",
        better=True,
    ),
    BehaviourChange(
        "purge_rewrites_inserts",
        gained=False,
        seen=ROWS_INSERTED,
        summary="Purge no longer changes the page of every inserted row a second time: fewer pages are written",
        better=True,
    ),
    BehaviourChange(
        "free_list_kept",
        gained=True,
        seen=PAGES_WRITTEN,
        summary="The page cleaner keeps pages free ahead of need: dirty pages are written earlier, and some more often",
    ),
    BehaviourChange(
        "doublewrite_files",
        gained=True,
        seen=PAGES_WRITTEN,
        summary="The doublewrite buffer leaves the system tablespace for files of its own, beside the data",
    ),
)
OF_PLANS = ("row_constructor_ranges", "hash_join", "plans_by_time")
"""Behaviours that decide whether a statement scans a table; no model knows which statements."""


def behaviours(upgrade: Upgrade) -> Iterator[UpgradeEffect]:
    """The behaviours that change, where the window shows what they concern."""
    for change in CHANGES:
        evidence = change.seen.evidence(upgrade)
        if evidence is not None and (upgrade.gains if change.gained else upgrade.loses)(change.name):
            yield UpgradeEffect(
                cause=Cause.BEHAVIOUR,
                name=change.name,
                summary=change.summary,
                evidence=(evidence,),
                better=change.better,
                keep=change.keep,
                references=BEHAVIOURS[change.name].references,
            )


def plans(upgrade: Upgrade) -> Iterator[NotForetold]:
    """That scanned tables may be read by another plan."""
    gained = [BEHAVIOURS[name].what for name in OF_PLANS if upgrade.gains(name)]
    scanned = list(dict.fromkeys(map(table_name, upgrade.facts.lists["scans"])))
    if gained and scanned:
        yield NotForetold(
            what=f"whether statements still scan {', '.join(scanned)}, and the pages that they read",
            reason=f"the optimizer changes. {' '.join(gained)}",
            cure="run EXPLAIN of the statements on a server of the new version that has the same data",
        )
