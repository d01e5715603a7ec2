"""The memory of days in the commands: `serve` keeps it, `advise` reads it, and the rule says what it lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.state_file import path_of
from lab.servers import PrivateServer
from tests.advisor.building import RECORDING, capture
from tests.advisor.conftest import Run

RULE = "buffer-pool-larger-than-needed"
one = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)


def blind(output: str) -> Any:
    [of_rule] = [blind for blind in json.loads(output)["blind"] if blind["rule"] == RULE]
    return of_rule


def test_a_recording_has_no_memory_and_the_rule_says_so(run: Run) -> None:
    ended = run("advise", "--recording", capture(RECORDING), "--format", "json", "--may-read", "50/s")
    spare = blind(ended.stdout)
    assert spare["lacks"] == "spare.days"
    assert spare["cure"] == "run `serve --state-dir DIR` for three days"


def test_advise_has_no_memory_of_a_recording(run: Run, tmp_path: Path) -> None:
    ended = run("advise", "--recording", capture(RECORDING), "--state-dir", tmp_path)
    assert ended.returncode == 2
    assert "--state-dir needs a server, not a recording" in ended.stderr


@one
def test_advise_reads_what_serve_remembers_and_writes_nothing(server: PrivateServer, run: Run, tmp_path: Path) -> None:
    asked = ("advise", "--dsn", server.dsn, "--watch", "2s", "--format", "json", "--state-dir", tmp_path)
    ended = run(*asked)
    assert ended.returncode == 0, ended.stderr
    assert "0 are remembered" in blind(ended.stdout)["reason"]
    assert blind(ended.stdout)["cure"].startswith("wait")
    assert list(tmp_path.iterdir()) == []
    path = path_of(tmp_path, server.dsn.rpartition("@")[2].rstrip("/"))
    path.write_text("no database" * 100)
    ended = run(*asked)
    assert ended.returncode == 2
    assert f"{path}: file is not a database" in ended.stderr
    assert path.read_text() == "no database" * 100
