"""The private servers have their series, use only the loopback address, and leave nothing behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab.servers import NAMES, Server, StartError, Unavailable, datadirs, folders, programs, start
from lab.servers.programs import ServerProgram
from tests.waiting import DEADLINE

REPOSITORY = Path(__file__).resolve().parents[3]
LISTENS = "0A"
StartServer = Callable[..., Server]

each = pytest.mark.parametrize("name", NAMES)


def ask(server: Server, sql: str) -> tuple[Any, ...]:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return tuple(cursor.fetchall())


def setting(server: Server, name: str) -> str:
    [(_, value)] = ask(server, f"SHOW GLOBAL VARIABLES LIKE '{name}'")
    return str(value)


def gone(pid: int, seconds: float = DEADLINE) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True  # ended, but not yet reaped
        time.sleep(0.05)
    return False


def listening(pid: int) -> set[str]:
    """The addresses on which the process listens, as /proc/net writes them."""
    targets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the server keeps opening and closing files
            targets.add(str(link.readlink()))
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return {row[1] for row in rows if row[3] == LISTENS and f"socket:[{row[9]}]" in targets}


def test_speaks_its_series(server: Server) -> None:
    flavour, series = server.name.split("-")
    [(version,)] = ask(server, "SELECT VERSION()")
    assert version == server.version
    assert version.startswith(f"{series}.")
    assert ("MariaDB" in version) == (flavour == "mariadb")


def test_listens_on_one_loopback_port_only(server: Server) -> None:
    assert listening(server.pid) == {f"0100007F:{server.port:04X}"}


def test_leaves_performance_schema_at_the_servers_own_default(server: Server) -> None:
    expected = "ON" if server.name.startswith("mysql") else "OFF"
    assert setting(server, "performance_schema") == expected


@each
def test_takes_options_and_further_ones_on_restart(name: str, start_server: StartServer) -> None:
    server = start_server(name, performance_schema="ON", innodb_old_blocks_pct=55)
    assert setting(server, "innodb_old_blocks_pct") == "55"
    assert ask(server, "SELECT COUNT(*) >= 0 FROM performance_schema.table_io_waits_summary_by_index_usage")
    ask(server, "CREATE DATABASE shop")
    pid, port = server.pid, server.port

    server.restart({"innodb-old-blocks-pct": "70"})

    assert (server.pid != pid, server.port) == (True, port)
    assert setting(server, "innodb_old_blocks_pct") == "70"
    assert setting(server, "performance_schema") == "ON"
    assert ("shop",) in ask(server, "SHOW DATABASES")


@each
def test_leaves_no_process_and_no_folder(name: str, start_server: StartServer) -> None:
    server = start_server(name)
    folder = server.socket.parent
    assert server.datadir.is_relative_to(folder)
    server.stop()
    assert not server.running()
    assert gone(server.pid, 0.1)
    assert not folder.exists()


@each
def test_dies_with_the_process_that_started_it(name: str, start_server: StartServer) -> None:
    start_server(name).stop()  # skips without a server
    command = [sys.executable, "-m", "lab.servers", "start", name]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as parent:  # noqa: S603
        assert parent.stdout is not None
        said = dict(parent.stdout.readline().split(maxsplit=1) for _ in range(5))
        pid, folder = int(said["pid"]), Path(said["socket"].strip()).parent
        assert not gone(pid, 0.1)
        parent.kill()
    assert gone(pid)
    # No process was left to remove the folder: the next claim removes it.
    mine, lock = folders.claim()
    assert not folder.exists()
    (mine / "lock").unlink()
    mine.rmdir()
    lock.close()


def test_the_command_stops_its_server_when_terminated(start_server: StartServer) -> None:
    start_server("mariadb-10.11").stop()
    command = [sys.executable, "-m", "lab.servers", "start", "mariadb-10.11"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        said = dict(process.stdout.readline().split(maxsplit=1) for _ in range(5))
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == 0
    assert gone(int(said["pid"]), 0.1)
    assert not Path(said["socket"].strip()).parent.exists()


def test_comes_back_after_a_crash(start_server: StartServer) -> None:
    server = start_server("mariadb-10.11")
    ask(server, "CREATE DATABASE shop")
    server.kill()
    assert not server.running()
    server.restart()
    assert ("shop",) in ask(server, "SHOW DATABASES")


def test_keeps_a_given_data_folder(start_server: StartServer, tmp_path: Path) -> None:
    start_server("mariadb-10.11").stop()
    for found in (False, True):
        with start("mariadb-10.11", datadir=tmp_path / "data") as server:
            assert (("shop",) in ask(server, "SHOW DATABASES")) == found
            ask(server, "CREATE DATABASE IF NOT EXISTS shop")


def test_a_failed_start_contains_the_servers_log(start_server: StartServer) -> None:
    with pytest.raises(StartError, match="no-such-option"):
        start_server("mariadb-10.11", no_such_option=1)


@pytest.mark.parametrize(("required", "status", "word"), [("", 0, "SKIPPED"), ("1", 1, "ERROR")])
def test_an_unavailable_server_skips_the_test_unless_required(required: str, status: int, word: str) -> None:
    test = f"{Path(__file__).relative_to(REPOSITORY)}::test_speaks_its_series[mysql-9.7]"
    environment = {"INNODB_ADVISOR_SERVER_MYSQL_9_7": "/no/such/mysqld", "REQUIRE_SERVERS": required}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", test],
        cwd=REPOSITORY,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert word in done.stdout
    assert "mysql-9.7 is unavailable here: /no/such/mysqld does not run" in done.stdout


def test_the_command_reports_an_unavailable_server_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab.servers", "start", "mysql-9.7"],
        cwd=REPOSITORY,
        env={**os.environ, "INNODB_ADVISOR_SERVER_MYSQL_9_7": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("mysql-9.7 is unavailable here: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("version", "log"),
    [("5.7.44", "--innodb-log-file-size=8M"), ("8.0.29", "--innodb-log-file-size=8M")]
    + [(version, "--innodb-redo-log-capacity=8M") for version in ("8.0.30", "9.7.4-2")],
)
def test_a_data_folder_is_set_up_with_options_that_the_server_has(version: str, log: str, tmp_path: Path) -> None:
    """By a program that fails, and whose output shows how it was called: no registry has a MySQL 5.7."""
    (tmp_path / "share" / "english").mkdir(parents=True)
    (tmp_path / "share" / "english" / "errmsg.sys").touch()
    script = tmp_path / "mysqld"
    script.write_text('#!/bin/sh\necho "$@"\nexit 1\n')
    script.chmod(0o755)
    program = ServerProgram(f"mysql-{version[:3]}", (str(script),), tmp_path, f"{version}-{os.getpid()}")
    with pytest.raises(StartError) as failed:
        datadirs.create(program, {}, tmp_path / "data")
    assert {"--initialize-insecure", log} <= set(str(failed.value).split())


def test_a_server_that_no_registry_has_may_be_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="INNODB_ADVISOR_SERVER_MYSQL_5_7 may name the program of your own"):
        start("mysql-5.7")
    mine = tmp_path / "mysqld"
    mine.write_text("#!/bin/sh\necho 'mysqld  Ver 5.7.44 for Linux on x86_64'\n")
    mine.chmod(0o755)
    monkeypatch.setenv("INNODB_ADVISOR_SERVER_MYSQL_5_7", str(mine))
    assert programs.find("mysql-5.7").version == "5.7.44"
