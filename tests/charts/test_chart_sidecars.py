"""The sidecar: the named template, and the snippets of docs/sidecars for MySQL operators and charts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import pytest

from advisor.cli.serve import serve
from exporter.connection import target
from lab.packages.cache import REPOSITORY
from tests.charts.crds import SCHEMAS
from tests.charts.manifests import documents, problems, read
from tests.unavailable import if_available
from tools import chart
from tools.command import BuildFailed
from tools.snippets import SNIPPETS, Snippet

pytestmark = pytest.mark.system

each_snippet = pytest.mark.parametrize("snippet", [pytest.param(snippet, id=snippet.name) for snippet in SNIPPETS])
Way = tuple[str | int, ...]
POOL: Way = ("spec", "keyspaces", 0, "partitionings", 0, "equal", "shardTemplate", "tabletPools", 0)
WAYS: Mapping[str, tuple[Way, Way]] = {
    "native": (("spec", "template", "spec", "initContainers", 0), ("spec", "template", "spec", "volumes")),
    "bitnami-mysql": (("primary", "sidecars", 0), ("primary", "extraVolumes")),
    "percona-server": (("spec", "mysql", "sidecars", 0), ("spec", "mysql", "sidecarVolumes")),
    "oracle-mysql-operator": (("spec", "podSpec", "containers", 0), ("spec", "podSpec", "volumes")),
    "moco": (("spec", "podTemplate", "spec", "containers", 1), ("spec", "podTemplate", "spec", "volumes")),
    "vitess": ((*POOL, "sidecarContainers", 0), (*POOL, "extraVolumes")),
}
"""Where each takes a container and volumes."""


def parts(snippet: Snippet) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The Secret, the object that holds the sidecar, and the PodMonitor."""
    secret, holder, monitor = read((chart.SIDECARS / f"{snippet.name}.yaml").read_text(encoding="utf-8"))
    return dict(secret), dict(holder), dict(monitor)


def at(node: Any, way: Way) -> Any:
    for key in way:
        node = node[key]
    return node


def pod(snippet: Snippet) -> dict[str, Any]:
    """A pod with only the sidecar and a server."""
    holder = parts(snippet)[1]
    sidecar, volumes = (at(holder, way) for way in WAYS[snippet.name])
    server = {"name": "mysqld", "image": "mysql"}
    spec = (
        {"initContainers": [sidecar], "containers": [server]} if snippet.native else {"containers": [server, sidecar]}
    )
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shop"}, "spec": {**spec, "volumes": volumes}}


def sidecar_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    [container] = [
        container
        for kind in ("initContainers", "containers")
        for container in spec.get(kind, ())
        if container["name"] != "mysqld"
    ]
    return dict(container)


@each_snippet
def test_a_snippet_equals_the_charts_output(snippet: Snippet) -> None:
    path = chart.SIDECARS / f"{snippet.name}.yaml"
    assert documents()[path] == path.read_text(encoding="utf-8"), "run: .venv/bin/python -m tools.chart"


def test_docs_sidecars_has_no_other_file() -> None:
    assert {path.stem for path in chart.SIDECARS.iterdir()} == {snippet.name for snippet in SNIPPETS} == set(WAYS)


@each_snippet
def test_kubernetes_accepts_the_pod(snippet: Snippet) -> None:
    secret, holder, monitor = parts(snippet)
    for kubernetes in (chart.OLDEST_NATIVE if snippet.native else chart.OLDEST, chart.NEWEST):
        assert problems(pod(snippet), kubernetes) == ""
        assert problems(secret, kubernetes) == ""
    assert problems(monitor, chart.NEWEST) == ""
    if holder.get("kind") in SCHEMAS:
        assert problems(holder, chart.NEWEST) == ""


def test_a_native_sidecar_is_rejected_before_kubernetes_1_29() -> None:
    [native] = [snippet for snippet in SNIPPETS if snippet.native]
    assert problems(pod(native), "1.27.0")
    with pytest.raises(BuildFailed, match=r"sidecar\.native needs Kubernetes 1\.29, and this is v1\.28\.0"):
        if_available(chart.sidecar, {}, native=True, kubernetes="1.28.0")
    assert if_available(chart.sidecar, {}, kubernetes="1.28.0").container["name"] == "innodb-advisor"


@each_snippet
def test_the_sidecar_does_not_affect_its_pods_readiness(snippet: Snippet) -> None:
    sidecar = sidecar_of(pod(snippet)["spec"])
    assert "readinessProbe" not in sidecar
    assert {"startupProbe", "livenessProbe"} <= set(sidecar)
    assert "/readyz" not in str(sidecar)


@each_snippet
def test_the_command_accepts_the_sidecars_arguments(snippet: Snippet) -> None:
    sidecar = sidecar_of(pod(snippet)["spec"])
    name, *arguments = sidecar["args"]
    assert name == "serve"
    serve.make_context(name, list(arguments))
    [dsn] = [variable["value"] for variable in sidecar["env"] if variable["name"] == "INNODB_ADVISOR_DSN"]
    assert target.from_dsn(dsn).address == "127.0.0.1:3306"


@each_snippet
def test_a_snippet_is_complete(snippet: Snippet) -> None:
    secret, holder, monitor = parts(snippet)
    _, volumes = (at(holder, way) for way in WAYS[snippet.name])
    assert [volume["secret"]["secretName"] for volume in volumes] == [secret["metadata"]["name"]]
    assert set(secret["stringData"]) == {item["key"] for volume in volumes for item in volume["secret"]["items"]}
    sidecar = sidecar_of(pod(snippet)["spec"])
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] == sidecar["ports"][0]["name"] != "metrics"  # most of these pods have another exporter's
    assert monitor["spec"]["selector"] == {"matchLabels": dict(snippet.labels)}
    # Not the pod's address, which changes.
    assert [relabeling["targetLabel"] for relabeling in endpoint["relabelings"]] == ["instance"]
    text = (chart.SIDECARS / f"{snippet.name}.yaml").read_text(encoding="utf-8")
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for grant in re.findall(r"^GRANT .*;$", readme, re.MULTILINE)[:3]:
        assert f"#   {grant}\n" in text
    assert "WITH MAX_USER_CONNECTIONS 4" in text
    assert secret["stringData"]["password"] in text.partition("---")[0]


@pytest.mark.parametrize("name", ["percona-server", "oracle-mysql-operator", "moco", "vitess"])
def test_a_misplaced_sidecar_is_detected(name: str) -> None:
    [snippet] = [snippet for snippet in SNIPPETS if snippet.name == name]
    holder = parts(snippet)[1]
    schema = jsonschema_rs.validator_for(SCHEMAS[holder["kind"]])
    assert schema.is_valid(holder)
    parent = at(holder, WAYS[name][1][:-1])
    parent["sidecar"] = parent.pop(WAYS[name][1][-1])
    assert not schema.is_valid(holder)


def test_a_parent_chart_gets_the_container_its_volumes_and_their_sources() -> None:
    values = {
        "dsn": "mysql://me@/?socket=/run/mysqld/mysqld.sock",
        "password": "p",
        "rules": {"a.yaml": "id: a"},
        "state": {"enabled": True},
        "extraVolumeMounts": [{"name": "run", "mountPath": "/run/mysqld"}],
        "sidecar": {"runAsUser": None, "runAsGroup": None, "name": "advisor"},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
    }
    sidecar = if_available(chart.sidecar, values, native=True)
    assert sidecar.container["name"] == "advisor"
    assert sidecar.container["restartPolicy"] == "Always"
    assert not {"runAsUser", "runAsGroup"} & set(sidecar.container["securityContext"])
    kinds = {manifest["kind"] for manifest in sidecar.others}
    assert kinds == {"Secret", "ConfigMap", "PrometheusRule"}
    own = {manifest["metadata"]["name"] for manifest in sidecar.others}
    mounted = {mount["name"] for mount in sidecar.container["volumeMounts"]}
    assert {volume["name"] for volume in sidecar.volumes} == mounted - {"run"}
    for volume in sidecar.volumes:
        name = volume.get("secret", {}).get("secretName") or volume.get("configMap", {}).get("name")
        assert name is None or name in own
