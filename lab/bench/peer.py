"""A scrape of the sidecar compared with one of mysqld_exporter: latency, CPU, and server time."""

from __future__ import annotations

import time

from lab.bench import costs
from lab.bench.costs import Consumption, Cost, Meter
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.rig import APART, Rig, rig
from lab.programs import mysqld_exporter

PERIOD = 15.0
"""Seconds between two scrapes, the usual interval."""
_BESIDE = "mysqld_exporter"
_PER_SCRAPE = (
    ("latency", "latency_ms"),
    ("cpu", "cpu_ms"),
    ("server", "server_ms"),
    ("server_cpu", "server_cpu_ms"),
    ("statements", "statements"),
    ("connections", "connections"),
    ("samples", "samples"),
    ("bytes", "transferred"),
)
LINES = {
    "latency": Line("scrape: latency", "ms", _BESIDE, Bound(most=0.5)),
    "cpu": Line("scrape: CPU of the exporter", "ms", _BESIDE, Bound(most=1.0)),
    "server": Line("scrape: server time of its statements", "ms", _BESIDE, Bound(most=1.0)),
    "server_cpu": Line("scrape: CPU of mysqld", "ms", _BESIDE),
    "statements": Line("scrape: statements", "", _BESIDE),
    "connections": Line("scrape: sessions opened", "", _BESIDE),
    "samples": Line("scrape: samples", "", _BESIDE),
    "bytes": Line("scrape: bytes on the wire", "B", _BESIDE),
    "period_cpu": Line("15 s with a scrape: CPU of the exporter", "ms", _BESIDE),
    "period_server": Line("15 s with a scrape: server time of its statements", "ms", _BESIDE),
    "period_statements": Line("15 s with a scrape: statements", "", _BESIDE),
    "rss": Line("resident memory after it", "MiB", _BESIDE),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """Scrape both on one server, in turn."""
    with rig() as running:
        found = _scrapes(running, effort.rounds(60, 12), say)
        periods = _periods(running, effort.rounds(4, 1), say)
        values = {
            key: Values(
                ours=tuple(getattr(each, attribute) for each in found[running.ours.name]),
                beside=tuple(getattr(each, attribute) for each in found[running.peer.name]),
            )
            for key, attribute in _PER_SCRAPE
        }
        for key, of in (
            ("period_cpu", lambda spent: spent.cpu * 1000),
            ("period_server", lambda spent: spent.asked.seconds * 1000),
            ("period_statements", lambda spent: spent.asked.statements),
        ):
            ours, theirs = (tuple(map(of, periods[each.name])) for each in running.both)
            values[key] = Values(ours=ours, beside=theirs)
        values["rss"] = Values(ours=(running.ours.rss_mib(),), beside=(running.peer.rss_mib(),))
        return Measurement(values, {"MySQL": running.server.version, "mysqld_exporter": mysqld_exporter.version()})


def _scrapes(running: Rig, rounds: int, say: Say) -> dict[str, list[Cost]]:
    found: dict[str, list[Cost]] = {each.name: [] for each in running.both}
    for each in costs.in_turn(running.both, rounds, APART):
        found[each.name].append(costs.one(running.server, each))
        say(f"scrape {len(found[each.name])} of {rounds}")
    return found


def _periods(running: Rig, rounds: int, say: Say) -> dict[str, list[Consumption]]:
    """Periods with one scrape of each, both at the same time: they are idle most of the time."""
    found: dict[str, list[Consumption]] = {each.name: [] for each in running.both}
    for number in range(1, rounds + 1):
        say(f"{PERIOD:.0f} s with a scrape of each, {number} of {rounds}")
        began = time.monotonic()
        meters = {each.name: Meter(running.server, each) for each in running.both}
        for each in running.both:
            each.scrape()
        time.sleep(max(0.0, began + PERIOD - time.monotonic()))
        for name, meter in meters.items():
            found[name].append(meter.read())
    return found


FIGURE = Figure(
    name="peer",
    title="A scrape beside mysqld_exporter's",
    about=(
        "One idle MySQL 9.7 with ten small tables. Both exporters watch it over TCP, each with its own account,"
        " and are scraped in turn over a kept connection with Prometheus' own headers."
        " mysqld_exporter has `--collect.engine_innodb_status` and `--collect.info_schema.innodb_metrics` on. Two"
        " scrapes of the sidecar are more than a second apart, so that each one queries the server. CPU and server"
        f" time of a scrape cover the time from the request to {costs.AFTER:g} s after the answer. The lines of"
        f" {PERIOD:g} s include an exporter's own work between scrapes. CPU is the kernel's count for the process;"
        " server time is the account's statement time in performance_schema."
    ),
    lines=LINES,
    measure=measure,
    seconds=(230.0, 50.0),
)
