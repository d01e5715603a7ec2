"""What each owner does on its own: when it restarts, what wins over a line, and manifests that it cannot take."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from advisor.contract.changes import change_on
from advisor.contract.plan import Applied, RollOut, TargetName
from advisor.contract.recommendation import Change
from advisor.plan.targets import TARGETS
from advisor.plan.targets.target import PlanRefused
from tests.advisor.plan.targets.owners import (
    LOAD,
    MARIADB,
    MYSQL,
    OLD_BLOCKS,
    PERCONA,
    POOL,
    RDS,
    manifest,
)
from tests.advisor.plan.targets.patching import documents, patched

GI = 1 << 30
DDL = change_on(MYSQL, "innodb_ddl_threads", 4.0, 2.0)


def percona(change: Change, configuration: str | None = None, cr_version: str | None = "1.3.0") -> RollOut:
    [cluster] = documents(manifest("percona-ps"))
    cluster["spec"]["crVersion"] = cr_version
    if configuration is not None:
        cluster["spec"]["mysql"]["configuration"] = configuration
    return TARGETS["percona-ps"].roll_out(PERCONA, (change,), json.dumps(cluster))


@pytest.mark.parametrize(
    ("roll_out", "applied", "why"),
    [
        (percona(OLD_BLOCKS), Applied.LIVE, "SET GLOBAL on each pod"),
        (percona(OLD_BLOCKS, cr_version="1.2.0"), Applied.RESTART, "With this crVersion"),
        (percona(LOAD), Applied.RESTART, "does not take innodb_buffer_pool_load_at_startup"),
        (percona(OLD_BLOCKS, "innodb-old-blocks-pct=37\n"), Applied.RESTART, "innodb-old-blocks-pct is written anew"),
        (percona(POOL), Applied.RESTART, "Its own innodb_buffer_pool_chunk_size"),
        (percona(POOL, "innodb_buffer_pool_chunk_size=1M\n"), Applied.LIVE, "SET GLOBAL"),
        (percona(POOL, "innodb_buffer_pool_size=1G\n"), Applied.LIVE, "SET GLOBAL"),
        (percona(OLD_BLOCKS, cr_version=None), Applied.RESTART, "give the manifest"),
    ],
)
def test_percona_sets_lines_live_where_no_key_goes(roll_out: RollOut, applied: Applied, why: str) -> None:
    assert roll_out.applied is applied
    assert why in roll_out.how
    assert roll_out.sure is ("give the manifest" not in roll_out.how)
    assert "A Secret named CLUSTER-mysql wins" in roll_out.how
    assert "The way back leaves a new line" in roll_out.how


def test_percona_gets_names_that_it_can_set() -> None:
    [cluster] = documents(manifest("percona-ps"))
    cluster["spec"]["mysql"]["configuration"] = "loose-innodb-old-blocks-pct=37\n"
    patches = TARGETS["percona-ps"].settings(PERCONA, (OLD_BLOCKS,), json.dumps(cluster))
    after = patched(cluster, patches.patch)
    assert after["spec"]["mysql"]["configuration"] == "loose_innodb_old_blocks_pct=50\n"
    assert patched(after, patches.undo) == cluster


CONFIG_MAP: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "shop-cnf"},
    "data": dict.fromkeys(("my.cnf", "init.cnf"), "[mysqld]\ninnodb_old_blocks_pct=37\n"),
}


@pytest.mark.parametrize(
    ("name", "server", "key"),
    [("percona-ps", PERCONA, "my.cnf"), ("percona-pxc", PERCONA, "init.cnf"), ("mariadb-operator", MARIADB, "my.cnf")],
)
def test_lines_in_a_config_map_are_changed_there(name: TargetName, server: Any, key: str) -> None:
    patches = TARGETS[name].settings(server, (OLD_BLOCKS,), json.dumps(CONFIG_MAP))
    assert (patches.patch.command or "").startswith("kubectl patch configmap shop-cnf ")
    after = patched(CONFIG_MAP, patches.patch)
    assert after["data"][key] == "[mysqld]\ninnodb_old_blocks_pct=50\n"
    assert patched(after, patches.undo) == CONFIG_MAP


def test_mariadb_whose_lines_are_elsewhere_asks_for_that_object() -> None:
    [server] = documents(manifest("mariadb-operator"))
    del server["spec"]["myCnf"]
    server["spec"]["myCnfConfigMapKeyRef"] = {"name": "shop-cnf", "key": "my.cnf"}
    target = TARGETS["mariadb-operator"]
    with pytest.raises(PlanRefused, match=r"takes its lines from spec\.myCnfConfigMapKeyRef"):
        target.settings(MARIADB, (OLD_BLOCKS,), json.dumps(server))
    both = f"{json.dumps(server)}\n---\n{json.dumps(CONFIG_MAP)}"
    assert "configmap" in (target.settings(MARIADB, (OLD_BLOCKS,), both).patch.command or "")


def test_a_server_of_one_of_several_keyspaces_gets_a_part_only() -> None:
    [cluster] = documents(manifest("vitess"))
    cluster["spec"]["keyspaces"] *= 2
    target = TARGETS["vitess"]
    assert not target.settings(MYSQL, (OLD_BLOCKS,), json.dumps(cluster)).patch.whole
    memory = target.memory(GI, 2 * GI, json.dumps(cluster))
    assert memory is not None
    assert not memory.patch.whole
    assert "# Into VitessCluster" in memory.patch.text


def test_an_answer_of_kubectl_for_all_objects_is_taken() -> None:
    answer = {"apiVersion": "v1", "kind": "List", "items": documents(manifest("moco"))}
    patches = TARGETS["moco"].settings(MYSQL, (OLD_BLOCKS,), json.dumps(answer))
    assert patches == TARGETS["moco"].settings(MYSQL, (OLD_BLOCKS,), manifest("moco"))
    assert "/data/loose-innodb_old_blocks-pct" in patches.patch.text


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("oracle", "a: [", "is no YAML"),
        ("oracle", "", "it has no object"),
        ("oracle", manifest("moco"), "it has 1 ConfigMap, 1 MySQLCluster"),
        ("oracle", f"{manifest('oracle')}---\n{manifest('oracle')}", "has to have one InnoDBCluster; it has 2"),
        ("moco", "{kind: ConfigMap, data: 5}", "no map of variables"),
        ("crossplane", "{kind: ParameterGroup, spec: {forProvider: {parameter: [5]}}}", "no list of parameters"),
        ("bitnami", "a: [", "are no YAML"),
        ("bitnami", manifest("oracle"), "takes the chart's values"),
        ("kubeblocks", manifest("oracle"), "has to have one Cluster"),
        ("percona-pxc", "{kind: ConfigMap, data: {init.cnf: 'a=1'}}", "line 1: not an option file"),
        ("cnf", "a=1", "line 1: not an option file"),
    ],
)
def test_another_manifest_is_refused_with_the_reason(name: TargetName, text: str, why: str) -> None:
    server = RDS if name == "crossplane" else MYSQL
    with pytest.raises(PlanRefused, match=why):
        TARGETS[name].settings(server, (OLD_BLOCKS,), text)


@pytest.mark.parametrize("name", ["cnf", "percona-ps", "bitnami"])
def test_a_manifest_that_has_the_value_already_is_told(name: TargetName) -> None:
    has = manifest(name).replace("37", "50")
    with pytest.raises(PlanRefused, match="has these values already, and the running server has not"):
        TARGETS[name].settings(MYSQL, (OLD_BLOCKS,), has)


def test_bitnami_takes_flags_where_the_my_cnf_is_not_the_charts() -> None:
    target = TARGETS["bitnami"]
    given = "primary: {existingConfigmap: shop-cnf, configuration: '[mysqld]', extraFlags: '--a=1'}"
    patches = target.settings(MYSQL, (OLD_BLOCKS,), given)
    assert yaml.safe_load(patches.patch.text) == {"primary": {"extraFlags": "--a=1 --innodb_old_blocks_pct=50"}}
    assert yaml.safe_load(patches.undo.text) == {"primary": {"extraFlags": "--a=1"}}
    assert "shop-cnf" in target.roll_out(MYSQL, (OLD_BLOCKS,), given).how
    alone = target.memory(GI, 2 * GI, "primary: {}")
    assert alone is not None
    assert alone.patch.text.startswith("# Instead of primary.resourcesPreset")
    assert not alone.patch.whole
    assert yaml.safe_load(alone.undo.text) == {"primary": {"resources": None}}


def test_kubeblocks_asks_by_an_object_and_restarts_for_what_it_does_not_list() -> None:
    target = TARGETS["kubeblocks"]
    patches = target.settings(MYSQL, (OLD_BLOCKS, DDL), manifest("kubeblocks"))
    assert patches.patch.whole
    request = yaml.safe_load(patches.patch.text)
    assert request["metadata"] == {"generateName": "shop-", "namespace": "databases"}
    assert request["spec"]["reconfigures"] == [
        {
            "componentName": "mysql",
            "parameters": [
                {"key": "innodb_old_blocks_pct", "value": "50"},
                {"key": "innodb_ddl_threads", "value": "2"},
            ],
        }
    ]
    roll_out = target.roll_out(MYSQL, (OLD_BLOCKS, DDL), manifest("kubeblocks"))
    assert roll_out.applied is Applied.RESTART
    assert "innodb_ddl_threads is not" in roll_out.how
    alone = {"kind": "Cluster", "metadata": {"name": "shop"}, "spec": {"componentSpecs": [{"name": "db"}]}}
    assert "componentName: db\n" in target.settings(MYSQL, (OLD_BLOCKS,), json.dumps(alone)).patch.text
    memory = target.memory(2 * GI, 3 * GI, manifest("kubeblocks"))
    assert memory is not None
    assert yaml.safe_load(memory.patch.text)["spec"]["verticalScaling"] == [
        {
            "componentName": "mysql",
            "requests": {"cpu": "1", "memory": "3072Mi"},
            "limits": {"cpu": "1", "memory": "3072Mi"},
        }
    ]


def test_a_list_of_parameters_keeps_its_order_and_gets_new_ones_at_its_end() -> None:
    [group] = documents(manifest("crossplane"))
    patches = TARGETS["crossplane"].settings(RDS, (POOL, OLD_BLOCKS), manifest("crossplane"))
    after = patched(group, patches.patch)["spec"]["forProvider"]["parameter"]
    assert [(parameter["name"], parameter["value"]) for parameter in after] == [
        ("innodb_old_blocks_pct", "50"),
        ("max_connections", "250"),
        ("innodb_buffer_pool_size", "268435456"),
    ]
