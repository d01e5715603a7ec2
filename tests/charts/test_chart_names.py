"""Names that YAML could misread, and names of maximum length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.charts.manifests import DSN, Manifest, of_kind, problems, rendered
from tools import chart

pytestmark = pytest.mark.system

LONG = "a" * 53
RELEASES = ("y", "n", "on", "no", "null", "true", "1e3", "0x1f", "0o7", "123", "1.5", "2027-06-30", "a.b", LONG)
DNS_1035, DNS_1123 = r"[a-z]([-a-z0-9]*[a-z0-9])?", r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
EVERYTHING: dict[str, Any] = {
    "dsn": DSN,
    "password": "p",
    "config": {"server": {"cores": 1}},
    "rules": {"my-rule.yaml": "id: my-rule"},
    "webConfig": {"content": {"basic_auth_users": {"me": "$2y$10$x"}}},
    "alertmanager": {"urls": ["http://a"], "config": {"labels": {"cluster": "c"}}},
    "podMonitor": {"enabled": True, "labels": {"release": "y"}},
    "prometheusRule": {"enabled": True, "labels": {"release": "0x1f"}},
    "networkPolicy": {"enabled": True},
    "serviceAccount": {"create": True},
    "podLabels": {"team": "null"},
    "podAnnotations": {"a": "on", "b": "1e3"},
}


def labels(node: Any) -> Iterator[dict[str, Any]]:
    """Every mapping of labels in a manifest."""
    if isinstance(node, dict):
        yield from (value for key, value in node.items() if key in ("labels", "matchLabels", "selector") and value)
        for value in node.values():
            yield from labels(value)
    elif isinstance(node, list):
        for value in node:
            yield from labels(value)


def own(manifest: Manifest) -> list[dict[str, Any]]:
    """The label mappings that name the release."""
    return [mapping for mapping in labels(manifest) if "app.kubernetes.io/instance" in mapping]


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_of_any_name_keeps_its_name_everywhere(release: str) -> None:
    dashboards = {"enabled": release == LONG}  # parsing them takes long
    manifests = rendered({**EVERYTHING, "dashboards": dashboards}, release=release, namespace="on")
    for manifest in manifests:
        name = manifest["metadata"]["name"]
        assert re.fullmatch(DNS_1123, name), name
        assert len(name) <= (63 if manifest["kind"] in ("Service", "Deployment") else 253)
        assert manifest["metadata"]["namespace"] == "on"
        assert {mapping["app.kubernetes.io/instance"] for mapping in own(manifest)} == {release}
        assert all(isinstance(value, str) for mapping in own(manifest) for value in mapping.values())
        assert problems(manifest, chart.NEWEST) == ""
    service = of_kind(manifests, "Service")["metadata"]["name"]
    assert re.fullmatch(DNS_1035, service), service


def test_two_long_release_names_stay_distinct() -> None:
    names = [of_kind(rendered({"dsn": DSN}, release=LONG[:-1] + end), "Deployment")["metadata"]["name"] for end in "ab"]
    assert names[0] != names[1]


def test_a_release_with_the_charts_name_does_not_repeat_it() -> None:
    assert of_kind(rendered({"dsn": DSN}, release="innodb-advisor"), "Service")["metadata"]["name"] == "innodb-advisor"


def test_names_can_be_overridden() -> None:
    given = rendered({"dsn": DSN, "fullnameOverride": "shop-advisor", "nameOverride": "advisor"})
    assert of_kind(given, "Service")["metadata"]["name"] == "shop-advisor"
    assert of_kind(given, "Service")["spec"]["selector"]["app.kubernetes.io/name"] == "advisor"
    assert of_kind(rendered({"dsn": DSN, "nameOverride": "advisor"}), "Service")["metadata"]["name"] == "shop-advisor"


def test_the_service_selects_the_deployments_pod_and_not_the_helm_test_pod() -> None:
    manifests = rendered(EVERYTHING)
    selected = of_kind(manifests, "Service")["spec"]["selector"].items()
    assert selected <= of_kind(manifests, "Deployment")["spec"]["template"]["metadata"]["labels"].items()
    assert not selected <= of_kind(manifests, "Pod")["metadata"]["labels"].items()
    assert of_kind(manifests, "PodMonitor")["spec"]["selector"]["matchLabels"] == dict(selected)
    assert of_kind(manifests, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == dict(selected)


def test_user_labels_do_not_change_the_selector() -> None:
    labelled = {"dsn": DSN, "podLabels": {"app.kubernetes.io/instance": "another", "team": "dba"}}
    deployment = of_kind(rendered(labelled), "Deployment")["spec"]
    assert deployment["selector"]["matchLabels"].items() <= deployment["template"]["metadata"]["labels"].items()
    assert deployment["template"]["metadata"]["labels"]["team"] == "dba"
