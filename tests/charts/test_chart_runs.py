"""The real command, run with the arguments, variables and files of the manifests.

The test plays the kubelet: it lays out files and probes in the same way. The named server does not exist; a sidecar
tolerates that.
"""

from __future__ import annotations

import base64
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab.packages.cache import REPOSITORY
from tests.advisor.http.certificates import Authority, Issued
from tests.advisor.sidecar import Sidecar
from tests.charts.manifests import Manifest, container, of_kind, rendered
from tests.waiting import DEADLINE, wait_for

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("chart-runs")]

RULE = REPOSITORY / "docs" / "example-rules" / "reads-keep-missing.yaml"
VALUES: dict[str, Any] = {
    "dsn": "mysql://innodb_advisor@127.0.0.1:1",
    "password": "correct-horse-9",
    "serverTLS": {"mode": "VERIFY_CA", "caConfigMap": "db-ca"},
    "config": {"server": {"cores": 4}, "suppress": [{"rule": "warmup-disabled", "reason": "replicas are rebuilt"}]},
    "rules": {RULE.name: RULE.read_text(encoding="utf-8")},
    "webConfig": {
        "content": {"tls_server_config": {"cert_file": "tls.crt", "key_file": "tls.key"}},
        "tlsSecret": "web",
    },
    "state": {"enabled": True},
    "compat": "mysqld-exporter",
    "alertmanager": {"urls": ["http://127.0.0.1:1"], "config": {"labels": {"cluster": "eu1"}}},
    "externalUrl": "https://advisor.example.com",
    "instance": "db:3306",
}
MOUNTS = r"/(etc|var/lib)/innodb-advisor"


class DeploymentProcess(Sidecar):
    """The Deployment's container as a process; its mounts are below ``root``."""

    def __init__(
        self,
        folder: Path,
        manifests: list[Manifest],
        given: Mapping[str, Mapping[str, bytes]],
        trusting: ssl.SSLContext,
    ) -> None:
        self.root, self._trusting = folder / "root", trusting
        pod = of_kind(manifests, "Deployment")["spec"]["template"]["spec"]
        [self.container] = pod["containers"]
        places = {mount["name"]: self.root / mount["mountPath"].lstrip("/") for mount in self.container["volumeMounts"]}
        for volume in pod["volumes"]:
            self.lay(places[volume["name"]], files(volume, {**contents(manifests), **given}))
        serve, listen, port, *arguments = [self._here(argument) for argument in self.container["args"]]
        assert (serve, listen, port) == ("serve", "--listen", ":9747")
        super().__init__(
            folder,
            *arguments,
            env={variable["name"]: self._here(variable["value"]) for variable in self.container["env"]},
        )

    def _here(self, text: str) -> str:
        return re.sub(rf"(?<![\w.]){MOUNTS}", lambda match: f"{self.root}{match[0]}", text)

    def _serving(self) -> object:
        return re.search(r"serving on (https?://127\.0\.0\.1:\d+)/", self.log()) or self.process.poll() is not None

    def lay(self, place: Path, contents: Mapping[str, bytes]) -> None:
        """Lay out files like the kubelet: links through ``..data``, which it swaps on changes."""
        place.mkdir(parents=True, exist_ok=True)
        version = place / f"..{len(list(place.iterdir()))}"
        version.mkdir()
        for name, content in contents.items():
            (version / name).write_bytes(content)
            if not (place / name).is_symlink():
                (place / name).symlink_to(f"..data/{name}")
        (place / "..new").symlink_to(version.name)
        (place / "..new").rename(place / "..data")

    def get(self, path: str, **options: Any) -> httpx.Response:
        return super().get(path, verify=self._trusting, **options)

    def probe(self, name: str) -> int:
        """The HTTP status that the kubelet would see."""
        ask = self.container[f"{name}Probe"]["httpGet"]
        assert ask["scheme"] == self.url.partition("://")[0].upper()
        return self.get(ask["path"]).status_code


def contents(manifests: list[Manifest]) -> dict[str, dict[str, bytes]]:
    """The content of Secrets and ConfigMaps, by name."""
    by_name = {}
    for manifest in manifests:
        if manifest["kind"] == "Secret":
            by_name[manifest["metadata"]["name"]] = {
                key: base64.b64decode(text) for key, text in manifest["data"].items()
            }
        elif manifest["kind"] == "ConfigMap":
            by_name[manifest["metadata"]["name"]] = {key: text.encode() for key, text in manifest["data"].items()}
    return by_name


def files(volume: Mapping[str, Any], sources: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """The files of a volume."""
    content: dict[str, bytes] = {}
    for source in volume.get("projected", {}).get("sources", [volume]):
        for kind in ("secret", "configMap"):
            if kind in source:
                held = sources[source[kind].get("secretName") or source[kind]["name"]]
                items = source[kind].get("items", [{"key": key, "path": key} for key in held])
                content |= {item["path"]: held[item["key"]] for item in items}
    return content


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def issued(authority: Authority) -> Issued:
    return authority.issue("advisor", "127.0.0.1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, authority: Authority, issued: Issued) -> Iterator[DeploymentProcess]:
    given = {
        "web": {"tls.crt": issued.cert.read_bytes(), "tls.key": issued.key.read_bytes()},
        "db-ca": {"ca.crt": authority.ca.read_bytes()},
    }
    started = DeploymentProcess(tmp_path_factory.mktemp("run"), rendered(VALUES), given, authority.trusting())
    try:
        yield started
    finally:
        started.stop()


def test_the_command_serves_with_every_option(run: DeploymentProcess) -> None:
    assert run.process.poll() is None, run.log()
    assert run.url.startswith("https://")


def test_probes_report_it_alive_but_not_ready_without_its_server(run: DeploymentProcess) -> None:
    assert run.probe("startup") == run.probe("liveness") == 200
    assert run.probe("readiness") == 503


def test_rules_and_suppressions_come_from_the_configmaps(run: DeploymentProcess) -> None:
    answer = run.get(f"/rules/{RULE.stem}")
    assert answer.status_code == 200, answer.text


def test_the_state_folder_can_be_created_in_the_volume(run: DeploymentProcess) -> None:
    wait_for((run.root / "var/lib/innodb-advisor/state").is_dir)


def test_helm_test_reaches_it_over_tls(run: DeploymentProcess) -> None:
    test = of_kind(rendered(VALUES), "Pod")["spec"]["containers"][0]
    assert test["command"] == ["python3", "-c"]
    script, url, how, metric = test["args"]
    assert (url, how, metric) == ("https://shop-innodb-advisor:9747", "https", "innodb_up")
    command = [sys.executable, "-c", script, run.url, how, metric]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)  # noqa: S603
    assert completed.stdout == f"{run.url} is healthy and has metrics\n", completed.stderr


def test_its_password_is_in_no_argument(run: DeploymentProcess) -> None:
    assert "correct-horse-9" not in Path(f"/proc/{run.process.pid}/cmdline").read_text(encoding="utf-8")
    assert "correct-horse-9" not in str(container(rendered(VALUES)))


def test_a_rule_changed_in_the_configmap_takes_effect_without_a_new_pod(run: DeploymentProcess) -> None:
    changed = {**VALUES, "rules": {**VALUES["rules"], "another.yaml": RULE.read_text().replace(RULE.stem, "another")}}
    [volume] = [
        volume
        for volume in of_kind(rendered(changed), "Deployment")["spec"]["template"]["spec"]["volumes"]
        if volume["name"] == "innodb-advisor-rules"
    ]
    run.lay(run.root / "etc/innodb-advisor/rules", files(volume, contents(rendered(changed))))

    wait_for(lambda: run.get("/rules/another").status_code == 200)
    assert of_kind(rendered(changed), "Deployment") == of_kind(rendered(VALUES), "Deployment")
