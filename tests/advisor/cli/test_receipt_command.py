"""`receipt`: its exit code says what became of a finding, and its output why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from advisor.cli.main import main
from advisor.ledger import entry
from advisor.ledger.entry import Entry
from advisor.ledger.ledger import Ledger
from advisor.plan.receipt import Receipt
from advisor.plan.receipt import receipt as receipt_of
from advisor.render import receipt as documents
from advisor.render import text
from advisor.render.markdown import markdown
from tests.advisor.building import RECORDING, capture
from tests.advisor.ledger.entries import FINGERPRINT, closed, opened, remembered
from tests.advisor.ledger.outcomes import worse
from tests.advisor.ledger.recordings import carrying, stored
from tests.advisor.listening import Listening
from tests.advisor.sidecar import OWN

Ask = Callable[..., Result]


def ask(*arguments: object, **environment: str) -> Result:
    without: dict[str, str | None] = dict.fromkeys(OWN)
    return CliRunner(env={**without, **environment}).invoke(main, ["receipt", *map(str, arguments)])


def of(**values: Any) -> tuple[Entry, ...]:
    return remembered(), closed(**values)


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ((remembered(),), 3),
        ((remembered(), opened()), 3),
        (of(), 0),
        (of(result=entry.Result.MISSED), 1),
        (of(others=(worse(),)), 1),
        (of(result=entry.Result.NOT_COMPARABLE), 4),
        (of(result=entry.Result.UNPROMISED), 4),
    ],
)
def test_the_exit_code_is_the_state(tmp_path: Path, entries: tuple[Entry, ...], code: int) -> None:
    stored(tmp_path, Ledger.of(entries), "db:3306")
    ended = ask(FINGERPRINT, "--state-dir", tmp_path)
    assert (ended.exit_code, ended.stderr) == (code, "")
    answer = receipt_of(Ledger.of(entries), FINGERPRINT)
    assert answer is not None
    assert [line.rstrip() for line in ended.stdout.splitlines()] == text.text(documents.receipt(answer)).splitlines()


def test_a_running_sidecar_says_the_same(tmp_path: Path) -> None:
    recording = carrying(tmp_path / "recording.jsonl", Ledger.of(of(result=entry.Result.MISSED)))
    with Listening("--recording", recording) as sidecar:
        ended = ask(FINGERPRINT, "--url", sidecar.url)
        assert (ended.exit_code, ended.stdout) == (1, ask(FINGERPRINT, "--recording", recording).stdout)
        unknown = ask("9f2c", "--url", sidecar.url)
        assert unknown.exit_code == 2
        assert "no finding and no outcome has the fingerprint 9f2c" in " ".join(unknown.stderr.split())


def test_the_environment_of_another_command_is_no_source(tmp_path: Path) -> None:
    recording = carrying(tmp_path / "recording.jsonl", Ledger.of(of()))
    others = {"INNODB_ADVISOR_URL_CONFIG": "none.yaml", "INNODB_ADVISOR_STATE_DIR": "none"}
    assert ask(FINGERPRINT, "--recording", recording, **others).exit_code == 0


def test_a_recording_has_the_same_in_every_form(tmp_path: Path) -> None:
    ledger = Ledger.of(of())
    answer = receipt_of(ledger, FINGERPRINT)
    assert answer is not None
    where = (FINGERPRINT, "--recording", carrying(tmp_path / "recording.jsonl", ledger))
    assert Receipt.model_validate_json(ask(*where, "--format", "json").stdout) == answer
    assert ask(*where, "--format", "markdown").stdout == markdown(documents.receipt(answer))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((FINGERPRINT,), "with --state-dir, or a file with --recording; or a running sidecar with --url"),
        ((FINGERPRINT, "--url", "http://127.0.0.1:1", "--recording", "{carrying}"), "--url stands alone"),
        ((FINGERPRINT, "--url-config", "x", "--recording", "{carrying}"), "--url-config is for --url"),
        ((), "Missing argument 'FINGERPRINT'"),
        ((FINGERPRINT, "--state-dir", "{empty}"), "has no history: `serve --state-dir` keeps one there"),
        ((FINGERPRINT, "--recording", capture(RECORDING)), "carries no history"),
        (("9f2c", "--recording", "{carrying}"), "no finding and no outcome has the fingerprint 9f2c; `history` lists"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, arguments: tuple[object, ...], message: str) -> None:
    places = {"{empty}": tmp_path / "empty", "{carrying}": carrying(tmp_path / "recording.jsonl", Ledger.of(of()))}
    (tmp_path / "empty").mkdir()
    ended = ask(*(places.get(str(argument), argument) for argument in arguments))
    assert ended.exit_code == 2
    assert message in " ".join(ended.stderr.split())
