"""`history`: what became of changes, from the directory of `serve` or from a recording; and `record`, which adds it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from advisor.cli.main import main
from advisor.cli.parameters import since
from advisor.ledger.history import GradedAdvice, History, history
from advisor.ledger.ledger import Ledger
from advisor.render import outcomes, text
from advisor.render.markdown import markdown
from lab.servers import PrivateServer
from tests.advisor.building import RECORDING, capture
from tests.advisor.conftest import Run
from tests.advisor.ledger.entries import AT, FINGERPRINT, RULE, closed, opened, remembered, unasked
from tests.advisor.ledger.recordings import carrying, stored
from tests.advisor.sidecar import OWN

ADDRESS = "db:3306"
LEDGER = Ledger.of([remembered(), closed("1" * 16), unasked("2" * 16)])
Ask = Callable[..., Result]
one = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)


@pytest.fixture
def ask() -> Ask:
    """The command in this process: a new one takes a second."""

    def ask_it(*arguments: object, env: Mapping[str, str] | None = None) -> Result:
        without: dict[str, str | None] = dict.fromkeys(OWN)
        return CliRunner(env={**without, **(env or {})}).invoke(main, list(map(str, arguments)))

    return ask_it


def keep(folder: Path, ledger: Ledger = LEDGER, address: str = ADDRESS) -> Path:
    return stored(folder, ledger, address)


def test_the_directory_of_one_server_needs_no_server(run: Run, ask: Ask, tmp_path: Path) -> None:
    keep(tmp_path)
    ended = run("history", "--state-dir", tmp_path, "--format", "json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert History.model_validate_json(ended.stdout) == history(LEDGER, kept=True)
    same = ask("history", "--format", "json", env={"INNODB_ADVISOR_STATE_DIR": str(tmp_path)})
    assert same.stdout == ended.stdout
    plain = ask("history", "--state-dir", tmp_path).stdout
    assert [line.rstrip() for line in plain.splitlines()] == text.text(outcomes.history(history(LEDGER))).splitlines()
    marked = ask("history", "--state-dir", tmp_path, "--format", "markdown").stdout
    assert marked == markdown(outcomes.history(history(LEDGER)))


def test_of_several_servers_one_is_named(ask: Ask, tmp_path: Path) -> None:
    keep(tmp_path)
    keep(tmp_path, Ledger(), "other:3306")
    ended = ask("history", "--state-dir", tmp_path)
    assert ended.exit_code == 2
    assert "the history of 2 servers: name one with --dsn or --defaults-file" in ended.stderr
    ended = ask("history", "--state-dir", tmp_path, "--dsn", "mysql://nobody@db:3306", "--format", "json")
    assert len(json.loads(ended.stdout)["outcomes"]) == 2
    ended = ask("history", "--state-dir", tmp_path, "--dsn", "mysql://nobody@third:3306")
    assert ended.exit_code == 2
    assert "has no history of this server; it has that of 2 others" in ended.stderr


def test_a_recording_carries_it_for_history_and_advise(ask: Ask, tmp_path: Path) -> None:
    recording = carrying(tmp_path / "recording.jsonl", LEDGER)
    environment = {"INNODB_ADVISOR_STATE_DIR": str(tmp_path)}  # for other commands: the recording replaces it
    ended = ask("history", "--recording", recording, "--format", "json", "--rule", RULE, env=environment)
    answer = History.model_validate_json(ended.stdout)
    assert answer.outcomes == (closed("1" * 16),)
    assert not answer.kept
    advised = ask("advise", "--recording", recording, "--format", "json")
    assert GradedAdvice.model_validate_json(advised.stdout).outcomes == history(LEDGER).outcomes
    assert "outcomes" not in json.loads(ask("advise", "--recording", capture(RECORDING), "--format", "json").stdout)
    text = ask("advise", "--recording", recording).stdout
    assert "What became of changes\n" in text
    assert "innodb_old_blocks_pct 37 -> 64: kept" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name the directory of `serve` with --state-dir, or a file with --recording"),
        (("--state-dir", "{empty}"), "has no history: `serve --state-dir` keeps one there"),
        (("--state-dir", "{empty}/none"), "cannot read"),
        (("--recording", capture(RECORDING)), "carries no history: `record --state-dir` writes one that does"),
        (("--recording", capture(RECORDING), "--state-dir", "{empty}"), "--recording stands alone"),
        (("--recording", capture(RECORDING), "--dsn", "mysql://a@b"), "--recording stands alone"),
        (("--state-dir", "{empty}", "--setting", "max_connections"), "no setting max_connections is known"),
        (("--state-dir", "{empty}", "--since", "yesterday"), "is not a time such as"),
        (("--state-dir", "{empty}", "--result", "good"), "'good' is not one of"),
        (("--state-dir", "{empty}", "--limit", "0"), "Invalid value for '--limit'"),
    ],
)
def test_what_cannot_be_used_is_said(ask: Ask, tmp_path: Path, arguments: tuple[object, ...], message: str) -> None:
    ended = ask("history", *(str(argument).replace("{empty}", str(tmp_path)) for argument in arguments))
    assert ended.exit_code == 2
    assert message in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_a_damaged_file_is_shown_as_far_as_it_can_be_read_and_is_left_as_it_is(ask: Ask, tmp_path: Path) -> None:
    path = keep(tmp_path)
    with sqlite3.connect(path) as connection:
        connection.execute("""INSERT INTO entries (key, content) VALUES ('omen 1', '{"kind": "omen"}')""")
    connection.close()
    damaged = path.read_bytes()
    ended = ask("history", "--state-dir", tmp_path, "--format", "json")
    assert ended.exit_code == 0
    assert f"{path}: not all of it can be read: omen 1" in ended.stderr
    assert len(json.loads(ended.stdout)["outcomes"]) == 2
    assert path.read_bytes() == damaged
    path.write_text("no database\n" * 100)
    ended = ask("history", "--state-dir", tmp_path)
    assert ended.exit_code == 2
    assert f"{path}: file is not a database" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--fail-on", "harm"), 1),
        (("--fail-on", "missed"), 1),
        (("--fail-on", "missed", "--setting", "innodb_old_blocks_pct"), 0),
        (("--fail-on", "harm", "--rule", RULE), 0),
        (("--fail-on", "harm", "--since", "2026-11-22"), 0),
    ],
)
def test_it_is_a_test_for_a_change_that_was_just_made(
    ask: Ask, tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    keep(tmp_path)
    assert ask("history", "--state-dir", tmp_path, *arguments).exit_code == code


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("1970-01-02", 86_400.0),
        ("1970-01-01T01:00", 3600.0),
        ("1970-01-01T01:00+01:00", 0.0),
        ("1970-01-01T00:00:01Z", 1.0),
    ],
)
def test_a_time_is_a_moment_in_utc(written: str, seconds: float) -> None:
    assert since(written).timestamp() == seconds


@pytest.mark.parametrize(("written", "seconds"), [("90s", 90.0), ("1.5h", 5400.0), ("7d", 604_800.0)])
def test_a_time_is_so_long_ago(written: str, seconds: float) -> None:
    begun = datetime.now(UTC)
    assert begun <= since(written) + timedelta(seconds=seconds) <= datetime.now(UTC)


@pytest.mark.parametrize(
    "written", ["", "7", "-7d", "7w", "999999999d", "1e9s", "2026-13-01", "yesterday", "1970-01-01T25:00"]
)
def test_any_other_time_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is not a time such as"):
        since(written)


def test_so_long_ago_counts_from_now(ask: Ask, tmp_path: Path) -> None:
    now = time.time()
    keep(tmp_path, Ledger.of([closed("1" * 16, closed_at=now - 7200), closed("2" * 16, closed_at=now - 1800)]))
    answer = json.loads(ask("history", "--state-dir", tmp_path, "--since", "1h", "--format", "json").stdout)
    assert [outcome["id"] for outcome in answer["outcomes"]] == ["2" * 16]


@one
def test_record_and_advise_add_what_serve_has_kept(server: PrivateServer, run: Run, ask: Ask, tmp_path: Path) -> None:
    folder, output = tmp_path / "state", tmp_path / "recording.jsonl.gz"
    asked = ("record", "--dsn", server.dsn, "--for", "1s", "--state-dir", folder, "-o", output)
    ended = run(*asked)
    assert ended.returncode == 0
    assert "has no history of this server: the recording carries none" in ended.stderr
    assert ask("history", "--recording", output).exit_code == 2
    keep(
        folder, Ledger.of([*LEDGER.by_key.values(), opened("3" * 16, at=AT)]), server.dsn.rpartition("@")[2].rstrip("/")
    )
    assert run(*asked).returncode == 0
    answer = History.model_validate_json(ask("history", "--recording", output, "--format", "json").stdout)
    assert len(answer.outcomes) == 3
    watched = run("advise", "--dsn", server.dsn, "--watch", "2s", "--state-dir", folder, "--format", "json")
    assert len(GradedAdvice.model_validate_json(watched.stdout).outcomes) == 3
    assert run(*asked, "--anonymise").returncode == 0
    anonymous = ask("history", "--recording", output, "--format", "json").stdout
    assert len(History.model_validate_json(anonymous).outcomes) == 3
    assert "orders" in answer.model_dump_json()
    assert "orders" not in anonymous
    assert FINGERPRINT not in anonymous
