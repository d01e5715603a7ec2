"""The chart's fleet mode: shards, arguments that the command takes, and values that go together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click
import pytest

from advisor.cli.fleet import fleet
from tests.charts.manifests import DSN, Manifest, of_kind, read, refused, rendered
from tests.unavailable import if_available
from tools import chart

pytestmark = pytest.mark.system

URL = "http://prometheus.monitoring:9090"


def values(**own: Any) -> dict[str, Any]:
    return {"deployment": {"enabled": False}, "fleet": {"enabled": True, "prometheus": {"url": URL}, **own}}


def kinds(manifests: list[Manifest]) -> list[str]:
    return sorted(manifest["kind"] for manifest in manifests)


def containers(manifests: list[Manifest], kind: str = "Deployment") -> list[Mapping[str, Any]]:
    specs = [manifest["spec"] for manifest in manifests if manifest["kind"] == kind]
    pods = [spec["jobTemplate"]["spec"] if kind == "CronJob" else spec for spec in specs]
    return [pod["template"]["spec"]["containers"][0] for pod in pods]


def parsed(arguments: list[str]) -> Mapping[str, Any]:
    """What the command makes of them; it refuses options that it does not know, and values that it cannot use."""
    assert arguments[0] == "fleet"
    return fleet.make_context("fleet", list(arguments[1:])).params


def test_a_fleet_needs_a_prometheus_only() -> None:
    manifests = rendered(values())
    assert kinds(manifests) == ["Deployment", "Pod", "Service"]
    [container] = containers(manifests)
    options = parsed(container["args"])
    assert (options["url"], options["listen"], options["every"], options["shard"]) == (URL, ("", 9748), 300.0, None)
    assert "INNODB_ADVISOR_DSN" not in str(manifests)
    assert of_kind(manifests, "Pod")["spec"]["containers"][0]["args"][1:] == [
        "http://shop-innodb-advisor-fleet:9748",
        "http",
        "innodb_fleet_interval_seconds",
    ]


def test_shards_are_disjoint_and_whole_and_each_has_its_service() -> None:
    manifests = rendered(values(shards=3))
    assert sorted(parsed(container["args"])["shard"] for container in containers(manifests)) == [(0, 3), (1, 3), (2, 3)]
    pods = [
        manifest["spec"]["template"]["metadata"]["labels"] for manifest in manifests if manifest["kind"] == "Deployment"
    ]
    for service in (manifest for manifest in manifests if manifest["kind"] == "Service"):
        selector = service["spec"]["selector"]
        assert [selector.items() <= pod.items() for pod in pods].count(True) == 1


def test_the_command_takes_the_arguments_of_the_golden_manifests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda _, value, *__: value)
    for name, kind, count in (("fleet", "Deployment", 2), ("fleet-report", "CronJob", 1)):
        text = (chart.GOLDEN / f"{name}.yaml").read_text(encoding="utf-8")
        text = text.replace("@/etc/innodb-advisor/headers/headers", "A: b").replace("$(SHARD)", "0")
        assert len([parsed(container["args"]) for container in containers(read(text), kind)]) == count


def test_a_cronjob_writes_a_file_for_each_shard_or_to_the_log() -> None:
    job = {"kind": "CronJob", "shards": 2, "report": {"format": "markdown", "existingClaim": "reports"}}
    shards = [parsed(container["args"]) for container in containers(rendered(values(**job)), "CronJob")]
    assert sorted(str(options["to"]) for options in shards) == [
        "/var/lib/innodb-advisor/reports/fleet-0.md",
        "/var/lib/innodb-advisor/reports/fleet-1.md",
    ]
    alone = rendered(values(kind="CronJob"), release="r" * 53)
    [only] = [parsed(container["args"]) for container in containers(alone, "CronJob")]
    assert (only["to"], only["style"], only["listen"]) == (None, "text", None)
    assert kinds(alone) == ["CronJob"]
    name = of_kind(alone, "CronJob")["metadata"]["name"]
    assert re.fullmatch(r"r+-fleet", name)
    assert len(name) <= 52  # as Kubernetes limits a CronJob's


def test_the_policy_lets_it_ask_prometheus_and_nobody_in_without_a_service() -> None:
    policy = {"networkPolicy": {"enabled": True}, "serviceMonitor": {"enabled": True}}
    manifests = rendered({**values(), **policy})
    served = of_kind(manifests, "NetworkPolicy")["spec"]
    assert [rule["ports"][0]["port"] for rule in served["egress"]] == [53, 9090]
    assert served["ingress"][0]["ports"] == [{"port": "metrics", "protocol": "TCP"}]
    assert of_kind(manifests, "ServiceMonitor")["spec"]["endpoints"][0]["relabelings"] == [
        {"targetLabel": "instance", "sourceLabels": ["__meta_kubernetes_service_name"]}
    ]
    job = of_kind(rendered({**values(kind="CronJob"), "networkPolicy": {"enabled": True}}), "NetworkPolicy")["spec"]
    assert "ingress" not in job
    assert job["policyTypes"] == ["Ingress", "Egress"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({**values(), "deployment": {"enabled": True}}, "set deployment.enabled to false"),
        ({"deployment": {"enabled": False}, "fleet": {"enabled": True}}, "fleet.prometheus.url is required"),
        (values(prometheus={"url": f"{URL}/api/v1"}), "leave out /api/v1"),
        (values(prometheus={"url": "http://user:secret@p:9090"}), "fleet/prometheus/url"),
        (values(prometheus={"url": URL, "config": {"timeout": "5s"}, "existingSecret": "s"}), "give one of the two"),
        ({**values(), "dsn": DSN}, "the fleet connects to no server"),
        ({**values(), "podMonitor": {"enabled": True}}, "the fleet has serviceMonitor"),
        ({**values(kind="CronJob"), "alertmanager": {"urls": ["http://a:9093"]}}, "a CronJob serves nothing"),
        (values(report={"existingClaim": "c"}), "fleet.kind: CronJob"),
        (values(shards=0), "fleet/shards"),
        (values(services=["cluster=heroku"]), "fleet/services"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_go_together_is_refused(wrong: dict[str, Any], words: str) -> None:
    assert words in refused(wrong)


def test_notes_lead_to_the_page_or_to_a_first_report() -> None:
    template = 'kind: Notes\ntext: {{ include "innodb-advisor.notes" (index .Subcharts "innodb-advisor") | quote }}'

    def notes(**own: Any) -> str:
        return str(of_kind(if_available(chart.of_parent, values(**own), template), "Notes")["text"])

    assert "port-forward service/shop-innodb-advisor-fleet-0 9748:9748" in notes(shards=2)
    assert "create job --from=cronjob/shop-innodb-advisor-fleet " in notes(kind="CronJob")
