"""Index builds under way: the stage, the share that is done, and the time left."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.observe.window import Window
from exporter.collectors.builds import BUILDS, Building, Builds
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.status import STATUS
from exporter.snapshot import Snapshot, Table

_PROGRESS = "innodb_onlineddl_pct_progress"
"""MariaDB's, in hundredths of a percent; 0 while nothing is built. Seen on 11.8: 20 % at a third of the time, 33 to
40 % at two thirds, 78 % at 85 %."""
_STAGES: Mapping[str, tuple[float, float, float, float]] = {
    "read PK and internal sort": (0.0, 2.0, 0.0, 0.23),
    "merge sort": (2.0, 3.0, 0.23, 0.63),
    "insert": (3.0, 4.0, 0.63, 0.82),
    "flush": (4.0, 5.0, 0.82, 0.97),
    "log apply index": (4.0, 5.0, 0.82, 0.97),
    "log apply table": (4.0, 5.0, 0.82, 0.97),
    "end": (5.0, 6.0, 0.97, 1.0),
}
"""MySQL's stages: work from and to, for each index in leaf pages of the clustered one, and the share of the time that
has passed then. The server's own estimate reaches 100 % within a fifth of the time where two indexes are built at once.
Six builds on 9.7.4, of one to three indexes and of a whole table, in the pool and read from disk, read until 0.16 to
0.35 of their time, merged until 0.56 to 0.76, and inserted until 0.76 to 0.98. The rest, in which pages are written, is
counted nowhere: ``done`` stands still."""
_LEAST_DONE, _LEAST_SECONDS = 0.02, 2.0
"""From which on the time left can be told from the time that has passed."""
_SWITCH_ON = "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES' WHERE NAME = 'wait/lock/metadata/sql/mdl'"


class Build(Frozen):
    """An ALTER TABLE, CREATE INDEX or OPTIMIZE TABLE under way."""

    schema_: str | None = Field(alias="schema")
    table: str | None
    stage: str | None = Field(description="In the server's words; null where it does not tell.")
    done: Number | None = Field(
        description="Share of its time that has passed, 0 to 1, by the work that InnoDB counts. Null where it counts"
        " none, or several are under way: it counts them together."
    )
    seconds: Number = Field(description="Since it began; without performance_schema, since it was seen first.")
    seconds_left: Number | None = Field(description="At the pace until now; null where that is not known yet.")


def builds(window: Window) -> tuple[Build, ...] | None:
    """The builds under way; None where the server does not list them."""
    snapshot = window.latest
    section = snapshot[BUILDS]
    if section is None:
        return _by_progress(window) if _progress(snapshot) is not None else None
    alone = len(section.under_way) == 1
    return tuple(_build(snapshot, section, building, alone=alone) for building in section.under_way)


def unnamed(snapshot: Snapshot) -> str | None:
    """Why the table of a build is not known; None where all are."""
    section = snapshot[BUILDS]
    if section is None or all(building.table is not None for building in section.under_way):
        return None
    if not snapshot.server.at_least(mysql=(5, 7, 0), mariadb=(10, 5, 2)):
        return "which table is built is not known: the server has no list of locks"
    return f"which table is built is not known: {_SWITCH_ON}"


def _by_progress(window: Window) -> tuple[Build, ...]:
    """What MariaDB's status tells by itself: whether InnoDB builds something, and how far it is."""
    run: list[tuple[float, float]] = []  # newest first
    for snapshot in reversed(window.snapshots):
        done = _progress(snapshot)
        if not done or (run and done > run[-1][1]):
            break
        run.append((snapshot.at, done))
    if not run:
        return ()
    (now, done), (first, had) = run[0], run[-1]
    left = (1.0 - done) * (now - first) / (done - had) if done > had else None
    return (_shown(None, None, done, now - first, left),)


def _build(snapshot: Snapshot, section: Builds, building: Building, *, alone: bool) -> Build:
    done = None
    if alone:
        done = (_progress(snapshot) or None) if snapshot.server.mariadb else _by_work(snapshot, section, building)
    left = None
    if done is not None and done >= _LEAST_DONE and building.seconds >= _LEAST_SECONDS:
        left = building.seconds * (1.0 - done) / done
    stage = section.stage if alone and section.stage is not None else building.state
    return _shown(building.table, stage or None, done, building.seconds, left)


def _shown(table: Table | None, stage: str | None, done: float | None, seconds: float, left: float | None) -> Build:
    return Build(
        schema_=None if table is None else table.schema,
        table=None if table is None else table.table,
        stage=stage,
        done=None if done is None else tidy(round(done, 3)),
        seconds=tidy(round(seconds, 1)),
        seconds_left=None if left is None else tidy(round(left)),
    )


def _progress(snapshot: Snapshot) -> float | None:
    """MariaDB's own, 0 to 1; 0 while InnoDB builds nothing. None where the server has none."""
    progress = (snapshot[STATUS] or {}).get(_PROGRESS)
    return None if progress is None else min(1.0, progress / 10_000.0)


def _by_work(snapshot: Snapshot, section: Builds, building: Building) -> float | None:
    """From the stage and the work that InnoDB counts; only from the stage where the table's size is not known."""
    if section.stage is None or section.completed is None:
        return None
    stage = _STAGES.get(section.stage.removeprefix("alter table (").removesuffix(")"))
    if stage is None:
        return None
    begins, ends, passed, will_have = stage
    work = _unit(snapshot, building)
    within = 0.0 if not work else (section.completed / work - begins) / (ends - begins)
    return passed + min(1.0, max(0.0, within)) * (will_have - passed)


def _unit(snapshot: Snapshot, building: Building) -> float | None:
    """Leaf pages of the clustered index, for each index that is built: all of them with the table."""
    if building.table is None or building.indexes is None:
        return None
    sizes = snapshot[INDEX_SIZES]
    own = {} if sizes is None else sizes.of(building.table)
    leaves = next((size.leaf_pages for index, size in own.items() if index.clustered), 0)
    return float(leaves * (building.indexes or len(own))) or None
