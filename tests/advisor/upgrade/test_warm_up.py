"""The pool after a restart on the new version."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.contract.upgrade import Cause
from advisor.upgrade.warm_up import warm_up
from tests.advisor.upgrade.upgrades import said, upgrade_of

DUMP, LOAD = "innodb_buffer_pool_dump_at_shutdown", "innodb_buffer_pool_load_at_startup"
PCT, IO_CAPACITY = "innodb_buffer_pool_dump_pct", "innodb_io_capacity"
ON: dict[str, Any] = {"settings": {DUMP: "ON", LOAD: "ON"}}
ALL: dict[str, Any] = {"settings": {DUMP: "ON", LOAD: "ON", PCT: 100}}
WRITES = "mysql-8.0/write-pressure"


def test_the_load_of_a_dump_takes_less_with_a_higher_io_capacity() -> None:
    upgrade = upgrade_of(WRITES, "8.4", **ALL)
    effect, pages = said(warm_up, upgrade)[IO_CAPACITY], upgrade.facts.pool.list_pages
    assert pages is not None
    assert (effect.from_, effect.to, effect.better) == (200, 10000, True)
    assert effect.now == pytest.approx(pages / 200, rel=0.01)
    assert effect.predicted is not None
    assert effect.predicted >= pages / 10000


def test_a_load_that_is_throttled_from_now_on_takes_longer() -> None:
    """MySQL 5.6.24 loads as fast as it can (measured)."""
    altered = {"settings": ON["settings"] | {IO_CAPACITY: 100}}
    effect = said(warm_up, upgrade_of("mysql-5.6/write-pressure", "8.0", **altered))["load_throttled_by_io_capacity"]
    assert (effect.cause, effect.better) == (Cause.BEHAVIOUR, False)
    assert effect.predicted is not None
    assert effect.predicted > 10.0


def test_a_load_that_is_no_longer_throttled_takes_as_long_as_the_disk() -> None:
    altered = {"version": "10.11.1-MariaDB"} | ALL
    effect = said(warm_up, upgrade_of("mariadb-10.11/write-pressure", "11.8", **altered))
    assert effect["load_throttled_by_io_capacity"].better is True


def test_a_restart_keeps_a_part_of_the_young_pages_where_dumps_are_on_by_default() -> None:
    upgrade = upgrade_of("mysql-5.6/warm-pool", "8.0")
    effect, pool = said(warm_up, upgrade)[DUMP], upgrade.facts.pool
    assert pool.list_pages is not None
    assert pool.old_pages is not None
    young = pool.list_pages - pool.old_pages
    assert (effect.cause, effect.better, effect.keep) == (Cause.DEFAULT, True, ())
    assert (effect.now, effect.predicted) == pytest.approx((young, young - 0.25 * pool.list_pages), rel=0.01)


def test_a_dump_of_all_pages_shrinks_to_a_quarter_and_a_line_keeps_the_young_ones() -> None:
    effect = said(warm_up, upgrade_of("mysql-5.6/warm-pool", "8.0", **ON))[PCT]
    assert (effect.now, effect.better) == (0, False)
    [line] = effect.keep
    assert line.line.startswith(f"{PCT} = 6")


@pytest.mark.parametrize(
    ("recording", "to", "altered"),
    [
        (WRITES, "8.4", {}),  # the lab's servers neither dump nor load
        ("mysql-5.7/repeated-scan", "8.4", ALL),  # nothing is written: the load is not throttled
        ("mysql-5.6/idle", "8.0", {}),
        ("mariadb-10.11/write-pressure", "11.8", ALL),
        ("mysql-8.0/unprivileged", "8.4", ALL),
    ],
)
def test_nothing_is_said_where_a_restart_is_the_same(recording: str, to: str, altered: dict[str, Any]) -> None:
    assert list(warm_up(upgrade_of(recording, to, **altered))) == []
