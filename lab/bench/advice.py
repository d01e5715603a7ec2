"""The CPU of the whole process with a finding standing, and scrapes while the model is fitted."""

from __future__ import annotations

import time

from advisor.observe.limits import RECENT_SECONDS
from lab.bench import rig
from lab.bench.exporters import Exporter, Meter, settle, sidecar
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.processes.program import ProgramFailed
from lab.servers.sql import execute

INTERVAL, PERIOD = 10.0, 15.0
"""Seconds between two collections, and between two scrapes: the defaults of the sidecar and of many Prometheus."""
ROUND = 60.0
"""Seconds of a round: a whole number of collections and of scrapes."""
PATIENCE = 120.0
"""Seconds until the finding must be there."""
WARMING = RECENT_SECONDS
"""Seconds from then on that do not count: each snapshot still changes advice, and evaluations rest shortly."""
EVERY = 0.05
"""Seconds between two scrapes while the model is fitted."""
FITTING = 30.0
"""Seconds after a change of a setting: they hold the next collections and the fit to them."""
_FINDING = b"\ninnodb_advisor_recommendation{"


def measure(run: BenchRun) -> None:
    """Rounds with a standing finding, then fits that a change of a setting asks for."""
    with (
        rig.under_scans(run) as server,
        sidecar(server, "--interval", f"{INTERVAL:g}s") as ours,
        rig.compared(run, server) as theirs,
    ):
        settle(ours, theirs)
        run.say("waiting for the finding")
        _wait_for_finding(ours)
        _scrape(ours, theirs, WARMING)
        shares = []
        for _ in run.rounds(f"{ROUND:.0f} s with a finding,", 4, 2):
            meters = [Meter(server, exporter) for exporter in (ours, theirs)]
            _scrape(ours, theirs, ROUND)
            costs = [meter.read() for meter in meters]
            shares.append([cost["cpu"] / cost["seconds"] / 10 for cost in costs])
        run.put("cpu", *zip(*shares, strict=True))
        _wait_for_finding(ours)
        before, fits = ours.latencies(FITTING / 3, EVERY), []
        for number in run.rounds(f"{FITTING:.0f} s with a fit,", 3, 1):
            execute(server, f"SET GLOBAL innodb_old_blocks_time = {1000 + number}")
            fits += ours.latencies(FITTING, EVERY)
        run.put("wait", max(fits))
        run.put("latency", fits, before)


def _wait_for_finding(ours: Exporter) -> None:
    """Wait until a scrape shows a finding.

    Raises:
        ProgramFailed: None came in time.
    """
    until = time.monotonic() + PATIENCE
    while _FINDING not in ours.get().content:
        if time.monotonic() > until:
            raise ProgramFailed(f"no finding within {PATIENCE:.0f} s")
        time.sleep(1.0)


def _scrape(ours: Exporter, theirs: Exporter, seconds: float) -> None:
    """Scrape both once a period, for this long."""
    began = time.monotonic()
    while (left := began + seconds - time.monotonic()) > 0:
        ours.get()
        theirs.get()
        time.sleep(max(0.0, min(PERIOD - (seconds - left) % PERIOD, began + seconds - time.monotonic())))


BENCHMARK = Benchmark(
    name="advice",
    title="Advice, all in",
    method=(
        "MySQL 9.7 with a table under repeated scans beside point lookups. The sidecar collects every"
        f" {INTERVAL:g} s; it and mysqld_exporter are scraped every {PERIOD:g} s. A finding stands, and its rule asks"
        f" the model. CPU is the kernel's count for the whole process, over rounds of {ROUND:g} s that begin"
        f" {WARMING / 60:g} min after the finding. Then a setting is changed, so that the model is fitted anew, and the"
        f" sidecar is scraped every {EVERY * 1000:g} ms for {FITTING:g} s. Latencies are wall time: they depend on what"
        " else the machine does. CPU time depends on it little."
    ),
    figures={
        "cpu": Figure("all in, a finding standing: CPU, of a core", "%", "mysqld_exporter", most=0.5),
        "wait": Figure("scrapes while the model is fitted: the slowest", "ms"),
        "latency": Figure("scrapes while the model is fitted: latency", "ms", "no fit"),
    },
    measure=measure,
    seconds=(740.0, 540.0),
)
