"""Each capture names its origin, shows its scenario, and contains no names of the recording machine."""

import gzip
import json
import socket
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.snapshot import Snapshot
from lab.captures import Capture, all_captures, history, redaction
from lab.captures.__main__ import main
from lab.captures.scenarios import CATALOG
from lab.captures.scenarios.change_buffer import merges
from lab.captures.scenarios.scans import read_each_pass
from lab.harness.records import NotShown
from lab.servers import OWN, PrivateServer

LARGEST = 60_000  # bytes; both sides of a change take ninety collections


def text(recording: Path) -> str:
    return gzip.decompress(recording.read_bytes()).decode()


def test_the_captures_are_in_the_catalog_and_all_of_it_that_registries_have_servers_for_is_captured() -> None:
    assert set(all_captures()) <= set(CATALOG)
    assert sorted(str(capture) for capture in set(CATALOG) - set(all_captures()) if capture.server not in OWN) == []


@pytest.mark.parametrize("capture", all_captures(), ids=str)
def test_a_capture_is_small_shows_its_scenario_and_names_its_origin_and_nothing_of_the_machine(
    capture: Capture,
) -> None:
    note: dict[str, Any] = YAML(typ="safe").load(capture.note)
    snapshots = history(capture)
    assert capture.recording.stat().st_size < LARGEST
    assert CATALOG[capture].check(snapshots) == note["shows"]
    names_its_origin(capture, note, snapshots[0])
    is_complete(note, snapshots)
    assert redaction.leaks(capture.recording) == []
    content = text(capture.recording)
    assert [name for name in ("/work/", "innodb-advisor-", ".cache/") if name in content] == []
    for snapshot in snapshots:
        assert (snapshot.setting("hostname"), snapshot.setting("datadir")) == ("db1", "/var/lib/mysql/")


def names_its_origin(capture: Capture, note: dict[str, Any], first: Snapshot) -> None:
    assert note["server"] == capture.server
    assert note["version"] == first.server.version_text
    assert note["account"] == first.account.partition("@")[0]
    assert note.get("command", f"python -m lab.captures {capture}") == f"python -m lab.captures {capture}"
    assert "command" in note or note["recorded"]
    assert note["workload"]
    for name, value in note["options"].items():
        setting = name.replace("-", "_")
        if f"SET GLOBAL {setting} " in note["workload"]:
            continue
        there = first.setting(setting)
        assert there is None or there.upper() == value.upper() or there == bytes_of(value)


def bytes_of(value: str) -> str:
    """A size with its unit written out: 128M."""
    return str(int(value[:-1]) << 20) if value.endswith("M") else value.replace("ON", "1").replace("OFF", "0")


def is_complete(note: dict[str, Any], snapshots: Sequence[Snapshot]) -> None:
    """All collections are there, and their times only grow."""
    assert len(snapshots) == note["collections"]
    for before, after in pairwise(snapshots):
        assert 0.5 < after.at - before.at < 10
        assert after.server == before.server
        changed = dict((after[VARIABLES] or {}).items() ^ (before[VARIABLES] or {}).items())
        assert all(f"{name} " in note["workload"] for name in changed)
        assert (after[STATUS] or {})["uptime"] >= (before[STATUS] or {})["uptime"]


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_names_of_the_machine_are_replaced_and_one_that_remains_is_found(server: PrivateServer, tmp_path: Path) -> None:
    host = socket.gethostname()
    values = (f"{server.datadir}/shop/t.ibd", f"{server.socket.parent}/x", f"on\n{host} and {host}x", 7, None, "")
    with redaction.RedactedRecorder(tmp_path / "r.jsonl.gz", server) as recorder:
        recorder.answer(Answer("any", 1.0, results=(Rows(tuple("abcdef"), (values,)),)))
    answer = json.loads(text(tmp_path / "r.jsonl.gz").splitlines()[1])
    assert answer["results"][0]["rows"] == [
        ["/var/lib/mysql/shop/t.ibd", "/tmp/x", f"on\ndb1 and {host}x", 7, None, ""]  # noqa: S108 - a text
    ]
    recording = tmp_path / "leak.jsonl.gz"
    recording.write_bytes(gzip.compress(f'"{server.datadir}"'.encode()))
    with pytest.raises(NotShown, match="a folder of temporary files"):
        redaction.check(recording)


def test_a_capture_that_does_not_show_its_scenario_is_rejected() -> None:
    followed = list(history(Capture("mysql-9.7", "repeated-scan-followed")))
    with pytest.raises(NotShown, match="pages in a pool of"):
        read_each_pass(followed)
    single = list(history(Capture("mysql-9.7", "change-buffer-single-merges")))
    with pytest.raises(NotShown, match=r"1\.\d\d operations a merge"):
        merges(single, least=2.0)


def test_the_command_lists_captures_and_rejects_unknown_ones() -> None:
    listed = CliRunner().invoke(main, ["--list"])
    assert [line.split()[0] for line in listed.output.splitlines()] == [str(capture) for capture in CATALOG]
    refused = CliRunner().invoke(main, ["mysql-9.7/no-such"])
    assert refused.exit_code == 2
    assert "there is no capture mysql-9.7/no-such; see --list" in refused.output
