"""The owners of settings: whom they refuse, what they do with lines, and their patches."""

from __future__ import annotations

from typing import get_args

import pytest
import yaml  # type: ignore[import-untyped]

from advisor.contract.plan import Applied, TargetName
from advisor.plan.targets import TARGETS
from advisor.plan.targets.target import PlanRefused
from tests.advisor.plan.targets.owners import (
    CLOUD_SQL,
    LOAD,
    MARIADB,
    MYSQL,
    MYSQL_57,
    OLD_BLOCKS,
    POOL,
    RDS,
    advised,
    server_of,
)

GI = 1 << 30


def test_every_name_of_the_contract_is_an_owner() -> None:
    assert set(TARGETS) == set(get_args(TargetName))
    assert all(target.name == name for name, target in TARGETS.items())


@pytest.mark.parametrize("name", TARGETS)
def test_without_a_manifest_the_patch_is_a_part_that_erases_nothing(name: TargetName) -> None:
    for change in advised(server_of(name)):
        patches = TARGETS[name].settings(server_of(name), (change,), None)
        assert not patches.patch.whole
        assert not patches.undo.whole
        assert patches.patch.file != patches.undo.file
        assert change.setting in patches.patch.text
        assert change.setting in patches.undo.text
        assert patches.patch.text != patches.undo.text


@pytest.mark.parametrize("name", TARGETS)
def test_a_server_that_the_owner_cannot_have_is_refused(name: TargetName) -> None:
    target = TARGETS[name]
    own = server_of(name)
    others = [server for server in (RDS, CLOUD_SQL, MYSQL) if (server.managed == "rds") != (own.managed == "rds")]
    mysql_only = ("percona-ps", "percona-pxc", "oracle", "moco", "vitess", "kubeblocks")
    others += [MARIADB] if name in mysql_only else [MYSQL] if name == "mariadb-operator" else []
    for server in others:
        with pytest.raises(PlanRefused, match=f"--for {name} "):
            target.reach.refuse(name, server)


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_owner_does_has_a_source(name: TargetName) -> None:
    for change in advised(server_of(name)):
        roll_out = TARGETS[name].roll_out(server_of(name), (change,), None)
        assert roll_out.how
        assert roll_out.source
        assert roll_out.applied is not Applied.LIVE or change.dynamic


@pytest.mark.parametrize(
    ("name", "applied", "sure"),
    [
        ("cnf", Applied.BY_HAND, True),
        ("percona-ps", Applied.RESTART, False),
        ("percona-pxc", Applied.RESTART, True),
        ("oracle", Applied.BY_HAND, False),
        ("moco", Applied.RESTART, False),
        ("vitess", Applied.RESTART, True),
        ("mariadb-operator", Applied.RESTART, True),
        ("bitnami", Applied.RESTART, True),
        ("kubeblocks", Applied.LIVE, True),
        ("terraform", Applied.LIVE, True),
        ("crossplane", Applied.LIVE, True),
        ("ansible", Applied.LIVE, True),
    ],
)
def test_a_dynamic_setting_is_applied_as_the_owner_does(name: TargetName, applied: Applied, sure: bool) -> None:  # noqa: FBT001
    roll_out = TARGETS[name].roll_out(server_of(name), (OLD_BLOCKS,), None)
    assert (roll_out.applied, roll_out.sure) == (applied, sure)
    assert roll_out.overrides is None


@pytest.mark.parametrize("name", ["percona-ps", "percona-pxc", "moco", "terraform", "crossplane"])
def test_a_pool_size_takes_the_place_of_the_owners_own(name: TargetName) -> None:
    assert "pool" in (TARGETS[name].roll_out(server_of(name), (POOL,), None).overrides or "")


def test_a_line_that_the_running_server_does_not_take_is_told() -> None:
    for name in ("kubeblocks", "ansible"):
        target = TARGETS[name]
        assert LOAD.setting in target.roll_out(MYSQL, (LOAD,), None).how
        assert target.roll_out(MYSQL, (LOAD,), None).applied is not Applied.LIVE
    roll_out = TARGETS["terraform"].roll_out(RDS, (LOAD,), None)
    assert roll_out.applied is Applied.BY_HAND
    assert 'apply_method = "pending-reboot"' in TARGETS["terraform"].settings(RDS, (LOAD,), None).patch.text


def test_memory_moves_where_the_owner_holds_it() -> None:
    without = [name for name, target in TARGETS.items() if target.memory(2 * GI, 3 * GI, None) is None]
    assert without == ["crossplane", "terraform", "ansible"]
    patches = TARGETS["percona-ps"].memory(2 * GI, 3 * GI, None)
    assert patches is not None
    assert yaml.safe_load(patches.patch.text)["spec"]["mysql"]["resources"] == {
        "requests": {"memory": "3072Mi"},
        "limits": {"memory": "3072Mi"},
    }
    assert yaml.safe_load(patches.undo.text)["spec"]["mysql"]["resources"] == {
        "requests": {"memory": None},
        "limits": {"memory": "2048Mi"},
    }
    assert patches.patch.whole
    unit = TARGETS["cnf"].memory(GI, 2 * GI, None)
    assert unit is not None
    assert (unit.patch.text, unit.undo.text) == (
        "[Service]\nMemoryMax=2147483648\n",
        "[Service]\nMemoryMax=1073741824\n",
    )


def test_ansible_keeps_the_value_in_the_option_file_where_the_server_has_no_set_persist() -> None:
    kept = TARGETS["ansible"].settings(MYSQL, (POOL,), None).patch.text
    assert "mode: persist\n" in kept
    assert "ini_file" not in kept
    for server, module in ((MARIADB, "ansible.mariadb.mariadb_variables"), (MYSQL_57, "ansible.mysql.mysql_variables")):
        text = TARGETS["ansible"].settings(server, (POOL,), None).patch.text
        assert module in text
        assert "mode:" not in text
        assert "ini_file" in text
