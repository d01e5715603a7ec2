"""Recordings of servers that no registry has, before, and MySQL 9.7 under the same loads, after.

MySQL 8.0.43's are of the scenarios of lab.captures, each of which is recorded on 9.7 too. Those of 5.7.44 are of loads
that are put on 9.7 here.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean

from ruamel.yaml import YAML

from advisor.observe.window import Window
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.collectors.table_files import TABLE_FILES
from exporter.snapshot import Snapshot
from lab.captures import Capture, all_captures, history
from lab.gauntlet import clients, trial
from lab.gauntlet.clients import Connection
from lab.gauntlet.rounds import READ, WRITTEN, column, noise
from lab.gauntlet.workload import GauntletWorkload
from lab.harness.measure import Figures
from lab.harness.records import Data, Part, Say
from lab.harness.workloads import look_up_pages, make_indexed_table
from lab.servers import PrivateServer
from lab.upgrades.measure import GROUP, measured, options
from lab.upgrades.record import LoadFigures
from lab.upgrades.routes import RouteStage
from lab.upgrades.workloads import UpgradeWorkload

BEFORE, AFTER, EARLIER = "mysql-8.0", "mysql-9.7", "mysql-5.7"
_LEAST = {"statements": 150.0, "rows inserted": 100.0}
"""With more in a round, what is done in it is up to the server's and the client's speed."""
_WORK = {"statements": "questions", "rows inserted": "innodb_rows_inserted"}
_EVENTS, _KEYS, _FIRST_ROWS = "events", 3, 160_000
_ORDERS, _ORDERS_ROWS, _YOUNG_PAGES = "orders", 72_008, 2_125
"""The table that is scanned. Of its 9,001 pages a pass of the recording reads 6,876."""


def _indexed(server: PrivateServer) -> None:
    with server.connect() as connection:
        make_indexed_table(connection, _EVENTS, _FIRST_ROWS, indexes=_KEYS)


def _make_young(connection: Connection, _: random.Random, __: int) -> None:
    """Look up a row on each of these pages, and again after innodb_old_blocks_time."""
    for pause in (1.1, 0.0):
        look_up_pages(connection, _ORDERS, range(_YOUNG_PAGES))
        time.sleep(pause)


def _inserts(name: str, buffering: str, rows: int, before: int) -> UpgradeWorkload:
    """Inserts as many a second as recorded, after as many rounds as the table had grown by then."""
    return UpgradeWorkload(
        GauntletWorkload(
            name,
            f"{rows:,} rows a second into a table with three random indexes, grown from {_FIRST_ROWS:,} rows.",
            "",
            {"inserts": clients.insert(_EVENTS, rows, keys=_KEYS, size=200, batch=200)},
            prepare=_indexed,
            options={"": {"innodb-buffer-pool-size": "24M", "innodb-change-buffering": buffering}},
            period=1.0,
            warm_up=before,
            watched=60,
            filled=False,
        )
    )


LOADS: Mapping[str, tuple[UpgradeWorkload, Mapping[str, float]]] = {
    "repeated-scan": (
        UpgradeWorkload(
            GauntletWorkload(
                "repeated-scan",
                "A table of 9,001 pages is scanned every 3.5 s, in a pool of 256 MiB that another table has filled. A"
                " quarter of the table is in the young sublist, as it was in the recording.",
                "",
                {"scan": clients.once(_make_young, clients.scan(_ORDERS))},
                tables={_ORDERS: 9_001},
                options={"": {"innodb-buffer-pool-size": "256M", "innodb-lru-scan-depth": "1024"}},
                period=3.5,
            )
        ),
        {"passes": 1.0},
    ),
    "change-buffer-off": (_inserts("change-buffer-off", "none", 1_184, 2), {"rows inserted": 1_184.0}),
    "change-buffer-merges": (_inserts("change-buffer-merges", "all", 1_705, 68), {"rows inserted": 1_705.0}),
}
"""Those of 5.7.44's recordings, and the work of a round."""
PAIRS = f"{AFTER}, recordings of 8.0"


def part_of(name: str) -> str:
    """The name of the part of a load of 5.7.44."""
    return f"{AFTER}, recordings of 5.7, {name}"


def parts() -> list[Part]:
    """The loads of 5.7.44 on 9.7, and a part that has no work: the recordings of 8.0.43 beside those of 9.7."""
    of_loads = [
        Part(
            GROUP,
            part_of(name),
            AFTER,
            options(workload, RouteStage(AFTER)),
            partial(_run, workload, work),
            version=f"1 {workload.load.about} {workload.load.options}",
        )
        for name, (workload, work) in LOADS.items()
    ]
    return [*of_loads, Part(GROUP, PAIRS, AFTER, {}, lambda _, __: {})]


def _run(workload: UpgradeWorkload, work: Mapping[str, float], server: PrivateServer, say: Say) -> Data:
    say("its tables are made")
    trial.prepare(workload.load, server)
    say("the load")
    stage = {"server": AFTER, "version": server.version, "work": work, **measured(workload, server)}
    return {"stages": [stage]}


def pairs() -> Iterator[tuple[Capture, Capture]]:
    """The captures of a scenario of both servers."""
    captures = {*all_captures()}
    for before in sorted(captures):
        after = Capture(AFTER, before.scenario)
        if before.server == BEFORE and after in captures:
            yield before, after


def window(capture: Capture) -> Window:
    """What a capture shows, up to its end."""
    return Window.of(history(capture), math.inf)


def option_file(capture: Capture) -> str:
    """The options of a capture's server with their present values: an older recording does not tell what is set."""
    snapshot = history(capture)[-1]
    options = YAML(typ="safe").load(capture.note.read_text(encoding="utf-8"))["options"]
    now = {name: snapshot.setting(name.replace("-", "_")) or value for name, value in options.items()}
    return "\n".join(["[mysqld]", *(f"{name} = {value}" if value else name for name, value in now.items())])


def load(capture: Capture) -> LoadFigures:
    """The load of a capture: a round is the time between two collections."""
    snapshots = window(capture).snapshots
    counted = [_counted(before, after) for before, after in pairwise(snapshots)]
    names = sorted({name for figures in counted for name in figures})
    done = {what: fmean(column(counted, name)) for what, name in _WORK.items()}
    return LoadFigures(
        server=capture.server,
        version=".".join(map(str, snapshots[-1].server.version)),
        rounds=len(counted),
        seconds=window(capture).seconds / len(counted),
        figures={name: (fmean(column(counted, name)), noise(column(counted, name))) for name in names},
        work={what: pieces for what, pieces in done.items() if pieces >= _LEAST.get(what, math.inf)},
    )


def earlier(name: str) -> LoadFigures:
    """The load of a recording of 5.7, with the work that `LOADS` names."""
    capture = Capture(EARLIER, name)
    of_capture, snapshots = load(capture), window(capture).snapshots
    rows = _growth(snapshots, "innodb_rows_read") / of_capture.rounds
    work = {"passes": rows / _ORDERS_ROWS} if "passes" in LOADS[name][1] else of_capture.work
    return of_capture.model_copy(update={"work": work})


def _growth(snapshots: Sequence[Snapshot], name: str) -> float:
    first, last = ((snapshots[end][STATUS] or {}).get(name, 0.0) for end in (0, -1))
    return float(last - first)


def _counted(before: Snapshot, after: Snapshot) -> Figures:
    """What a server counted between two collections."""

    def read(snapshot: Snapshot) -> Figures:
        status, pools, files = snapshot[STATUS] or {}, snapshot[POOLS] or (), snapshot[TABLE_FILES] or {}
        tables = {f"{table.schema}/{table.table}": float(file.reads) for table, file in files.items()}
        return tables | {
            READ: float(sum(pool.pages_read for pool in pools)),
            WRITTEN: float(status.get("innodb_pages_written", 0.0)),
            **{name: float(status.get(name, 0.0)) for name in _WORK.values()},
        }

    first = read(before)
    return {name: value - first.get(name, 0.0) for name, value in read(after).items()}
