"""A scrape of the sidecar compared with one of mysqld_exporter: latency, CPU, and server time."""

from __future__ import annotations

import time

from lab.bench import rig
from lab.bench.exporters import AFTER, Cost, Exporter, Meter, put_costs, scrape_in_turn
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.servers import PrivateServer

PERIOD = 15.0
"""Seconds between two scrapes, the usual interval."""
SCRAPED = ("latency", "cpu", "server", "server_cpu", "statements", "connections", "samples", "bytes")
_RIVAL = "mysqld_exporter"


def measure(run: BenchRun) -> None:
    """Scrape both on one server, in turn."""
    with rig.idle(run) as (server, ours, theirs):
        put_costs(run, SCRAPED, scrape_in_turn(run, (server, ours), (server, theirs)))
        rounds = run.rounds(f"{PERIOD:.0f} s with a scrape of each,", 4, 1)
        periods = zip(*(_period(server, ours, theirs) for _ in rounds), strict=True)
        put_costs(run, ("cpu", "server", "statements"), [list(costs) for costs in periods], prefix="period_")
        run.put("rss", ours.memory_mib(), theirs.memory_mib())


def _period(server: PrivateServer, ours: Exporter, theirs: Exporter) -> tuple[Cost, Cost]:
    """A period with one scrape of each, both at the same time: they are idle most of the time."""
    began = time.monotonic()
    own_meter, their_meter = Meter(server, ours), Meter(server, theirs)
    ours.get()
    theirs.get()
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
        "latency": Figure("scrape: latency", "ms", _RIVAL, most_ratio=0.45),
        "cpu": Figure("scrape: CPU of the exporter", "ms", _RIVAL, most_ratio=0.45),
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
