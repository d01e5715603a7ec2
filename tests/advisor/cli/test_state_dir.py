"""The history outlives the sidecar: on a real server, over clean ends and kills."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from exporter.state_file import StateFile
from lab.servers import PrivateServer
from tests.advisor.conftest import Run
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import Sidecar, values
from tests.waiting import wait_for

one = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)


def options(server: PrivateServer, folder: Path) -> tuple[object, ...]:
    return ("--dsn", server.dsn, "--interval", "1s", "--state-dir", folder)


def watched_seconds(sidecar: InProcess | Sidecar) -> float:
    """How long a sidecar says it has watched; 0 before it can say so."""
    response = sidecar.get("/advise")
    return float(response.json()["watched_seconds"]) if response.status_code == httpx.codes.OK else 0.0


@one
def test_a_sidecar_goes_on_where_the_one_before_ended(server: PrivateServer, tmp_path: Path) -> None:
    with InProcess(*options(server, tmp_path)) as first:
        watched = wait_for(lambda: watched_seconds(first))
    with InProcess(*options(server, tmp_path)) as second:
        assert wait_for(lambda: watched_seconds(second)) > watched
        assert "found a history of" in second.log()
        own = values(second.get("/metrics").text)
        assert own["innodb_exporter_state_bytes", frozenset()] > 0
        assert own["innodb_exporter_state_failures_total", frozenset()] == 0
        # Parallel reads, too, are known over the restart.
        readers = wait_for(lambda: second.get("/snapshot").json()["parallel_readers"])
        assert readers["thread_seconds"] >= 0
        assert "parallel_readers" not in {blind["lacks"] for blind in second.get("/advise").json()["blind"]}


@one
def test_a_damaged_file_is_said_and_the_sidecar_watches(server: PrivateServer, tmp_path: Path) -> None:
    with InProcess(*options(server, tmp_path)) as first:
        wait_for(lambda: watched_seconds(first))
    [file] = tmp_path.glob("*.sqlite")
    file.write_bytes(file.read_bytes()[:-4096])
    with InProcess(*options(server, tmp_path)) as second:
        wait_for(lambda: watched_seconds(second))
        assert f"{file} is set aside as {file.name}.damaged" in second.log()
        own = values(second.get("/metrics").text)
        assert own["innodb_exporter_state_damaged_files_total", frozenset()] == 1


@one
def test_a_folder_that_cannot_be_written_is_said_and_the_sidecar_watches(server: PrivateServer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with InProcess(*options(server, tmp_path / "file" / "state")) as sidecar:
        wait_for(lambda: watched_seconds(sidecar))
        assert "cannot keep the state in" in sidecar.log()


def test_a_recording_has_no_state(run: Run, tmp_path: Path) -> None:
    ended = run("serve", "--recording", tmp_path / "none.jsonl", "--state-dir", tmp_path / "state")
    assert ended.returncode == 2
    assert "--state-dir needs a server, not a recording" in ended.stderr


def test_a_second_sidecar_on_the_folder_is_refused_by_the_name_of_the_first(run: Run, tmp_path: Path) -> None:
    with StateFile(tmp_path, "127.0.0.1:1"):
        ended = run("serve", "--listen", "127.0.0.1:0", "--dsn", "mysql://a@127.0.0.1:1", "--state-dir", tmp_path)
    assert ended.returncode == 2
    assert f"{tmp_path} is in use for 127.0.0.1:1 by another sidecar (process {os.getpid()} on " in ended.stderr


@one
def test_a_kill_9_loses_neither_an_open_outcome_nor_what_was_written(server: PrivateServer, tmp_path: Path) -> None:
    def history(sidecar: InProcess | Sidecar) -> Any:
        return sidecar.get("/history").json()

    state = tmp_path / "state"
    with InProcess(*options(server, state)) as first:
        wait_for(lambda: watched_seconds(first))
    killed = Sidecar(tmp_path, *options(server, state))
    try:
        assert history(killed)["kept"] is True
        wait_for(lambda: watched_seconds(killed) >= 3)  # enough for the outcome to stay open
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET GLOBAL innodb_old_blocks_time = 0")
            try:
                [outcome] = wait_for(lambda: history(killed)["outcomes"])
                killed.kill()
                with InProcess(*options(server, state)) as last:
                    assert history(last)["outcomes"] == [outcome]  # before its first collection, too
                    wait_for(lambda: watched_seconds(last))
                    assert history(last)["outcomes"] == [outcome]
                    assert "found a history of" in last.log()
                    assert "set aside" not in last.log()
            finally:
                cursor.execute("SET GLOBAL innodb_old_blocks_time = 1000")
    finally:
        killed.kill()
    assert not list(state.glob("*.damaged"))
    [change] = outcome["changes"]
    assert (change["setting"], change["before"], change["after"]) == ("innodb_old_blocks_time", 1000, 0)
    assert change["undo"] == ["SET GLOBAL innodb_old_blocks_time = 1000"]
