"""An anonymised recording gets the same advice as the plain one, except for names."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from advisor.advice import evaluation
from advisor.observe.window import Window
from advisor.rules import check
from advisor.rules.check import Rule
from exporter.recording.anonymise import AnonymousRecorder
from exporter.recording.file import replay
from exporter.snapshot import Snapshot
from lab.captures import Capture, all_captures
from lab.servers import PrivateServer
from tests.advisor.building import REPOSITORY
from tests.advisor.conftest import Run
from tests.exporter.recording.test_anonymise import PSEUDONYM, again, compare

RULES = check.load(REPOSITORY / "rules")
QUICK = frozenset({"counted-beside-index", "index-builds", "repeated-scan", "unprivileged", "write-pressure"})
"""Scenarios whose advice names schemas, tables, indexes, columns, settings, the server and the account."""


def advice(rules: tuple[Rule, ...], history: list[Snapshot]) -> list[str]:
    """The advice as texts, without fingerprints and order, which depend on names."""
    advice = evaluation.advise(rules, Window.of(history, float("inf"))).model_dump(mode="json", by_alias=True)
    verdicts = [*advice["recommendations"], *advice["blind"], *advice["failed"], *advice["overruled"]]
    return [json.dumps(_without_fingerprints(verdict), sort_keys=True, ensure_ascii=False) for verdict in verdicts]


def _without_fingerprints(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_fingerprints(item) for key, item in value.items() if key != "fingerprint"}
    return [_without_fingerprints(item) for item in value] if isinstance(value, list) else value


def plainly(verdicts: list[str], names: dict[str, str]) -> list[str]:
    """Advice with one word for the server and its account, and with these names."""
    texts = [PSEUDONYM.sub(lambda match: names.get(match[0], match[0]), verdict) for verdict in verdicts]
    texts = [re.sub(r" TO '[^']*'@'[^']*'| FROM '[^']*'@'[^']*'", " TO somebody", text) for text in texts]
    return sorted(re.sub(r"[\w ]*(?:denied|the account may not read)[^\"]*", "refused", text) for text in texts)


@pytest.mark.parametrize(
    "capture",
    [
        # The models take their time over the others.
        pytest.param(recording, id=str(recording), marks=() if recording.scenario in QUICK else pytest.mark.long)
        for recording in all_captures()
    ],
)
def test_anonymised_advice_differs_only_in_names(capture: Capture, tmp_path: Path) -> None:
    path = tmp_path / "anonymous.jsonl.gz"
    again(capture.recording, AnonymousRecorder(path))
    plain, anonymous = list(replay(capture.recording)), list(replay(path))
    names = {pseudonym: name.partition(" ")[2] for name, pseudonym in compare(plain, anonymous).named.items()}
    expected = plainly(advice(RULES, plain), {})
    assert plainly(advice(RULES, anonymous), names) == expected


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_record_can_anonymise(server: PrivateServer, run: Run, tmp_path: Path) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in (
            "CREATE DATABASE geheim",
            "CREATE TABLE geheim.geheimnis (geheimspalte INT PRIMARY KEY)",
            "INSERT INTO geheim.geheimnis VALUES (1), (2)",
            "SELECT COUNT(*) FROM geheim.geheimnis",
            "ANALYZE TABLE geheim.geheimnis",
        ):
            cursor.execute(statement)
        held = {}
        for options in ((), ("--anonymise",)):
            path = tmp_path / f"recording{len(options)}.jsonl"
            ended = run("record", "--dsn", server.dsn, "--for", "1s", "--interval", "0.5s", *options, "-o", path)
            assert ended.returncode == 0, ended.stderr
            held[options] = path.read_text()
        cursor.execute("DROP DATABASE geheim")
    assert ["geheim" in text for text in held.values()] == [True, False]
    assert str(server.datadir) not in held[("--anonymise",)]
    assert run("advise", "--recording", path, "--format", "json").returncode == 0
