"""What a scrape costs the exporter and its server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from lab.bench.exporters import Exporter, ServerWork, cpu_seconds, server_work
from lab.servers import Server

AFTER = 0.25
"""Seconds after the answer that count as well: garbage, advice, and what the exporter does of itself meanwhile."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """In a stretch of time.

    Attributes:
        seconds: How long it was.
        cpu: CPU seconds of the exporter.
        server_cpu: CPU seconds of the server, whoever it worked for.
        asked: What the exporter asked of the server.
    """

    seconds: float
    cpu: float
    server_cpu: float
    asked: ServerWork


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one scrape and what the exporter does until `AFTER` its answer, in milliseconds and statements."""

    latency_ms: float
    cpu_ms: float
    server_ms: float
    server_cpu_ms: float
    statements: float
    connections: float
    samples: int
    transferred: int


class Meter:
    """Adds up what an exporter and its server spend from here on."""

    def __init__(self, server: Server, exporter: Exporter) -> None:
        self._server, self._exporter = server, exporter
        self._asked = server_work(server, exporter.name)
        self._cpu, self._server_cpu = exporter.cpu_seconds(), cpu_seconds(server.pid)
        self._began = time.monotonic()

    def read(self) -> Consumption:
        """What was spent until now."""
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
    """Exporters one after the other, in each round in the other order, no one twice within ``apart`` seconds."""
    last: dict[int, float] = {}
    for number in range(rounds):
        for each in exporters if number % 2 == 0 else exporters[::-1]:
            time.sleep(max(0.0, last.get(each.pid, 0.0) + apart - time.monotonic()))
            last[each.pid] = time.monotonic()
            yield each
