"""Days of a fleet in a real Prometheus: blocks of recorded series as recording rules would have made them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from advisor.contract.fleet import Capacity
from advisor.fleet import capacity
from advisor.fleet.client import PrometheusClient
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.reading import ReadingOptions, read
from advisor.fleet.series import Grid
from advisor.rules.rulebook import Rulebook
from exporter.server import Server
from lab.packages.cache import UnavailableHere
from lab.programs import prometheus, promtool
from tests.advisor.building import RULES_FOLDER
from tests.unavailable import give_up, or_give_up

NOW = 1_767_000_000.0 // 3600 * 3600
DAY, HOUR = 86_400, 3600
GIB = 2**30
POOL = 32 * GIB
PAGES = POOL / 16_384
MYSQL = Server("mysql", (9, 7, 4), "9.7.4", "(Debian)", performance_schema=True)
SETTINGS = {
    "innodb_adaptive_hash_index": 0,
    "innodb_buffer_pool_size": POOL,
    "innodb_buffer_pool_chunk_size": 2**27,
    "innodb_buffer_pool_instances": 8,
    "innodb_buffer_pool_load_at_startup": 1,
    "innodb_buffer_pool_dump_pct": 25,
    "innodb_lru_scan_depth": 1024,
    "innodb_page_size": 16_384,
}
OWN = (
    "instance:innodb_buffer_pool_pages_read:rate5m",
    "instance:innodb_buffer_pool_gets:rate5m",
    ("instance:innodb_buffer_pool_pages", "instance:innodb_buffer_pool_pages_read", "instance:innodb_buffer_pool_gets"),
)
PEER = (
    "instance:mysql_global_status_innodb_pages_read:rate5m",
    "instance:mysql_global_status_innodb_buffer_pool_read_requests:rate5m",
    (
        "instance:mysql_global_status_buffer_pool_pages",
        "instance:mysql_global_status_innodb_pages_read",
        "instance:mysql_global_status_innodb_buffer_pool_read_requests",
    ),
)
OWN_SIZE = "innodb_buffer_pool_size_bytes"
RISE = "instance_times:innodb_advisor_curve_pages_read_per_second:rise"


class Blocks:
    """A text in OpenMetrics, for promtool."""

    def __init__(self) -> None:
        self._series: dict[str, dict[str, list[tuple[float, float]]]] = {}

    def add(self, name: str, labels: str, at: float, value: float) -> None:
        self._series.setdefault(name, {}).setdefault(labels, []).append((at, value))

    def text(self) -> str:
        lines = []
        for name, samples in self._series.items():
            lines.append(f"# TYPE {name} gauge")
            lines += [
                f"{name}{{{labels}}} {value} {at}" for labels, points in samples.items() for at, value in sorted(points)
            ]
        return "\n".join([*lines, "# EOF\n"])

    def server(
        self, labels: str, names: tuple[str, str, tuple[str, str, str]] = OWN, *, days: int = 30, was: int = POOL
    ) -> None:
        """A server with a load that never changes, and a pool that ten days ago was half as large, if ``was`` says."""
        rates, settings = names[:2], "innodb_setting" if names is OWN else "mysql_global_variables_"
        for hour in range(24 * days):
            at = NOW - hour * HOUR
            for name, value in zip(rates, (5.0, 2_000.0), strict=True):
                self.add(name, labels, at, value + (100.0 if hour % 24 == 3 else 0.0))  # a job an hour long
            size = was if hour > 240 else POOL
            self.add(OWN_SIZE if names is OWN else f"{settings}innodb_buffer_pool_size", labels, at, size)
        if names is OWN:
            self.add("innodb_up", labels, NOW, 1)
            info = f'{labels},flavour="mysql",version="9.7.4",version_text="9.7.4",version_comment="(Debian)"'
            self.add("innodb_server_info", info, NOW, 1)
        else:
            self.add("mysql_up", labels, NOW, 1)
            self.add("mysql_version_info", f'{labels},version="9.7.4",version_comment="(Debian)"', NOW, 1)
        for name, value in SETTINGS.items():
            if names is OWN:
                self.add(settings, f'{labels},name="{name}"', NOW, value)
            elif name != "innodb_buffer_pool_size":
                self.add(settings + name, labels, NOW, value)

    def warm_up(self, labels: str, names: tuple[str, ...], ago: float, hot: float = 0.25) -> None:
        """It loads a quarter at once, then misses until it holds the hot pages, and then once in a thousand times."""
        pages, gets = 0.0, 0.0
        for minute in range(360):
            at = NOW - ago + 60 * minute
            for name, value in zip(names, (pages, pages, gets + pages), strict=True):
                self.add(f"{name}:filling", labels, at, value)
            if minute < 5:
                pages += 0.05 * PAGES
            else:
                pages += 120_000 * max(0.001, 0.6 * (1 - pages / ((hot + 0.25) * PAGES)))
                gets += 120_000


@pytest.fixture(scope="module")
def watching(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    blocks = Blocks()
    for replica in ("a", "b"):
        good = f'instance="good:9747",prometheus_replica="{replica}"'
        blocks.server(good)
        blocks.warm_up(good, OWN[2], 10 * DAY)
    blocks.server('instance="peer:9104"', PEER)
    blocks.warm_up('instance="peer:9104"', PEER[2], 20 * DAY)
    blocks.warm_up('instance="peer:9104"', PEER[2], 5 * DAY, hot=0.4)
    blocks.server('instance="young:9747"', days=12)
    blocks.server('instance="resized:9747"', was=POOL // 2)
    blocks.server('instance="curve:9747"')
    blocks.server('instance="no-curve:9747"')
    for hour in range(24 * 30):
        for times, most in (("0.25", 700.0 if hour == 55 else 10.0), ("0.5", 20.0), ("0.75", 10.0)):
            labels = f'instance="curve:9747",times="{times}"'
            blocks.add(RISE, labels, NOW - hour * HOUR, 1.0)
            blocks.add(f"{RISE}_high", labels, NOW - hour * HOUR, most)
    folder = tmp_path_factory.mktemp("days")
    text, data = folder / "days.txt", folder / "data"
    text.write_text(blocks.text(), encoding="utf-8")
    try:
        promtool.create_blocks(text, data)
    except UnavailableHere as error:
        give_up(f"promtool is unavailable here: {error}")
    # Blocks of the past would be older than the retention.
    with or_give_up(prometheus.running(folder, [], data=data, flags=["--storage.tsdb.retention.time=100y"])) as started:
        yield started.url


@pytest.fixture(scope="module")
def found(watching: str) -> Capacity:
    return asked(watching)


def asked(url: str, *more: str, may_read: float = 50.0) -> Capacity:
    names = ("good", "peer", "young", "resized", "curve", "no-curve", "not-recorded", *more)
    keys = {ServerKey(name, {"instance": name}): MYSQL for name in names}

    async def ask() -> Capacity:
        async with PrometheusClient(url) as client:
            return await capacity.capacity(FleetReader(client, Identity(), "", Grid(NOW, 0.0, 1)), keys, may_read)

    return asyncio.run(ask())


def test_of_each_server_the_surest_method_says_what_could_go(found: Capacity) -> None:
    estimates = {server.server: server for server in found.servers}
    assert set(estimates) == {"good", "peer", "curve"}
    assert (estimates["good"].method, estimates["good"].warm_ups) == (capacity.WARM_UPS, 1)
    assert (estimates["peer"].method, estimates["peer"].warm_ups) == (capacity.WARM_UPS, 2)
    assert (estimates["curve"].method, estimates["curve"].warm_ups) == (capacity.MODEL, 0)
    # The hot pages and the quarter that the start loads; the second warm-up of the peer has more of them.
    assert 0.5 * POOL < estimates["good"].enough_bytes < 0.65 * POOL
    assert 0.65 * POOL < estimates["peer"].enough_bytes < 0.8 * POOL
    assert estimates["curve"].enough_bytes == 17 * GIB  # one hour keeps it from a quarter
    assert {server.days for server in found.servers} == {30.0}
    assert {server.reads_now for server in found.servers} == {5.0}


def test_the_sum_is_that_of_the_servers_and_the_most_comes_first(found: Capacity) -> None:
    freed = [server.may_go_bytes for server in found.servers]
    assert found.may_go_bytes == sum(freed)
    assert freed == sorted(freed, reverse=True)
    assert all(server.pool_bytes - server.enough_bytes == server.may_go_bytes for server in found.servers)


def test_everyone_else_is_counted_with_a_reason(found: Capacity) -> None:
    assert found.left_out == {
        capacity.YOUNG: 1,
        capacity.RESIZED: 1,
        capacity.NO_CURVE: 1,
        capacity.raw_days(1): 1,
    }


def test_a_fleet_that_cannot_be_asked_is_said_to_be_so() -> None:
    unknown = asked("http://127.0.0.1:9")
    assert unknown.servers == ()
    [(reason, servers)] = unknown.left_out.items()
    assert reason.startswith("not asked: ")
    assert servers == 7


def test_a_reading_looks_at_days_only_where_a_rise_is_allowed(watching: str, found: Capacity) -> None:
    rules, options = Rulebook(RULES_FOLDER).rule_set, ReadingOptions(watching, at=NOW, may_read=50.0)
    report = asyncio.run(read(options, rules, Progress()))
    assert report.capacity is not None
    assert report.capacity.servers == found.servers
    assert asyncio.run(read(replace(options, may_read=None), rules, Progress())).capacity is None
