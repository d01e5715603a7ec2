"""A scrape of the sidecar compared with one of mysqld_exporter: latency, CPU, and server time."""

from __future__ import annotations

import time

from lab.bench import rig
from lab.bench.exporters import AFTER, Exporter, Meter, Usage, costs_in_turn
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.programs import mysqld_exporter
from lab.servers import PrivateServer

PERIOD = 15.0
"""Seconds between two scrapes, the usual interval."""
_RIVAL = "mysqld_exporter"


def measure(run: BenchRun) -> None:
    """Scrape both on one server, in turn."""
    with rig.idle() as (server, ours, theirs):
        own_costs, their_costs = costs_in_turn(((server, ours), (server, theirs)), run.rounds(60, 12), run.say)
        for key in own_costs[0]:
            run.put(key, (cost[key] for cost in own_costs), (cost[key] for cost in their_costs))
        periods = [_period(server, ours, theirs, run) for _ in range(run.rounds(4, 1))]
        for key, quantity in (
            ("period_cpu", "cpu_ms"),
            ("period_server", "server_ms"),
            ("period_statements", "statements"),
        ):
            run.put(key, *([getattr(usage, quantity) for usage in usages] for usages in zip(*periods, strict=True)))
        run.put("rss", ours.rss_mib(), theirs.rss_mib())
        run.versions |= {"MySQL": server.version, "mysqld_exporter": mysqld_exporter.version()}


def _period(server: PrivateServer, ours: Exporter, theirs: Exporter, run: BenchRun) -> tuple[Usage, Usage]:
    """A period with one scrape of each, both at the same time: they are idle most of the time."""
    run.say(f"{PERIOD:.0f} s with a scrape of each")
    began = time.monotonic()
    own_meter, their_meter = Meter(server, ours), Meter(server, theirs)
    ours.scrape()
    theirs.scrape()
    time.sleep(max(0.0, began + PERIOD - time.monotonic()))
    return own_meter.read(), their_meter.read()


BENCHMARK = Benchmark(
    name="peer",
    title="A scrape beside mysqld_exporter's",
    method=(
        "One idle MySQL 9.7 with ten small tables. Both exporters watch it over TCP, each with its own account,"
        " and are scraped in turn over a kept connection with Prometheus' own headers."
        " mysqld_exporter has `--collect.engine_innodb_status` and `--collect.info_schema.innodb_metrics` on. Two"
        " scrapes of the sidecar are more than a second apart, so that each one queries the server. CPU and server"
        f" time of a scrape cover the time from the request to {AFTER:g} s after the answer. The lines of"
        f" {PERIOD:g} s include an exporter's own work between scrapes. CPU is the kernel's count for the process;"
        " server time is the account's statement time in performance_schema."
    ),
    figures={
        "latency": Figure("scrape: latency", "ms", _RIVAL, most_ratio=0.5),
        "cpu": Figure("scrape: CPU of the exporter", "ms", _RIVAL, most_ratio=1.0),
        "server": Figure("scrape: server time of its statements", "ms", _RIVAL, most_ratio=1.0),
        "server_cpu": Figure("scrape: CPU of mysqld", "ms", _RIVAL),
        "statements": Figure("scrape: statements", "", _RIVAL),
        "connections": Figure("scrape: sessions opened", "", _RIVAL),
        "samples": Figure("scrape: samples", "", _RIVAL),
        "bytes": Figure("scrape: bytes on the wire", "B", _RIVAL),
        "period_cpu": Figure("15 s with a scrape: CPU of the exporter", "ms", _RIVAL),
        "period_server": Figure("15 s with a scrape: server time of its statements", "ms", _RIVAL),
        "period_statements": Figure("15 s with a scrape: statements", "", _RIVAL),
        "rss": Figure("resident memory after it", "MiB", _RIVAL),
    },
    measure=measure,
    seconds=(230.0, 50.0),
)
