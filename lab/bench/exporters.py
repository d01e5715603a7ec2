"""The sidecar and mysqld_exporter as processes, scraped over HTTP as Prometheus does."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.demo import GRANTS as OWN_GRANTS
from lab.packages import cache
from lab.processes.service import NotServing, run_service
from lab.processes.usage import cpu_seconds, memory_mib
from lab.programs import mysqld_exporter
from lab.servers import Server
from lab.servers.sql import execute, query_number

OURS, PEER = "innodb_advisor", "mysqld_exporter"
"""Also the names of their accounts, so that the server counts their statements apart."""
GRANTS = {
    OURS: OWN_GRANTS,
    PEER: mysqld_exporter.GRANTS,
}
HEADERS = {
    "User-Agent": "Prometheus/2.42.0",
    "Accept": "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "Accept-Encoding": "gzip",
    "X-Prometheus-Scrape-Timeout-Seconds": "10",
}
"""What Prometheus sends with a scrape (scrape/scrape.go)."""
SCRAPE_SECONDS = 60.0
_SERVING = re.compile(r"serving on http://127\.0\.0\.1:(\d+)/")
_PICOSECONDS = 1e12


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
            NotServing: The status was not 200.
        """
        return self.get("/metrics")

    def get(self, path: str) -> Scrape:
        """Get a path."""
        began = time.perf_counter()
        try:
            answer = self._asked(path)
        except (http.client.RemoteDisconnected, ConnectionError):
            self._connection.close()  # the server closed it after idle time; Go's client retries, too
            answer = self._asked(path)
        content = answer.read()
        took = time.perf_counter() - began
        if answer.status != http.client.OK:
            raise NotServing(f"{self.name} answered {path} with status {answer.status}: {content[:1000]!r}")
        packed = answer.headers.get("Content-Encoding") == "gzip"
        return Scrape(took, gzip.decompress(content) if packed else content, len(content))

    def _asked(self, path: str) -> http.client.HTTPResponse:
        self._connection.request("GET", path, headers=HEADERS)
        return self._connection.getresponse()

    def cpu_seconds(self) -> float:
        """CPU time of the process so far, including ended threads, by the kernel's clock (nanoseconds)."""
        return cpu_seconds(self.pid)

    def rss_mib(self) -> float:
        """Its resident memory."""
        mib = memory_mib(self.pid)
        if mib is None:
            raise NotServing(f"{self.name} has ended")
        return mib


@dataclass(frozen=True, slots=True)
class ServerWork:
    """A server's work for one account so far.

    Attributes:
        statements: Their number, including session set-up.
        seconds: Their server time, summed by performance_schema.
        connections: Sessions opened.
    """

    statements: float
    seconds: float
    connections: float

    def since(self, before: ServerWork) -> ServerWork:
        """The work since an earlier reading."""
        return ServerWork(
            self.statements - before.statements,
            self.seconds - before.seconds,
            self.connections - before.connections,
        )


def server_work(server: Server, name: str) -> ServerWork:
    """The server's work for an exporter's account so far, from the statement summaries by account."""
    by_account = (
        "FROM performance_schema.events_statements_summary_by_account_by_event_name"
        f" WHERE USER = '{name}' AND EVENT_NAME LIKE 'statement/sql/%'"
    )
    return ServerWork(
        query_number(server, f"SELECT COALESCE(SUM(COUNT_STAR), 0) {by_account}"),
        query_number(server, f"SELECT COALESCE(SUM(SUM_TIMER_WAIT), 0) {by_account}") / _PICOSECONDS,
        query_number(
            server,
            f"SELECT COALESCE(SUM(TOTAL_CONNECTIONS), 0) FROM performance_schema.accounts WHERE USER = '{name}'",
        ),
    )


def create_accounts(server: Server) -> None:
    """Create an account for each exporter, with its README's grants and without a password."""
    for name, grants in GRANTS.items():
        execute(
            server,
            f"CREATE USER IF NOT EXISTS {name}@'127.0.0.1'",
            *(f"GRANT {grant} TO {name}@'127.0.0.1'" for grant in grants),
        )


@contextlib.contextmanager
def sidecar(server: Server, folder: Path, *arguments: str) -> Iterator[Exporter]:
    """`innodb-advisor serve` on a free port.

    Args:
        server: The watched server.
        folder: For its log.
        arguments: Further arguments.

    Raises:
        NotServing: It did not start.
    """
    log = folder / "sidecar.log"
    log.unlink(missing_ok=True)
    command = [sys.executable, "-m", "advisor.cli", "serve", "--listen", "127.0.0.1:0"]
    where = ["--dsn", f"mysql://{OURS}@{server.host}:{server.port}"]
    environment = {"PYTHONPATH": str(cache.REPOSITORY)}
    with (
        run_service("innodb-advisor serve", [*command, *where, *arguments], environment, log, _SERVING) as started,
        Exporter(OURS, started.pid, started.port) as exporter,
    ):
        yield exporter


@contextlib.contextmanager
def peer(server: Server, folder: Path) -> Iterator[Exporter]:
    """mysqld_exporter beside it. Raises as `mysqld_exporter.running`."""
    with (
        mysqld_exporter.running(server, folder, PEER) as started,
        Exporter(PEER, started.pid, started.port) as exporter,
    ):
        yield exporter
