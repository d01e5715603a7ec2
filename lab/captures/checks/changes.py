"""Checks of captures of both sides of a change."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO
from exporter.snapshot import Snapshot, Table
from lab.captures.checks.base import Numbers, Snapshots, pages_read, require

_SETTING = "innodb_old_blocks_pct"
_MUCH = 3.0
"""Factor between reads that are the phenomenon and those that are not."""


def reads_rise(snapshots: Snapshots, table: Table) -> Numbers:
    """After the change the table is read much more."""
    before, after = _sides(snapshots)
    rates = [_rate(side, lambda each: (each[TABLE_FILES] or {})[table].reads) for side in (before, after)]
    require(
        rates[1] > _MUCH * rates[0], f"{rates[0]:.0f} pages of {table.table} a second are read, then {rates[1]:.0f}"
    )
    return _changed(before, after) | {
        "pages_of_the_table_read_per_second": [round(each, 1) for each in rates],
    }


def work_begins(snapshots: Snapshots, table: Table) -> Numbers:
    """After the change more is read, and rows of the table are looked up, which nobody did before."""
    before, after = _sides(snapshots)
    lookups = [_rate(side, lambda each: _fetched_by_index(each, table)) for side in (before, after)]
    require(lookups[1] > 0 == lookups[0], f"lookups a second: {lookups}")
    read = [sum(pages_read(side)) / (side[-1].at - side[0].at) for side in (before, after)]
    require(read[1] > read[0], f"pages read a second: {read}")
    return _changed(before, after) | {
        "rows_looked_up_per_second": [round(each, 1) for each in lookups],
        "pages_read_per_second": [round(each, 1) for each in read],
    }


def _sides(snapshots: Snapshots) -> tuple[Snapshots, Snapshots]:
    changes = [n for n, (one, other) in enumerate(pairwise(snapshots), 1) if _value(one) != _value(other)]
    require(len(changes) == 1, f"{_SETTING} changed {len(changes)} times")
    return snapshots[: changes[0]], snapshots[changes[0] :]


def _changed(before: Snapshots, after: Snapshots) -> Numbers:
    return {_SETTING: [_value(before[0]), _value(after[0])]}


def _value(snapshot: Snapshot) -> str | None:
    return snapshot.setting(_SETTING)


def _rate(side: Snapshots, count: Callable[[Snapshot], float]) -> float:
    return (count(side[-1]) - count(side[0])) / (side[-1].at - side[0].at)


def _fetched_by_index(snapshot: Snapshot, table: Table) -> float:
    fetched = (
        io.fetched
        for index, io in (snapshot[TABLE_IO] or {}).items()
        if (index.schema, index.table) == (table.schema, table.table) and index.index != NO_INDEX
    )
    return float(sum(fetched))
