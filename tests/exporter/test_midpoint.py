from collections.abc import Callable
from typing import Any

import pytest

from exporter.collectors import pools
from exporter.midpoint import MINIMUM_LENGTH, MINIMUM_YOUNG, TOLERANCE, old_ratio, old_target
from exporter.rows import Rows
from lab.harness import workloads
from lab.servers import PrivateServer


@pytest.mark.parametrize(("pct", "ratio"), [(5, 51), (37, 378), (50, 512), (95, 972)])
def test_the_percentage_is_kept_in_1024ths(pct: int, ratio: int) -> None:
    assert old_ratio(pct) == ratio


@pytest.mark.parametrize("length", [0, 1, 511])
def test_a_short_list_has_no_old_sublist(length: int) -> None:
    assert old_target(length, 37) == 0


@pytest.mark.parametrize(
    ("length", "pct", "target"),
    [
        (MINIMUM_LENGTH, 37, 189),
        (MINIMUM_LENGTH, 95, 486),
        (1000, 100, 975),
        (16382, 37, 6047),
        (16382, 95, 15550),
        (6_553_600, 37, 2_419_200),
    ],
)
def test_the_target_is_the_ratio_of_the_list(length: int, pct: int, target: int) -> None:
    assert old_target(length, pct) == target


@pytest.mark.parametrize(("pct", "measured"), [(37, 6066), (37, 6065), (95, 15530), (95, 15569)])
def test_what_was_measured_in_a_full_pool_is_within_the_tolerance(pct: int, measured: int) -> None:
    assert abs(measured - old_target(16382, pct)) <= TOLERANCE


@pytest.mark.parametrize("length", range(MINIMUM_LENGTH, 700, 17))
def test_some_pages_always_stay_young(length: int) -> None:
    assert length - old_target(length, 100) >= TOLERANCE + MINIMUM_YOUNG


def test_a_real_server_keeps_its_old_sublist_within_the_tolerance(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "midpoint", 800)
        for pct in (5, 37, 60, 95):
            ask(server, f"SET GLOBAL innodb_old_blocks_pct = {pct}")
            workloads.scan(connection, "midpoint")
            [pool] = pools.parse([fetch(server, pools.SQL)])
            assert pool.database_pages > MINIMUM_LENGTH
            assert abs(pool.old_pages - old_target(pool.database_pages, pct)) <= TOLERANCE, pct
        ask(server, "SET GLOBAL innodb_old_blocks_pct = 37", f"DROP TABLE {workloads.SCHEMA}.midpoint")
