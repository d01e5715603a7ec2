"""Reads, writes and the redo log are measured over the window."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.facts.io import io
from advisor.facts.machine import machine
from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from tests.advisor.building import captured, pool, server, snapshot


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"innodb_flush_method": ""}, True),
        ({"innodb_flush_method": "O_DSYNC"}, True),
        ({"innodb_flush_method": "O_DIRECT_NO_FSYNC"}, False),
        ({"innodb_flush_method": "something new"}, None),
        ({"innodb_flush_method": "O_DIRECT", "innodb_data_file_buffering": "ON"}, True),
        ({"innodb_flush_method": "fsync", "innodb_data_file_buffering": "OFF"}, False),
        ({}, None),
    ],
)
def test_the_setting_in_effect_tells_whether_the_page_cache_is_used(settings: dict[str, str], expected: object) -> None:
    assert io(Window((snapshot(100, variables=settings),))).through_page_cache is expected


@pytest.mark.parametrize(
    ("status", "settings", "share"),
    [
        ({"innodb_checkpoint_age": 50.0, "innodb_checkpoint_max_age": 100.0}, {}, 0.5),
        (
            {
                "innodb_redo_log_current_lsn": 1_415.0,
                "innodb_redo_log_checkpoint_lsn": 1_000.0,
                "innodb_redo_log_capacity_resized": 1_000.0,
            },
            {},
            0.5,
        ),
        ({}, {"innodb_log_file_size": "500", "innodb_log_files_in_group": "2"}, None),
    ],
)
def test_the_checkpoint_age_is_a_share_of_its_limit(
    status: dict[str, float], settings: dict[str, str], share: float | None
) -> None:
    measured = io(Window((snapshot(100, status={"uptime": 100.0} | status, variables=settings),)))
    assert measured.checkpoint_age_share == (None if share is None else pytest.approx(share))


def test_read_ahead_evictions_are_not_known_where_the_server_does_not_count_them() -> None:
    def window(version: str) -> Window:
        def at(second: float, counted: int) -> Snapshot:
            known: dict[str, Any] = {"status": {"uptime": second, "innodb_buffer_pool_read_ahead_rnd": 0.0}}
            pools = (pool(read_ahead=1_000 * counted, read_ahead_evicted=600 * counted),)
            return snapshot(second, of=server(version), pools=pools, **known)

        return Window((at(100, 0), at(160, 1)))

    assert io(window("9.7.4")).wasted_share == pytest.approx(0.6)
    assert io(window("10.5.23-MariaDB")).wasted_share == pytest.approx(0.6)
    measured = io(window("10.11.18-MariaDB"))
    assert (measured.read_ahead, measured.read_ahead_evicted, measured.wasted_share) == (1_000.0, None, None)


def test_a_server_without_a_percentage_dumps_all() -> None:
    assert io(captured("mysql-5.6/warm-pool")).dump_share == 1.0
    assert io(captured("mysql-9.7/warm-pool")).dump_share == 0.25


def test_flushing_of_a_real_server_is_measured() -> None:
    pressed, rested = (
        io(captured("mariadb-10.11/write-pressure")),
        io(captured("mariadb-10.11/write-pressure-followed")),
    )
    assert (pressed.checkpoint_age_share or 0.0) > 0.8
    assert (rested.checkpoint_age_share or 1.0) < 0.4
    assert (rested.dirty_pages or 0.0) < 0.6 * (pressed.dirty_pages or 0.0)
    assert machine(captured("mariadb-10.11/write-pressure")).storage == "ssd"
