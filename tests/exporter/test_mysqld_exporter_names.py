"""Metrics under mysqld_exporter's names equal mysqld_exporter's own metrics of the same server."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_classic
from prometheus_client.registry import Collector

from exporter import mysqld_exporter_names
from exporter.collectors import COLLECTORS
from exporter.collectors.metric_kinds import METRIC_KINDS, MetricKind
from exporter.sampling.assembly import Answer
from exporter.sampling.sampler import Sampler
from exporter.server import Server, identify
from exporter.snapshot import Snapshot
from lab.harness import workloads
from lab.processes.program import PLAIN, ChildProcess
from lab.programs import mysqld_exporter
from lab.servers import PrivateServer, UnavailableHere
from tests.unavailable import give_up, promtool_says
from tests.waiting import until

Ask = Callable[..., list[tuple[Any, ...]]]
Watch = Callable[..., Sampler]
StartServer = Callable[..., PrivateServer]
Key = tuple[str, frozenset[tuple[str, str]]]
Series = dict[Key, tuple[str, float]]
"""Type and value of each series, by name and labels."""

WITH_KINDS = (*COLLECTORS, METRIC_KINDS)
OF_INNODB = re.compile(r"mysql_up|mysql_version_info|mysql_global_status_uptime|mysql_.*(innodb|buffer_pool).*")
"""The promised metrics: all of mysqld_exporter's with these names, except LEFT_OUT."""
PAGE = Path(__file__).parents[2] / "docs" / "mysqld-exporter.md"
LEFT_OUT = frozenset(
    re.findall(
        r"`(mysql_(?:engine_innodb|info_schema_innodb_cmp(?:mem)?|global_variables_ignore)_\w+)`",
        PAGE.read_text(encoding="utf-8"),
    )
)
"""The names that the page says are not there."""
THREADS_IN_INNODB = frozenset(name for name in LEFT_OUT if name.endswith(("queries_inside_innodb", "queries_in_queue")))
"""MariaDB's text has none."""
IGNORED = "mysql_global_variables_ignore_builtin_innodb"
"""A setting of MySQL 5.6 and MariaDB."""

MYSQL_ONLY = ("mysql-5.6", "mysql-9.7")
CHANGE_BUFFER = ("mysql-5.6", "mysql-9.7", "mariadb-10.5", "mariadb-10.11")
IBUF_PAGES = re.compile(
    r"mysql_(global_status_innodb_ibuf_(free_list|segment_size|size)|.*_change_buffer_ibuf_size_total)"
)
DASHBOARDS: dict[str, tuple[str, ...]] = {
    "mysql_up": (),
    "mysql_global_status_uptime": (),
    "mysql_global_status_buffer_pool_pages": (),
    "mysql_global_status_buffer_pool_page_changes_total": (),
    "mysql_global_status_innodb_page_size": (),
    **{
        f"mysql_global_status_innodb_buffer_pool_{name}": ()
        for name in (
            *("reads", "read_requests", "write_requests", "read_ahead", "read_ahead_evicted", "read_ahead_rnd"),
            *("bytes_data", "bytes_dirty"),
        )
    },
    "mysql_global_status_innodb_pages_read": (),
    **{
        f"mysql_info_schema_innodb_metrics_change_buffer_ibuf_{name}_total": CHANGE_BUFFER
        for name in (
            *("merges", "merges_insert", "merges_delete", "merges_delete_mark"),
            *("merges_discard_insert", "merges_discard_delete", "merges_discard_delete_mark", "size"),
        )
    },
    **{
        f"mysql_global_status_innodb_ibuf_{name}": ("mariadb-10.5", "mariadb-10.11")
        for name in ("merges", "merged_inserts", "merged_deletes", "merged_delete_marks", "free_list", "segment_size")
    },
    **{
        f"mysql_global_variables_innodb_{name}": ()
        for name in (
            *("old_blocks_pct", "old_blocks_time", "lru_scan_depth", "read_ahead_threshold", "random_read_ahead"),
            *("buffer_pool_size", "log_buffer_size"),
        )
    },
    "mysql_global_variables_innodb_buffer_pool_instances": MYSQL_ONLY,
    "mysql_global_variables_innodb_change_buffer_max_size": CHANGE_BUFFER,
    "mysql_global_variables_innodb_parallel_read_threads": ("mysql-9.7",),
}
"""The names that published dashboards use, and the servers that have them; all servers if none is given."""
LRU = {
    "Buffer_buffer_LRU_get_free_search_total": ("mysql-9.7", "mariadb-10.11"),
    "buffer_buffer_LRU_get_free_loops_total": ("mysql-9.7", "mariadb-10.11"),
    "buffer_buffer_LRU_search_num_scan": ("mysql-9.7", "mariadb-10.11"),
    "buffer_buffer_LRU_search_scanned": ("mysql-9.7", "mariadb-10.11"),
    **{
        f"buffer_buffer_LRU_{name}": ("mysql-9.7",)
        for name in (
            *("get_free_waits_total", "batch_flush_total_pages", "batches_flush", "batch_evict_total_pages"),
            *("batches_evict", "single_flush_num_scan", "single_flush_scanned"),
        )
    },
}
"""Names of counters that are off by default."""


class Ready(Collector):
    def __init__(self, families: Iterator[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def registry(snapshot: Snapshot | None) -> CollectorRegistry:
    filled = CollectorRegistry(auto_describe=False)
    filled.register(Ready(mysqld_exporter_names.families(snapshot)))
    return filled


def text(snapshot: Snapshot | None) -> str:
    """In the classic format."""
    return generate_latest(registry(snapshot)).decode()


def series(exposed: str, parse: Callable[[str], Any] = parse_classic) -> Series:
    """The series with mysqld_exporter's names."""
    samples = [(family.type, sample) for family in parse(exposed) for sample in family.samples]
    by_labels = {
        (sample.name, frozenset(sample.labels.items())): (kind, float(sample.value))
        for kind, sample in samples
        if OF_INNODB.fullmatch(sample.name)
    }
    assert len(by_labels) == sum(bool(OF_INNODB.fullmatch(sample.name)) for _, sample in samples), (
        "a sample is there twice"
    )
    return by_labels


def scraping(peer: ChildProcess) -> Callable[[], str]:
    """Ask it for its metrics."""
    return lambda: httpx.get(f"http://127.0.0.1:{peer.port}/metrics", timeout=60, **PLAIN).text


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[PrivateServer], ChildProcess]]:
    """mysqld_exporter for a server, started once."""
    started: dict[str, ChildProcess] = {}
    with ExitStack() as stack:

        def peer(server: PrivateServer) -> ChildProcess:
            if server.name not in started:
                folder = tmp_path_factory.mktemp("peer")
                try:
                    started[server.name] = stack.enter_context(mysqld_exporter.running(server, folder, "root"))
                except UnavailableHere as error:
                    give_up(f"mysqld_exporter can't be had here: {error}")
            return started[server.name]

        yield peer


@pytest.fixture
def scrape(server: PrivateServer, peers: Callable[[PrivateServer], ChildProcess]) -> Callable[[], str]:
    """The peer's answer."""
    return scraping(peers(server))


@pytest.fixture(scope="module")
def worked() -> set[str]:
    """The servers after some work, so that not every counter is zero."""
    return set()


@pytest.fixture
def sampler(server: PrivateServer, watch: Watch, worked: set[str]) -> Sampler:
    if server.name not in worked:
        worked.add(server.name)
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE IF NOT EXISTS compat")
            cursor.execute("USE compat")
            workloads.make_table(connection, "filled", 500)
    return watch(server, collectors=WITH_KINDS)


def apart(ours: Series, before: Series, after: Series, words: set[str]) -> Iterator[str]:
    """Differences from the peer's metrics: name, label, type, or a value not between the peer's two scrapes."""
    for key in before.keys() | ours.keys() | after.keys():
        seen = before.get(key, after.get(key))
        if seen is None:
            yield f"{key}: the peer has none"
        elif key not in ours:
            negative = min(seen[1], after.get(key, seen)[1]) < 0
            if not (key[0] in words or key[0] in LEFT_OUT or negative):  # as docs/mysqld-exporter.md says
                yield f"{key}: there is none"
        else:
            (kind, value), (theirs, one), (_, other) = ours[key], seen, after.get(key, seen)
            if IBUF_PAGES.fullmatch(key[0]):  # MariaDB leaves garbage in the upper half
                one, other = float(int(one) & 0xFFFFFFFF), float(int(other) & 0xFFFFFFFF)
            if kind != theirs or not min(one, other) <= value <= max(one, other):
                yield f"{key}: {kind} {value}, not {theirs} {one} to {other}"


async def compared(server: PrivateServer, sampler: Sampler, scrape: Callable[[], str], ask: Ask) -> Series:
    """Our series, after a check that they equal the peer's."""
    status = ask(server, "SHOW GLOBAL STATUS LIKE 'Innodb%'")
    words = {f"mysql_global_status_{name.lower()}" for name, value in status if value in ("ON", "OFF")}

    async def equal() -> tuple[Series, Series] | None:
        before, ours, after = series(scrape()), series(text(await sampler.collect())), series(scrape())
        for difference in (differences := list(apart(ours, before, after, words))):
            print(difference)  # a value may go up and down again between the peer's two looks
        return None if differences else (before, ours)

    seen: tuple[Series, Series] = await until(equal)
    before, ours = seen
    left_out = {name for name, _ in before} & LEFT_OUT
    assert not left_out & {name for name, _ in ours}
    mariadb = server.name.startswith("mariadb")
    assert left_out == LEFT_OUT - (THREADS_IN_INNODB if mariadb else frozenset()) - (
        {IGNORED} if server.name == "mysql-9.7" else frozenset()
    )
    theirs = [key for key in before if key[0] not in LEFT_OUT]
    assert len(ours) > len(theirs) - len(words) - 5
    return ours


async def test_names_labels_types_and_values_are_those_of_mysqld_exporter(
    server: PrivateServer, sampler: Sampler, scrape: Callable[[], str], ask: Ask
) -> None:
    ours = await compared(server, sampler, scrape, ask)
    assert sum(value != 0 for _, value in ours.values()) > 60


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-10.11"])
async def test_so_they_are_where_all_of_innodbs_counters_are_on(
    name: str, start_server: StartServer, watch: Watch, ask: Ask, tmp_path: Path
) -> None:
    server = start_server(name, innodb_monitor_enable="all")
    try:
        with mysqld_exporter.running(server, tmp_path, "root") as peer:
            ours = await compared(server, watch(server, collectors=WITH_KINDS), scraping(peer), ask)
    except UnavailableHere as error:
        give_up(f"mysqld_exporter can't be had here: {error}")
    names = {name.removeprefix("mysql_info_schema_innodb_metrics_") for name, _ in ours}
    assert {name for name, servers in LRU.items() if server.name in servers} <= names


async def test_the_names_of_published_dashboards_are_there(server: PrivateServer, sampler: Sampler) -> None:
    exposed = series(text(await sampler.collect()))
    assert {name for name, servers in DASHBOARDS.items() if not servers or server.name in servers} <= {
        name for name, _ in exposed
    }
    states, changes = (
        {value for name, labels in exposed if name == f"mysql_global_status_{family}" for _, value in labels}
        for family in ("buffer_pool_pages", "buffer_pool_page_changes_total")
    )
    # MySQL's status has neither old pages nor those made young: there mysqld_exporter lacks them, too.
    assert ("old" in states, "made_young" in changes) == (server.name.startswith("mariadb"),) * 2
    assert states - {"old"} == {"data", "free", "misc"}
    assert "flushed" in changes


async def test_openmetrics_has_the_same_series(sampler: Sampler) -> None:
    snapshot = await sampler.collect()
    exposed = generate_openmetrics(registry(snapshot)).decode()  # type: ignore[no-untyped-call]
    assert series(exposed, parse_openmetrics) == series(text(snapshot))


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_promtool_finds_nothing_that_it_does_not_find_in_mysqld_exporter_too(
    sampler: Sampler, scrape: Callable[[], str]
) -> None:
    complaints = set(promtool_says(text(await sampler.collect())).splitlines())
    assert complaints <= set(promtool_says(scrape()).splitlines())


class Heard:
    """Keeps the names of the collectors that ran."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def session(self, _server: Server, _account: str) -> None:
        pass

    def answer(self, answer: Answer) -> None:
        self.names.append(answer.collector)

    def collection(self, _at: float) -> None:
        pass


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_a_scrape_asks_no_statement_more_and_a_collection_one_in_five_minutes(
    server: PrivateServer, watch: Watch
) -> None:
    heard = Heard()
    sampler = watch(server, collectors=WITH_KINDS, keep=heard, monotonic=lambda: 0.0)
    for _ in range(3):
        await sampler.collect()
    assert heard.names.count("metric_kinds") == 1
    assert len(METRIC_KINDS.queries(identify({"version": "9.7.4"}))) == 1
    heard.names.clear()
    snapshot = await sampler.glance()
    assert set(heard.names) <= {collector.name for collector in COLLECTORS if collector.quick} | {"parallel_readers"}
    assert ("mysql_up", frozenset()) in series(text(snapshot))


def snapshot(**sections: Any) -> Snapshot:
    return Snapshot(1.0, identify({"version": "9.7.4"}), "a@b", sections=sections)


def test_a_server_that_is_away_is_down_and_nothing_else_is_said() -> None:
    assert series(text(None)) == {("mysql_up", frozenset()): ("gauge", 0.0)}
    assert series(text(snapshot())) == {("mysql_up", frozenset()): ("gauge", 1.0)}


def test_counters_whose_kind_is_not_known_are_left_out() -> None:
    known = snapshot(
        innodb_metrics={"ibuf_merges": 1, "ibuf_size": 2, "buffer_page_read_blob": 3, "buffer_page_strange": 4},
        metric_kinds={
            "ibuf_merges": MetricKind("change_buffer", "counter"),
            "buffer_page_read_blob": MetricKind("buffer_page_io", "counter"),
            "buffer_page_strange": MetricKind("buffer_page_io", "counter"),
        },
    )
    prefix = "mysql_info_schema_innodb_metrics_"
    assert {key: value for key, (_, value) in series(text(known)).items()} == {
        ("mysql_up", frozenset()): 1,
        (f"{prefix}change_buffer_ibuf_merges_total", frozenset()): 1,
        (f"{prefix}buffer_page_read_total", frozenset({("type", "blob")})): 3,
    }


def test_settings_that_are_words_are_numbers_only_where_they_say_yes_or_no() -> None:
    settings = {"innodb_a": "ON", "innodb_b": "off", "innodb_c": "all", "innodb_d": "0.5", "innodb_e": "", "port": "1"}
    assert {
        key: value for key, (_, value) in series(text(snapshot(variables=settings))).items() if "variables" in key[0]
    } == {
        ("mysql_global_variables_innodb_a", frozenset()): 1,
        ("mysql_global_variables_innodb_b", frozenset()): 0,
        ("mysql_global_variables_innodb_d", frozenset()): 0.5,
    }
