"""Windows of servers from series: what is cut, what is not known, and what becomes of each number."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.contract.fleet import Source
from advisor.facts import facts
from advisor.fleet.windows import ONLY_DOWNSAMPLED, WindowReader
from advisor.observe.window import Window
from exporter.collectors.data_files import DATA_FILES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.machine import MACHINE
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from tests.advisor.fleet.canned import GRID, IDENTITY, CannedPrometheus, Value, key, reader

BOOTED = GRID.points[0] - 10_000.0
POOL = "innodb_buffer_pool_{}_total"
STATUS_NAME = "mysql_global_status_{}"
SeriesByQuery = dict[str, dict[tuple[str, ...], Value]]


def growing(a_second: float, begin: float = 0.0) -> Value:
    return lambda at: begin + a_second * (at - BOOTED)


def sidecar(**more: dict[tuple[str, ...], Value]) -> SeriesByQuery:
    counters = "made_young not_made_young pages_read pages_created pages_written gets read_ahead read_ahead_evicted"
    series: SeriesByQuery = {
        "sidecar-server": {("mysql", "9.7.4", "Source distribution", ""): 1.0},
        "sidecar-at": {(): lambda at: at - 3.0},
        "sidecar-numbers": {
            ("innodb_server_uptime_seconds",): lambda at: at - 3.0 - BOOTED,
            ("innodb_server_memory_available_bytes",): 2.0**30,
            ("innodb_ibuf_merges_total",): growing(2),
            ("innodb_data_file_reads_total",): growing(100),
        },
        "sidecar-pools": {
            ("innodb_buffer_pool_size_pages",): 8_193.0,
            **{(POOL.format(name),): growing(number) for number, name in enumerate(counters.split(), 1)},
        },
        "sidecar-pool-pages": {
            ("innodb_buffer_pool_pages", sublist): pages
            for sublist, pages in (("young", 5_001.0), ("old", 3_001.0), ("free", 191.0))
        },
        "sidecar-pool-instances": {(): 2.0},
        "sidecar-dirty-pages": {(): 40.0},
        "sidecar-checkpoint": {(): 1e6},
        "sidecar-operations": {("innodb_rows_total", "inserted"): growing(7)},
        "sidecar-settings": {
            ("innodb_old_blocks_pct",): 37.0,
            ("innodb_page_size",): 16_384.0,
            ("innodb_random_read_ahead",): 0.0,
        },
        "sidecar-settings-text": {("innodb_flush_method", "O_DIRECT"): 1.0},
        "sidecar-machine": {("innodb_server_cores", "cgroup cpu.max"): 2.0},
        "sidecar-health": {("index_sizes",): 0.0, ("table_scans",): 1.0},
    }
    return series | more


def mysqld_exporter(**more: dict[tuple[str, ...], Value]) -> SeriesByQuery:
    series: SeriesByQuery = {
        "mysqld-exporter-server": {("9.7.4", "MySQL Community Server - GPL"): 1.0},
        "mysqld-exporter-at": {(): lambda at: at - 3.0},
        "mysqld-exporter-status": {
            (STATUS_NAME.format("uptime"),): lambda at: at - 3.0 - BOOTED,
            (STATUS_NAME.format("innodb_pages_read"),): growing(120),
            (STATUS_NAME.format("innodb_buffer_pool_read_requests"),): growing(9_000),
        },
        "mysqld-exporter-pages": {("data",): 8_000.0, ("free",): 100.0, ("misc",): 92.0},
        "mysqld-exporter-dirty-pages": {(): 40.0},
        "mysqld-exporter-settings": {
            ("mysql_global_variables_innodb_old_blocks_pct",): 37.0,
            ("mysql_global_variables_innodb_random_read_ahead",): 1.0,
            ("mysql_global_variables_innodb_max_dirty_pages_pct",): 90.5,
            ("mysql_global_variables_innodb_page_size",): 16_384.0,
            ("mysql_global_variables_performance_schema",): 1.0,
        },
    }
    return series | more


async def windowed(series: SeriesByQuery, source: Source, **more: Any) -> Window | str:
    return (await WindowReader(reader(CannedPrometheus(series, **more)), source).windows([key()]))[key()]


def known(window: Window | str) -> Window:
    assert isinstance(window, Window), window
    return window


async def test_own_series_make_a_window_of_nine_points_with_all_they_say() -> None:
    window = known(await windowed(sidecar(), Source.SIDECAR))
    assert [snapshot.at for snapshot in window.snapshots] == [at - 3.0 for at in GRID.points]
    latest, window_facts = window.latest, facts(window)
    assert str(latest.server) == "mysql 9.7.4"
    assert (
        window_facts.pool.pages,
        window_facts.pool.list_pages,
        window_facts.pool.old_pages,
        window_facts.pool.free_pages,
    ) == (
        8193,
        8002,
        3001,
        191,
    )
    assert window_facts.pool.instances == 2.0
    assert window_facts.pool.pages_read == pytest.approx(3 * 3600)
    assert window_facts.pool.made_young == pytest.approx(3600)
    assert window_facts.setting["innodb_random_read_ahead"] == "OFF"
    assert window_facts.setting["innodb_flush_method"] == "O_DIRECT"
    assert window_facts.setting["innodb_old_blocks_time"] is None
    assert (window_facts.machine.cores, window_facts.machine.cores_source) == (2.0, "cgroup cpu.max")
    assert window_facts.machine.memory_available_bytes == 2.0**30
    assert window_facts.server.rows_inserted == pytest.approx(7 * 3600)
    assert window_facts.io.dirty_pages == 40.0
    assert window_facts.io.checkpoint_age_bytes == 1e6
    assert latest.outcomes["index_sizes"].failure == "failed"
    # The first mean is of the time before the window.
    assert [pool.modified_pages for pool in (window.snapshots[0][POOLS] or ())] == [None, None]
    assert "innodb_checkpoint_age" not in (window.snapshots[0][STATUS] or {})


async def test_what_mysqld_exporter_lacks_is_unknown_and_names_the_flag_that_cures_it() -> None:
    window = known(await windowed(mysqld_exporter(), Source.MYSQLD_EXPORTER))
    window_facts, latest = facts(window), window.latest
    assert window_facts.pool.pages_read == pytest.approx(120 * 3600)
    assert window_facts.pool.pages == 8_192.0
    assert window_facts.pool.old_pages is None
    assert window_facts.pool.made_young is None
    assert window_facts.setting["innodb_random_read_ahead"] == "ON"
    assert window_facts.setting["innodb_max_dirty_pages_pct"] == 90.5
    assert window_facts.setting["innodb_flush_method"] is None
    assert (latest[DATA_FILES], latest[INNODB_METRICS], latest[MACHINE]) == (None, None, None)
    assert "--collect.perf_schema.file_events" in (latest.outcomes["data_files"].cure or "")
    assert latest.outcomes["ddl"].failure == "absent"


def restarted(at: float) -> float:
    began = GRID.points[5] + 100.0
    return at - 3.0 - (began if at > began else BOOTED)


@pytest.mark.parametrize(
    ("changed", "points"),
    [
        pytest.param({"mysqld-exporter-status": {(STATUS_NAME.format("uptime"),): restarted}}, 3, id="a restart"),
        pytest.param(
            {
                "mysqld-exporter-settings": {
                    ("mysql_global_variables_innodb_io_capacity",): lambda at: 200.0 + (at > GRID.points[3])
                }
            },
            5,
            id="a changed setting",
        ),
        pytest.param(
            {"mysqld-exporter-at": {(): lambda at: None if at == GRID.points[4] else at - 3.0}}, 4, id="a gap"
        ),
        pytest.param(
            {
                "mysqld-exporter-at": {(): lambda at: min(at, GRID.points[7]) - 3.0},
                "mysqld-exporter-status": {
                    (STATUS_NAME.format("uptime"),): lambda at: min(at, GRID.points[7]) - 3.0 - BOOTED
                },
            },
            8,
            id="a sample that is the last one of two points",
        ),
    ],
)
async def test_a_window_is_cut_at(changed: SeriesByQuery, points: int) -> None:
    series = mysqld_exporter()
    for name, values in changed.items():
        series[name] |= values
    assert len(known(await windowed(series, Source.MYSQLD_EXPORTER)).snapshots) == points


async def test_fewer_than_three_points_are_unclear_and_say_since_when() -> None:
    series = mysqld_exporter()
    series["mysqld-exporter-status"] |= {
        (STATUS_NAME.format("uptime"),): lambda at: at - 3.0 - (BOOTED if at < GRID.points[7] else GRID.points[6] + 9.0)
    }
    assert await windowed(series, Source.MYSQLD_EXPORTER) == "not long enough since the restart"
    gone = frozenset({GRID.points[-1]})
    assert await windowed(mysqld_exporter(), Source.MYSQLD_EXPORTER, missing=gone) == "no sample at the window's end"
    assert await windowed(mysqld_exporter(), Source.MYSQLD_EXPORTER, missing=gone, coarse=True) == ONLY_DOWNSAMPLED
    series = mysqld_exporter() | {"mysqld-exporter-server": {}}
    assert await windowed(series, Source.MYSQLD_EXPORTER) == "no series tells its version"


async def test_a_counter_that_fell_is_unknown_and_the_others_are_not() -> None:
    series = mysqld_exporter()
    series["mysqld-exporter-status"] |= {
        (STATUS_NAME.format("innodb_pages_read"),): lambda at: 5e6 - (at - BOOTED if at > GRID.points[4] else 0.0)
    }
    window_facts = facts(known(await windowed(series, Source.MYSQLD_EXPORTER)))
    assert window_facts.pool.pages_read is None
    assert window_facts.pool.gets == pytest.approx(9_000 * 3600)


async def test_a_number_below_zero_shown_as_unsigned_makes_the_size_unknown() -> None:
    series = mysqld_exporter()
    series["mysqld-exporter-pages"] |= {("misc",): 2.0**64}
    assert known(await windowed(series, Source.MYSQLD_EXPORTER)).latest[POOLS] is None


async def test_the_age_of_the_checkpoint_is_mariadbs_own_or_the_distance_of_mysqls_positions() -> None:
    async def age(series: SeriesByQuery) -> float | None:
        return facts(known(await windowed(mysqld_exporter() | series, Source.MYSQLD_EXPORTER))).io.checkpoint_age_bytes

    assert await age({"mysqld-exporter-current-lsn": {(): 9e6}, "mysqld-exporter-checkpoint-lsn": {(): 7e6}}) == 2e6
    assert await age({"mysqld-exporter-current-lsn": {(): 9e6}}) is None
    assert await age({"mysqld-exporter-checkpoint-age": {(): 3e6}}) == 3e6


async def test_two_words_for_a_setting_just_after_its_change_are_none() -> None:
    series = sidecar()
    series["sidecar-settings-text"] |= {
        ("innodb_flush_method", "fsync"): lambda at: 1.0 if at == GRID.points[4] else None,
    }
    assert len(known(await windowed(series, Source.SIDECAR)).snapshots) == 4


async def test_the_limits_of_a_pod_are_its_machine_whatever_labels_the_user_selects() -> None:
    pod = IDENTITY.server({"namespace": "shop", "pod": "db-1"})
    assert pod is not None
    limits: SeriesByQuery = {
        "kube-limits": {("cpu",): 2.0, ("memory",): 2.0**33},
        "kube-memory": {(): 2.0**32},
    }
    client = CannedPrometheus(mysqld_exporter() | limits, servers=(pod,))
    windows = await WindowReader(reader(client, 'team="a"'), Source.MYSQLD_EXPORTER).windows([pod])
    machine = known(windows[pod]).latest[MACHINE]
    assert machine is not None
    assert (machine.cores, machine.memory_bytes, machine.memory_available_bytes) == (2.0, 2**33, 2**32)
    assert machine.cores_source == "kube_pod_container_resource_limits"
    assert {"kube_pod" in text or "container_memory" in text for text in client.asked if "team" not in text} == {True}
