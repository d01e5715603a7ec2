"""A fleet of servers in trouble in a real Prometheus or VictoriaMetrics, and a proxy before it that is in trouble."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from advisor.contract.fleet import FleetReport
from advisor.fleet.progress import Progress
from advisor.fleet.reading import ReadingOptions, read
from advisor.outgoing.settings import client_settings
from advisor.rules.rulebook import RuleSet
from lab.harness.watch import rules
from lab.processes.program import PLAIN
from lab.programs import prometheus, promtool, victoriametrics
from tests.advisor.fleet.answering import Answering, Form
from tests.unavailable import or_give_up
from tests.waiting import DEADLINE

STEP, LENGTH = 15.0, 4_500.0
"""Seconds between two scrapes, and of scrapes before the reading's end."""
END = time.time() // 60 * 60
"""Of readings."""
BEGIN = END - LENGTH
UPTIME = 100_000.0
"""Seconds that servers have been up at the first scrape."""
GAUGES = {
    'mysql_version_info{version="9.7.4",version_comment="MySQL Community Server - GPL"}': 1.0,
    "mysql_up": 1.0,
    "mysql_global_status_buffer_pool_dirty_pages": 40.0,
    'mysql_global_status_buffer_pool_pages{state="data"}': 8_000.0,
    'mysql_global_status_buffer_pool_pages{state="free"}': 100.0,
    'mysql_global_status_buffer_pool_pages{state="misc"}': 92.0,
    "mysql_global_variables_innodb_old_blocks_pct": 37.0,
    "mysql_global_variables_innodb_random_read_ahead": 1.0,
    "mysql_global_variables_innodb_read_ahead_threshold": 56.0,
    "mysql_global_variables_innodb_page_size": 16_384.0,
    "mysql_global_variables_performance_schema": 1.0,
}
COUNTERS = {
    "mysql_global_status_innodb_pages_read": 120.0,
    "mysql_global_status_innodb_buffer_pool_read_requests": 9_000.0,
    "mysql_global_status_innodb_buffer_pool_read_ahead": 60.0,
    "mysql_global_status_innodb_buffer_pool_read_ahead_rnd": 60.0,
    "mysql_global_status_innodb_buffer_pool_read_ahead_evicted": 50.0,
}
"""Growth a second: read-ahead that is evicted before anyone reads it."""
UP_FOR = "mysql_global_status_uptime"
Samples = Iterator[tuple[str, float, float]]
"""Series, value and time."""


def healthy(labels: str, *, begin: float = BEGIN, end: float = END, step: float = STEP, up: float = UPTIME) -> Samples:
    """A server that mysqld_exporter watches, with one finding: read-ahead-wasted.

    Args:
        labels: Of its target.
        begin, end, step: Of its scrapes, Unix seconds.
        up: Seconds since its start at BEGIN; less than nothing for a later start.
    """
    at = begin
    while at <= end:
        running = up + at - BEGIN
        now = GAUGES | {UP_FOR: running} | {name: rate * running for name, rate in COUNTERS.items()}
        for series, value in now.items():
            name, _, own = series.partition("{")
            yield f"{name}{{{labels}{',' if own else ''}{own or '}'}", value, at
        at += step


def restarting(labels: str, ago: float) -> Samples:
    """One that was started anew so many seconds before the end."""
    yield from healthy(labels, end=END - ago - 60.0)
    yield from healthy(labels, begin=END - ago, up=BEGIN - (END - ago) + 1.0)


def resetting(labels: str, counter: str, ago: float) -> Samples:
    """One whose counter fell to nothing while its uptime grew."""
    for series, value, at in healthy(labels):
        fell = series.startswith(f"{counter}{{") and at >= END - ago
        yield series, COUNTERS[counter] * (at - END + ago) if fell else value, at


def target(host: str, port: int = 9104, **more: str) -> str:
    labels = {"job": "mysql", "instance": f"{host}:{port}", **more}
    return ",".join(f'{name}="{value}"' for name, value in labels.items())


def fleet() -> Samples:
    for number in range(4):
        yield from healthy(target(f"fine-{number}"))
    for replica, late in (("a", 0.0), ("b", 7.0)):
        yield from healthy(target("pair", prometheus_replica=replica), begin=BEGIN + late)
    yield from restarting(target("restarted-long-ago"), 2_400.0)
    yield from restarting(target("restarted-lately"), 600.0)
    yield from resetting(target("reset"), "mysql_global_status_innodb_buffer_pool_read_ahead", 1_500.0)
    yield from healthy(target("gone"), end=END - 1_200.0)
    yield from healthy(target("twins", 9104))
    yield from healthy(target("twins", 9105), up=UPTIME / 2)
    yield from healthy(target("coarse"), step=300.0)
    yield from healthy(target("hourly"), begin=BEGIN + 240.0, step=3_600.0)


FINE = {f"fine-{number}" for number in range(4)}
COARSE = {"coarse"}
"""Of whom there is a sample each five minutes."""
SOUND = FINE | {"pair", "restarted-long-ago"}
"""Servers of which enough is known for their finding."""


@contextmanager
def in_prometheus(folder: Path) -> Iterator[str]:
    """The fleet in Debian's Prometheus 2.42; its URL."""
    families: dict[str, list[str]] = {}
    for series, value, at in fleet():
        families.setdefault(series.partition("{")[0], []).append(f"{series} {value!r} {at:.3f}")
    path = folder / "fleet.txt"
    with path.open("w", encoding="utf-8") as file:
        for name, lines in families.items():
            file.write(f"# TYPE {name} gauge\n" + "\n".join(lines) + "\n")
        file.write("# EOF\n")
    with or_give_up(prometheus.running(folder, [])):
        pass  # else promtool is not there either
    (folder / "prometheus.log").unlink()
    promtool.create_blocks(path, folder / "data")
    with prometheus.running(folder, [], data=folder / "data") as running:
        yield running.url


@contextmanager
def in_victoriametrics(folder: Path) -> Iterator[str]:
    """The fleet in VictoriaMetrics; its URL."""
    with or_give_up(victoriametrics.running(folder)) as running:
        running.load("".join(f"{series} {value!r} {at * 1000:.0f}\n" for series, value, at in fleet()))
        yield running.url


Reply = tuple[int, Mapping[str, str], bytes]
Fault = Callable[[Form, Callable[[], Reply]], Reply]
"""Gives the answer to a query; calls what it is given for the true one."""


@contextmanager
def proxy(upstream: str, fault: Fault) -> Iterator[Answering]:
    """A proxy with a fault, before a real Prometheus."""

    def answer(form: Form) -> Reply:
        def truly() -> Reply:
            path = "query_range" if "start" in form else "query"
            asked = client.post(f"{upstream}/api/v1/{path}", data=dict(form))
            return asked.status_code, {"Content-Type": "application/json"}, asked.content

        return fault(form, truly)

    with httpx.Client(timeout=DEADLINE, **PLAIN) as client, Answering(answer) as between:
        yield between


def reading(url: str, *, at: float | None = END, now: float = END, selector: str = "") -> FleetReport:
    """What the command says.

    Args:
        url: Of a Prometheus.
        at: The end; None for the present of Prometheus.
        now: By the clock of this machine.
        selector: Of the user.

    Raises:
        PrometheusError: There is no inventory.
    """
    settings = client_settings(None, encrypted=False, timeout=DEADLINE)
    in_force = RuleSet(rules(), {}, (), END)
    options = ReadingOptions(url, selector, settings=settings, model_seconds=0.0, at=at, clock=lambda: now)
    return asyncio.run(read(options, in_force, Progress()))
