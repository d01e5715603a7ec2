"""`make run` off its main path: your own server, no server, and an end that leaves nothing behind."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from lab.demo import USUAL_ADDRESS
from lab.servers import Server
from tests.lab.demo import REPOSITORY, Demo
from tests.waiting import DEADLINE

one_server = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)


def answers(address: str) -> bool:
    host, _, port = address.partition(":")
    with suppress(OSError), socket.create_connection((host, int(port)), 1):
        return True
    return False


def running(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_it_is_where_the_readme_says() -> None:
    assert f"open http://{USUAL_ADDRESS}/\n" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


@one_server
@pytest.mark.parametrize("by", ["DSN", "DEFAULTS_FILE"])
def test_your_own_server_is_watched_and_not_changed(
    server: Server, demo: Callable[..., Demo], tmp_path: Path, by: str
) -> None:
    defaults = tmp_path / "my.cnf"
    defaults.write_text(f"[client]\nuser = root\nhost = {server.host}\nport = {server.port}\n")
    started = demo(**{by: server.dsn if by == "DSN" else str(defaults)})
    assert started.advice()["server"].endswith(server.version)
    assert "starting a private MySQL" not in started.said()
    assert f"http://{started.address}/" in started.said()
    children = started.children()
    assert len(children) == 1

    assert started.end(signal.SIGINT) == 0
    assert started.said().endswith("stopped; nothing is left behind\n")
    assert "Traceback" not in started.said()
    assert not any(map(running, children))
    assert not answers(started.address)
    assert server.running()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_server_it_replays_a_recording_and_says_so(
    demo: Callable[..., Demo], tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "empty").mkdir()
    started = demo(INNODB_ADVISOR_CACHE=str(tmp_path / "cache"), PATH=str(tmp_path / "empty"))
    [found] = started.advice()["recommendations"]
    assert (found["rule"], found["subject"]["table"]) == ("scan-exceeds-old-sublist", "orders")
    _, why, instead, *_ = started.said().splitlines()
    assert why == ("MySQL 9.7 is unavailable here: Debian packages need apt-get and dpkg-deb, which this machine lacks")
    assert instead.startswith("Replaying a recording of one instead")
    children = started.children()
    assert len(children) == 1

    assert started.end(number) == 0
    assert started.said().endswith("stopped; nothing is left behind\n")
    assert "Traceback" not in started.said()
    assert not any(map(running, children))
    assert not answers(started.address)


def test_a_killed_demo_ends_its_sidecar(demo: Callable[..., Demo], tmp_path: Path) -> None:
    started = demo(INNODB_ADVISOR_SERVER_MYSQL_9_7=str(tmp_path / "absent"))
    started.advice()
    children = started.children()
    started.end(signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE
    # its first thread may have ended while another still holds the port
    while any(map(running, children)) or answers(started.address):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"DSN": "db.example"}, "Error: a DSN starts with mysql://"),
        ({"DEFAULTS_FILE": "/no/such/file"}, "Error: cannot read the defaults file /no/such/file"),
        ({"DSN": "mysql://me:secret@db.example"}, "Error: the DSN holds a password"),
    ],
)
def test_a_wrong_address_of_your_own_server_ends_it(
    demo: Callable[..., Demo], environment: dict[str, str], said: str
) -> None:
    started = demo(**environment)
    assert started.process.wait(DEADLINE) == 2
    assert said in started.said()
    assert "Traceback" not in started.said()
    assert "secret" not in started.said()


def test_a_taken_port_ends_it(demo: Callable[..., Demo]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        started = demo(DSN="mysql://root@127.0.0.1:1", LISTEN=address)
        assert started.process.wait(DEADLINE) == 2
    assert f"Error: cannot listen on {address}: Address already in use\n" in started.said()
