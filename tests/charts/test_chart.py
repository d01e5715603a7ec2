"""The chart as a whole: version, manifests by default and with every option, and notes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from kubernetes_validate.utils import all_versions
from ruamel.yaml import YAML

from exporter import __version__
from lab.packages.cache import REPOSITORY
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.secured import Secured, hashed
from tests.advisor.sidecar import Sidecar
from tests.charts.manifests import DSN, container, documents, of_kind, problems, read, rendered
from tests.unavailable import if_available
from tests.waiting import DEADLINE
from tools import chart, helm

pytestmark = pytest.mark.system

ASK = chart.CHART / "files" / "ask.py"
GOLDEN = sorted(path for path in chart.GOLDEN.glob("*.yaml") if ".values." not in path.name)
MOST_OF_A_CONFIGMAP = 1 << 20
ACCOUNT = "'innodb_advisor'@'{host}'"


def notes(**values: Any) -> str:
    """The notes after an installation. helm prints them only for a release in a cluster."""
    template = 'kind: Notes\ntext: {{ include "innodb-advisor.notes" (index .Subcharts "innodb-advisor") | quote }}'
    return str(of_kind(if_available(chart.of_parent, values, template), "Notes")["text"])


def ask(url: str, how: str = "http", metric: str = "innodb_up") -> subprocess.CompletedProcess[str]:
    """Run ask.py as the pod of `helm test` does."""
    command = [sys.executable, "-c", ASK.read_text(encoding="utf-8"), url, how, metric]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)  # noqa: S603


def test_the_chart_uses_the_image_of_this_version() -> None:
    about = YAML(typ="safe", pure=True).load((chart.CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert about["appVersion"] == __version__
    assert container(rendered({"dsn": DSN}))["image"] == f"innodb-advisor:{__version__}"


def test_helm_lint_finds_no_problem() -> None:
    arguments = ("lint", "--strict", str(chart.CHART), "--kube-version", chart.OLDEST)
    output = if_available(helm.run, *arguments, values={"dsn": DSN})
    assert re.findall(r"^\[(?!INFO).*", output, re.MULTILINE) == []


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in GOLDEN])
def test_manifests_equal_the_reviewed_golden_files(path: Path) -> None:
    assert documents()[path] == path.read_text(encoding="utf-8"), "run: .venv/bin/python -m tools.chart"


def test_every_supported_kubernetes_has_schemas_and_the_oldest_and_newest_are_tested() -> None:
    about = YAML(typ="safe", pure=True).load((chart.CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert about["kubeVersion"] == f">={chart.OLDEST}-0"
    versions = all_versions()
    assert (versions[0], versions[-1]) == (chart.OLDEST, chart.NEWEST)


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in GOLDEN if path.stem != "sidecar"])
@pytest.mark.parametrize("kubernetes", [chart.OLDEST, chart.NEWEST])
def test_golden_manifests_are_valid(path: Path, kubernetes: str) -> None:
    manifests = read(path.read_text(encoding="utf-8"))
    assert [problem for manifest in manifests if (problem := problems(manifest, kubernetes))] == []


def test_every_dashboard_is_a_configmap_for_grafanas_sidecar() -> None:
    values = {"dsn": DSN, "dashboards": {"enabled": True, "annotations": {"grafana_folder": "InnoDB"}}}
    configmaps = [manifest for manifest in rendered(values) if manifest["kind"] == "ConfigMap"]
    files = sorted((chart.CHART / "dashboards").glob("*.json"))
    assert {name: text for configmap in configmaps for name, text in configmap["data"].items()} == {
        path.name: path.read_text(encoding="utf-8") for path in files
    }
    assert files
    for configmap in configmaps:
        assert configmap["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert configmap["metadata"]["annotations"] == {"grafana_folder": "InnoDB"}
        assert len(json.dumps(configmap)) < MOST_OF_A_CONFIGMAP
        assert problems(configmap, chart.NEWEST) == ""


def test_the_packed_chart_is_complete_and_fits_a_release(tmp_path: Path) -> None:
    if_available(helm.run, "package", str(chart.CHART), "--destination", str(tmp_path))
    [packed] = tmp_path.iterdir()
    with tarfile.open(packed) as archive:
        names = set(archive.getnames())
    kinds = ("alerts", "dashboards", "files", "templates")
    paths = [path for kind in kinds for path in (chart.CHART / kind).rglob("*.*")]
    assert {str(path.relative_to(chart.CHART.parent)) for path in paths} <= names
    # helm stores the chart and its manifests as base64 in one Secret, which may have 1 MiB.
    assert 3 * packed.stat().st_size < MOST_OF_A_CONFIGMAP


def test_the_prometheusrule_has_the_alerts_and_recording_rules_of_the_files() -> None:
    files = sorted((chart.CHART / "alerts").glob("*.yaml"))
    groups = [group for path in files for group in YAML(typ="safe").load(path.read_text(encoding="utf-8"))["groups"]]
    manifest = of_kind(rendered({"dsn": DSN, "prometheusRule": {"enabled": True}}), "PrometheusRule")
    assert manifest["spec"]["groups"] == groups
    assert problems(manifest, chart.NEWEST) == ""


def test_alerts_can_be_left_out_and_get_extra_labels() -> None:
    alerts = {"disabled": ["InnoDBDown"], "labels": {"team": "dba", "severity": "page"}}
    rule_values = {"enabled": True, "recording": False, "labels": {"release": "prometheus"}, "alerts": alerts}
    manifest = of_kind(rendered({"dsn": DSN, "prometheusRule": rule_values}), "PrometheusRule")
    rules = [rule for group in manifest["spec"]["groups"] for rule in group["rules"]]
    assert "InnoDBExporterStale" in [rule["alert"] for rule in rules]
    assert "InnoDBDown" not in [rule["alert"] for rule in rules]
    assert {(rule["labels"]["team"], rule["labels"]["severity"]) for rule in rules} == {("dba", "page")}
    assert manifest["metadata"]["labels"]["release"] == "prometheus"


def test_a_finding_that_the_sidecar_sends_to_alertmanager_is_not_an_alert_of_prometheus_too() -> None:
    alerts = []
    for urls in ([], ["http://alertmanager:9093"]):
        values = {"dsn": DSN, "prometheusRule": {"enabled": True}, "alertmanager": {"urls": urls}}
        groups = of_kind(rendered(values), "PrometheusRule")["spec"]["groups"]
        alerts.append({rule.get("alert") for group in groups for rule in group["rules"]})
    assert alerts[0] - alerts[1] == {"InnoDBAdvice"}


@pytest.mark.parametrize(("deployment", "host"), [(True, "%"), (False, "127.0.0.1")], ids=["Deployment", "sidecars"])
def test_the_notes_create_the_same_account_as_the_readme(deployment: bool, host: str) -> None:  # noqa: FBT001 - a parameter
    text = notes(dsn="mysql://innodb_advisor@db:3306", existingSecret="pw", deployment={"enabled": deployment})
    account = ACCOUNT.format(host=host)
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    for statement in re.findall(r"^(?:CREATE USER|GRANT) .*;$", readme, re.MULTILINE)[:4]:
        assert f"  {statement}".replace("innodb_advisor@'127.0.0.1'", account) in text.splitlines()
    assert "without a password" not in text


def test_the_notes_name_missing_settings() -> None:
    text = notes(dsn=DSN)
    assert "logs in without a password" in text
    assert "Nothing scrapes it yet" in text
    assert "'advisor'@'%'" in text


def test_helm_test_accepts_a_healthy_sidecar(tmp_path: Path) -> None:
    sidecar = Sidecar(tmp_path, "--recording", capture(RECORDING))
    try:
        completed = ask(sidecar.url)
        assert (completed.returncode, completed.stdout) == (0, f"{sidecar.url} is healthy and has metrics\n")
        assert ask(sidecar.url, "tcp").returncode == 0
    finally:
        sidecar.stop()
    assert ask(sidecar.url).returncode == 1
    assert ask(sidecar.url, "tcp").returncode == 1


def test_helm_test_accepts_a_sidecar_that_requires_a_login(tmp_path: Path) -> None:
    sidecar = Secured(tmp_path, {"basic_auth_users": {"prometheus": hashed("secret")}})
    try:
        assert "requires a login" in ask(sidecar.url).stdout
    finally:
        sidecar.stop()


def test_the_notes_ask_for_an_address_that_links_can_lead_to() -> None:
    asked = "set externalUrl"
    assert asked not in notes(dsn=DSN)
    for linking in ({"prometheusRule": {"enabled": True}}, {"dashboards": {"enabled": True}}):
        assert asked in notes(dsn=DSN, **linking)
        assert asked not in notes(dsn=DSN, externalUrl="https://advisor.example.com", **linking)
