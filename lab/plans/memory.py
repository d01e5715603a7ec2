"""Memory of a server in a real memory cgroup: what moves with its settings, and a plan's steps under a limit."""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pymysql

from advisor.contract.changes import change_at
from advisor.contract.plan import MemoryPlan, Patch, Step
from advisor.contract.recommendation import Change
from advisor.observe.window import Window
from advisor.plan.memory import DDL_BUFFER, memory
from advisor.plan.resizing import steps
from advisor.pool.settings import POOL_SIZE
from lab.bench import exporters
from lab.captures.scenarios.index_builds import NOTES, make_notes
from lab.harness.measure import pool_statistic, wait_until
from lab.harness.memory_group import MemoryGroup
from lab.harness.records import Data, NotShown, Part, Say
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, BackgroundLoad, ask, look_up, make_table, scan
from lab.plans.record import CarriedOutStep, LimitedPlan, MemoryRecord, MovedMemory
from lab.programs import prometheus
from lab.programs.prometheus import Prometheus
from lab.servers import NAMES, PrivateServer
from lab.servers.sql import execute, query_number

GROUP = "plans"
SHORT = "mariadb-11.8, resized"
"""The part that the system ring runs."""
SERVERS = ("mysql-9.7", "mariadb-11.8")
SIZES = (128, 256, 512)
"""MiB of pools whose memory is measured, the smallest first."""
BEFORE, AFTER = 128, 512
"""MiB of the pool that is resized under a limit."""
TABLE, PAGES_OF_MIB, TIMES = "orders", 64, 1.2
"""The table, and its size in times of the pool."""
OPTIONS = {
    "innodb-buffer-pool-size": f"{BEFORE}M",
    "loose-innodb-buffer-pool-chunk-size": "32M",
    "innodb-flush-method": "O_DIRECT",
}
SMALL_POOL = OPTIONS | {"innodb-buffer-pool-size": "64M"}
"""A pool that the table with the index fills."""
TIGHT = 1.2
"""The limit of before, in times of what is in use."""
DDL_BUFFERS, NOTES_ROWS = (1, 16, 32, 64), 400_000
"""MiB of innodb_ddl_buffer_size, the default first, and rows of 259 bytes in the index that is built."""
_FULL = 0.05
"""Share of free pages in a full pool."""
_FILL_SECONDS, _CHECK_SECONDS, _KILL_SECONDS, _UP_SECONDS = 300.0, 300.0, 60.0, 60.0
_WATCHED, _CALM = 5, 10.0
"""Snapshots of the window, and seconds of load after a plan."""
_LIMIT_PATCH = Patch(file="limit", form="cgroup", text="")
"""Stands for the owner's patch of the limit: the lab sets the cgroup's."""
_MIB = 2**20


def parts() -> list[Part]:
    """Memory by size on all servers; resized pools where the pool can be, and an index build."""
    resized = [Part(GROUP, f"{server}, resized", server, OPTIONS, resize) for server in SERVERS]
    by_size = [Part(GROUP, f"{server}, by size", server, OPTIONS, measure_sizes) for server in NAMES]
    build = Part(GROUP, "mysql-9.7, index builds", "mysql-9.7", SMALL_POOL, measure_builds)
    return [*resized, *by_size, build]


def measure_sizes(server: PrivateServer, say: Say) -> Data:
    """Fill pools of several sizes; what is in use beside what the plan says of the change from the smallest."""
    with MemoryGroup("sizes") as group, grouped(server, group):
        with server.connect() as connection:
            make_table(connection, TABLE, round(TIMES * SIZES[-1] * PAGES_OF_MIB))
        in_use: dict[int, float] = {}
        unused: dict[int, float] = {}
        planned: dict[int, float] = {}
        for mib in SIZES:
            say(f"a pool of {mib} MiB")
            server.restart({"innodb-buffer-pool-size": f"{mib}M"})
            with server.connect() as connection:
                scan(connection, TABLE)
                wait_until(partial(_is_full, server), _FILL_SECONDS, "the pool is not filled")
            if mib == SIZES[0]:
                window = watched(server)
                planned = {size: planned_of(window, POOL_SIZE, size)[1].change_bytes for size in SIZES[1:]}
            in_use[mib] = statistics.median(group.in_use for _ in range(5))
            unused[mib] = _unused_bytes(server)
    moved = tuple(
        MovedMemory(
            setting=POOL_SIZE,
            before=SIZES[0] * _MIB,
            after=size * _MIB,
            planned=planned[size],
            measured=in_use[size] - in_use[SIZES[0]],
            unused=unused[size],
        )
        for size in SIZES[1:]
    )
    return MemoryRecord(moved=moved).model_dump()


def resize(server: PrivateServer, say: Say) -> Data:
    """Resize a pool under a limit, under load, there and back; then in the other order."""
    with server.connect() as connection:
        make_table(connection, TABLE, round(TIMES * AFTER * PAGES_OF_MIB))

    def load(clients: BackgroundLoad) -> None:
        clients.repeat(lambda connection: scan(connection, TABLE), 0.1)
        for _ in range(2):
            clients.repeat(lambda connection: look_up(connection, TABLE, AFTER * PAGES_OF_MIB, 100), 0.01)
        clients.repeat(_update, 0.05)

    return _under_limit(server, say, load).model_dump()


def measure_builds(server: PrivateServer, say: Say) -> Data:
    """Build an index with buffers of several sizes; the most in use beside what the plan says of the change."""
    with MemoryGroup("builds") as group, grouped(server, group):
        with server.connect() as connection:
            make_notes(connection, NOTES_ROWS)
            ask(connection, f"ALTER TABLE {SCHEMA}.{NOTES} DROP INDEX by_text")
        window = watched(server)
        planned = {mib: planned_of(window, DDL_BUFFER, mib)[1].change_bytes for mib in DDL_BUFFERS[1:]}
        taken = {}
        for mib in DDL_BUFFERS:
            say(f"a build with {mib} MiB")
            server.restart({"innodb-ddl-buffer-size": f"{mib}M"})
            with server.connect() as connection:
                ask(connection, f"SELECT SUM(LENGTH(text)) FROM {SCHEMA}.{NOTES}")
                before = group.in_use
                with group.peak() as peak:
                    ask(connection, f"ALTER TABLE {SCHEMA}.{NOTES} ADD INDEX again (text)")
                    ask(connection, f"ALTER TABLE {SCHEMA}.{NOTES} DROP INDEX again")
            taken[mib] = peak[0] - before
    moved = tuple(
        MovedMemory(
            setting=DDL_BUFFER,
            before=DDL_BUFFERS[0] * _MIB,
            after=mib * _MIB,
            planned=planned[mib],
            measured=taken[mib] - taken[DDL_BUFFERS[0]],
        )
        for mib in DDL_BUFFERS[1:]
    )
    return MemoryRecord(moved=moved).model_dump()


def _under_limit(server: PrivateServer, say: Say, load: Callable[[BackgroundLoad], None]) -> MemoryRecord:
    """Carry out the plan of a larger pool, there and back, under the load; then try the other orders."""
    full = partial(_is_full, server)
    with (
        MemoryGroup("plan") as group,
        grouped(server, group),
        _asked(server) as asked,
        BackgroundLoad(server.connect) as clients,
        group.peak() as peak,
    ):
        load(clients)
        say(f"a pool of {BEFORE} MiB is filled")
        wait_until(full, _FILL_SECONDS, "the load does not fill the pool")
        time.sleep(_CALM)
        limit = math.ceil(TIGHT * peak[0] / _MIB) * _MIB
        group.limit(limit)
        window = watched(server)
        [change], plan = planned_of(window, POOL_SIZE, AFTER)
        if plan.limit_then is None or plan.limit_bytes != limit:
            raise NotShown(f"the plan does not see the limit of {limit} bytes: {plan.reason}")
        used, limited = peak[0], _Limited(server, group, asked, say)
        most = [peak[0] / limit]
        there = limited.carry_out(window, change, plan, back=False)
        peak[0] = 0
        wait_until(full, _FILL_SECONDS, "the load does not fill the pool")
        time.sleep(_CALM)
        most.append(peak[0] / plan.limit_then)
        grown, unused = peak[0], _unused_bytes(server)
        refused = not group.limit(limit)
        back = limited.carry_out(window, change, plan, back=True)
        peak[0] = 0
        time.sleep(_CALM)
        most.append(peak[0] / limit)
        kills = group.kills
        say("the setting without the limit")
        with contextlib.suppress(pymysql.MySQLError):  # it is killed meanwhile
            execute(server, *change.apply)
        killed = True
        try:
            wait_until(lambda: group.kills > kills, _KILL_SECONDS, "nothing was killed")
        except NotShown:
            killed = False
        clients.stop()
    moved = MovedMemory(
        setting=POOL_SIZE,
        before=BEFORE * _MIB,
        after=AFTER * _MIB,
        planned=plan.change_bytes,
        measured=grown - used,
        unused=unused,
    )
    return MemoryRecord(
        moved=(moved,),
        plan=LimitedPlan(
            used=used,
            limit=limit,
            limit_then=int(plan.limit_then),
            most=(most[0], most[1], most[2]),
            steps=there,
            back=back,
            kills=kills,
            refused=refused,
            killed=killed,
        ),
    )


class _Limited:
    """A server under a limit, on which steps of a plan are carried out."""

    def __init__(self, server: PrivateServer, group: MemoryGroup, asked: Prometheus, say: Say) -> None:
        self._server, self._group, self._asked, self._say = server, group, asked, say

    def carry_out(self, window: Window, change: Change, plan: MemoryPlan, *, back: bool) -> tuple[CarriedOutStep, ...]:
        """The steps there or back, each until its check says that it is done.

        Raises:
            NotShown: The kernel refuses a limit, or a check does not say so in time.
        """
        settings = Step(do=f"Set {change.setting}.", apply=change.rollback if back else change.apply)
        limit = plan.limit_bytes if back else plan.limit_then
        ordered = steps(window, (change,), plan, settings, _LIMIT_PATCH, back=back)
        return tuple(self._step(step, limit or 0) for step in ordered)

    def _step(self, step: Step, limit: float) -> CarriedOutStep:
        self._say(step.do)
        if step.patch is not None and not self._group.limit(limit):
            raise NotShown(f"the kernel refuses a limit of {limit:.0f}: {self._group.in_use} bytes are in use")
        execute(self._server, *step.apply)
        began, check = time.monotonic(), step.done
        query = "" if check is None or check.promql is None else check.promql
        if query:
            wait_until(lambda: bool(self._asked.query(query)), _CHECK_SECONDS, f"{query} does not hold")
        if check is not None and check.sql is not None:
            wait_until(
                partial(self._is_resized, check.sql), _CHECK_SECONDS, f"{check.sql} does not say that it is done"
            )
        seconds = round(time.monotonic() - began, 1)
        return CarriedOutStep(do=step.do, check=query, seconds=seconds, in_use=self._group.in_use)

    def _is_resized(self, sql: str) -> bool:
        """Whether the status of a resizing, in the last column, is empty or says that it is completed."""
        with self._server.connect() as connection:
            [(*_, status)] = ask(connection, sql)
        return not status or str(status).startswith("Completed")


@contextlib.contextmanager
def _asked(server: PrivateServer) -> Iterator[Prometheus]:
    """A Prometheus that scrapes a sidecar of the server."""
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-plan-") as folder, contextlib.ExitStack() as stack:
        own = stack.enter_context(exporters.sidecar(server, "--interval", "1s"))
        job = prometheus.job("innodb", f"127.0.0.1:{own.port}")
        started = stack.enter_context(prometheus.running(Path(folder), [job]))
        wait_until(lambda: bool(started.query("innodb_server_memory_bytes")), _UP_SECONDS, "Prometheus has no series")
        yield started


def watched(server: PrivateServer) -> Window:
    """A window of some seconds."""
    with SidecarSampler(server) as sidecar:
        for _ in range(_WATCHED):
            sidecar.collect()
            time.sleep(1.0)
        return sidecar.window(_WATCHED)


def planned_of(window: Window, setting: str, mib: int) -> tuple[tuple[Change, ...], MemoryPlan]:
    """The change of a setting to so many MiB, and its plan."""
    latest = window.latest
    changes = (change_at(latest, setting, float(latest.setting(setting) or 0), float(mib * _MIB)),)
    plan = memory(window, changes)
    if plan is None:
        raise NotShown(f"{setting} moves no memory")
    return changes, plan


def _is_full(server: PrivateServer) -> bool:
    """Whether hardly a page of the pool is free, but for those that the page cleaner keeps."""
    kept = query_number(server, "SELECT @@innodb_lru_scan_depth")
    return pool_statistic(server, "FREE_BUFFERS") <= kept + _FULL * pool_statistic(server, "POOL_SIZE")


def _unused_bytes(server: PrivateServer) -> float:
    """Bytes of the pool's free pages."""
    return pool_statistic(server, "FREE_BUFFERS") * query_number(server, "SELECT @@innodb_page_size")


def _update(connection: pymysql.Connection[Any]) -> None:
    """Change some rows."""
    first = random.randint(1, AFTER * PAGES_OF_MIB * ROWS_PER_PAGE)
    ask(connection, f"UPDATE {SCHEMA}.{TABLE} SET filler = REVERSE(filler) WHERE id BETWEEN {first} AND {first + 50}")


@contextlib.contextmanager
def grouped(server: PrivateServer, group: MemoryGroup) -> Iterator[None]:
    """The server in a memory cgroup, from a restart on, until it is stopped at the end."""
    server.group = group.folder
    server.restart()
    try:
        yield
    finally:
        server.stop()
