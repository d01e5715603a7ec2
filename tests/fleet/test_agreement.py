"""What the fleet sees of real servers under load, against what they count themselves and what their sidecars find.

A real Prometheus scrapes the sidecars and the real mysqld_exporter. With -s the deviation of each count is printed.
"""

from __future__ import annotations

import asyncio
import bisect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from advisor.contract.fleet import Source
from advisor.facts import facts
from advisor.fleet.client import Prometheus
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.judging import Budget, judge
from advisor.fleet.series import Grid
from advisor.fleet.tables import tables
from advisor.fleet.windows import windows
from advisor.observe.window import Window
from exporter.collectors.table_files import TABLE_FILES
from exporter.snapshot import Table
from lab.bench.exporters import GRANTS, OURS, PEER
from lab.captures.scenarios.base import emptied
from lab.observation import rules
from lab.programs import mysqld_exporter, prometheus
from lab.proofs.scans import OTHER, OTHER_PAGES, PAGES, POOL, SCANNED
from lab.servers import Server
from lab.servers.sql import execute
from lab.workloads import SCHEMA, Load, scan
from tests.advisor.sidecar import Sidecar
from tests.unavailable import or_give_up
from tests.waiting import wait_for

SERVERS = {
    "mysql-9.7": {},
    "mariadb-11.8": {"performance_schema": "ON", "performance_schema_consumer_statements_digest": "ON"},
}
FLAGS = (
    "--collect.info_schema.tables",
    "--collect.info_schema.innodb_tablespaces",
    "--collect.perf_schema.indexiowaits",
    "--collect.perf_schema.tablelocks",
    "--collect.perf_schema.eventsstatements",
    "--collect.perf_schema.file_events",
    "--collect.perf_schema.file_instances",
)
IDENTITY = Identity(("db",))
NEAR = 0.02
EDGE = 1.1 * PAGES
"""Pages that a count may be off at the window's ends together: a scan reads its table within a second, and a sample has
the time at which its scrape began. In ten minutes that is 0.3 %."""
SCAN_PAUSE = 1.5
ORDERS = Table(SCHEMA, SCANNED)
COUNTS = {
    "pages_read": "SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_pages_read'",
    "gets": "SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_read_requests'",
    "file_reads": "SELECT SUM(COUNT_READ) FROM performance_schema.file_summary_by_instance"
    f" WHERE FILE_NAME LIKE '%/{SCHEMA}/{SCANNED}.ibd'",
}


@dataclass
class Counted:
    """A server's own counts, a few times a second."""

    server: Server
    at: list[float] = field(default_factory=list)
    values: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in COUNTS})

    def read(self, done: threading.Event) -> None:
        mariadb = "mariadb" in self.server.version.lower()
        status = f"{'information_schema' if mariadb else 'performance_schema'}.global_status"
        with self.server.connect() as connection, connection.cursor() as cursor:
            while not done.wait(0.3):
                now = time.time()
                for name, sql in COUNTS.items():
                    cursor.execute(sql.format(status=status))
                    self.values[name].append(float(cursor.fetchall()[0][0]))
                self.at.append((now + time.time()) / 2)

    def growth(self, name: str, window: Window) -> float:
        return self._at(name, window.latest.at) - self._at(name, window.snapshots[0].at)

    def _at(self, name: str, at: float) -> float:
        after = min(max(bisect.bisect_left(self.at, at), 1), len(self.at) - 1)
        (begin, end), (low, high) = self.at[after - 1 : after + 1], self.values[name][after - 1 : after + 1]
        return low + (high - low) * (at - begin) / (end - begin)


@dataclass
class Watched:
    """Servers under the same load, with everything that watches them."""

    prometheus: prometheus.Prometheus
    sidecars: dict[str, Sidecar]
    counted: dict[str, Counted]


@pytest.fixture
def watched(start_server: Callable[..., Server], tmp_path: Path) -> Iterator[Watched]:
    with ExitStack() as stack:
        sidecars, counted, jobs = {}, {}, []
        for name, options in SERVERS.items():
            server = start_server(name, **POOL, **options)
            for account, grants in GRANTS.items():
                execute(server, f"CREATE USER {account}@'127.0.0.1'")
                execute(server, *(f"GRANT {grant} TO {account}@'127.0.0.1'" for grant in grants))
            connection = stack.enter_context(emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES}))
            connection.select_db(SCHEMA)  # mysqld_exporter leaves out statements without a default schema
            scan(connection, OTHER)
            folder = tmp_path / name
            folder.mkdir()
            where = f"mysql://{OURS}@{server.host}:{server.port}"
            sidecars[name] = Sidecar(folder, "--dsn", where, "--interval", "1s")
            stack.callback(sidecars[name].stop)
            peer = stack.enter_context(or_give_up(mysqld_exporter.running(server, folder, PEER, *FLAGS)))
            named = [{"target_label": "db", "replacement": name}]
            jobs += [
                prometheus.job(f"own-{name}", sidecars[name].url.removeprefix("http://"), relabel_configs=named),
                prometheus.job(f"peer-{name}", f"127.0.0.1:{peer.port}", relabel_configs=named),
            ]
            counted[name] = Counted(server)
            load = stack.enter_context(Load(server.connect))
            load.repeat(partial(scan, table=SCANNED), pause=SCAN_PAUSE)
            done = threading.Event()
            reader = threading.Thread(target=counted[name].read, args=(done,))
            reader.start()
            stack.callback(reader.join)
            stack.callback(done.set)
        asked = stack.enter_context(or_give_up(prometheus.running(tmp_path, jobs, interval=2.0)))
        yield Watched(asked, sidecars, counted)


def key(name: str) -> ServerKey:
    found = IDENTITY.server({"db": name})
    assert found is not None
    return found


async def seen(url: str, grid: Grid, source: Source) -> dict[str, Window]:
    """The windows with their tables."""
    found: dict[str, Window] = {}
    async with Prometheus(url) as client:
        of = await windows(client, grid, [key(name) for name in SERVERS], source, identity=IDENTITY)
        clear = {each: window for each, window in of.items() if isinstance(window, Window)}
        assert len(clear) == len(SERVERS), of
        async for part in tables(client, grid, clear, source, identity=IDENTITY):
            found |= {each.name: window for each, window in part.items() if isinstance(window, Window)}
    return found


def judged(name: str, window: Window, source: Source) -> tuple[set[tuple[str, str]], set[str]]:
    """What the rules find, models included, as rule and subject; and the rules that could not be judged."""
    budget, said = Budget(60.0), judge(rules(), window, source)
    if said.waiting:
        budget.keep(name, window, source, said)
        said = dict(budget.spend(rules())).get(name, said)
    return {(each.rule, str(dict(each.subject))) for each in said.findings}, {*said.undecided}


@pytest.mark.parametrize(
    "seconds",
    [
        48.0,
        pytest.param(600.0, marks=pytest.mark.long),
    ],
)
def test_the_fleet_counts_as_servers_do_and_finds_what_their_sidecars_find(watched: Watched, seconds: float) -> None:
    first = "count(timestamp(mysql_global_status_uptime) or timestamp(innodb_server_uptime_seconds)) == 4"
    wait_for(lambda: watched.prometheus.query(first))
    time.sleep(seconds + 6.0)
    grid = Grid(float(int(time.time()) - 2), seconds / 8)
    scanned, seen_by = ("scan-exceeds-old-sublist", str({"schema": SCHEMA, "table": SCANNED})), set[Source]()
    for source in (Source.OWN, Source.PEER):
        for name, window in asyncio.run(seen(watched.prometheus.url, grid, source)).items():
            assert len(window.snapshots) == 9
            own, known = watched.counted[name], facts(window)
            found = {
                "pages_read": known.pool.pages_read,
                "gets": known.pool.gets,
                "file_reads": window.growth(lambda s: s[TABLE_FILES], ORDERS, lambda f: float(f.reads)),
            }
            near = max(NEAR, EDGE / own.growth("pages_read", window))
            for what, grown in found.items():
                truth = own.growth(what, window)
                print(f"{name:14} {source:5} {what:10} {grown} of {truth:.0f}")
                assert grown == pytest.approx(truth, rel=near), (name, source, what)
            told = watched.sidecars[name].get("/advise").json()["recommendations"]
            sidecar = {(each["rule"], str(each["subject"])) for each in told if each["rule"] != "blind-spot"}
            fleet, undecided = judged(name, window, source)
            print(f"{name:14} {source:5} finds {sorted(fleet)} of {sorted(sidecar)}; undecided {sorted(undecided)}")
            assert fleet <= sidecar
            assert not {rule for rule, _ in sidecar - fleet} - undecided
            if scanned in sidecar:  # over minutes on a busy machine a slow scan may make its pages young, and keep them
                assert scanned in fleet
                seen_by.add(source)
    assert seen_by == {Source.OWN, Source.PEER}
