"""The command grade: its forms, its stretches, its exit codes, and what it refuses."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from advisor.advice import replay
from advisor.cli import ledgers
from advisor.cli.main import main
from advisor.ledger.entry import Outcome
from advisor.ledger.entry import Result as Became
from advisor.ledger.grades import GradedStretch, Grades
from advisor.ledger.grades import grades as made
from tests.advisor.building import capture
from tests.advisor.ledger.outcomes import outcome, worse

FOLLOWED = capture("mysql-9.7/scan-followed-midway")
SCAN = capture("mysql-9.7/repeated-scan")
RULE = "scan-exceeds-old-sublist"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["grade", *map(str, arguments)])


def grades(*arguments: object) -> Grades:
    done = run(*arguments, "--format", "json")
    assert (done.exit_code, done.stderr) == (0, "")
    return Grades.model_validate_json(done.stdout)


def refused(*arguments: object) -> str:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr.partition("Error: ")[2].removesuffix("\n")


def test_followed_advice_is_shown_with_what_was_predicted_and_measured() -> None:
    done = run(FOLLOWED, "--window", "8s")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "innodb_old_blocks_pct 37 -> 73: kept" in " ".join(lines)
    assert f"rule {RULE}, shop.orders, followed, a63178a321b3b23c" in lines
    assert any(line.startswith("predicted pages read per pass: ") and " -> 0 " in line for line in lines)
    assert any(line.startswith("measured pages read per pass of shop.orders: ") for line in lines)
    assert "rule kept missed not comparable harm" in lines
    assert f"{RULE} 1 0 0 0" in lines


def test_json_has_the_stretch_its_outcomes_and_the_promises_by_rule() -> None:
    report = grades(FOLLOWED, "--window", "8s")
    [stretch] = report.stretches
    assert (stretch.recordings, stretch.server, stretch.collections) == (("recording.jsonl.gz",), "mysql 9.7.4-2", 51)
    assert [(outcome.rule, outcome.result) for outcome in report.outcomes] == [(RULE, Became.KEPT)]
    assert [(rule.rule, rule.kept) for rule in report.rules] == [(RULE, 1)]


def test_recordings_that_do_not_follow_each_other_are_stretches_in_the_order_of_their_time() -> None:
    report = grades(FOLLOWED, SCAN)
    assert [stretch.collections for stretch in report.stretches] == [6, 51]
    assert report.stretches[0].ended < report.stretches[1].began
    assert [outcome.result for outcome in report.outcomes] == [Became.NOT_COMPARABLE]  # 5 minutes were not watched


@pytest.mark.parametrize("style", ["text", "json"])
def test_the_file_has_what_would_be_printed(tmp_path: Path, style: str) -> None:
    printed = run(FOLLOWED, "--window", "8s", "--format", style).stdout
    done = run(FOLLOWED, "--window", "8s", "--format", style, "-o", tmp_path / "grades")
    assert (done.exit_code, done.stdout) == (0, "")
    written = (tmp_path / "grades").read_text()
    assert written.split() == printed.split()


def test_a_recording_without_a_change_has_nothing_to_grade() -> None:
    done = run(SCAN)
    assert done.exit_code == 0
    assert "No change of a setting was seen." in done.stdout
    assert "Promises" not in done.stdout


def test_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    (tmp_path / "damaged").write_text("{")
    assert "no such file" in refused(tmp_path / "absent").lower()
    assert str(tmp_path / "damaged") in refused(FOLLOWED, tmp_path / "damaged")
    assert refused(FOLLOWED, "-o", tmp_path / "absent" / "x").endswith(f"there is no directory {tmp_path}/absent")
    assert "RECORDING" in refused()


@pytest.mark.parametrize(
    ("outcomes", "on"),
    [
        ([outcome(0, 0)], set()),
        ([outcome(0, 900)], {"missed"}),
        ([outcome(0, 0), outcome(0, 0, others=(worse(),))], {"missed", "harm"}),
    ],
)
def test_fail_on_looks_for_harm_and_for_missed_promises(outcomes: list[Outcome], on: set[str]) -> None:
    fields = {"recordings": ("a",), "server": "b", "began": 0, "ended": 1, "collections": 2, "findings": ()}
    report = made([GradedStretch.model_validate(fields | {"outcomes": outcomes})])
    assert {fail_on for fail_on in (None, "missed", "harm") if ledgers.fails(report.outcomes, fail_on)} == on


def test_fail_on_ends_in_1() -> None:
    assert run(FOLLOWED, "--window", "8s", "--fail-on", "missed").exit_code == 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ledgers, "fails", lambda _, fail_on: fail_on == "harm")
        assert run(FOLLOWED, "--window", "8s", "--fail-on", "harm").exit_code == 1


def test_ctrl_c_ends_it() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(replay, "assess", lambda *_: signal.raise_signal(signal.SIGINT))
        done = run(FOLLOWED)
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "interrupted\n")
