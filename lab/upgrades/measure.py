"""The load on each server of a route: what it reads and writes there, and the recording that the forecast has.

Measurements stay in the cache, so that a changed forecast can predict from them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import pymysql

from exporter.recording.file import Recorder
from lab.gauntlet import trial
from lab.gauntlet.rounds import READ, LoadRounds, column, noise
from lab.gauntlet.workload import GauntletWorkload
from lab.harness.measure import Figures, wait_until
from lab.harness.records import Data, NotShown, Part, Say
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import ask
from lab.packages import cache
from lab.servers import PrivateServer
from lab.servers.sql import execute
from lab.upgrades.record import AGAIN
from lab.upgrades.routes import ROUTES, Route, RouteStage
from lab.upgrades.workloads import WORKLOADS, UpgradeWorkload

GROUP = "upgrades"
SHORT = "mysql-9.7, mysql-defaults, scans"
"""The part that CI runs."""
_MEASUREMENT = 1
"""Raise it when the measurement changes: measurements are kept by this number, the options and the load."""
_FLUSHING = "innodb-flush-method"
"""The gauntlet's option that stays at the server's default here: it is one of those that move."""
_LOADED_SECONDS, _OFTEN_SECONDS = 120.0, 0.2
_ROUNDS_AGAIN = 20
"""Rounds after a restart, which read nearly all of the hot pages."""


def parts() -> list[Part]:
    """The measurements, one route after the other."""
    return [
        _part(route, workload)
        for route in ROUTES
        for workload in WORKLOADS
        if workload.load.name in route.loads or not route.loads
    ]


def part_of(route: Route, workload: UpgradeWorkload) -> str:
    """The name of the part of a load on a route."""
    return f"{route.stages[0].server}, {route.name}, {workload.load.name}"


def _part(route: Route, workload: UpgradeWorkload) -> Part:
    first = route.stages[0]
    return Part(
        GROUP,
        part_of(route, workload),
        first.server,
        options(workload, first),
        partial(_run, route, workload),
        version=_version(route, workload),
    )


def options(workload: UpgradeWorkload, stage: RouteStage) -> dict[str, str]:
    """The options of a server of a route."""
    of_load = workload.load.options_on(stage.server)
    return {name: value for name, value in of_load.items() if name != _FLUSHING} | {**stage.defaults, **stage.options}


def recording(route: Route, workload: UpgradeWorkload, number: int) -> Path:
    """The recording of the load on a server of the route, once it was measured."""
    name = f"{route.name}-{workload.load.name}-{number}-{_version(route, workload)}.jsonl.gz"
    return cache.folder() / "upgrades" / "recordings" / name


def _version(route: Route, workload: UpgradeWorkload) -> str:
    """A digest of what decides a measurement."""
    stages = [(stage.server, options(workload, stage)) for stage in route.stages]
    decides = (_MEASUREMENT, stages, workload.load.about, workload.load.tables, workload.load.watched)
    return hashlib.sha256(repr(decides).encode()).hexdigest()[:8]


def _run(route: Route, workload: UpgradeWorkload, server: PrivateServer, say: Say) -> Data:
    """Measure the load on each server of the route, one after the other.

    Returns:
        ``stages``: of each server its version, and the load there, as `measured` returns it.
    """
    load = workload.load
    say("its tables are made")
    stages: list[Mapping[str, Any]] = []
    with ExitStack() as stack:
        try:
            trial.prepare(load, server)
            for number, stage in enumerate(route.stages):
                if number:
                    say(f"upgrade to {stage.title}")
                    upgrade = route.upgrade(server, stage.server, options(workload, stage))
                    server = stack.enter_context(upgrade)
                say(f"the load on {stage.title}")
                path = recording(route, workload, number)
                path.parent.mkdir(parents=True, exist_ok=True)
                stages.append({"server": stage.title, "version": server.version, **measured(workload, server, path)})
        except (pymysql.MySQLError, KeyError) as error:
            raise NotShown(f"{type(error).__name__}: {error}") from error
    return {"stages": stages}


def measured(workload: UpgradeWorkload, server: PrivateServer, path: Path | None = None) -> dict[str, Any]:
    """Put the load on the server, from an empty pool, and count once it has settled.

    Returns:
        ``rounds``, ``seconds`` of one, ``figures`` of one by name: its mean, and two standard errors of it.
    """
    load = workload.load
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    trial.fill(load, server)
    with ExitStack() as stack:
        recorder = None if path is None else stack.enter_context(closing(Recorder(path)))
        sidecar = stack.enter_context(SidecarSampler(server, interval=trial.INTERVAL, keep=recorder))
        rounds = stack.enter_context(LoadRounds(server, load, sidecar))
        rounds.run(load.warm_up)
        trial.settle(rounds)
        sidecar.collect()
        counted = rounds.run(load.watched)
        watched = len(counted) * load.cycle
        seconds = fmean(rounds.seconds[-watched:])
    restarted = _restarted(load, server) if workload.restarts else {}
    return {"rounds": watched, "seconds": round(seconds, 3), "figures": _figures(counted) | restarted}


def _figures(counted: Sequence[Figures]) -> dict[str, list[float]]:
    names = sorted({name for figures in counted for name in figures})
    columns = {name: column(counted, name) for name in names}
    return {name: [round(fmean(values), 3), round(noise(values), 3)] for name, values in columns.items()}


def _restarted(load: GauntletWorkload, server: PrivateServer) -> dict[str, list[float]]:
    """Restart the server with the load on it: pages read once the dump of the pool is loaded, where one is by default.

    Not the seconds of that: the pools of the lab are loaded before the clients are there, whose writes throttle it.
    """
    often = replace(load, period=_OFTEN_SECONDS)
    server.restart()
    with (
        SidecarSampler(server, interval=trial.INTERVAL) as sidecar,
        LoadRounds(server, often, sidecar) as rounds,
        server.connect() as connection,
    ):
        [(_, on)] = ask(connection, "SHOW GLOBAL VARIABLES LIKE 'innodb_buffer_pool_load_at_startup'")

        def loaded() -> bool:
            rounds.run(1)
            [(_, status)] = ask(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_load_status'")
            return "load completed" in str(status)

        if on == "ON":
            wait_until(loaded, _LOADED_SECONDS, "the dump was not loaded")
        return {AGAIN: [sum(column(rounds.run(_ROUNDS_AGAIN), READ)), 0.0]}
