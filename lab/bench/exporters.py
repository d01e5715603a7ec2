"""The sidecar and mysqld_exporter as processes, scraped over HTTP as Prometheus does, and what a scrape costs."""

from __future__ import annotations

import gzip
import http.client
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.bench.figures import BenchRun
from lab.demo import GRANTS as OWN_GRANTS
from lab.packages import cache
from lab.processes.program import ChildProcess, ProgramFailed
from lab.processes.usage import MemoryField, cpu_seconds, memory_mib
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
SELECT COALESCE(SUM(COUNT_STAR), 0), COALESCE(SUM(SUM_TIMER_WAIT), 0) / 1e9,
  (SELECT COALESCE(SUM(TOTAL_CONNECTIONS), 0) FROM performance_schema.accounts WHERE USER = %s)
FROM performance_schema.events_statements_summary_by_account_by_event_name
WHERE USER = %s AND EVENT_NAME LIKE 'statement/sql/%%'
"""
"""Statements of an account, their server time in milliseconds, and its sessions, since the server's start."""

Cost = dict[str, float]
"""What an exporter and its server used, by quantity: seconds that passed; CPU of the exporter (``cpu``) and of the
server (``server_cpu``), and server time of the exporter's statements (``server``), in milliseconds; ``statements`` and
``connections`` of the exporter."""


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """An exporter's answer over HTTP.

    Attributes:
        ms: Milliseconds from the request to the last byte.
        content: The body, decompressed.
        transferred: Its bytes on the wire.
    """

    ms: float
    content: bytes
    transferred: int


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

    def close(self) -> None:
        """Close its connection."""
        self._connection.close()

    def get(self, path: str = "/metrics") -> TimedAnswer:
        """Get a path over a kept connection, as Prometheus does.

        Raises:
            ProgramFailed: The status was not 200.
        """
        began = time.perf_counter()
        try:
            response = self._request(path)
        except (http.client.RemoteDisconnected, ConnectionError):
            self._connection.close()  # the server closed it after idle time; Go's client retries, too
            response = self._request(path)
        content = response.read()
        ms = (time.perf_counter() - began) * 1000
        if response.status != http.client.OK:
            raise ProgramFailed(f"{self.name} answered {path} with status {response.status}: {content[:1000]!r}")
        packed = response.headers.get("Content-Encoding") == "gzip"
        return TimedAnswer(ms, gzip.decompress(content) if packed else content, len(content))

    def _request(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=HEADERS)
        return self._connection.getresponse()

    def latencies(self, seconds: float, every: float) -> list[float]:
        """Latencies of scrapes for this time, in milliseconds, with a pause of ``every`` seconds after each scrape."""
        until, latencies = time.monotonic() + seconds, []
        while time.monotonic() < until:
            latencies.append(self.get().ms)
            time.sleep(every)
        return latencies

    def memory_mib(self, field: MemoryField = "VmRSS") -> float:
        """Its memory, as of `usage.memory_mib`. Raises ProgramFailed where it has ended."""
        mib = memory_mib(self.pid, field)
        if mib is None:
            raise ProgramFailed(f"{self.name} has ended")
        return mib


class Meter:
    """Measures what an exporter and its server use from its creation on, without the meter's own queries."""

    def __init__(self, server: PrivateServer, exporter: Exporter) -> None:
        self._server, self._exporter = server, exporter
        self._work = self._account()
        self._clocks = self._read_clocks()

    def read(self) -> Cost:
        """The use since the creation."""
        clocks, work = self._read_clocks(), self._account()
        before, now = (*self._clocks, *self._work), (*clocks, *work)
        names = ("seconds", "cpu", "server_cpu", "statements", "server", "connections")
        return {name: after - start for name, start, after in zip(names, before, now, strict=True)}

    def _read_clocks(self) -> tuple[float, float, float]:
        cpu, server_cpu = cpu_seconds(self._exporter.pid), cpu_seconds(self._server.pid)
        return time.monotonic(), cpu * 1000, server_cpu * 1000

    def _account(self) -> tuple[float, ...]:
        with self._server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(_WORK, (self._exporter.name, self._exporter.name))
            return tuple(float(value) for value in cursor.fetchall()[0])


def scrape_in_turn(run: BenchRun, *pairs: tuple[PrivateServer, Exporter]) -> tuple[list[Cost], ...]:
    """The costs of scrapes, by exporter: in turn, each round in reverse order, at most one in `APART` seconds.

    A cost also has the keys ``latency`` (milliseconds), ``samples`` and ``bytes`` on the wire.
    """
    costs: tuple[list[Cost], ...] = tuple([] for _ in pairs)
    scraped = [0.0] * len(pairs)
    for number in run.rounds("scrape", 60, 12):
        order = range(len(pairs)) if number % 2 else reversed(range(len(pairs)))
        for index in order:
            time.sleep(max(0.0, scraped[index] + APART - time.monotonic()))
            scraped[index] = time.monotonic()
            costs[index].append(_scrape(*pairs[index]))
    return costs


def _scrape(server: PrivateServer, exporter: Exporter) -> Cost:
    """The cost of one scrape, until `AFTER` seconds after its answer."""
    meter = Meter(server, exporter)
    answer = exporter.get()
    time.sleep(AFTER)
    samples = sum(1 for line in answer.content.splitlines() if line and not line.startswith(b"#"))
    return {**meter.read(), "latency": answer.ms, "samples": samples, "bytes": answer.transferred}


def put_costs(run: BenchRun, keys: Iterable[str], costs: Sequence[list[Cost]], prefix: str = "") -> None:
    """Take quantities of our costs and of those beside as the values of the figures of these names."""
    ours, beside = costs
    for key in keys:
        run.put(prefix + key, (cost[key] for cost in ours), (cost[key] for cost in beside))


def create_accounts(server: PrivateServer) -> None:
    """Create an account for each exporter, with its README's grants and without a password."""
    for name, grants in GRANTS.items():
        execute(
            server,
            f"CREATE USER IF NOT EXISTS {name}@'127.0.0.1'",
            *(f"GRANT {grant} TO {name}@'127.0.0.1'" for grant in grants),
        )


@contextmanager
def sidecar(server: PrivateServer, *arguments: str) -> Iterator[Exporter]:
    """`innodb-advisor serve` on a free port, with an account of its own and these further arguments.

    Raises:
        ProgramFailed: It did not start.
    """
    create_accounts(server)
    where = ("--listen", "127.0.0.1:0", "--dsn", f"mysql://{OURS}@{server.host}:{server.port}")
    command = [*COMMAND, "serve", *where, *arguments]
    with (
        ChildProcess("innodb-advisor serve", command, ENVIRONMENT, listening=SERVING) as process,
        closing(Exporter(OURS, process.pid, process.port)) as exporter,
    ):
        yield exporter


@contextmanager
def peer(server: PrivateServer, *flags: str) -> Iterator[Exporter]:
    """mysqld_exporter on a free port, with an account of its own.

    Raises:
        UnavailableHere: mysqld_exporter is unavailable here.
        ProgramFailed: It did not start.
    """
    create_accounts(server)
    with (
        tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as folder,
        mysqld_exporter.running(server, Path(folder), PEER, *flags) as process,
        closing(Exporter(PEER, process.pid, process.port)) as exporter,
    ):
        yield exporter


def settle(*exporters: Exporter) -> None:
    """Scrape each a few times, until first reads and start-up work are over."""
    deadline = time.monotonic() + SETTLING
    while time.monotonic() < deadline:
        for exporter in exporters:
            exporter.get()
        time.sleep(SETTLING / 5)
