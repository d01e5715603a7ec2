"""Campaigns on real servers: run in parts, resumable, and without leftover servers."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lab.campaign.campaign import ATTEMPTS, Campaign
from lab.campaign.part import Data, NotNow, NotShown, Part
from lab.campaign.progress import Reporter
from lab.servers import Server

pytestmark = pytest.mark.server
REPOSITORY = Path(__file__).resolve().parents[3]
NAME = "mysql-9.7"
Say = Callable[[str], None]


def version(server: Server, say: Say) -> Data:
    say("asking")
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION(), @@innodb_old_blocks_pct")
        [(said, pct)] = cursor.fetchall()
    return {"version": said, "pct": pct, "pid": server.pid}


def part(name: str, run: Callable[[Server, Say], Data] = version, server: str = NAME, pct: int = 37) -> Part:
    return Part("proofs/some-rule", name, server, {"innodb-old-blocks-pct": str(pct)}, run, takes=1.0)


def campaign(folder: Path, *parts: Part) -> tuple[Campaign, io.StringIO]:
    said = io.StringIO()
    return Campaign(parts, Reporter(len(parts), Console(file=said, width=200)), folder), said


def alive(pid: Any) -> bool:
    return Path(f"/proc/{pid}").exists()


def test_a_part_runs_on_its_own_server_with_its_options(tmp_path: Path) -> None:
    run, said = campaign(tmp_path, part("one"), part("two", pct=55))
    one, two = run.run()
    assert (one.data["pct"], two.data["pct"]) == (37, 55)
    assert one.version == one.data["version"]
    assert one.record() | {"seconds": 0} == {
        "server": NAME, "version": one.version, "seconds": 0, "attempts": 1, "data": one.data,
    }  # fmt: skip
    assert not alive(one.data["pid"])
    assert "some-rule: one: " in said.getvalue()


def test_finished_parts_are_kept_and_an_interrupted_run_continues_with_the_rest(tmp_path: Path) -> None:
    servers = []

    def interrupted(server: Server, _say: Say) -> Data:
        servers.append(server.pid)
        raise KeyboardInterrupt

    run, _ = campaign(tmp_path, part("one"), part("two", interrupted))
    with pytest.raises(KeyboardInterrupt):
        run.run()
    [pid] = servers
    assert not alive(pid)

    def again(_server: Server, _say: Say) -> Data:
        raise AssertionError("it was done before")

    run, said = campaign(tmp_path, part("one", again), part("two"))
    assert [done.data["pct"] for done in run.run()] == [37, 37]
    assert "1 of 2 parts were done by an interrupted run" in said.getvalue()
    run.forget()
    run, said = campaign(tmp_path, part("one"))
    run.run()
    assert "interrupted" not in said.getvalue()


def test_a_failing_part_is_tried_twice_and_the_others_continue(tmp_path: Path) -> None:
    tries = []

    def late(server: Server, say: Say) -> Data:
        tries.append("late")
        if len(tries) == 1:
            raise NotShown("pages read were 7, not 5")
        return version(server, say)

    def never(_server: Server, _say: Say) -> Data:
        tries.append("never")
        raise NotShown("the rule fires 0 times")

    run, said = campaign(tmp_path, part("late", late), part("never", never), part("one"))
    done = run.run()
    assert [(each.part.name, each.attempts) for each in done] == [("late", 2), ("one", 1)]
    assert tries.count("never") == ATTEMPTS
    assert run.failed == {"some-rule: never": "the rule fires 0 times"}
    assert "pages read were 7, not 5" in said.getvalue()


def test_a_part_is_skipped_while_the_machine_is_not_ready(tmp_path: Path) -> None:
    def busy(_server: Server, _say: Say) -> Data:
        raise NotNow("95% of the machine's CPU time is used")

    run, said = campaign(tmp_path, part("busy", busy), part("one"))
    assert [each.part.name for each in run.run()] == ["one"]
    assert (list(run.not_now), run.failed) == (["some-rule: busy"], {})
    assert "not now: 95%" in said.getvalue()


def test_an_unavailable_server_does_not_fail_the_other_parts(tmp_path: Path) -> None:
    run, said = campaign(tmp_path, part("gone", server="mysql-3.23"), part("one"))
    assert [each.part.name for each in run.run()] == ["one"]
    assert list(run.unavailable) == ["some-rule: gone"]
    assert "mysql-3.23 is not one of" in said.getvalue()


def test_ctrl_c_ends_with_130_says_how_to_continue_and_leaves_no_server(tmp_path: Path) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-u", "-m", "lab", "--proof", "scan-exceeds-old-sublist", "--server", NAME],
        cwd=REPOSITORY,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        while not (pids := [pid for lock in tmp_path.glob("innodb-advisor-*/pid") for pid in [lock.read_text()]]):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "no server is left behind" in said
    assert list(tmp_path.glob("innodb-advisor-*")) == []
    assert not any(alive(pid.strip()) for pid in pids if pid.strip())
