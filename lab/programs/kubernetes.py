"""Kubernetes without machines: Debian's etcd, the control plane built from its Go modules, kwok in place of kubelets.

Everything is real but the nodes: requests are validated, admitted and defaulted by kube-apiserver, controllers make
pods of Deployments, the scheduler binds them, and kwok says that they run.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from lab.packages import debian, go
from lab.packages.cache import REPOSITORY
from lab.processes.ports import HOST, free_port
from lab.processes.program import PLAIN, ChildProcess

VERSION, KWOK = "1.36.3", "v0.8.0"
"""Of the control plane (as in control_plane/go.mod), and of kwok."""
MODULE = REPOSITORY / "lab" / "programs" / "control_plane"
_VARIABLES = {
    f"k8s.io/component-base/version.git{name}": value
    for name, value in zip(("Version", "Major", "Minor"), (f"v{VERSION}", *VERSION.split(".")[:2]), strict=True)
}
"""Kubernetes says the version that the linker sets, and helm asks for it."""
SUITE = "sid"
NODE = "kwok-0"
STAGES = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
"""What kwok says of nodes and pods, as its own manifests have it."""
READY_SECONDS, ASK_SECONDS = 180.0, 60.0
_JSON = "application/json"
_USER = "admin"
_KEY = "service-account.key"
_LABELS = {"kubernetes.io/os": "linux", "disk": "ssd"}

Manifest = dict[str, Any]


class ApiRefusal(Exception):
    """The API server refuses an object; the text is its own."""


@dataclass(frozen=True)
class Kubernetes:
    """A running cluster with one node.

    Attributes:
        url: Of the API server.
        token: Of an administrator.
        kubeconfig: A file for clients such as helm.
    """

    url: str
    token: str
    kubeconfig: Path

    def get(self, path: str, **query: str) -> Manifest:
        """An object, or a list of them.

        Raises:
            ApiRefusal: There is none.
        """
        return self._ask("GET", path, query)

    def create(self, manifest: Manifest, namespace: str | None = None, **query: str) -> Manifest:
        """Create an object, strictly: no unknown and no duplicate field is accepted. `dryRun="All"` keeps nothing.

        Raises:
            ApiRefusal: It is invalid, or not admitted.
        """
        path = self.path(manifest, namespace).rpartition("/")[0]
        return self._ask("POST", path, {"fieldValidation": "Strict", **query}, manifest)

    def apply(self, manifest: Manifest, namespace: str | None = None) -> Manifest:
        """Apply an object on the server, strictly, and take all its fields over, as tools that follow a repository do.

        Raises:
            ApiRefusal: It is invalid, or not admitted.
        """
        query = {"fieldValidation": "Strict", "fieldManager": "lab", "force": "true"}
        return self._ask("PATCH", self.path(manifest, namespace), query, manifest, "application/apply-patch+yaml")

    def patch(self, path: str, change: Manifest | Sequence[Manifest], **query: str) -> Manifest:
        """Patch an object, strictly, as kubectl patch does: a list is a JSON patch, another object a merge patch.

        Raises:
            ApiRefusal: A test of the patch fails, or the object would be invalid.
        """
        content = "application/merge-patch+json" if isinstance(change, Mapping) else "application/json-patch+json"
        return self._ask("PATCH", path, {"fieldValidation": "Strict", **query}, change, content)

    def path(self, manifest: Manifest, namespace: str | None = None) -> str:
        """The path of an object.

        Args:
            manifest: The object; the server has to know its kind.
            namespace: Its namespace, if it names none.

        Raises:
            ApiRefusal: The server does not know the kind.
        """
        version = manifest["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        kinds = {kind["kind"]: kind for kind in self.get(base)["resources"] if "/" not in kind["name"]}
        if manifest["kind"] not in kinds:
            raise ApiRefusal(f"{version} has no {manifest['kind']}")
        kind, about = kinds[manifest["kind"]], manifest["metadata"]
        within = f"/namespaces/{about.get('namespace', namespace)}" if kind["namespaced"] else ""
        return f"{base}{within}/{kind['name']}/{about['name']}"

    def is_ready(self) -> bool:
        """Whether the API server answers."""
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=ASK_SECONDS, **PLAIN).is_success
        return False

    def takes_pods(self) -> bool:
        """Whether the node does."""
        node = self.get(f"/api/v1/nodes/{NODE}")
        conditions = node.get("status", {}).get("conditions", ())
        ready = any((condition["type"], condition["status"]) == ("Ready", "True") for condition in conditions)
        return ready and not node["spec"].get("taints")

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Manifest | Sequence[Manifest] | None = None,
        content: str = _JSON,
    ) -> Manifest:
        answer = httpx.request(
            method,
            self.url + path,
            params=dict(query),
            json=body,
            headers={"Authorization": f"Bearer {self.token}", "Accept": _JSON, "Content-Type": content},
            timeout=ASK_SECONDS,
            **PLAIN,
        )
        if answer.is_error or "warning" in answer.headers:
            told = answer.json() if answer.headers.get("content-type", "").startswith(_JSON) else {}
            reason = answer.headers.get("warning") or told.get("message", answer.text)
            raise ApiRefusal(f"{method} {path}: {answer.status_code}: {reason}")
        return dict(answer.json())


@contextlib.contextmanager
def api_server(folder: Path) -> Iterator[Kubernetes]:
    """Start an API server alone on the loopback address: it takes objects, and nothing acts on them.

    Args:
        folder: For data, certificates and logs.
    """
    etcd = debian.program(SUITE, "etcd-server", "usr/bin/etcd")
    client, peer, port = free_port(), free_port(), free_port()
    clients, peers = f"http://{HOST}:{client}", f"http://{HOST}:{peer}"
    cluster = Kubernetes(f"https://{HOST}:{port}", secrets.token_hex(16), folder / "kubeconfig")
    tokens, key = folder / "tokens.csv", folder / _KEY
    tokens.write_text(f"{cluster.token},{_USER},{_USER},system:masters\n", encoding="utf-8")
    tokens.chmod(0o600)
    key.write_bytes(_key())
    cluster.kubeconfig.write_text(json.dumps(_kubeconfig(cluster)), encoding="utf-8")
    etcd += [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync",
    ]
    server = [
        _control_plane(),
        "apiserver",
        f"--etcd-servers={clients}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={tokens}",
        "--authorization-mode=Node,RBAC",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--service-account-issuer={cluster.url}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
    ]
    with ExitStack() as stack:
        stack.enter_context(ChildProcess("etcd", etcd, log=folder / "etcd.log"))
        started = stack.enter_context(ChildProcess("kube-apiserver", server, log=folder / "kube-apiserver.log"))
        started.wait_until(cluster.is_ready, READY_SECONDS)
        yield cluster


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Kubernetes]:
    """Start a cluster on the loopback address, wait until its node is ready, and stop it at the end.

    Args:
        folder: For data, certificates and logs.
    """
    kwok = str(go.installed("kwok", KWOK, "sigs.k8s.io/kwok/cmd/kwok") / "kwok")
    stages = go.files("sigs.k8s.io/kwok", KWOK, "kustomize/stage")
    files = [path for stage in STAGES for path in sorted((stages / stage).glob(f"{stage.partition('/')[0]}-*.yaml"))]
    with ExitStack() as stack:
        cluster = stack.enter_context(api_server(folder))
        alone = [f"--kubeconfig={cluster.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        key = f"--service-account-private-key-file={folder / _KEY}"
        nodes = [kwok, *alone[:1], "--manage-all-nodes=true", *(f"--config={path}" for path in files)]

        def start(name: str, command: Sequence[str]) -> ChildProcess:
            return stack.enter_context(ChildProcess(name, command, log=folder / f"{name}.log"))

        start("kube-controller-manager", [_control_plane(), "controller-manager", *alone, key])
        start("kube-scheduler", [_control_plane(), "scheduler", *alone])
        cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": _LABELS}})
        start("kwok", nodes).wait_until(cluster.takes_pods, READY_SECONDS)
        yield cluster


def _control_plane() -> str:
    return str(go.built("kubernetes", MODULE, _VARIABLES) / "kubernetes")


def _kubeconfig(cluster: Kubernetes) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": cluster.url, "insecure-skip-tls-verify": True}}],
        "users": [{"name": _USER, "user": {"token": cluster.token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": _USER}}],
    }


def _key() -> bytes:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
