"""What a scrape costs the exporter and its server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from lab.bench.exporters import Exporter, ServerWork, server_work
from lab.processes.usage import cpu_seconds
from lab.servers import Server

AFTER = 0.25
"""Seconds after the answer that still count: garbage collection, advice, and the exporter's own work."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """The use of resources in a stretch of time.

    Attributes:
        seconds: Length of the stretch.
        cpu: CPU seconds of the exporter.
        server_cpu: CPU seconds of the server, for all its clients.
        asked: The server's work for the exporter.
    """

    seconds: float
    cpu: float
    server_cpu: float
    asked: ServerWork


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one scrape, until `AFTER` seconds after its answer."""

    latency_ms: float
    cpu_ms: float
    server_ms: float
    server_cpu_ms: float
    statements: float
    connections: float
    samples: int
    transferred: int


class Meter:
    """Measures what an exporter and its server use from its creation on."""

    def __init__(self, server: Server, exporter: Exporter) -> None:
        self._server, self._exporter = server, exporter
        self._asked = server_work(server, exporter.name)
        self._cpu, self._server_cpu = exporter.cpu_seconds(), cpu_seconds(server.pid)
        self._began = time.monotonic()

    def read(self) -> Consumption:
        """The use since the creation."""
        cpu, server_cpu = self._exporter.cpu_seconds() - self._cpu, cpu_seconds(self._server.pid) - self._server_cpu
        seconds = time.monotonic() - self._began
        return Consumption(seconds, cpu, server_cpu, server_work(self._server, self._exporter.name).since(self._asked))


def one(server: Server, exporter: Exporter) -> Cost:
    """Scrape once."""
    meter = Meter(server, exporter)
    scraped = exporter.scrape()
    time.sleep(AFTER)
    spent = meter.read()
    return Cost(
        latency_ms=scraped.seconds * 1000,
        cpu_ms=spent.cpu * 1000,
        server_ms=spent.asked.seconds * 1000,
        server_cpu_ms=spent.server_cpu * 1000,
        statements=spent.asked.statements,
        connections=spent.asked.connections,
        samples=scraped.samples,
        transferred=scraped.transferred,
    )


def in_turn(exporters: tuple[Exporter, ...], rounds: int, apart: float) -> Iterator[Exporter]:
    """The exporters in turn, each round in reverse order, and each at most once in ``apart`` seconds."""
    last: dict[int, float] = {}
    for number in range(rounds):
        for each in exporters if number % 2 == 0 else exporters[::-1]:
            time.sleep(max(0.0, last.get(each.pid, 0.0) + apart - time.monotonic()))
            last[each.pid] = time.monotonic()
            yield each
