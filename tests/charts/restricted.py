"""The level `restricted` of Kubernetes' Pod Security Standards, control by control.

After the tables of https://kubernetes.io/docs/concepts/security/pod-security-standards/: including `baseline`, for
Linux pods without user namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_VOLUMES = frozenset(
    "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret".split()  # noqa: SIM905 - a table
)
_SECCOMP = ("RuntimeDefault", "Localhost")
_SELINUX = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_APPARMOR = (None, "RuntimeDefault", "Localhost")
_SYSCTLS = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
    }
)


def violations(pod: Mapping[str, Any]) -> list[str]:
    """The violations in the specification of a pod."""
    return [*_of_pod(pod), *(found for each in _containers(pod) for found in _of_container(pod, each))]


def _containers(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod.get(kind, ())


def _of_pod(pod: Mapping[str, Any]) -> Iterator[str]:
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield name
    for volume in pod.get("volumes", ()):
        kinds = set(volume) - {"name"} or {"emptyDir"}
        yield from (f"volume {volume['name']}: {kind}" for kind in sorted(kinds - _VOLUMES))
    context = pod.get("securityContext", {})
    yield from (f"sysctl {each['name']}" for each in context.get("sysctls", ()) if each["name"] not in _SYSCTLS)
    yield from _of_context(context, "pod")


def _of_container(pod: Mapping[str, Any], container: Mapping[str, Any]) -> Iterator[str]:
    name, own, shared = container["name"], container.get("securityContext", {}), pod.get("securityContext", {})
    yield from _of_context(own, name)
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"{name}: allowPrivilegeEscalation"
    if own.get("runAsNonRoot", shared.get("runAsNonRoot")) is not True:
        yield f"{name}: runAsNonRoot"
    if own.get("seccompProfile", shared.get("seccompProfile", {})).get("type") not in _SECCOMP:
        yield f"{name}: seccompProfile"
    yield from _of_its_own(container, own)


def _of_its_own(container: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[str]:
    """Exceptions that a pod cannot influence."""
    name, capabilities = container["name"], own.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", ()):
        yield f"{name}: capabilities.drop"
    if set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"{name}: capabilities.add"
    if own.get("privileged"):
        yield f"{name}: privileged"
    if own.get("procMount", "Default") != "Default":
        yield f"{name}: procMount"
    if any(port.get("hostPort") for port in container.get("ports", ())):
        yield f"{name}: hostPort"
    hooks = container.get("lifecycle", {}).values()
    for probe in (*(container.get(f"{kind}Probe", {}) for kind in ("startup", "liveness", "readiness")), *hooks):
        if any(probe.get(how, {}).get("host") for how in ("httpGet", "tcpSocket")):
            yield f"{name}: probe's host"


def _of_context(context: Mapping[str, Any], whose: str) -> Iterator[str]:
    if context.get("runAsUser") == 0:
        yield f"{whose}: runAsUser"
    if context.get("runAsNonRoot") is False:
        yield f"{whose}: runAsNonRoot false"
    if context.get("seccompProfile", {}).get("type", _SECCOMP[0]) not in _SECCOMP:
        yield f"{whose}: seccompProfile"
    if context.get("appArmorProfile", {}).get("type") not in _APPARMOR:
        yield f"{whose}: appArmorProfile"
    selinux = context.get("seLinuxOptions", {})
    if selinux.get("type", "") not in _SELINUX or selinux.get("user") or selinux.get("role"):
        yield f"{whose}: seLinuxOptions"
    if context.get("windowsOptions", {}).get("hostProcess"):
        yield f"{whose}: hostProcess"
