"""`make run`: the README's promise, on a real server; what it does instead where there is none, or one of your own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx
import pymysql
import pytest

from lab import demo, servers
from lab.harness.workloads import SCHEMA
from lab.packages.cache import REPOSITORY
from lab.processes.ports import HOST, free_port
from lab.servers import PrivateServer
from tests.unavailable import give_up, if_available
from tests.waiting import DEADLINE, wait_for

RULE = "scan-exceeds-old-sublist"


class Demo:
    """`python -m lab.demo` as a child process, with the sidecar on a port of its own."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.address = f"{HOST}:{free_port()}"
        self._output = folder / "output"
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lab.demo"],
                cwd=REPOSITORY,
                env={**os.environ, "LISTEN": self.address, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def output(self) -> str:
        return self._output.read_text()

    def advice(self) -> list[dict[str, Any]] | None:
        """The rule's findings; None while the sidecar does not answer."""
        assert self.process.poll() is None, self.output()
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.get(f"http://{self.address}/advise", params={"rule": RULE}, timeout=DEADLINE)
            return list(answer.json()["recommendations"]) if answer.is_success else None
        return None

    def children(self) -> list[int]:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGINT)


def without(folder: Path, *names: str) -> dict[str, str]:
    """Variables under which these servers are not to be had."""
    return {servers.programs.variable(name): str(folder / "absent") for name in names}


def running(pid: int) -> bool:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_it_is_where_the_readme_says() -> None:
    assert f"open http://{demo.USUAL_ADDRESS}/\n" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_advice_names_the_scanned_table_and_ends_when_it_is_followed(tmp_path: Path) -> None:
    try:
        servers.programs.find("mysql-9.7")
    except servers.UnavailableHere as error:
        give_up(f"mysql-9.7 is unavailable here, and the demo would replay a recording: {error}")
    with Demo(tmp_path) as started:
        up = wait_for(lambda: re.search(r"is up: mysql://root@(\S+):(\d+) ", started.output()))
        connect = partial(pymysql.connect, host=up[1], port=int(up[2]), user="root", autocommit=True)
        wait_for(lambda: f"sidecar: open http://{started.address}/" in started.output())
        [finding] = wait_for(started.advice)
        assert finding["subject"] == {"schema": SCHEMA, "table": demo.SCANNED}
        evidence = {item["name"]: item["value"] for item in finding["evidence"]}
        assert evidence["table_pages"] > evidence["old_pages"]

        with connect() as connection, connection.cursor() as cursor:
            for statement in finding["changes"][0]["apply"]:
                cursor.execute(statement)
        wait_for(lambda: started.advice() == [])

        children = started.children()
        assert len(children) == 2  # the server and the sidecar
        assert started.end(signal.SIGINT) == 0
        assert "Traceback" not in started.output()
        assert started.output().endswith("stopped; nothing is left behind\n")
        assert not any(map(running, children))
        with pytest.raises(pymysql.MySQLError):
            connect()


@pytest.mark.parametrize("left", [name for name in demo.SERVERS if name != "mysql-9.7"])
def test_without_mysql_9_7_another_server_gets_the_same_advice(left: str, tmp_path: Path) -> None:
    if_available(servers.programs.find, left)
    absent = without(tmp_path, *(name for name in demo.SERVERS if name != left))
    with Demo(tmp_path, **absent) as started:
        [finding] = wait_for(started.advice)
        assert finding["subject"]["table"] == demo.SCANNED
        title, _ = demo.SERVERS[left]
        _, why, *others = started.output().splitlines()
        assert why.startswith("MySQL 9.7 is unavailable here: ")
        assert [line for line in others if re.match(title.split()[0] + r" \d.* is up: ", line)]


def test_a_series_that_debian_no_longer_has_is_named_and_any_mysql_is_what_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(servers.programs.DEBIAN, "mysql-9.7", ("sid", "mysql-server-core-that-left"))
    with pytest.raises(servers.UnavailableHere, match="Unable to locate package mysql-server-core-that-left"):
        servers.programs.find("mysql-9.7")
    monkeypatch.setitem(servers.programs.DEBIAN, "mysql-8.4", servers.programs.DEBIAN[servers.ANY_MYSQL])
    with pytest.raises(servers.UnavailableHere, match=r"is not mysql-8\.4: "):
        servers.programs.find("mysql-8.4")
    assert servers.programs.find(servers.ANY_MYSQL).version


def test_without_a_server_it_replays_a_recording_and_a_kill_ends_its_sidecar(tmp_path: Path) -> None:
    with Demo(tmp_path, **without(tmp_path, *demo.SERVERS)) as started:
        [finding] = wait_for(started.advice)
        assert finding["subject"]["table"] == demo.SCANNED
        _, why, instead, *_ = started.output().splitlines()
        assert why.startswith("No server can be had here (")
        assert "install MySQL or MariaDB" in why
        assert "`docker compose up`" in why
        assert instead.startswith("Replaying a recording of a MySQL 9.7 instead")
        children = started.children()
        assert len(children) == 1
        started.end(signal.SIGKILL)
        wait_for(lambda: not any(map(running, children)))


class Sidecars(list[list[str]]):
    """The arguments of the sidecars that the demo would start; each ends as it is told."""

    status: int | None = 0

    def wait(self) -> int:
        if self.status is None:
            raise KeyboardInterrupt
        return self.status


@pytest.fixture
def sidecars(monkeypatch: pytest.MonkeyPatch) -> Sidecars:
    started = Sidecars()

    @contextlib.contextmanager
    def sidecar(where: list[str], _environment: dict[str, str]) -> Iterator[Sidecars]:
        started.append(where)
        yield started

    def no_server(*_: object) -> PrivateServer:
        raise servers.UnavailableHere("nothing is to be started here")

    monkeypatch.setattr(demo, "_sidecar", sidecar)
    monkeypatch.setattr(servers, "start", no_server)
    monkeypatch.setattr(servers, "interrupt_on_signals", lambda: None)
    for name in ("DSN", "DEFAULTS_FILE"):
        monkeypatch.delenv(name, raising=False)
    return started


@pytest.mark.parametrize(("variable", "option"), [("DSN", "--dsn"), ("DEFAULTS_FILE", "--defaults-file")])
def test_your_own_server_is_watched_and_none_started(
    variable: str,
    option: str,
    sidecars: Sidecars,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(variable, "yours")
    sidecars.status = 2  # as with a wrong address or a taken port, which the sidecar says itself
    assert demo.main() == 2
    assert capsys.readouterr().out == ""
    sidecars.status = None
    assert demo.main() == 0
    assert capsys.readouterr().out == "\nstopped; nothing is left behind\n"
    assert sidecars == [[option, "yours"]] * 2


def test_without_a_server_it_says_why(sidecars: Sidecars, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    assert "No server can be had here (nothing is to be started here): install " in capsys.readouterr().out
    assert sidecars == [["--recording", str(demo.RECORDING)]]
