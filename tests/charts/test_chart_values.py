"""Every pair of options gives manifests that Kubernetes accepts, and never weakens the pods' security context."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from advisor.cli.options import named_source
from advisor.cli.service_options import AlertingOptions
from advisor.contract.links import Links
from tests.charts.manifests import DSN, container, of_kind, pods, problems, rendered
from tools import chart

pytestmark = pytest.mark.system

CHOICES: Mapping[str, list[dict[str, Any]]] = {
    "dsn": [{"dsn": DSN}, {"dsn": "mariadb://a%40b@[2001:db8::1]:3307?ssl-mode=REQUIRED"}, {"dsn": "mysql://a@db"}],
    "password": [{}, {"existingSecret": "pw", "existingSecretKey": "db.password"}, {"password": "p: #"}],
    "server TLS": [
        {},
        {"serverTLS": {"mode": "VERIFY_CA", "caConfigMap": "ca"}},
        {"serverTLS": {"secret": "client"}},
    ],
    "config": [{}, {"config": {"suppress": [{"rule": "warmup-disabled"}], "server": {"cores": 0.5}}}],
    "rules": [{}, {"rules": {"my-rule.yaml": "id: my-rule\n"}}, {"existingRulesConfigMap": "ours"}],
    "web": [
        {},
        {"webConfig": {"content": {"basic_auth_users": {"me": "$2y$10$x"}}}},
        {"webConfig": {"content": {"tls_server_config": {"cert_file": "tls.crt"}}, "tlsSecret": "web"}},
        {"webConfig": {"existingSecret": "web", "probe": "https"}},
    ],
    "state": [{}, {"state": {"enabled": True, "sizeLimit": "1Gi"}}],
    "details": [{}, {"collectLruPages": True, "compat": "mysqld-exporter", "extraArgs": ["-v"], "interval": "60s"}],
    "alertmanager": [
        {},
        {"alertmanager": {"urls": ["http://a:9093", "https://b/c"], "config": {"labels": {"cluster": "on"}}}},
        {
            "alertmanager": {"urls": ["http://a"], "existingSecret": "am"},
            "instance": "db:3306",
            "externalUrl": "https://a.example/$(POD_NAME)",
            "dashboardUrl": "https://g.example/d/x?y=z",
        },
    ],
    "monitor": [
        {},
        {"podMonitor": {"enabled": True, "interval": "1m30s", "labels": {"release": "y"}}},
        {"serviceMonitor": {"enabled": True, "scheme": "https", "tlsConfig": {"insecureSkipVerify": True}}},
    ],
    "rules of Prometheus": [{}, {"prometheusRule": {"enabled": True}}],
    "dashboards": [{}, {"dashboards": {"enabled": True, "namespace": "grafana", "labelValue": "y"}}],
    "policy": [{}, {"networkPolicy": {"enabled": True}}],
    "image": [{}, {"image": {"tag": "1e3"}}, {"image": {"repository": "r:5000/a/b", "digest": f"sha256:{'0' * 64}"}}],
    "users": [
        {},
        {"podSecurityContext": {"runAsUser": None, "runAsGroup": None, "fsGroup": None}},
        {"podSecurityContext": {"runAsUser": 1000700000}, "securityContext": {"runAsUser": 1000700001}},
    ],
    "pod": [
        {},
        {
            "podLabels": {"a": "1e3"},
            "podAnnotations": {"b": "null"},
            "tolerations": [{"operator": "Exists"}],
            "serviceAccount": {"create": True},
            "extraVolumes": [{"name": "more", "emptyDir": {}}],
            "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
            "extraEnv": [{"name": "TZ", "value": "UTC"}],
            "resources": {"limits": None},
        },
    ],
}
USERS = ("runAsUser", "runAsGroup", "fsGroup")
KUBERNETES = (chart.OLDEST, chart.NEWEST)


def pairwise() -> Iterator[dict[str, int]]:
    """A small set of rows that has each pair of choices of two names at least once."""
    names = list(CHOICES)
    missing = {
        ((one, i), (other, j))
        for one, other in itertools.combinations(names, 2)
        for i, j in itertools.product(range(len(CHOICES[one])), range(len(CHOICES[other])))
    }
    while missing:
        row: dict[str, int] = dict(min(missing))
        for name in names:
            if name not in row:
                # The choice with the most pairs still missing.
                row[name] = max(range(len(CHOICES[name])), key=lambda i: len(_pairs({**row, name: i}) & missing))
        missing -= _pairs(row)
        yield row


def _pairs(row: Mapping[str, int]) -> set[tuple[tuple[str, int], tuple[str, int]]]:
    order = list(CHOICES)
    return set(itertools.combinations(sorted(row.items(), key=lambda item: order.index(item[0])), 2))


def values(row: Mapping[str, int]) -> dict[str, Any]:
    """The merged values of a row."""
    return {key: value for name, i in row.items() for key, value in CHOICES[name][i].items()}


ROWS = list(pairwise())


def test_every_pair_of_choices_is_tried() -> None:
    keys = [set(choice) for choices in CHOICES.values() for choice in choices]
    assert len({key for choice in keys for key in choice}) > 25
    tried = set().union(*(_pairs(row) for row in ROWS))
    assert len(tried) == sum(len(a) * len(b) for a, b in itertools.combinations(CHOICES.values(), 2))


@pytest.mark.parametrize("row", [pytest.param(row, id="".join(map(str, row.values()))) for row in ROWS])
def test_every_choice_is_valid_and_as_confined_as_by_default(row: Mapping[str, int]) -> None:
    manifests = rendered(values(row))
    for kubernetes in KUBERNETES:
        assert [problem for manifest in manifests if (problem := problems(manifest, kubernetes))] == []
    assert [confined(pod) for pod in pods(manifests)] == [confined(pod) for pod in pods(rendered({"dsn": DSN}))]
    _hangs_together(manifests, values(row))


def confined(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The security contexts of a pod and of its containers, without the users, which values may change."""
    contexts = [part["securityContext"] for part in (pod, *pod["containers"])]
    return [{key: value for key, value in context.items() if key not in USERS} for context in contexts]


def _hangs_together(manifests: list[Any], chosen: Mapping[str, Any]) -> None:
    """Check that each mounted Secret and ConfigMap is the user's or the chart's, and that each mount has a volume."""
    own = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests}
    assert len(own) == len(manifests)
    pod = of_kind(manifests, "Deployment")["spec"]["template"]["spec"]
    volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
    mounts = container(manifests).get("volumeMounts", ())
    assert sorted(volumes) == sorted(mount["name"] for mount in mounts)
    given = str(chosen)
    for volume in volumes.values():
        for source in volume.get("projected", {}).get("sources", [volume]):
            for kind, key in (("secret", "Secret"), ("configMap", "ConfigMap")):
                if kind in source:
                    name = source[kind].get("secretName") or source[kind]["name"]
                    assert (key, name) in own or f"'{name}'" in given
    used = [name for kind, name in own if kind in ("Secret", "ConfigMap") and "-dashboard-" not in name]
    assert [name for name in used if f"'{name}'" not in str(pod)] == []


@pytest.mark.parametrize("kubernetes", KUBERNETES)
def test_the_schemas_find_an_invalid_manifest(kubernetes: str) -> None:
    deployment = of_kind(rendered({"dsn": DSN}), "Deployment")
    assert problems({**deployment, "spec": {**deployment["spec"], "replica": 1}}, kubernetes)
    assert problems({**deployment, "spec": {**deployment["spec"], "replicas": "1"}}, kubernetes)


def test_probes_use_the_web_configurations_scheme() -> None:
    users = {"basic_auth_users": {"me": "$2y$10$x"}}
    tls = {"tls_server_config": {"cert_file": "tls.crt"}}
    clients = {"tls_server_config": {"cert_file": "tls.crt", "client_auth_type": "RequireAndVerifyClientCert"}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "HTTP"),
        ({"content": tls}, "HTTPS"),
        ({"content": clients}, "tcp"),
        ({"content": users}, "tcp"),
        ({"content": users | tls}, "tcp"),
        ({"existingSecret": "web"}, "tcp"),
        ({"existingSecret": "web", "probe": "https"}, "HTTPS"),
        ({"existingSecret": "web", "probe": "http"}, "HTTP"),
    ]
    for web, how in cases:
        sidecar = container(rendered({"dsn": DSN, "webConfig": web}))
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = sidecar[probe]
            assert ("tcp" if "tcpSocket" in asked else asked["httpGet"]["scheme"]) == how, web


@pytest.mark.parametrize(
    ("values", "name", "key"),
    [
        ({"password": "p"}, "shop-innodb-advisor-password", "password"),
        ({"password": "p", "existingSecretKey": "db"}, "shop-innodb-advisor-password", "password"),
        ({"existingSecret": "pw"}, "pw", "password"),
        ({"existingSecret": "pw", "existingSecretKey": "db"}, "pw", "db"),
    ],
)
def test_the_password_is_a_file_for_any_key(values: dict[str, Any], name: str, key: str) -> None:
    manifests = rendered({"dsn": DSN, **values})
    [volume] = of_kind(manifests, "Deployment")["spec"]["template"]["spec"]["volumes"]
    assert volume["secret"] == {"secretName": name, "items": [{"key": key, "path": "password"}]}
    own = [manifest for manifest in manifests if manifest["kind"] == "Secret"]
    assert [list(manifest["data"]) for manifest in own] == ([[key]] if "password" in values else [])


@pytest.mark.parametrize(
    ("values", "instance"),
    [
        ({"dsn": "mysql://a@DB.shop"}, "db.shop:3306"),
        ({"dsn": "mysql://a@db.shop:3307/?ssl-mode=REQUIRED"}, "db.shop:3307"),
        ({"dsn": "mariadb://a@[2001:db8::1]:3307"}, "[2001:db8::1]:3307"),
        ({"dsn": "mysql://a@127.0.0.1:3307"}, "the-pod:3307"),
        ({"dsn": "mysql://a@localhost"}, "the-pod:3306"),
        ({"dsn": "mysql://a@[::1]"}, "the-pod:3306"),
        ({"dsn": "mysql://a@/?socket=/run/mysqld.sock"}, "the-pod:3306"),
        ({"dsn": "mysql://a@127.0.0.1", "instance": "db1"}, "db1"),
    ],
)
def test_scraped_metrics_and_the_sidecars_alerts_have_the_same_instance(
    values: dict[str, Any], instance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "the-pod")
    where = named_source(values["dsn"], None, None, None)
    options = AlertingOptions(("http://a",), instance=values.get("instance"))
    assert options.server_alerts(where, Links("http://a")).instance == instance
    for kind, endpoints in (("podMonitor", "podMetricsEndpoints"), ("serviceMonitor", "endpoints")):
        given = {**values, kind: {"enabled": True, "relabelings": [{"targetLabel": "team", "replacement": "dba"}]}}
        relabelings = of_kind(rendered(given), f"{kind[0].upper()}{kind[1:]}")["spec"][endpoints][0]["relabelings"]
        assert [relabeling["targetLabel"] for relabeling in relabelings] == ["instance", "team"]
        assert relabelings[0]["replacement"].replace("$1", "the-pod") == instance
        assert ("sourceLabels" in relabelings[0]) == ("$1" in relabelings[0]["replacement"])


def test_a_changed_machine_restarts_the_pod_and_a_changed_suppression_does_not() -> None:
    def annotations(**config: Any) -> Any:
        deployment = of_kind(rendered({"dsn": DSN, "config": config}), "Deployment")
        return deployment["spec"]["template"]["metadata"].get("annotations", {})

    with_four = annotations(server={"cores": 4})
    assert with_four != annotations(server={"cores": 8})
    assert with_four == annotations(server={"cores": 4}, suppress=[{"rule": "warmup-disabled"}])


@pytest.mark.parametrize(
    ("dsn", "port"),
    [(DSN, 3306), ("mysql://a@db", 3306), ("mysql://a@[2001:db8::1]:3307/?ssl-mode=REQUIRED", 3307)],
)
def test_the_policy_allows_only_the_necessary_connections(dsn: str, port: int) -> None:
    alertmanager = {"urls": ["https://alerts.example.com/prefix", "http://a:9093", "http://b:9093", "http://c"]}
    policy = of_kind(
        rendered({"dsn": dsn, "networkPolicy": {"enabled": True}, "alertmanager": alertmanager}), "NetworkPolicy"
    )
    spec = policy["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    egress = [[(port["protocol"], port["port"]) for port in rule["ports"]] for rule in spec["egress"]]
    assert egress == [
        [("UDP", 53), ("TCP", 53)],
        [("TCP", port)],
        [("TCP", 443), ("TCP", 9093), ("TCP", 80)],
    ]
    assert spec["ingress"] == [{"ports": [{"port": "metrics", "protocol": "TCP"}]}]
