"""Memory of the server's container with a change, and the order of pool and limit."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.casetest.alterations import Alteration
from advisor.contract.changes import change_at
from advisor.contract.plan import MemoryPlan, Patch, Step
from advisor.contract.recommendation import Change
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.facts.base import over_pools
from advisor.models.ddl import BUILD_PEAK
from advisor.observe.window import Window
from advisor.plan import memory
from advisor.plan.memory import DDL_BUFFER, limits
from advisor.plan.resizing import steps
from advisor.plan.targets.target import PlanRefused
from advisor.pool.settings import POOL_SIZE
from tests.advisor.building import captured

MIB, GIB = 2**20, 2**30
MYSQL, MARIADB, OLD_MARIADB = (f"{server}/repeated-scan" for server in ("mysql-9.7", "mariadb-11.8", "mariadb-10.5"))
CONTAINER = {"memory_bytes": 900 * MIB, "memory_available_bytes": 200 * MIB, "memory_source": "cgroup memory.max"}
PATCH = Patch(file="limit.yaml", form="merge patch", text="resources: {}")
SET = Step(do="Set it.")


def watched(recording: str, **alterations: Any) -> Window:
    known = {"machine": CONTAINER} | alterations
    return Window(tuple(Alteration.model_validate(known).apply(captured(recording).snapshots)))


def change(window: Window, setting: str, value: SettingValue) -> Change:
    return change_at(window.latest, setting, SETTINGS[setting].read(window.latest.setting(setting)), value)


def planned(window: Window, setting: str, value: SettingValue) -> MemoryPlan:
    plan = memory.memory(window, (change(window, setting, value),))
    assert plan is not None
    return plan


def in_order(window: Window, setting: str, value: SettingValue, **arguments: Any) -> list[str]:
    """The first words of the steps."""
    changes = (change(window, setting, value),)
    ordered = steps(window, changes, memory.memory(window, changes), SET, PATCH, **arguments)
    return [step.do.split(" ", maxsplit=1)[0] for step in ordered]


def size(window: Window) -> float:
    return float(window.latest.setting(POOL_SIZE) or 0)


def test_the_limit_is_counted_from_what_is_in_use_with_a_full_pool_and_an_index_build() -> None:
    window = watched(MYSQL)
    plan = planned(window, POOL_SIZE, size(window) + GIB)
    assert (plan.used_bytes, plan.limit_bytes) == (700 * MIB, 900 * MIB)
    assert GIB < plan.change_bytes < 1.1 * GIB
    free = max((over_pools("free_pages")(taken) or 0.0) for taken in window.snapshots) * 16384
    build = BUILD_PEAK * float(window.latest.setting(DDL_BUFFER) or 0)
    assert plan.limit_then == pytest.approx((700 * MIB + free + build + plan.change_bytes) / 0.9, abs=MIB)
    assert plan.request_then == plan.limit_then
    assert plan.limit_then is not None
    assert limits(plan) == (900 * MIB, int(plan.limit_then))
    assert "The limit rises first" in plan.reason


def test_a_limit_with_room_for_the_change_stays() -> None:
    window = watched(
        MYSQL, machine=CONTAINER | {"memory_bytes": 4 * GIB, "memory_available_bytes": 4 * GIB - 700 * MIB}
    )
    plan = planned(window, POOL_SIZE, size(window) + GIB)
    assert plan.limit_then == plan.limit_bytes == 4 * GIB
    assert limits(plan) is None
    assert in_order(window, POOL_SIZE, size(window) + GIB) == ["Set"]


def test_a_smaller_pool_lowers_the_limit_and_no_limit_that_is_too_small_rises_by_it() -> None:
    window = watched(MYSQL)
    plan = planned(window, POOL_SIZE, 5 * MIB)
    assert plan.change_bytes < 0
    assert plan.limit_then is not None
    assert 0.9 * plan.limit_then < 700 * MIB
    assert plan.limit_then < 900 * MIB
    tight = watched(MYSQL, machine=CONTAINER | {"memory_available_bytes": 10 * MIB})
    assert planned(tight, POOL_SIZE, size(tight) - MIB).limit_then == 900 * MIB


def test_latches_of_pages_take_memory_beside_the_pool_on_mysql() -> None:
    beside = {}
    for recording in (MYSQL, MARIADB, OLD_MARIADB):
        window = watched(recording)
        beside[recording] = planned(window, POOL_SIZE, size(window) + GIB).change_bytes / GIB - 1.0
    assert 0.0 < beside[MARIADB] == beside[OLD_MARIADB] < beside[MYSQL] < 0.1


def test_an_index_build_takes_more_than_its_setting() -> None:
    window = watched("mysql-9.7/index-builds")
    now = float(window.latest.setting(DDL_BUFFER) or 0)
    plan = planned(window, DDL_BUFFER, now + 100 * MIB)
    assert plan.change_bytes == pytest.approx(BUILD_PEAK * 100 * MIB)
    assert (plan.limit_then or 0) > 0


def test_other_settings_move_no_memory() -> None:
    window = watched(MYSQL)
    assert memory.memory(window, (change(window, "innodb_old_blocks_pct", 5.0),)) is None


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        (None, "shareProcessNamespace"),
        ({"memory_bytes": 8 * GIB, "memory_source": "configuration"}, "shareProcessNamespace"),
        ({"memory_bytes": 8 * GIB, "memory_available_bytes": 6 * GIB, "memory_source": "MemTotal"}, "no limit is seen"),
    ],
)
def test_without_the_containers_use_only_the_change_is_known(machine: Any, says: str) -> None:
    nothing = dict.fromkeys(("memory_bytes", "memory_available_bytes", "memory_source"))
    window = watched(MYSQL, machine=nothing | (machine or {}))
    plan = planned(window, POOL_SIZE, size(window) + GIB)
    assert (plan.used_bytes, plan.request_then, plan.limit_then) == (None, None, None)
    assert plan.change_bytes > GIB
    assert says in plan.reason
    assert limits(plan) is None
    assert in_order(window, POOL_SIZE, size(window) + GIB) == ["Raise", "Set"]
    assert in_order(window, POOL_SIZE, 5 * MIB) == ["Set", "Wait", "Lower"]


def test_more_than_the_machine_has_is_refused() -> None:
    node = watched(MYSQL, machine=CONTAINER | {"host_memory_bytes": 2 * GIB})
    with pytest.raises(PlanRefused, match="its machine has 2 GiB"):
        planned(node, POOL_SIZE, size(node) + 4 * GIB)
    bare = {"memory_bytes": 2 * GIB, "memory_available_bytes": GIB, "memory_source": "MemTotal"}
    machine = watched(MYSQL, machine=bare)
    with pytest.raises(PlanRefused, match="the machine has 1 GiB left"):
        planned(machine, POOL_SIZE, size(machine) + GIB)
    assert planned(machine, POOL_SIZE, 5 * MIB).change_bytes < 0


def test_a_pool_grows_after_its_limit_and_shrinks_before_it() -> None:
    window = watched(MYSQL)
    more, less = size(window) + GIB, 5 * MIB
    assert in_order(window, POOL_SIZE, more) == ["Raise", "Set"]
    assert in_order(window, POOL_SIZE, more, back=True) == ["Set", "Wait", "Lower"]
    assert in_order(window, POOL_SIZE, less) == ["Set", "Wait", "Lower"]
    assert in_order(window, POOL_SIZE, less, back=True) == ["Raise", "Set"]
    assert in_order(window, POOL_SIZE, more, one_restart=True) == ["Raise", "Set"]
    assert in_order(window, POOL_SIZE, less, one_restart=True) == ["Set", "Lower"]


def test_each_step_has_the_check_that_says_it_is_done() -> None:
    window = watched(MYSQL)
    changes = (change(window, POOL_SIZE, 2.0 * GIB),)
    plan = memory.memory(window, changes)
    assert plan is not None
    raised, grown = steps(window, changes, plan, SET, PATCH)
    assert (raised.patch, raised.done and raised.done.promql) == (
        PATCH,
        f"innodb_server_memory_bytes >= {plan.limit_then}",
    )
    assert grown.done is not None
    assert grown.done.sql is not None
    assert "performance_schema.global_status" in grown.done.sql
    shrunk, given_back, lowered = steps(window, changes, plan, SET, PATCH, back=True)
    assert shrunk.done is not None
    # MySQL counts fewer pages before it has given up the others.
    assert (shrunk.done.sql, shrunk.done.promql) == (grown.done.sql, None)
    assert given_back.done is not None
    # Under the old limit as much was in use as today.
    most = max(700 * MIB, int(0.95 * 900 * MIB))
    assert str(given_back.done.promql).endswith(f"innodb_server_memory_available_bytes <= {most}")
    assert lowered.done is not None
    assert lowered.done.promql == f"innodb_server_memory_bytes <= {900 * MIB}"


def test_the_pages_of_a_pool_with_control_blocks_are_enough_of_its_new_size() -> None:
    window = watched(MARIADB)
    before = size(window)
    [_, grown] = steps(
        window,
        (changes := (change(window, POOL_SIZE, 2 * before),)),
        planned(window, POOL_SIZE, 2 * before),
        SET,
        PATCH,
    )
    least = float(str(grown.done and grown.done.promql).rpartition(" ")[2])
    pages = (over_pools("size_pages")(window.latest) or 0.0) * 16384
    assert 1.8 * pages < least < 2.0 * pages
    assert changes[0].to == 2 * before


def test_a_server_that_gives_nothing_back_is_restarted() -> None:
    window = watched("mariadb-10.11/repeated-scan", version="10.11.11-MariaDB")
    changes = (change(window, POOL_SIZE, 5.0 * MIB),)
    _, given_back, _ = steps(window, changes, memory.memory(window, changes), SET, None)
    assert given_back.do.startswith("Restart the server")
    assert "MDEV-32339" in given_back.do
