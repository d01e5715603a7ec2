"""compose.yaml: docker compose accepts it, and its parts work together, with Debian's programs in place of images.

No registry of images is needed. docker compose itself reads the file. The tables, the load, the sidecar's options and
the configurations of Prometheus and Alertmanager are those of the file, with addresses of this machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

from lab import demo
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA
from lab.packages.cache import REPOSITORY
from lab.processes.program import PLAIN, ChildProcess
from lab.programs import alertmanager, docker_compose, mysql_client, prometheus
from lab.servers import PrivateServer
from tests.advisor.sidecar import Sidecar
from tests.unavailable import if_available, or_give_up
from tests.waiting import DEADLINE, wait_for

RULE = "scan-exceeds-old-sublist"
COMPOSE = REPOSITORY / "compose.yaml"
OWN_DASHBOARDS = REPOSITORY / "charts/innodb-advisor/dashboards"
DATA_SOURCE_KEYS = {"name", "type", "uid", "access", "url", "isDefault", "jsonData"}
PROVIDER_KEYS = {"name", "folder", "type", "options"}
"""Keys that Grafana's documentation of provisioning names, of those that there are."""


@pytest.fixture(scope="module")
def services() -> Mapping[str, Any]:
    """The services, as docker compose reads them."""
    project = if_available(docker_compose.resolved, COMPOSE)
    assert set(project) == {"name", "services", "networks"}  # no volume outlives `down --volumes`
    return dict(project["services"])


def mounted(service: Mapping[str, Any], target: str) -> Path:
    """The file or folder of this repository that a service has at a path."""
    [source] = [volume["source"] for volume in service["volumes"] if volume["target"] == target]
    return Path(source)


def load_yaml(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def test_a_file_that_is_no_compose_file_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "compose.yaml"
    wrong.write_text("services: {mysql: {image: mysql, imag: mysql}}\n")
    with pytest.raises(docker_compose.ComposeError, match="imag"):
        if_available(docker_compose.resolved, wrong)


def test_versions_are_pinned_and_every_service_but_the_load_tells_its_health(services: Mapping[str, Any]) -> None:
    images = {name: service["image"] for name, service in services.items() if "image" in service}
    assert all(re.fullmatch(r"docker\.io/[\w./-]+:v?\d+\.\d+\.\d+", image) for image in images.values()), images
    assert services["sidecar"]["build"] == {"context": str(REPOSITORY), "dockerfile": "Dockerfile"}
    assert {name for name, service in services.items() if "healthcheck" not in service} == {"load"}
    assert images["load"] == images["mysql"]


def test_it_mounts_files_of_this_repository_read_only_and_listens_on_the_loopback_address(
    services: Mapping[str, Any],
) -> None:
    volumes = [volume for service in services.values() for volume in service.get("volumes", ())]
    for volume in volumes:
        assert volume["type"] == "bind"
        assert volume["read_only"]
        assert Path(volume["source"]).is_relative_to(REPOSITORY)
        assert Path(volume["source"]).exists(), volume
    ports = [port for service in services.values() for port in service.get("ports", ())]
    assert {port["host_ip"] for port in ports} == {"127.0.0.1"}
    published = {f"http://127.0.0.1:{port['published']}/" for port in ports}
    assert published >= set(re.findall(r"http://127\.0\.0\.1:\d+/(?= )", COMPOSE.read_text()))


def test_each_address_in_a_configuration_is_a_service_and_its_port(services: Mapping[str, Any]) -> None:
    ports = {name: {str(port["target"]) for port in service.get("ports", ())} for name, service in services.items()}
    ports["mysql"] = {"3306"}  # published to no one
    files = [path for path in (REPOSITORY / "compose").rglob("*") if path.is_file()]
    texts = [path.read_text() for path in files] + list(services["sidecar"]["environment"].values())
    addresses = {address for text in texts for address in re.findall(r"\b([a-z]+):(\d{4})\b", text)}
    assert {name for name, _ in addresses} == {"mysql", "sidecar", "prometheus", "alertmanager"}
    assert all(port in ports[name] for name, port in addresses), addresses


def test_grafana_is_provisioned_with_prometheus_and_the_dashboards_of_the_chart(services: Mapping[str, Any]) -> None:
    grafana = services["grafana"]
    sources = load_yaml(mounted(grafana, "/etc/grafana/provisioning/datasources/innodb-advisor.yaml"))
    providers = load_yaml(mounted(grafana, "/etc/grafana/provisioning/dashboards/innodb-advisor.yaml"))
    assert (set(sources), sources["apiVersion"]) == ({"apiVersion", "datasources"}, 1)
    assert (set(providers), providers["apiVersion"]) == ({"apiVersion", "providers"}, 1)
    [source], [provider] = sources["datasources"], providers["providers"]
    assert set(source) <= DATA_SOURCE_KEYS
    assert set(provider) <= PROVIDER_KEYS
    scraped = load_yaml(mounted(services["prometheus"], "/etc/prometheus/prometheus.yml"))["global"]["scrape_interval"]
    assert (source["type"], source["jsonData"]["timeInterval"]) == ("prometheus", scraped)
    assert (provider["type"], mounted(grafana, provider["options"]["path"])) == ("file", OWN_DASHBOARDS)
    home = Path(grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert (str(home.parent), (OWN_DASHBOARDS / home.name).is_file()) == (provider["options"]["path"], True)
    uid = services["sidecar"]["environment"]["INNODB_ADVISOR_DASHBOARD_URL"].rpartition("/")[2].partition("?")[0]
    assert uid in {json.loads(path.read_text())["uid"] for path in OWN_DASHBOARDS.glob("*.json")}


def test_its_load_is_that_of_make_run(services: Mapping[str, Any]) -> None:
    tables = mounted(services["mysql"], "/docker-entrypoint-initdb.d/tables.sql").read_text()
    script = mounted(services["load"], "/load.sh").read_text()
    assert f"id < {demo.SCANNED_PAGES * ROWS_PER_PAGE})" in tables
    assert f"id <= {demo.HOT_PAGES * ROWS_PER_PAGE};" in tables
    assert f"RANDOM % {demo.HOT_PAGES * ROWS_PER_PAGE})" in script
    assert services["mysql"]["command"] == [f"--innodb-buffer-pool-size={demo.POOL}"]
    assert set(re.findall(r"CREATE TABLE (\w+\.\w+)", tables)) == {
        f"{SCHEMA}.{table}" for table in (demo.SCANNED, demo.HOT, demo.OTHER)
    }
    for grant in demo.GRANTS:
        assert f"GRANT {grant} TO {demo.ACCOUNT}@'%';" in tables


@contextmanager
def loaded(server: PrivateServer, service: Mapping[str, Any], folder: Path) -> Iterator[None]:
    """The load, with Debian's mysql in the image's place."""
    mysql_client.write_scripts(folder)
    there = {"MYSQL_HOST": server.host, "MYSQL_TCP_PORT": str(server.port)}
    assert set(service["environment"]) <= set(there)
    command = ["/usr/bin/env", "bash", str(mounted(service, service["entrypoint"][-1]))]
    variables = {"PATH": f"{folder}:{os.environ['PATH']}", **there}
    with ChildProcess("load.sh", command, variables, log=folder / "load.log"):
        yield


def run_sql(server: PrivateServer, path: Path) -> None:
    text = re.sub(r"^--.*", "", path.read_text(), flags=re.MULTILINE)
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in filter(str.strip, text.split(";\n")):
            cursor.execute(statement)


def replaced(text: str, here: Mapping[str, str]) -> str:
    """A text with names and paths of the containers replaced by those of this machine."""
    for name, own in here.items():
        text = text.replace(name, own)
    return text


def health(watching: prometheus.Prometheus) -> dict[str, str]:
    """Of two rules, once they have been evaluated."""
    return {rule["name"]: rule["health"] for rule in watching.rules() if rule["name"] in {"InnoDBAdvice", "InnoDBDown"}}


def alerts(address: str) -> list[dict[str, Any]]:
    """The rule's alerts that Alertmanager holds."""
    answer = httpx.get(f"http://{address}/api/v2/alerts", timeout=DEADLINE, **PLAIN)
    return [alert for alert in answer.raise_for_status().json() if alert["labels"].get("rule") == RULE]


def test_the_advice_reaches_prometheus_and_alertmanager(
    services: Mapping[str, Any], start_server: Callable[..., PrivateServer], tmp_path: Path
) -> None:
    suite = prometheus.NEWEST
    with ExitStack() as stack:
        options = dict(option.removeprefix("--").split("=") for option in services["mysql"]["command"])
        server = start_server("mysql-9.7", **options)
        run_sql(server, mounted(services["mysql"], "/docker-entrypoint-initdb.d/tables.sql"))
        server.restart()  # as the image does, after it has read the file
        stack.enter_context(or_give_up(loaded(server, services["load"], tmp_path)))

        routes = mounted(services["alertmanager"], "/etc/alertmanager/alertmanager.yml").read_text()
        started = or_give_up(alertmanager.running(suite, tmp_path / "alertmanager", routes))
        notified = f"127.0.0.1:{stack.enter_context(started).port}"

        here = {"mysql:3306": f"{server.host}:{server.port}", "alertmanager:9093": notified}
        variables = {name: replaced(value, here) for name, value in services["sidecar"]["environment"].items()}
        [serve, *arguments] = [argument for argument in services["sidecar"]["command"] if "--listen" not in argument]
        assert serve == Sidecar.SERVES
        sidecar = Sidecar(tmp_path, *arguments, "--instance=mysql:3306", env=variables)
        stack.callback(sidecar.stop)

        here = {"alertmanager:9093": notified, "sidecar:9747": sidecar.url.removeprefix("http://")}
        here |= {"/etc/prometheus/rules": str(mounted(services["prometheus"], "/etc/prometheus/rules"))}
        configured = mounted(services["prometheus"], "/etc/prometheus/prometheus.yml").read_text()
        watching = stack.enter_context(
            or_give_up(prometheus.configured(tmp_path, replaced(configured, here), suite=suite))
        )

        assert wait_for(lambda: watching.query('up{job="innodb"} == 1'))
        wait_for(lambda: health(watching) == {"InnoDBAdvice": "ok", "InnoDBDown": "ok"})
        [metric] = wait_for(lambda: watching.query(f'innodb_advisor_recommendation{{rule="{RULE}"}}'))
        [alert] = wait_for(lambda: alerts(notified))
        for labels in (metric.labels, alert["labels"]):
            assert labels["subject"] == f"{SCHEMA}.{demo.SCANNED}"
            assert labels["instance"] == "mysql:3306"  # so that one inhibits the other
        assert alert["annotations"]["page_url"].startswith("http://127.0.0.1:9747/#")
