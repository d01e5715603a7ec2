"""The chart and the snippets in a real control plane: kube-apiserver, controllers, scheduler, with kwok's node.

`pytest -m long tests/charts/test_chart_cluster.py` runs them; the first run builds Kubernetes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lab.packages import go
from lab.programs import kubernetes
from lab.programs.kubernetes import ApiRefusal, Kubernetes
from tests.charts.manifests import read
from tests.charts.test_chart_sidecars import parts, pod, sidecar_of
from tests.unavailable import or_give_up
from tests.waiting import wait_for
from tools import chart, helm
from tools.snippets import SNIPPETS, Snippet

pytestmark = pytest.mark.long

OPERATOR = "github.com/prometheus-operator/prometheus-operator", "v0.85.0", "example/prometheus-operator-crd"
CRDS = ("servicemonitors", "podmonitors", "prometheusrules")
OWN, OTHERS, DASHBOARDS = "shop", "strict", "grafana"
"""Namespaces: of the release, for what is only tried, and for dashboards."""
VALUES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "fleet": {},
    "fleet-report": {},
    # What the golden manifests leave out; and resources as the server writes them, which are the user's own.
    "everything": {
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True, "namespace": DASHBOARDS},
        "resources": {"requests": {"cpu": "100m"}},
    },
}
"""By golden manifests' name: more values."""


def namespace(name: str) -> dict[str, Any]:
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


CLAIMS = ("advisor-state", "reports")
SIZE = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
NEEDED: tuple[dict[str, Any], ...] = (
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": 1000,
        }
        for name in ("monitoring", "low")
    ),
    *(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {**SIZE, "capacity": {"storage": "1Gi"}, "hostPath": {"path": f"/{name}"}},
        }
        for name in CLAIMS
    ),
    *(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": OWN},
            "spec": {**SIZE, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}},
        }
        for name in CLAIMS
    ),
)
"""What the values name."""


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    uncaptured = request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled
    with ExitStack() as stack:
        with uncaptured():  # how far a build of minutes is
            started = stack.enter_context(or_give_up(kubernetes.running(tmp_path_factory.mktemp("kubernetes"))))
        for name in (OWN, OTHERS, DASHBOARDS):
            started.create(namespace(name))
        for plural in CRDS:
            [file] = go.files(*OPERATOR).glob(f"*_{plural}.yaml")
            started.create(YAML(typ="safe").load(file.read_text(encoding="utf-8")))
        for manifest in NEEDED:
            started.create(manifest)
        wait_for(lambda: defined(started) and all(has_account(started, name) for name in (OWN, OTHERS)))
        yield started


def defined(cluster: Kubernetes) -> bool:
    try:
        resources = cluster.get("/apis/monitoring.coreos.com/v1")["resources"]
    except ApiRefusal:
        return False
    return {resource["name"] for resource in resources} >= set(CRDS)


def has_account(cluster: Kubernetes, namespace: str) -> bool:
    """Whether pods can be created there: controllers make the account that they run as."""
    listed = cluster.get(f"/api/v1/namespaces/{namespace}/serviceaccounts")["items"]
    return "default" in {account["metadata"]["name"] for account in listed}


class Release:
    """A release in the restricted namespace."""

    def __init__(self, cluster: Kubernetes, values: Path) -> None:
        self.cluster, self._values = cluster, ("--values", str(values))

    def helm(self, *arguments: str) -> str:
        where = ("--kubeconfig", str(self.cluster.kubeconfig), "--namespace", OWN)
        return helm.run(*arguments, *where)

    def install(self) -> None:
        self.helm("install", "advisor", str(chart.CHART), *self._values, "--wait", "--timeout", "50s")

    def upgrade(self, *more: str) -> None:
        self.helm("upgrade", "advisor", str(chart.CHART), *self._values, *more, "--wait", "--timeout", "50s")

    def manifests(self) -> list[dict[str, Any]]:
        return [dict(manifest) for manifest in read(self.helm("get", "manifest", "advisor"))]

    def live(self) -> dict[str, dict[str, Any]]:
        """The objects of the release by path, as the server has them."""
        paths = [self.cluster.path(manifest, OWN) for manifest in self.manifests()]
        return {path: self.cluster.get(path) for path in paths}

    def versions(self) -> dict[str, str]:
        return {path: manifest["metadata"]["resourceVersion"] for path, manifest in self.live().items()}

    def pods(self) -> list[dict[str, Any]]:
        resources = self.cluster.get(f"/api/v1/namespaces/{OWN}/pods")["items"]
        return [resource for resource in resources if "deletionTimestamp" not in resource["metadata"]]

    def runs(self) -> bool:
        """Whether each Deployment's pod runs."""
        deployments = sum(manifest["kind"] == "Deployment" for manifest in self.manifests())
        return [pod["status"].get("phase") for pod in self.pods()] == ["Running"] * deployments

    def settle(self) -> None:
        """Wait until controllers have nothing more to write."""
        before: dict[str, str] = {}
        for _ in range(30):
            now = self.versions()
            if now == before:
                return
            before = now
            time.sleep(2)
        raise AssertionError("it does not settle")


def lost(expected: Any, actual: Any, at: str = "") -> list[str]:
    """What a manifest says that the object does not, which a tool that compares both would call a drift."""
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping):
            return [at]
        return [path for key, value in expected.items() for path in lost(value, actual.get(key), f"{at}.{key}")]
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return [at]
        return [path for n, value in enumerate(expected) for path in lost(value, actual[n], f"{at}[{n}]")]
    return [] if expected == actual else [f"{at}: {expected!r} is {actual!r}"]


@pytest.mark.parametrize("name", VALUES)
def test_a_release_is_installed_upgraded_rolled_back_and_removed(
    cluster: Kubernetes, name: str, tmp_path: Path
) -> None:
    text = (chart.GOLDEN / f"{name}.values.yaml").read_text(encoding="utf-8")
    given = {**(YAML(typ="safe").load(text) or {}), **VALUES[name]}
    values = tmp_path / "values.json"
    values.write_text(json.dumps(given), encoding="utf-8")
    for manifest in read(chart.template(given, namespace=OTHERS)):
        cluster.create(dict(manifest), OTHERS, dryRun="All")  # strictly: no unknown field, no warning
    release = Release(cluster, values)
    release.install()
    wait_for(release.runs)
    release.settle()
    live, first = release.live(), release.versions()
    for manifest in release.manifests():
        assert lost(manifest, live[cluster.path(manifest, OWN)]) == []
    release.upgrade()
    assert release.versions() == first
    for manifest in release.manifests():
        applied = cluster.apply(manifest, OWN)
        assert cluster.apply(manifest, OWN) == applied
    before = {pod["metadata"]["uid"] for pod in release.pods()}
    release.upgrade("--set", "podLabels.upgraded=yes")
    wait_for(lambda: before.isdisjoint(pod["metadata"]["uid"] for pod in release.pods()))
    release.helm("rollback", "advisor", "1", "--wait", "--timeout", "50s")
    release.settle()
    assert {path: manifest.get("spec") for path, manifest in release.live().items()} == {
        path: manifest.get("spec") for path, manifest in live.items()
    }
    for manifest in live.values():
        if manifest["kind"] == "CronJob":
            succeeds(cluster, manifest)
    release.helm("uninstall", "advisor", "--wait", "--timeout", "50s")
    for path in live:
        with pytest.raises(ApiRefusal, match=": 404: "):
            cluster.get(path)
    wait_for(lambda: not release.pods())


def succeeds(cluster: Kubernetes, cron: Mapping[str, Any]) -> None:
    """Run a CronJob's work now, as `kubectl create job --from` does."""
    about = cron["metadata"]
    owner = {"apiVersion": cron["apiVersion"], "kind": cron["kind"], "name": about["name"], "uid": about["uid"]}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"{about['name']}-now", "namespace": OWN, "ownerReferences": [owner]},
        "spec": cron["spec"]["jobTemplate"]["spec"],
    }
    cluster.create(job)
    wait_for(lambda: cluster.get(cluster.path(job)).get("status", {}).get("succeeded") == 1)


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.name)
def test_a_sidecar_snippet_is_admitted_and_its_pod_runs(cluster: Kubernetes, snippet: Snippet) -> None:
    secret, holder, monitor = parts(snippet)
    for manifest in (secret, monitor, *([completed(holder)] if snippet.native else ())):
        cluster.create({**manifest, "metadata": without_namespace(manifest)}, DASHBOARDS, dryRun="All")
    manifest = pod(snippet)
    manifest["metadata"] = {"name": snippet.name}
    [server] = [container for container in manifest["spec"]["containers"] if container["name"] == "mysqld"]
    server["securityContext"] = sidecar_of(manifest["spec"])["securityContext"]
    cluster.create(manifest, OTHERS)
    path = cluster.path(manifest, OTHERS)
    wait_for(lambda: cluster.get(path)["status"].get("phase") == "Running")


def completed(holder: Mapping[str, Any]) -> dict[str, Any]:
    """A part of a StatefulSet with the rest that the API server asks for."""
    spec, labels = holder["spec"], {"app.kubernetes.io/name": "mysql"}
    within = {**spec["template"]["spec"]}
    strict = sidecar_of(within)["securityContext"]
    of_server = {"name": "mysqld", "image": "mysql:8.4", "securityContext": strict}
    within["containers"] = [*within.get("containers", ()), of_server]
    template = {**spec["template"], "metadata": {"labels": labels}, "spec": within}
    return {
        **holder,
        "spec": {"serviceName": "mysql", **spec, "selector": {"matchLabels": labels}, "template": template},
    }


def without_namespace(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in manifest["metadata"].items() if key != "namespace"}


def test_the_server_is_as_strict_as_these_tests_say(cluster: Kubernetes) -> None:
    named = {"metadata": {"name": "wrong"}}
    with pytest.raises(ApiRefusal, match="unknown field"):
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", **named, "date": {}}, OTHERS)
    monitor = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PodMonitor", **named}
    with pytest.raises(ApiRefusal, match="unknown field"):
        cluster.create({**monitor, "spec": {"selector": {}, "podMetricsEndpoint": []}}, OTHERS)
    containers = [{"name": "root", "image": "mysql"}]
    with pytest.raises(ApiRefusal, match="violates PodSecurity"):
        cluster.create({"apiVersion": "v1", "kind": "Pod", **named, "spec": {"containers": containers}}, OTHERS)
