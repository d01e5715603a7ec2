"""`anonymise`, and what the commands make of a truncated recording."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from advisor.contract.recommendation import Advice
from exporter.recording.file import replay
from tests.advisor.building import RECORDING, capture
from tests.advisor.conftest import Run

SCAN = capture(RECORDING)


def cut(folder: Path, lines: int) -> Path:
    """The first lines of a recording."""
    path = folder / "cut.jsonl"
    path.write_bytes(b"".join(gzip.decompress(SCAN.read_bytes()).splitlines(keepends=True)[:-lines]) + b'{"coll')
    return path


def advice(run: Run, recording: Path) -> Advice:
    return Advice.model_validate_json(run("advise", "--recording", recording, "--format", "json").stdout)


def test_an_existing_recording_loses_its_names_and_keeps_its_advice(run: Run, tmp_path: Path) -> None:
    before, output = SCAN.read_bytes(), tmp_path / "anonymous.jsonl.gz"
    done = run("anonymise", SCAN, "-o", output)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"{output}: {output.stat().st_size:,} bytes\n"
    assert SCAN.read_bytes() == before
    plain, anonymous = list(replay(SCAN)), list(replay(output))
    assert [snapshot.at for snapshot in anonymous] == [snapshot.at for snapshot in plain]
    [schema] = {
        finding.subject["schema"] for finding in advice(run, SCAN).recommendations if "schema" in finding.subject
    }
    assert f'"{schema}"' in gzip.decompress(before).decode()
    assert schema not in gzip.decompress(output.read_bytes()).decode()
    assert [finding.rule for finding in advice(run, output).recommendations] == [
        finding.rule for finding in advice(run, SCAN).recommendations
    ]


def test_a_truncated_recording_gives_its_complete_collections_with_a_warning(run: Run, tmp_path: Path) -> None:
    path, output = cut(tmp_path, 5), tmp_path / "whole.jsonl"
    lines = path.read_bytes().count(b"\n")
    complete = path.read_bytes().count(b'{"collection"')
    message = f"{path}: truncated: it ends after line {lines} without its end mark"
    message += "; the collections before that are taken: "
    done = run("advise", "--recording", path)
    assert (done.returncode, done.stderr) == (0, f"{message}{complete}\n")
    done = run("anonymise", path, "-o", output)
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, f"{message}{complete}")
    assert len(list(replay(output))) == complete


@pytest.mark.parametrize("command", [("advise", "--recording"), ("grade",), ("anonymise", "-o", "x")])
def test_a_recording_without_a_complete_collection_is_refused(run: Run, tmp_path: Path, command: tuple[str]) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b'{"recording":1}\n{"serv')
    done = run(*command, path)
    assert done.returncode == 2
    assert done.stderr.endswith(f"Error: {path}: truncated: it ends after line 1 without its end mark\n")
    assert not Path("x").exists()


def test_an_output_that_cannot_be_written_leaves_nothing(run: Run, tmp_path: Path) -> None:
    done = run("anonymise", SCAN, "-o", tmp_path / "none" / "x")
    assert (done.returncode, done.stderr) == (2, f"Error: cannot write {tmp_path}/none/x: No such file or directory\n")
