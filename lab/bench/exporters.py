"""The sidecar and mysqld_exporter as processes, scraped over HTTP as Prometheus does, and what a scrape costs."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from lab.bench.figures import Say
from lab.demo import GRANTS as OWN_GRANTS
from lab.packages import cache
from lab.processes.program import ChildProcess, ProgramFailed
from lab.processes.usage import cpu_seconds, memory_mib
from lab.programs import mysqld_exporter
from lab.servers import PrivateServer
from lab.servers.sql import execute

OURS, PEER = "innodb_advisor", "mysqld_exporter"
"""Also the names of their accounts, so that the server counts their statements apart."""
GRANTS = {OURS: OWN_GRANTS, PEER: mysqld_exporter.GRANTS}
HEADERS = {
    "User-Agent": "Prometheus/2.42.0",
    "Accept": "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "Accept-Encoding": "gzip",
    "X-Prometheus-Scrape-Timeout-Seconds": "10",
}
"""What Prometheus sends with a scrape (scrape/scrape.go)."""
SCRAPE_SECONDS = 60.0
COMMAND = (sys.executable, "-m", "advisor.cli")
ENVIRONMENT = {"PYTHONPATH": str(cache.REPOSITORY)}
SERVING = re.compile(r"serving on http://127\.0\.0\.1:(\d+)/")
"""The sidecar's own log line that names its port."""
SETTLING = 3.0
"""Seconds after the start: the sidecar reads everything once, and a Go program collects its first garbage."""
APART = 1.1
"""Least seconds between two scrapes of the sidecar: within one second it answers from the same collection."""
AFTER = 0.25
"""Seconds after the answer that still count: garbage collection, advice, and the exporter's own work."""
_WORK = """
SELECT COALESCE(SUM(COUNT_STAR), 0), COALESCE(SUM(SUM_TIMER_WAIT), 0) / 1e12,
  (SELECT COALESCE(SUM(TOTAL_CONNECTIONS), 0) FROM performance_schema.accounts WHERE USER = %s)
FROM performance_schema.events_statements_summary_by_account_by_event_name
WHERE USER = %s AND EVENT_NAME LIKE 'statement/sql/%%'
"""
"""Statements of an account, their server time in seconds, and its sessions, since the server's start."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """One scrape.

    Attributes:
        seconds: From the request to the last byte of the answer.
        content: The exposition, decompressed.
        transferred: Its bytes on the wire.
    """

    seconds: float
    content: bytes
    transferred: int

    @property
    def samples(self) -> int:
        """The number of samples."""
        return sum(1 for line in self.content.splitlines() if line and not line.startswith(b"#"))


class Exporter:
    """A process that serves /metrics, and the one connection over which it is scraped.

    Attributes:
        name: `OURS` or `PEER`; also its account on the server.
        pid: Its process.
        port: On the loopback address.
    """

    def __init__(self, name: str, pid: int, port: int) -> None:
        self.name, self.pid, self.port = name, pid, port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SCRAPE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def scrape(self) -> Scrape:
        """Get /metrics over a kept connection, as Prometheus does.

        Raises:
            ProgramFailed: The status was not 200.
        """
        return self.get("/metrics")

    def get(self, path: str) -> Scrape:
        """Get a path."""
        began = time.perf_counter()
        try:
            response = self._request(path)
        except (http.client.RemoteDisconnected, ConnectionError):
            self._connection.close()  # the server closed it after idle time; Go's client retries, too
            response = self._request(path)
        content = response.read()
        seconds = time.perf_counter() - began
        if response.status != http.client.OK:
            raise ProgramFailed(f"{self.name} answered {path} with status {response.status}: {content[:1000]!r}")
        packed = response.headers.get("Content-Encoding") == "gzip"
        return Scrape(seconds, gzip.decompress(content) if packed else content, len(content))

    def _request(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=HEADERS)
        return self._connection.getresponse()

    def latencies(self, seconds: float, every: float) -> list[float]:
        """Latencies of scrapes over so many seconds, in milliseconds, with a pause after each scrape."""
        until, latencies = time.monotonic() + seconds, []
        while time.monotonic() < until:
            latencies.append(self.scrape().seconds * 1000)
            time.sleep(every)
        return latencies

    def rss_mib(self) -> float:
        """Its resident memory. Raises ProgramFailed where it has ended."""
        return self._memory_mib("VmRSS")

    def anonymous_mib(self) -> float:
        """Its anonymous memory, without pages of files. Raises ProgramFailed where it has ended."""
        return self._memory_mib("RssAnon")

    def _memory_mib(self, field: Literal["VmRSS", "RssAnon"]) -> float:
        mib = memory_mib(self.pid, field)
        if mib is None:
            raise ProgramFailed(f"{self.name} has ended")
        return mib


@dataclass(frozen=True, slots=True)
class Usage:
    """What an exporter and its server used in a stretch of time.

    Attributes:
        seconds: Length of the stretch.
        cpu_ms: CPU of the exporter, including ended threads.
        server_cpu_ms: CPU of the server, for all its clients.
        statements, server_ms: The exporter's statements, and their time in the server.
        sessions: Sessions that the exporter opened.
    """

    seconds: float
    cpu_ms: float
    server_cpu_ms: float
    statements: float
    server_ms: float
    sessions: float


class Meter:
    """Measures what an exporter and its server use from its creation on, without the meter's own queries."""

    def __init__(self, server: PrivateServer, exporter: Exporter) -> None:
        self._server, self._exporter = server, exporter
        self._work = self._account()
        self._cpu, self._server_cpu = cpu_seconds(exporter.pid), cpu_seconds(server.pid)
        self._began = time.monotonic()

    def read(self) -> Usage:
        """The use since the creation."""
        cpu, server_cpu = cpu_seconds(self._exporter.pid) - self._cpu, cpu_seconds(self._server.pid) - self._server_cpu
        seconds = time.monotonic() - self._began
        statements, server_seconds, sessions = (
            now - before for now, before in zip(self._account(), self._work, strict=True)
        )
        return Usage(seconds, cpu * 1000, server_cpu * 1000, statements, server_seconds * 1000, sessions)

    def _account(self) -> tuple[float, ...]:
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(_WORK, (self._exporter.name, self._exporter.name))
            return tuple(float(value) for value in cursor.fetchall()[0])


def costs_in_turn(
    watched: Sequence[tuple[PrivateServer, Exporter]], rounds: int, say: Say
) -> tuple[list[dict[str, float]], ...]:
    """The costs of scrapes, by exporter: in turn, each round in reverse order, at most one in `APART` seconds.

    A cost has the keys latency, cpu, server, server_cpu (milliseconds), statements, connections, samples and bytes.
    """
    costs: tuple[list[dict[str, float]], ...] = tuple([] for _ in watched)
    scraped = [0.0] * len(watched)
    for number in range(1, rounds + 1):
        say(f"scrape {number} of {rounds}")
        order = range(len(watched)) if number % 2 else reversed(range(len(watched)))
        for index in order:
            time.sleep(max(0.0, scraped[index] + APART - time.monotonic()))
            scraped[index] = time.monotonic()
            costs[index].append(_cost(*watched[index]))
    return costs


def _cost(server: PrivateServer, exporter: Exporter) -> dict[str, float]:
    """The cost of one scrape, until `AFTER` seconds after its answer."""
    meter = Meter(server, exporter)
    scrape = exporter.scrape()
    time.sleep(AFTER)
    usage = meter.read()
    return {
        "latency": scrape.seconds * 1000,
        "cpu": usage.cpu_ms,
        "server": usage.server_ms,
        "server_cpu": usage.server_cpu_ms,
        "statements": usage.statements,
        "connections": usage.sessions,
        "samples": scrape.samples,
        "bytes": scrape.transferred,
    }


def create_accounts(server: PrivateServer) -> None:
    """Create an account for each exporter, with its README's grants and without a password."""
    for name, grants in GRANTS.items():
        execute(
            server,
            f"CREATE USER IF NOT EXISTS {name}@'127.0.0.1'",
            *(f"GRANT {grant} TO {name}@'127.0.0.1'" for grant in grants),
        )


@contextlib.contextmanager
def sidecar(server: PrivateServer, *arguments: str) -> Iterator[Exporter]:
    """`innodb-advisor serve` on a free port, with an account of its own.

    Args:
        server: The watched server.
        arguments: Further ones.

    Raises:
        ProgramFailed: It did not start.
    """
    create_accounts(server)
    where = ("--listen", "127.0.0.1:0", "--dsn", f"mysql://{OURS}@{server.host}:{server.port}")
    command = [*COMMAND, "serve", *where, *arguments]
    with (
        ChildProcess("innodb-advisor serve", command, ENVIRONMENT, listening=SERVING) as service,
        Exporter(OURS, service.pid, service.port) as exporter,
    ):
        yield exporter


@contextlib.contextmanager
def peer(server: PrivateServer, *flags: str) -> Iterator[Exporter]:
    """mysqld_exporter on a free port, with an account of its own.

    Raises:
        UnavailableHere: mysqld_exporter is unavailable here.
        ProgramFailed: It did not start.
    """
    create_accounts(server)
    with (
        tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as folder,
        mysqld_exporter.running(server, Path(folder), PEER, *flags) as service,
        Exporter(PEER, service.pid, service.port) as exporter,
    ):
        yield exporter


def settle(*exporters: Exporter) -> None:
    """Scrape each a few times, until first reads and start-up work are over."""
    deadline = time.monotonic() + SETTLING
    while time.monotonic() < deadline:
        for exporter in exporters:
            exporter.scrape()
        time.sleep(SETTLING / 5)
