"""A sidecar under guard during faults: every scrape must satisfy its invariants."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import httpx
import pymysql
from prometheus_client.parser import text_string_to_metric_families
from pymysql.constants import ER

from exporter.sampling.sampler import Sampler
from lab.servers import PrivateServer
from tests.advisor.in_process import InProcess
from tests.waiting import wait_for

INTERVAL = 0.5
"""Seconds between two collections."""
SESSIONS = 2
_UNVERIFIED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_UNVERIFIED.check_hostname = False
_UNVERIFIED.verify_mode = ssl.CERT_NONE

OF_COLLECTORS = {
    "status": "innodb_server_uptime_seconds",
    "variables": "innodb_setting",
    "pools": "innodb_buffer_pool_pages",
    "innodb_metrics": "innodb_ibuf_merges_total",
    "table_scans": "innodb_table_scan_rows_total",
    "count_statements": "innodb_count_star_total",
    "data_files": "innodb_data_file_reads_total",
    "table_files": "innodb_table_file_read_bytes_total",
    "cached_indexes": "innodb_index_resident_pages",
    "index_sizes": "innodb_index_pages",
    "ddl": "innodb_ddl_threads_active",
    "parallel_readers": "innodb_parallel_read_threads",
}
"""A metric of each collector's section, which must not be there when the section is unknown."""

OF_SESSIONS = ("innodb_exporter_collector_server_seconds_total", "innodb_parallel_read")
"""Counters that begin anew with the sidecar's sessions."""

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Scrape:
    """One answer of /metrics: values by name and labels, which names are counters, and the server's process."""

    values: Mapping[tuple[str, Labels], float]
    counters: frozenset[str]
    pid: int

    @classmethod
    def of(cls, text: str, pid: int) -> Scrape:
        families = list(text_string_to_metric_families(text))
        samples = [sample for family in families for sample in family.samples]
        values = {(sample.name, frozenset(sample.labels.items())): float(sample.value) for sample in samples}
        assert len(values) == len(samples), "a sample is there twice"
        counters = {sample.name for family in families if family.type == "counter" for sample in family.samples}
        return cls(values, frozenset(counters), pid)

    def get(self, name: str, /, **labels: str) -> float | None:
        """A sample's value; None if there is no such sample."""
        return self.values.get((name, frozenset(labels.items())))

    def by(self, name: str, label: str) -> dict[str, float]:
        """A metric's samples by one of their labels."""
        return {dict(labels)[label]: value for (other, labels), value in self.values.items() if other == name}

    def total(self, name: str) -> float | None:
        """The sum over all labels; None when there is none."""
        values = [value for (other, _), value in self.values.items() if other == name]
        return sum(values) if values else None

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.values}

    @property
    def up(self) -> bool:
        return self.get("innodb_up") == 1

    @property
    def failing(self) -> set[str]:
        """The collectors whose last run failed."""
        return {name for name, ok in self.by("innodb_exporter_collector_success", "collector").items() if not ok}

    @property
    def version(self) -> str | None:
        return next(iter(self.by("innodb_server_info", "version_text")), None)


def wrong(scrape: Scrape) -> Iterator[str]:
    """Violations of invariants in a single scrape."""
    if scrape.get("innodb_up") not in (0, 1):
        yield "innodb_up is neither 0 nor 1"
    if not scrape.up:
        own = ("innodb_up", "innodb_advisor_", "innodb_exporter_")
        unexpected = {name for name in scrape.names if not name.startswith(own)}
        if unexpected:
            yield f"down, and yet it tells {sorted(unexpected)}"
        return
    succeeded = scrape.by("innodb_exporter_collector_success", "collector")
    ages = scrape.by("innodb_exporter_collector_age_seconds", "collector")
    for name, metric in OF_COLLECTORS.items():
        if metric in scrape.names and not succeeded.get(name) and name not in ages:
            yield f"{metric} is served although {name} failed, and not with its age"
    if any(age < 0 for age in ages.values()):
        yield f"an age below 0: {ages}"
    negative = {name for (name, _), value in scrape.values.items() if value < 0}
    if negative:
        yield f"below 0: {sorted(negative)}"


def contradictions(before: Scrape, after: Scrape, resets: tuple[str, ...] = ()) -> Iterator[str]:
    """Violations of invariants between two successive scrapes of a server that did not restart.

    Args:
        before: The earlier one.
        after: The later one.
        resets: Name prefixes of counters that were reset.
    """
    if not before.up or not after.up or restarted(before, after):
        return
    for (name, labels), value in after.values.items():
        then = before.values.get((name, labels))
        if name in after.counters and then is not None and value < then:
            if name.startswith((*resets, *OF_SESSIONS)):
                continue
            yield f"{name}{dict(labels)} went back from {then} to {value}"


def restarted(before: Scrape, after: Scrape) -> bool:
    """Whether the later of two scrapes has another server, or the same one after a restart.

    A server that restarts in its first seconds may have been up for as long before: the test's own restarts are known.
    """
    uptime = "innodb_server_uptime_seconds"
    return (
        before.pid != after.pid
        or before.version != after.version
        or (after.get(uptime) or 0) < (before.get(uptime) or 0)
    )


@dataclass
class Guard:
    """Asks a sidecar, and judges each answer; at its end the sidecar must still be well, and have two sessions at most.

    Attributes:
        resets: Name prefixes of counters that the test itself resets.
        scrapes: All scrapes.
    """

    sidecar: InProcess
    account: str
    server: PrivateServer
    resets: tuple[str, ...] = ()
    scrapes: list[Scrape] = field(default_factory=list)

    def __enter__(self) -> Self:
        self.look()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.look()
            wait_for(lambda: len(self.sessions()) <= SESSIONS)  # the server may learn of a closed one later

    def look(self) -> Scrape:
        """Scrape once; it violates no invariant, neither alone nor beside the scrape before."""
        health = self.sidecar.get("/healthz")
        assert health.status_code == httpx.codes.OK, health.text
        answer = self.sidecar.get("/metrics")
        assert answer.status_code == httpx.codes.OK, answer.text[:200]
        scrape = Scrape.of(answer.text, self.server.pid)
        complaints = [*wrong(scrape)]
        if self.scrapes:
            complaints += contradictions(self.scrapes[-1], scrape, self.resets)
        assert not complaints, "\n".join([*complaints[:5], self.sidecar.log()[-2000:]])
        self.scrapes.append(scrape)
        return scrape

    def until(self, event: Callable[[Scrape], Any]) -> Scrape:
        """The first scrape from now on that satisfies ``event``."""

        def look() -> Scrape | None:
            scrape = self.look()
            return scrape if event(scrape) else None

        return wait_for(look)

    def well(self) -> Scrape:
        """The first scrape from now on with the server up and every collector successful."""
        return self.until(lambda scrape: scrape.up and not scrape.failing)

    @property
    def source(self) -> Sampler:
        """What collects."""
        source = self.sidecar.app.state.service.source
        assert isinstance(source, Sampler)
        return source

    def collected(self) -> Scrape:
        """A scrape after a complete collection that began after now."""
        now = time.time()

        def later() -> bool:
            latest = self.source.latest
            return latest is not None and latest.at > now

        wait_for(later)
        return self.look()

    def tried_again(self) -> Scrape:
        """A scrape after one more attempt to reach the server has failed."""
        problem = self.source.problem
        wait_for(lambda: self.source.problem is not problem)
        return self.look()

    def down(self, reason: str) -> str:
        """Wait until the server is said to be away, with a reason that matches; the answer, which is a 503."""

        def answer() -> httpx.Response | None:
            response = self.sidecar.get("/readyz")
            return response if re.search(reason, response.text) else None

        response = wait_for(answer)
        assert response.status_code == httpx.codes.SERVICE_UNAVAILABLE
        assert not self.look().up
        return response.text

    def sessions(self) -> set[int]:
        """The ids of the account's connections, from the server."""
        with admin(self.server) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = %s", (self.account,))
            return {int(row[0]) for row in cursor.fetchall()}

    def both(self) -> set[int]:
        """The ids of both sessions once they are open, and no other."""
        return wait_for(lambda: sessions if len(sessions := self.sessions()) == SESSIONS else None)

    def agrees(self) -> None:
        """The counters of a collection that began after the server was asked lie between the server's own."""
        before = own_counters(self.server)
        scrape = self.collected()
        after = own_counters(self.server)
        for metric, low in before.items():
            served = scrape.total(metric)
            assert served is not None, metric
            assert low <= served <= after[metric], metric


def admin(server: PrivateServer) -> pymysql.Connection[Any]:
    """A root connection, which works even if the server requires TLS."""
    encrypted = server.name == "mysql-9.7" or "ssl-cert" in server.options
    return server.connect(charset="utf8mb4", ssl=_UNVERIFIED if encrypted else None)


def ask(server: PrivateServer, *statements: str) -> list[tuple[Any, ...]]:
    """Statements as root; the rows of the last one."""
    rows: list[tuple[Any, ...]] = []
    with admin(server) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            rows = list(cursor.fetchall())
    return rows


def kill(server: PrivateServer, sessions: Iterable[int]) -> None:
    """Kill sessions. One may be gone already: if one breaks, the sidecar closes the other."""
    for session in sessions:
        try:
            ask(server, f"KILL {session}")
        except pymysql.MySQLError as error:
            if error.args[0] != ER.NO_SUCH_THREAD:
                raise


def own_counters(server: PrivateServer) -> dict[str, float]:
    """The server's own counters, by metric."""
    [(read, created, written, gets)] = ask(
        server,
        "SELECT SUM(NUMBER_PAGES_READ), SUM(NUMBER_PAGES_CREATED), SUM(NUMBER_PAGES_WRITTEN), SUM(NUMBER_PAGES_GET)"
        " FROM information_schema.INNODB_BUFFER_POOL_STATS",
    )
    [(_, uptime)] = ask(server, "SHOW GLOBAL STATUS LIKE 'Uptime'")
    return {
        "innodb_buffer_pool_pages_read_total": float(read),
        "innodb_buffer_pool_pages_created_total": float(created),
        "innodb_buffer_pool_pages_written_total": float(written),
        "innodb_buffer_pool_gets_total": float(gets),
        "innodb_server_uptime_seconds": float(uptime),
    }
