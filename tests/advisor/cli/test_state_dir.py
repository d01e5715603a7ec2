"""The history outlives the sidecar: on a real server, over clean ends and kills."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.servers import Server
from tests.advisor.conftest import Run
from tests.advisor.sidecar import Sidecar, values
from tests.waiting import wait_for

one = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)


@pytest.fixture
def sidecars(tmp_path: Path) -> Iterator[Callable[..., Sidecar]]:
    """Start sidecars, one after the other, that keep their state in one folder."""
    started: list[Sidecar] = []

    def start(server: Server, *arguments: object, folder: Path = tmp_path / "state") -> Sidecar:
        place = tmp_path / f"sidecar-{len(started)}"
        place.mkdir()
        options = ("--dsn", server.dsn, "--interval", "1s", "--state-dir", folder, *arguments)
        started.append(Sidecar(place, *options))
        return started[-1]

    yield start
    for sidecar in started:
        sidecar.kill()


def watched_seconds(sidecar: Sidecar) -> float:
    """How long a sidecar says it has watched; 0 before it can say so."""
    response = sidecar.get("/advise")
    found: Any = response.json()["watched_seconds"] if response.status_code == 200 else 0.0
    return float(found)


@one
def test_a_sidecar_goes_on_where_the_one_before_ended(server: Server, sidecars: Callable[..., Sidecar]) -> None:
    first = sidecars(server)
    began = time.monotonic()
    wait_for(lambda: watched_seconds(first) >= 5)
    assert first.stop() == 0
    second = sidecars(server)
    seen = wait_for(lambda: watched_seconds(second))
    assert "found a history of" in second.log()
    own = values(second.get("/metrics").text)
    assert own["innodb_exporter_state_bytes", frozenset()] > 0
    assert own["innodb_exporter_state_failures_total", frozenset()] == 0
    assert 5 <= seen <= time.monotonic() - began + 1


@one
def test_parallel_reads_are_known_over_a_restart_of_the_sidecar(
    server: Server, sidecars: Callable[..., Sidecar]
) -> None:
    first = sidecars(server)
    wait_for(lambda: watched_seconds(first) >= 2)
    first.stop()
    last = sidecars(server)
    wait_for(lambda: watched_seconds(last) >= 3)
    wait_for(lambda: last.get("/snapshot").json()["parallel_readers"])
    blind = {each["lacks"] for each in last.get("/advise").json()["blind"]}
    assert "parallel_readers" not in blind
    assert last.get("/snapshot").json()["parallel_readers"]["thread_seconds"] >= 0


@one
def test_a_killed_sidecar_loses_no_more_than_was_not_yet_written(
    server: Server, sidecars: Callable[..., Sidecar], tmp_path: Path
) -> None:
    first = sidecars(server)
    wait_for(lambda: watched_seconds(first) >= 2)
    first.stop()
    second = sidecars(server)
    wait_for(lambda: watched_seconds(second) >= 4)
    second.stop(signal.SIGKILL)
    third = sidecars(server)
    assert wait_for(lambda: watched_seconds(third)) >= 2
    assert "set aside" not in third.log()
    assert not list((tmp_path / "state").glob("*.damaged"))


@one
def test_a_damaged_file_is_said_and_the_sidecar_watches(
    server: Server, sidecars: Callable[..., Sidecar], tmp_path: Path
) -> None:
    first = sidecars(server)
    wait_for(lambda: watched_seconds(first) >= 1)
    first.stop()
    [file] = (tmp_path / "state").glob("*.jsonl.gz")
    file.write_bytes(file.read_bytes()[:-20])
    second = sidecars(server)
    wait_for(lambda: watched_seconds(second) >= 1)
    assert f"set aside: {file}" in second.log()
    assert [each.name for each in (tmp_path / "state").glob("*.damaged")] == [f"{file.name}.damaged"]


@one
def test_a_folder_that_cannot_be_written_is_said_and_the_sidecar_watches(
    server: Server, sidecars: Callable[..., Sidecar], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    sidecar = sidecars(server, folder=tmp_path / "file" / "state")
    wait_for(lambda: watched_seconds(sidecar) >= 1)
    assert "cannot keep the history in" in sidecar.log()
    assert sidecar.stop() == 0


def test_a_recording_has_no_state(run: Run, tmp_path: Path) -> None:
    ended = run("serve", "--recording", tmp_path / "none.jsonl", "--state-dir", tmp_path / "state")
    assert ended.returncode == 2
    assert "--state-dir needs a server, not a recording" in ended.stderr


def history(sidecar: Sidecar) -> Any:
    return sidecar.get("/history").json()


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
def test_an_open_outcome_goes_on_after_a_kill_9_at_once(server: Server, sidecars: Callable[..., Sidecar]) -> None:
    first = sidecars(server)
    assert history(first)["kept"] is True
    wait_for(lambda: watched_seconds(first) >= 3)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL innodb_old_blocks_time = 0")
        try:
            [told] = wait_for(lambda: history(first)["outcomes"])
            first.kill()
            second = sidecars(server)
            assert history(second)["outcomes"] == [told]  # before its first collection, too
            wait_for(lambda: watched_seconds(second) >= 2)
            assert history(second)["outcomes"] == [told]
        finally:
            cursor.execute("SET GLOBAL innodb_old_blocks_time = 1000")
    [changed] = told["changes"]
    assert (changed["setting"], changed["before"], changed["after"]) == ("innodb_old_blocks_time", 1000, 0)
    assert changed["undo"] == ["SET GLOBAL innodb_old_blocks_time = 1000"]
    assert second.stop() == 0
