"""The check of PodSecurity's level `restricted` finds a breach of every control of the standard."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.charts.manifests import DSN, pods, rendered
from tests.charts.restricted import violations

POD: dict[str, Any] = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "a",
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
    ],
}
BREACHES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("hostNetwork", {"hostNetwork": True}, {}),
    ("hostPID", {"hostPID": True}, {}),
    ("hostIPC", {"hostIPC": True}, {}),
    ("hostPath", {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, {}),
    ("nfs", {"volumes": [{"name": "v", "nfs": {}}]}, {}),
    ("sysctl", {"securityContext": {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}}, {}),
    ("runAsUser", {"securityContext": {"runAsUser": 0}}, {}),
    ("runAsUser", {}, {"runAsUser": 0}),
    ("runAsNonRoot", {"securityContext": {"runAsNonRoot": False}}, {}),
    ("runAsNonRoot", {}, {"runAsNonRoot": False}),
    ("seccompProfile", {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, {}),
    ("seccompProfile", {}, {"seccompProfile": {"type": "Unconfined"}}),
    ("seLinuxOptions", {}, {"seLinuxOptions": {"type": "spc_t"}}),
    ("seLinuxOptions", {"securityContext": {"seLinuxOptions": {"user": "root"}}}, {}),
    ("appArmorProfile", {}, {"appArmorProfile": {"type": "Unconfined"}}),
    ("hostProcess", {}, {"windowsOptions": {"hostProcess": True}}),
    ("allowPrivilegeEscalation", {}, {"allowPrivilegeEscalation": True}),
    ("capabilities.drop", {}, {"capabilities": {"drop": ["NET_RAW"]}}),
    ("capabilities.add", {}, {"capabilities": {"drop": ["ALL"], "add": ["SYS_PTRACE"]}}),
    ("privileged", {}, {"privileged": True}),
    ("procMount", {}, {"procMount": "Unmasked"}),
]
OF_CONTAINERS: list[tuple[str, dict[str, Any]]] = [
    ("hostPort", {"ports": [{"containerPort": 1, "hostPort": 1}]}),
    ("probe's host", {"livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 1}}}),
    ("probe's host", {"lifecycle": {"preStop": {"tcpSocket": {"host": "10.0.0.1", "port": 1}}}}),
]


def altered(of_pod: dict[str, Any], of_container: dict[str, Any]) -> dict[str, Any]:
    pod = copy.deepcopy(POD)
    for key, value in of_pod.items():
        pod[key] = {**pod[key], **value} if isinstance(pod.get(key), dict) else value
    pod["containers"][0]["securityContext"].update(of_container)
    return pod


def test_a_restricted_pod_breaches_nothing() -> None:
    assert violations(POD) == []
    assert violations(altered({}, {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}})) == []


@pytest.mark.parametrize(("control", "of_pod", "of_container"), BREACHES)
def test_a_breach_is_reported(control: str, of_pod: dict[str, Any], of_container: dict[str, Any]) -> None:
    assert control in str(violations(altered(of_pod, of_container)))


@pytest.mark.parametrize(("control", "keys"), OF_CONTAINERS)
def test_a_breach_is_reported_for_any_container(control: str, keys: dict[str, Any]) -> None:
    for kind in ("containers", "initContainers"):
        pod = copy.deepcopy(POD)
        pod[kind] = [{**POD["containers"][0], **keys}]
        assert control in str(violations(pod))


def test_a_missing_setting_is_not_permission() -> None:
    for key in POD["securityContext"]:
        rest = {other: value for other, value in POD["securityContext"].items() if other != key}
        assert violations({**POD, "securityContext": rest}) == [f"a: {key}"]
    assert len(violations({"containers": [{"name": "a"}]})) == 4


def test_every_pod_of_the_chart_is_checked() -> None:
    assert len(list(pods(rendered({"dsn": DSN})))) == 2  # the Deployment's pod and the helm test pod
