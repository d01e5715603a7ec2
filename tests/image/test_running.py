"""The image with a real server: as user 65532, read-only, without capabilities, within 128 MiB.

runc's control group limits the memory; the kernel kills a process that needs more.
"""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter import __version__
from lab.packages.cache import REPOSITORY
from lab.programs import docker_compose
from lab.servers import PrivateServer
from tests.advisor.sidecar import values, write_rule
from tests.conftest import start_or_skip
from tests.image.conftest import Built, Containers
from tests.image.containers import LIMIT, Container, cgroup
from tests.unavailable import if_available
from tests.waiting import wait_for
from tools.command import BuildFailed

pytestmark = pytest.mark.xdist_group("image")

NOTHING = frozenset[tuple[str, str]]()


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    """A server beside those of other tests, which may be another worker's."""
    with start_or_skip("mysql-9.7", {}) as started:
        yield started


@pytest.fixture(scope="module")
def container(built: Built, server: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    """The container that watches the server, with a user's own rule."""
    rules, folder = tmp_path_factory.mktemp("rules"), tmp_path_factory.mktemp("serving")
    write_rule(rules, id="of-a-user")
    rules.chmod(0o755)
    options = ["--network=host", f"--env=INNODB_ADVISOR_DSN={server.dsn}", f"--volume={rules}:/rules:ro"]
    arguments = ["serve", "--listen=127.0.0.1:0", "--interval=1s", "--rules=/rules"]
    container = Container(built.podman, folder, built.tag, options, arguments)
    try:
        assert container.get("/healthz").status_code == 200
        yield container
    finally:
        container.remove()


def test_it_watches_a_real_server(container: Container) -> None:
    wait_for(lambda: container.get("/readyz").status_code == 200)
    assert values(container.get("/metrics").text)["innodb_up", NOTHING] == 1


def test_it_has_no_needless_permissions(container: Container) -> None:
    status = dict(re.findall(r"^(\w+):\s*(.*)$", Path(f"/proc/{container.pid}/status").read_text(), re.MULTILINE))
    assert status["Uid"].split() == status["Gid"].split() == ["65532"] * 4
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {0}
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"  # filtered
    mounts = [line.split() for line in Path(f"/proc/{container.pid}/mountinfo").read_text().splitlines()]
    writable = {mount[4] for mount in mounts if mount[5].split(",")[0] == "rw"}
    assert "/" not in writable
    assert "/tmp" not in writable  # noqa: S108 - it needs none


def test_all_its_functions_fit_128_mib(container: Container) -> None:
    assert int(cgroup(container.pid, "memory/memory.limit_in_bytes", "memory.max")) == LIMIT
    for _ in range(5):
        for path in ("/metrics", "/advise", "/snapshot", "/rules", "/openapi.json", "/"):
            assert container.get(path).status_code == 200, path
    assert not re.search(r"oom_kill [1-9]", cgroup(container.pid, "memory/memory.oom_control", "memory.events"))


def test_it_contains_everything_its_pages_load(container: Container) -> None:
    page = container.get("/docs").text
    loaded = re.findall(r'(?:src|href)="(?!data:)([^"]+\.(?:js|css))"', page)
    assert len(loaded) >= 3
    for path in loaded:
        assert container.get("/" + path.lstrip("/")).status_code == 200, path


def test_it_loads_a_mounted_folders_rules_in_addition_to_its_own(container: Container) -> None:
    ids = {rule["id"] for rule in container.get("/rules").json()["rules"]}
    assert "of-a-user" in ids
    assert len(ids) > 10


def test_by_default_it_serves_at_9747_and_on_sigterm_saves_its_history_and_exits_cleanly(
    server: PrivateServer, containers: Containers, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    dsn, state_dir = "INNODB_ADVISOR_DSN=mysql://root@/?socket=/mysqld.sock", "INNODB_ADVISOR_STATE_DIR=/state"
    # Its own network with only a loopback address: it reaches the server by socket.
    places = [f"--volume={server.socket}:/mysqld.sock", f"--volume={state}:/state"]
    variables = [f"--env={text}" for text in (dsn, state_dir, "PYTHONVERBOSE=1")]
    container = containers(options=["--network=none", *places, *variables])
    wait_for(lambda: "serving on" in container.output())
    look = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9747/metrics').read().decode())"
    up = wait_for(
        lambda: re.search(r"^innodb_up (\S+)", container.from_its_network(sys.executable, "-c", look), re.MULTILINE)
    )
    assert float(up[1]) == 1
    loaded = re.findall(r"^# code object from '([^']+)'", container.output(), re.MULTILINE)
    assert len(loaded) > 200
    assert not [
        path for path in loaded if not path.endswith(".pyc")
    ]  # byte code, which a read-only file system cannot cache
    container.send(signal.SIGTERM)
    assert container.status() == 0
    files = [path for path in state.rglob("*") if path.is_file()]
    assert [path for path in files if path.stat().st_size]
    assert {path.stat().st_uid for path in files} == {65532}


def test_it_is_healthy_as_compose_yaml_starts_it(server: PrivateServer, containers: Containers) -> None:
    service = if_available(docker_compose.resolved, REPOSITORY / "compose.yaml")["services"]["sidecar"]
    of_socket = {"INNODB_ADVISOR_DSN": "mysql://root@/?socket=/mysqld.sock", "INNODB_ADVISOR_PASSWORD": ""}
    variables = [f"--env={name}={value}" for name, value in {**service["environment"], **of_socket}.items()]
    places = ["--network=none", f"--volume={server.socket}:/mysqld.sock"]
    container = containers(*service["command"], options=[*places, *variables])
    kind, *probe = service["healthcheck"]["test"]
    assert kind == "CMD"

    def healthy() -> bool:
        with contextlib.suppress(BuildFailed):
            container.execute(*probe)
            return True
        assert not container.ended(), container.output()
        return False

    wait_for(healthy)


def test_check_prints_the_same_in_a_container(server: PrivateServer, containers: Containers) -> None:
    checked = containers("check", "--dsn", server.dsn)
    assert checked.status() == 0, checked.output()
    assert server.version in checked.output("stdout")


def test_it_speaks_to_people(containers: Containers) -> None:
    version, rule = containers("--version"), containers("rules", "show", "blind-spot")
    assert (version.status(), rule.status()) == (0, 0), (version.output(), rule.output())
    assert __version__ in version.output("stdout")
    assert "blind-spot" in rule.output("stdout")
