"""A rule sees the altered values of a case; unknown names are rejected."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from advisor.casetest.alterations import Alteration
from advisor.ledger.entry import Result
from advisor.observe.window import Window
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.machine import MACHINE, Machine
from exporter.collectors.status import STATUS
from exporter.snapshot import Snapshot
from tests.advisor.building import snapshot, variables

PCT = "innodb_old_blocks_pct"
RECORDED = tuple(
    snapshot(
        seconds,
        status={"uptime": float(seconds), "innodb_pages_read": 10.0 * seconds},
        innodb_metrics={"ibuf_merges": 5 * seconds},
        machine=Machine(cores=2, cores_source="cgroup cpu.max", cpu_seconds=0.5 * seconds),
    )
    for seconds in (100, 110, 120)
)


def altered(**keys: object) -> tuple[Snapshot, ...]:
    return Alteration.model_validate(keys).apply(RECORDED)


def test_without_alterations_the_recording_is_unchanged() -> None:
    assert altered() == RECORDED


def test_a_version_changes_the_server() -> None:
    for altered_snapshot in altered(version="8.0.30"):
        assert (
            altered_snapshot.server.flavour,
            altered_snapshot.server.version,
            altered_snapshot.server.version_text,
        ) == (
            "mysql",
            (8, 0, 30),
            "8.0.30",
        )
        assert altered_snapshot.setting("version") == "8.0.30"


@pytest.mark.parametrize(
    ("settings", "flavour", "managed"),
    [
        ({"version_comment": "Percona Server (GPL)"}, "percona", None),
        ({"aurora_version": "3.04.0"}, "aurora", "aurora"),
        ({"basedir": "/rdsdbbin/mysql-8.0/"}, "mysql", "rds"),
    ],
)
def test_variables_change_it_to_a_forked_or_managed_server(
    settings: dict[str, str], flavour: str, managed: str | None
) -> None:
    server = altered(settings=settings)[-1].server
    assert (server.flavour, server.managed) == (flavour, managed)


def test_settings_have_the_servers_format() -> None:
    settings = {
        "innodb_old_blocks_pct": 80,
        "innodb_max_dirty_pages_pct": 90.5,
        "innodb_random_read_ahead": True,
        "innodb_change_buffering": None,
        "innodb_buffer_pool_size": 1 << 40,
    }
    for altered_snapshot in altered(settings=settings):
        assert altered_snapshot.setting("innodb_old_blocks_pct") == "80"
        assert altered_snapshot.setting("innodb_max_dirty_pages_pct") == "90.5"
        assert altered_snapshot.setting("innodb_random_read_ahead") == "ON"
        assert altered_snapshot.setting("innodb_buffer_pool_size") == "1099511627776"
        assert altered_snapshot.setting("innodb_change_buffering") is None
        assert altered_snapshot.setting("innodb_old_blocks_time") == variables()["innodb_old_blocks_time"]


def test_a_number_replaces_the_newest_value_and_keeps_the_growth() -> None:
    snapshots = altered(status={"uptime": 500_000})
    assert [(snapshot[STATUS] or {})["uptime"] for snapshot in snapshots] == [499_980, 499_990, 500_000]
    assert [(snapshot[STATUS] or {})["innodb_pages_read"] for snapshot in snapshots] == [1000, 1100, 1200]
    assert len(Window.of(altered(status={"innodb_pages_read": 7}), 3600).snapshots) == 3


def test_a_numbers_growth_can_be_altered() -> None:
    snapshots = altered(innodb_metrics={"ibuf_merges": {"per_second": 2}})
    assert [(snapshot[INNODB_METRICS] or {})["ibuf_merges"] for snapshot in snapshots] == [560, 580, 600]
    snapshots = altered(innodb_metrics={"ibuf_merges": {"per_second": 0, "value": 3}})
    assert [(snapshot[INNODB_METRICS] or {})["ibuf_merges"] for snapshot in snapshots] == [3, 3, 3]


def test_the_machine_can_be_altered() -> None:
    snapshots = altered(machine={"memory_bytes": 1 << 30, "cpu_seconds": {"per_second": 1.5}, "rotational": True})
    assert [snapshot[MACHINE] for snapshot in snapshots] == [
        Machine(
            cores=2,
            cores_source="cgroup cpu.max",
            cpu_seconds=cpu_seconds,
            memory_bytes=1 << 30,
            memory_source="configuration",
            rotational=True,
        )
        for cpu_seconds in (30.0, 45.0, 60.0)
    ]
    bare = Alteration.model_validate({"machine": {"cores": 8}}).apply([snapshot(1)])
    assert bare[0][MACHINE] == Machine(cores=8, cores_source="configuration")


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({"version": "new"}, ("version",)),
        ({"settings": {"innodb_old_blocks_pct": [1]}}, ("settings", "innodb_old_blocks_pct")),
        ({"status": {"uptime": "long"}}, ("status", "uptime")),
        ({"innodb_metrics": {"ibuf_merges": {"per_second": -1}}}, ("innodb_metrics", "ibuf_merges", "per_second")),
        ({"machine": {"memory_bytes": "16G"}}, ("machine", "memory_bytes")),
    ],
)
def test_impossible_values_are_rejected(keys: dict[str, object], where: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        altered(**keys)
    assert caught.value.errors()[0]["loc"] == where


def test_unknown_names_are_reported() -> None:
    keys = {
        "settings": {"innodb_old_blocks_pct": 1, "aurora_version": "3", "innodb_old_blcks_pct": 1},
        "status": {"uptime": 1, "Uptime": 1},
        "innodb_metrics": {"ibuf_merges": 1, "ibuf": 1},
    }
    unknown = Alteration.model_validate(keys).unknown(RECORDED[-1])
    assert [where for where, _ in unknown] == [
        ("settings", "innodb_old_blcks_pct"),
        ("status", "Uptime"),
        ("innodb_metrics", "ibuf"),
    ]


def test_it_lists_its_alterations() -> None:
    keys = {
        "version": "8.0.30",
        "settings": {"a": 1, "b": None},
        "status": {"uptime": 1},
        "machine": {"memory_bytes": 1, "cores": 1},
    }
    summary = "version 8.0.30, a = 1, b = none, uptime, machine.cores, machine.memory_bytes"
    assert Alteration.model_validate(keys).summary == summary


def test_a_change_is_an_outcome_beside_the_recording() -> None:
    keys = {"before": {PCT: 37}, "after": {PCT: 95}, "seconds": 60, "rose": {"pages read per second": [0.3, 812]}}
    altered = Alteration.model_validate({"changed": keys})
    [outcome] = altered.remembered(Window(RECORDED)).outcomes
    assert (outcome.at, outcome.closed_at) == (RECORDED[-1].at - 60, RECORDED[-1].at)
    assert [(change.setting, change.before, change.after) for change in outcome.changes] == [(PCT, 37, 95)]
    assert [(quantity.quantity, quantity.before, quantity.after) for quantity in outcome.harm] == [
        ("pages read per second", 0.3, 812)
    ]
    assert altered.summary == f"a change of {PCT}"


def test_a_change_leaves_todays_values_and_may_be_anybodys_or_not_comparable() -> None:
    altered = Alteration.model_validate({"changed": {"before": {PCT: 95}, "comparable": False, "rule": "a-rule"}})
    [outcome] = altered.remembered(Window(RECORDED)).outcomes
    assert (outcome.changes[0].after, outcome.result) == (37, Result.NOT_COMPARABLE)
    assert (outcome.rule, outcome.followed) == ("a-rule", True)


def test_a_change_of_an_unknown_setting_is_refused() -> None:
    altered = Alteration.model_validate({"changed": {"before": {"innodb_old_block_pct": 37}}})
    assert [keys for keys, _ in altered.unknown(RECORDED[-1])] == [("changed", "before", "innodb_old_block_pct")]
