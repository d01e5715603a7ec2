"""The manifests' arguments, variables and files, checked against the command itself."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from advisor.alerting import configuration as http_configuration
from advisor.cli import options
from advisor.cli.serve import serve
from advisor.http import web_configuration
from advisor.rules import configuration
from exporter.connection import target
from tests.advisor.http.secured import hashed
from tests.charts.manifests import DSN, container, of_kind, rendered
from tests.unavailable import if_available
from tools import chart

pytestmark = pytest.mark.system

EVERYTHING = chart.GOLDEN / "everything.values.yaml"
MOUNTED = "/etc/innodb-advisor"
PASSWORD = "correct-horse-9"


def parsed(arguments: list[str]) -> Mapping[str, Any]:
    """The options of `serve`, parsed by click without serving."""
    assert arguments[0] == "serve"
    return dict(serve.make_context("serve", arguments[1:]).params)


def values_of(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def everything() -> list[Any]:
    return rendered(values_of(EVERYTHING))


def test_the_command_accepts_every_argument(everything: list[Any]) -> None:
    options = parsed(container(everything)["args"])
    assert options["listen"] == ("", 9747)
    assert options["interval"] == 15.0
    assert options["statement_timeout"] == 2.0  # from extraArgs
    assert options["collect_lru_pages"] is True
    assert options["may_read"] == 50.0
    assert options["password_file"] == Path(f"{MOUNTED}/password/password")
    assert options["external_url"] == "https://advisor.example.com"
    assert options["dashboard_url"].endswith("/d/innodb-advisor-lru?var-instance=db.shop:3307&from=now-6h")


def test_the_command_accepts_a_sidecars_arguments() -> None:
    sidecar = if_available(chart.sidecar, values_of(chart.GOLDEN / "sidecar.values.yaml"))
    options = parsed(sidecar.container["args"])
    assert options["state_dir"] == Path("/var/lib/innodb-advisor/state")
    assert options["rules"] == Path(f"{MOUNTED}/rules")


def test_each_pod_of_several_has_a_page_and_a_dashboard_of_its_own() -> None:
    of_pod = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    urls = {
        "externalUrl": "https://advisor.example.com/$(POD_NAME)",
        "dashboardUrl": "https://grafana.example.com/d/innodb-advisor-lru?var-instance=$(POD_NAME):3306",
    }
    sidecar = container(rendered({"dsn": DSN, "extraEnv": [of_pod], **urls}))
    assert of_pod in sidecar["env"]
    expanded = [argument.replace("$(POD_NAME)", "mysql-0") for argument in sidecar["args"]]  # as the kubelet does
    assert parsed(expanded)["external_url"] == "https://advisor.example.com/mysql-0"
    assert parsed(expanded)["dashboard_url"].endswith("?var-instance=mysql-0:3306")


def test_a_removed_option_is_detected() -> None:
    with pytest.raises(click.NoSuchOption):
        parsed([*container(rendered({"dsn": DSN, "extraArgs": ["--no-such-option"]}))["args"]])


def test_the_command_reads_every_variable(everything: list[Any]) -> None:
    names = [variable["name"] for variable in container(everything)["env"]]
    assert names == [options.DSN_VARIABLE, "TZ"]


def test_the_dsn_has_the_configured_server_and_tls(everything: list[Any]) -> None:
    [dsn] = [variable["value"] for variable in container(everything)["env"] if variable["name"] == options.DSN_VARIABLE]
    source = target.from_dsn(dsn)
    assert (source.host, source.port, source.user) == ("2001:db8::1", 3307, "innodb_advisor")
    assert (source.mode, source.ssl_ca) == ("VERIFY_IDENTITY", f"{MOUNTED}/server-tls/ca.crt")
    assert (source.ssl_cert, source.ssl_key) == (f"{MOUNTED}/server-tls/tls.crt", f"{MOUNTED}/server-tls/tls.key")


@pytest.mark.parametrize("dsn", ["mysql://a@db", "mysql://a@db:3306/", "mysql://a@db:3306?ssl-mode=REQUIRED"])
def test_tls_files_are_added_to_any_dsn(dsn: str) -> None:
    values = {"dsn": dsn, "serverTLS": {"mode": "VERIFY_CA", "caConfigMap": "ca"}}
    source = target.from_dsn(container(rendered(values))["env"][0]["value"])
    assert (source.host, source.mode, source.ssl_ca) == ("db", "VERIFY_CA", f"{MOUNTED}/server-tls/ca.crt")


def test_exactly_the_named_files_are_mounted(everything: list[Any]) -> None:
    sidecar = container(everything)
    files = [Path(argument) for argument in sidecar["args"] if argument.startswith("/")]
    mounts = {Path(mount["mountPath"]) for mount in sidecar["volumeMounts"]}
    named = {path.parent for path in files} | set(files)
    assert mounts - named == {
        Path("/etc/more"),
        Path(f"{MOUNTED}/server-tls"),
    }  # extraVolumes, and files of the DSN
    assert all(mounts & {path, *path.parents} for path in files)
    # A file mounted with subPath would not follow its Secret or ConfigMap.
    assert [mount for mount in sidecar["volumeMounts"] if "subPath" in mount] == []


def test_the_command_reads_the_configuration_and_the_web_configuration(tmp_path: Path) -> None:
    values = {
        "dsn": DSN,
        "config": {"server": {"cores": 4, "memory": "16G"}, "suppress": [{"rule": "warmup-disabled", "reason": "no"}]},
        "webConfig": {"content": {"basic_auth_users": {"prometheus": hashed("secret")}}},
    }
    manifests = rendered(values)
    written = tmp_path / "innodb-advisor.yaml"
    written.write_text(of_kind(manifests, "ConfigMap")["data"]["innodb-advisor.yaml"], encoding="utf-8")
    assert configuration.load(written).server.cores == 4
    web = tmp_path / "web.yml"
    web.write_bytes(base64.b64decode(of_kind(manifests, "Secret")["data"]["web.yml"]))
    assert set(web_configuration.load(web).content.users) == {"prometheus"}


def test_the_sidecar_reads_the_alertmanager_configuration(everything: list[Any], tmp_path: Path) -> None:
    [secret] = [manifest for manifest in everything if manifest["metadata"]["name"].endswith("-alertmanager")]
    path = tmp_path / "alertmanager.yml"
    path.write_bytes(base64.b64decode(secret["data"]["alertmanager.yml"]))
    assert http_configuration.load(path).content.labels == {"cluster": "eu1"}


def test_the_schema_has_every_key_of_these_files() -> None:
    keys = json.loads((chart.CHART / "values.schema.json").read_text(encoding="utf-8"))["properties"]
    assert set(keys["alertmanager"]["properties"]["config"]["properties"]) == set(
        http_configuration.AlertmanagerConfig.model_fields
    )
    # `rules` mounts the user's own rules, and takes precedence.
    assert set(keys["config"]["properties"]) == set(configuration.Configuration.model_fields) - {"rules"}


def test_no_argument_or_variable_holds_a_secret(everything: list[Any]) -> None:
    sidecar = container(everything)
    assert PASSWORD in EVERYTHING.read_text(encoding="utf-8")
    assert PASSWORD not in str(sidecar["args"]) + str(sidecar["env"])
