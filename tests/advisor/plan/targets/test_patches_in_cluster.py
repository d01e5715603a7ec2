"""Patches in a real kube-apiserver that has the operators' definitions, without the operators.

`pytest -m long tests/advisor/plan/targets/test_patches_in_cluster.py` runs them; the first run builds Kubernetes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from advisor.contract.plan import TargetName
from advisor.plan.targets import TARGETS
from advisor.plan.targets.target import Patches
from lab.packages import go
from lab.programs import kubernetes
from lab.programs.kubernetes import ApiRefusal, Kubernetes
from tests.advisor.plan.targets.owners import MYSQL, OLD_BLOCKS, OPERATORS, advised, manifest, server_of
from tests.advisor.plan.targets.patching import definitions, documents, operations
from tests.unavailable import if_available, or_give_up
from tests.waiting import wait_for

pytestmark = pytest.mark.long

OWN = "databases"
KUBEBLOCKS = "github.com/apecloud/kubeblocks", "v1.0.0", "config/crd/bases"
DEFINITIONS = ("apps.kubeblocks.io_clusters.yaml", "operations.kubeblocks.io_opsrequests.yaml")
GI = 1 << 30


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    uncaptured = request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled
    with ExitStack() as stack:
        with uncaptured():  # how far a build of minutes is
            started = stack.enter_context(or_give_up(kubernetes.api_server(tmp_path_factory.mktemp("kubernetes"))))
        started.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN}})
        folder = if_available(go.files, *KUBEBLOCKS)
        of_kubeblocks = [yaml.safe_load((folder / file).read_text(encoding="utf-8")) for file in DEFINITIONS]
        for definition in (*definitions(), *of_kubeblocks):
            started.create(dict(definition))
        for name in (*OPERATORS, "kubeblocks"):
            for item in documents(manifest(name)):
                wait_for(functools.partial(created, started, item))
        yield started


def created(cluster: Kubernetes, item: dict[str, Any]) -> bool:
    """Whether an object is there; a definition serves its objects a moment after it is made."""
    try:
        cluster.create(item, OWN)
    except ApiRefusal as refusal:
        if " has no " in str(refusal) or ": 404: " in str(refusal):
            return False
        raise
    return True


def object_of(cluster: Kubernetes, name: TargetName, patches: Patches) -> str:
    items = documents(manifest(name))
    item = next(item for item in items if f"kubectl patch {item['kind'].lower()}" in str(patches.patch.command))
    return cluster.path(item, OWN)


def content(cluster: Kubernetes, path: str) -> dict[str, Any]:
    return {key: value for key, value in cluster.get(path).items() if key in ("spec", "data")}


@pytest.mark.parametrize("name", OPERATORS)
def test_each_patch_is_taken_by_the_server_and_taken_back(cluster: Kubernetes, name: TargetName) -> None:
    server = server_of(name)
    for change in advised(server):
        patches = TARGETS[name].settings(server, (change,), manifest(name))
        path = object_of(cluster, name, patches)
        before = content(cluster, path)
        cluster.patch(path, operations(patches.patch), dryRun="All")
        assert content(cluster, path) == before
        cluster.patch(path, operations(patches.patch))
        assert content(cluster, path) != before
        with pytest.raises(ApiRefusal):  # its tests say that the object is another now
            cluster.patch(
                path, [operation for operation in operations(patches.patch) if operation["op"] != "add"] or [FAILS]
            )
        cluster.patch(path, operations(patches.undo))
        if name == "percona-ps" and content(cluster, path) != before:
            assert f"{change.setting} = " in content(cluster, path)["spec"]["mysql"]["configuration"]
            cluster.patch(path, {"spec": before["spec"]})
        assert content(cluster, path) == before


FAILS = {"op": "test", "path": "/kind", "value": "another"}


@pytest.mark.parametrize("name", OPERATORS)
def test_memory_of_an_object_moves_and_is_taken_back(cluster: Kubernetes, name: TargetName) -> None:
    patches = TARGETS[name].memory(GI, 5 * GI, manifest(name))
    assert patches is not None
    path = object_of(cluster, name, patches)
    before = content(cluster, path)
    cluster.patch(path, operations(patches.patch))
    assert "5120Mi" in str(content(cluster, path))
    cluster.patch(path, operations(patches.undo))
    assert content(cluster, path) == before


@pytest.mark.parametrize("name", ["percona-ps", "percona-pxc", "mariadb-operator"])
def test_memory_without_a_manifest_is_a_merge_patch_that_leaves_the_rest(cluster: Kubernetes, name: TargetName) -> None:
    patches = TARGETS[name].memory(4 * GI, 6 * GI, None)
    assert patches is not None
    path = object_of(cluster, name, patches)
    before = content(cluster, path)
    cluster.patch(path, yaml.safe_load(patches.patch.text))
    assert "6144Mi" in str(content(cluster, path))
    cluster.patch(path, yaml.safe_load(patches.undo.text))
    assert "6144Mi" not in str(content(cluster, path))
    cluster.patch(path, {"spec": before["spec"]})


def test_requests_of_kubeblocks_are_taken(cluster: Kubernetes) -> None:
    target = TARGETS["kubeblocks"]
    changes = [target.settings(MYSQL, (change,), manifest("kubeblocks")) for change in advised(MYSQL)]
    memory = target.memory(GI, 3 * GI, manifest("kubeblocks"))
    assert memory is not None
    for patches in (*changes, memory):
        for patch in (patches.patch, patches.undo):
            request = yaml.safe_load(patch.text)
            request["metadata"]["name"] = "innodb"
            assert cluster.create(request, dryRun="All")["spec"]["clusterName"] == "shop"


def test_the_server_refuses_what_is_not_in_the_schema(cluster: Kubernetes) -> None:
    patches = TARGETS["percona-ps"].settings(server_of("percona-ps"), (OLD_BLOCKS,), manifest("percona-ps"))
    path = object_of(cluster, "percona-ps", patches)
    with pytest.raises(ApiRefusal, match="unknown field"):
        cluster.patch(path, [{"op": "add", "path": "/spec/mysql/configurations", "value": "[mysqld]"}])
