"""The chart rejects invalid values by name, before anything reaches the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.charts.manifests import DSN, refused, rendered
from tools import chart

pytestmark = pytest.mark.system

BY_SCHEMA: list[tuple[dict[str, Any], str]] = [
    ({"dsnn": "x"}, "additional properties 'dsnn' not allowed"),
    ({"dsn": "db:3306"}, "at '/dsn': 'db:3306' does not match"),
    ({"dsn": "mysql://a@$(HOST)"}, "at '/dsn'"),
    ({"interval": "2m"}, "at '/interval': '2m' does not match"),
    ({"interval": "0s"}, "at '/interval'"),
    ({"interval": 10}, "at '/interval': got number, want string"),
    ({"existingSecret": "No_Name"}, "at '/existingSecret'"),
    ({"serverTLS": {"mode": "verify"}}, "at '/serverTLS/mode': value must be one of"),
    ({"compat": "mysqld_exporter"}, "at '/compat': value must be one of '', 'mysqld-exporter'"),
    ({"config": {"supress": []}}, "at '/config': additional properties 'supress' not allowed"),
    ({"rules": {"my rule": "id: a"}}, "invalid propertyName 'my rule'"),
    ({"rules": {"a.yaml": {"id": "a"}}}, "at '/rules/a.yaml': got object, want string"),
    ({"state": {"sizeLimit": "much"}}, "at '/state/sizeLimit'"),
    ({"state": True}, "at '/state': got boolean, want object"),
    ({"state": {"existingClaim": "No_Name"}}, "at '/state/existingClaim'"),
    ({"mayRead": "fifty"}, "at '/mayRead': 'fifty' does not match"),
    ({"mayRead": 50}, "at '/mayRead': got number, want string"),
    ({"alertmanager": {"urls": "http://a"}}, "at '/alertmanager/urls': got string, want array"),
    ({"alertmanager": {"urls": ["alertmanager:9093"]}}, "at '/alertmanager/urls/0'"),
    ({"alertmanager": {"urls": ["http://me:secret@a"]}}, "at '/alertmanager/urls/0'"),
    ({"alertmanager": {"config": {"basicAuth": {}}}}, "additional properties 'basicAuth' not allowed"),
    ({"externalUrl": "advisor.example.com"}, "at '/externalUrl'"),
    ({"externalUrl": "https://advisor.example.com/$POD"}, "at '/externalUrl'"),
    ({"externalUrl": "https://advisor.example.com/?db=1"}, "at '/externalUrl'"),
    ({"dashboardUrl": "grafana/d/x"}, "at '/dashboardUrl'"),
    ({"dashboardUrl": "https://me:secret@grafana/d/x"}, "at '/dashboardUrl'"),
    ({"webConfig": {"probe": "exec"}}, "at '/webConfig/probe': value must be one of"),
    ({"service": {"port": 70000}}, "at '/service/port': maximum: got 70,000, want 65,535"),
    ({"podMonitor": {"intervall": "30s"}}, "at '/podMonitor': additional properties 'intervall' not allowed"),
    ({"podMonitor": {"interval": "30"}}, "at '/podMonitor/interval'"),
    ({"podMonitor": {"labels": {"release": True}}}, "at '/podMonitor/labels/release': got boolean, want string"),
    ({"dashboards": {"labelValue": 1}}, "at '/dashboards/labelValue': got number, want string"),
    ({"image": {"tag": "a b"}}, "at '/image/tag'"),
    ({"image": {"digest": "sha256:1"}}, "at '/image/digest'"),
    ({"image": {"pullPolicy": "always"}}, "at '/image/pullPolicy': value must be one of"),
    ({"image": {"repository": "advisor:1.0"}}, "at '/image/repository'"),
    ({"podLabels": {"a b": "c"}}, "invalid propertyName 'a b'"),
    ({"podLabels": {"a": "b c"}}, "at '/podLabels/a'"),
    ({"sidecar": {"portName": "more-than-15-letters"}}, "at '/sidecar/portName'"),
    ({"resources": {"memory": "1Gi"}}, "at '/resources': additional properties 'memory' not allowed"),
    ({"resources": {"limits": {"memory": "1GiB"}}}, "at '/resources/limits/memory'"),
    ({"extraArgs": "-v"}, "at '/extraArgs': got string, want array"),
    # Below the level restricted:
    ({"podSecurityContext": {"runAsUser": 0}}, "at '/podSecurityContext/runAsUser': minimum: got 0, want 1"),
    ({"podSecurityContext": {"runAsNonRoot": False}}, "additional properties 'runAsNonRoot' not allowed"),
    (
        {"podSecurityContext": {"seccompProfile": {"type": "Unconfined"}}},
        "/seccompProfile/type': value must be one of",
    ),
    ({"securityContext": {"privileged": True}}, "additional properties 'privileged' not allowed"),
    ({"securityContext": {"readOnlyRootFilesystem": False}}, "'readOnlyRootFilesystem' not allowed"),
    ({"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}, "additional properties 'capabilities' not allowed"),
    ({"sidecar": {"runAsUser": 0}}, "at '/sidecar/runAsUser': minimum: got 0, want 1"),
    ({"extraVolumes": [{"name": "a", "hostPath": {"path": "/"}}]}, "additional properties 'hostPath' not allowed"),
]
BY_TEMPLATE: list[tuple[dict[str, Any], str]] = [
    ({"dsn": ""}, "dsn is required: the server to watch, such as --set dsn=mysql://user@host:3306"),
    ({"dsn": "mysql://me:hush@db"}, "dsn holds a password, which everyone who may read the Deployment could see"),
    ({"dsn": "mysql://db:3306"}, "dsn names no user: mysql://user@host:3306"),
    ({"password": "a", "existingSecret": "b"}, "password and existingSecret: give one of the two"),
    (
        {"rules": {"a.yaml": "a"}, "existingRulesConfigMap": "b"},
        "rules and existingRulesConfigMap: give one of the two",
    ),
    (
        {"webConfig": {"content": {"a": 1}, "existingSecret": "b"}},
        "webConfig.content and webConfig.existingSecret: give one of the two",
    ),
    ({"webConfig": {"tlsSecret": "a"}}, "webConfig.tlsSecret is used by a web configuration"),
    ({"alertmanager": {"existingSecret": "a"}}, "alertmanager.config is for alertmanager.urls, and there are none"),
    (
        {"alertmanager": {"urls": ["http://a"], "existingSecret": "a", "config": {"timeout": "1s"}}},
        "alertmanager.config and alertmanager.existingSecret: give one of the two",
    ),
    (
        {"podMonitor": {"enabled": True}, "serviceMonitor": {"enabled": True}},
        "podMonitor and serviceMonitor: enable one of the two, or everything is scraped twice",
    ),
    ({"podMonitor": {"selector": {"matchLabels": {"a": "b"}}}}, "podMonitor.selector is for sidecars"),
    (
        {"prometheusRule": {"enabled": True, "alerts": {"disabled": ["InnodbDown"]}}},
        "prometheusRule.alerts.disabled: there is no alert InnodbDown; there are ",
    ),
    (
        {"deployment": {"enabled": False}, "podMonitor": {"enabled": True}},
        "podMonitor.selector is required where deployment.enabled is false",
    ),
    (
        {"deployment": {"enabled": False}, "serviceMonitor": {"enabled": True}},
        "serviceMonitor needs the Service of the Deployment: use podMonitor for sidecars",
    ),
    ({"deployment": {"enabled": False}, "networkPolicy": {"enabled": True}}, "networkPolicy is the Deployment's"),
    ({"state": {"existingClaim": "a"}}, "state.existingClaim is used with state.enabled"),
    (
        {"deployment": {"enabled": False}, "state": {"enabled": True, "existingClaim": "a"}},
        "state.existingClaim is for the Deployment: sidecars of several pods would share it",
    ),
]


def named(cases: list[tuple[dict[str, Any], str]]) -> list[Any]:
    return [pytest.param(values, words, id=json.dumps(values)) for values, words in cases]


@pytest.mark.parametrize(("values", "words"), named(BY_SCHEMA))
def test_a_bad_value_is_named(values: dict[str, Any], words: str) -> None:
    assert words in refused({"dsn": DSN, **values})


@pytest.mark.parametrize(("values", "words"), named(BY_TEMPLATE))
def test_contradictory_values_are_named(values: dict[str, Any], words: str) -> None:
    message = refused({"dsn": DSN, **values})
    assert words in message
    assert "hush" not in message


def test_a_kubernetes_release_that_is_too_old_is_rejected() -> None:
    assert "which is incompatible with Kubernetes v1.24.0" in refused({"dsn": DSN}, kubernetes="1.24.0")


def schemas(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key in the schema, with its subschema."""
    for name, subschema in node.get("properties", {}).items():
        yield f"{path}/{name}", subschema
        yield from schemas(subschema, f"{path}/{name}")


def test_the_schema_describes_every_key_and_knows_every_default() -> None:
    schema = json.loads((chart.CHART / "values.schema.json").read_text(encoding="utf-8"))
    subschemas = dict(schemas(schema))
    assert [
        path for path, subschema in subschemas.items() if len(path.split("/")) < 4 and not subschema.get("description")
    ] == []
    text = (chart.CHART / "values.yaml").read_text(encoding="utf-8")
    of_parents = {"/global", "/enabled"}
    own = {path for path in subschemas if path.count("/") == 1} - of_parents
    assert [path for path in own if f"\n{path[1:]}:" not in text] == []


def test_a_parent_chart_may_have_values_for_all() -> None:
    assert rendered({"dsn": DSN, "global": {"imageRegistry": "registry.example.com"}, "enabled": True})
