"""Recordings carry the ledger; anonymised ones without any name of the owner's."""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from advisor.advice import evaluation
from advisor.contract.recommendation import fingerprint
from advisor.ledger.entry import Compared
from advisor.ledger.ledger import Ledger
from advisor.ledger.recorded import ledger_lines, recorded_ledger
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.rules import check
from advisor.rules.rulebook import builtin_ids
from exporter.anonymisation import Pseudonyms
from exporter.recording.anonymise import AnonymousRecorder
from exporter.recording.file import Recorder, Replayer
from exporter.server import identity
from lab.captures import all_captures
from tests.advisor.building import RECORDING, RULES_FOLDER, capture, server
from tests.advisor.ledger.entries import AT, RULE, SUBJECT, baseline, closed, opened, remembered, unasked
from tests.advisor.ledger.recordings import carrying
from tests.exporter.recording.test_anonymise import again

LEDGER = Ledger.of([remembered(), closed("1" * 16), unasked(), opened("3" * 16, at=AT + 9000), baseline("3" * 16)])
OWN = {"rule": "acme-payroll", "subject": {"schema": "acme", "table": "payroll"}}
SECRET = "acme"


def test_a_recording_gives_back_the_ledger_that_it_was_given(tmp_path: Path) -> None:
    for name in ("recording.jsonl", "recording.jsonl.gz"):
        with Recorder(tmp_path / name) as recorder:
            recorder.session(server(), "advisor@localhost")
            recorder.collection(1.0)
            recorder.ledger(partial(ledger_lines, Ledger(), ()))
            recorder.ledger(partial(ledger_lines, LEDGER, ()))
        assert recorded_ledger(Replay(tmp_path / name).ledger or ()) == LEDGER


def test_names_that_are_no_valid_text_are_carried(tmp_path: Path) -> None:
    odd = Ledger.of([opened(subject={"schema": "shop", "table": "a\udcff"})])
    assert recorded_ledger(Replay(carrying(tmp_path / "odd.jsonl", odd)).ledger or ()) == odd
    with Recorder(tmp_path / "recorded.jsonl") as recorder:
        recorder.session(server(), "advisor@localhost")
        recorder.collection(1.0)
        recorder.ledger(partial(ledger_lines, odd, ()))
    assert recorded_ledger(Replay(tmp_path / "recorded.jsonl").ledger or ()) == odd


def test_a_recording_without_a_ledger_has_none_and_an_empty_one_is_empty(tmp_path: Path) -> None:
    assert Replay(capture(RECORDING)).ledger is None
    assert recorded_ledger(Replay(carrying(tmp_path / "empty.jsonl", Ledger())).ledger or ()) == Ledger()


def test_the_snapshots_of_a_recording_are_the_same_with_a_ledger(tmp_path: Path) -> None:
    assert Replay(carrying(tmp_path / "with.jsonl", LEDGER)).history == Replay(capture(RECORDING)).history


def test_entries_of_a_later_version_are_left_out(tmp_path: Path) -> None:
    path = carrying(tmp_path / "later.jsonl", Ledger.of([unasked()]))
    path.write_text(path.read_text().replace('{"ledger": [', '{"ledger": [{"kind": "omen"}, 7, '))
    replayer = Replayer()
    assert list(replayer.read(path))
    assert recorded_ledger(replayer.ledger or ()) == Ledger.of([unasked()])


def anonymous(ledger: Ledger, names: Pseudonyms | None = None) -> Ledger:
    lines = ledger_lines(ledger, builtin_ids(), names or Pseudonyms())
    return recorded_ledger(json.loads(json.dumps(lines)))


def test_without_names_the_numbers_stay_and_fingerprints_fit_the_new_names() -> None:
    names = Pseudonyms()
    ledger = anonymous(LEDGER, names)
    subject = {"schema": names.schema("shop"), "table": names.table("orders")}
    [finding] = ledger.findings.values()
    assert finding.subject == subject
    assert finding.fingerprint == fingerprint(RULE, subject)
    assert finding.promises == remembered().promises
    kept_promise, changed_by_hand, still_open = ledger.outcomes.values()
    assert kept_promise.measured is not None
    assert kept_promise.measured.subject == subject
    assert (kept_promise.error, kept_promise.result) == (closed().error, closed().result)
    assert changed_by_hand.harm
    assert still_open.fingerprint == finding.fingerprint
    assert ledger.before == {still_open.id: baseline().reading}
    assert len({kept_promise.id, changed_by_hand.id, still_open.id} | set(LEDGER.outcomes)) == 6


def test_no_name_of_the_owner_is_left_in_any_entry() -> None:
    named = {"schema": SECRET, "table": f"{SECRET}_orders", "index": f"by_{SECRET}"}
    other = Compared(quantity="pages read per second", subject=named, before=1, after=9, noise=1, worse=True)
    text = f"the rows of {SECRET}.orders moved"
    ledger = Ledger.of(
        [
            remembered(fingerprint="1", subject=named, summary=text),
            remembered(fingerprint="2", **OWN),
            remembered(fingerprint="3", rule="missing-privilege", subject={"cure": f"GRANT PROCESS TO '{SECRET}'"}),
            closed("1" * 16, subject=named, fingerprint="1", others=(other,), measured=other, why=text),
            closed("2" * 16, at=AT + 1, **OWN, fingerprint="2", why=text),
            closed("3" * 16, at=AT + 2, rule="missing-privilege", subject={"cure": SECRET}, fingerprint="3", why=text),
            unasked("4" * 16, why=text, others=(other,)),
        ]
    )
    left = anonymous(ledger)
    text = json.dumps(ledger_lines(ledger, builtin_ids(), Pseudonyms()))
    assert SECRET in json.dumps(ledger_lines(ledger, ()))
    assert SECRET not in text
    assert "payroll" not in text
    assert [finding.rule for finding in left.findings.values()] == [RULE]
    assert [outcome.rule for outcome in left.outcomes.values()] == [RULE, None, None, None]
    assert [str(outcome.result) for outcome in left.outcomes.values()] == [
        "kept",
        "unpromised",
        "unpromised",
        "unpromised",
    ]
    assert [bool(outcome.harm) for outcome in left.outcomes.values()] == [True, False, False, True]


def test_the_advice_on_an_anonymised_recording_finds_its_outcomes(tmp_path: Path) -> None:
    [source] = [recording for recording in all_captures() if str(recording) == RECORDING]
    path = tmp_path / "anonymous.jsonl.gz"

    class Carrying(AnonymousRecorder):
        def close(self) -> None:
            self.ledger(partial(ledger_lines, LEDGER, builtin_ids()))
            super().close()

    again(source.recording, Carrying(path))
    replayed = Replay(path)
    ledger = recorded_ledger(replayed.ledger or ())
    advice = evaluation.advise(check.load(RULES_FOLDER), Window.of(replayed.history, float("inf")))
    [finding] = [finding for finding in advice.recommendations if finding.rule == RULE]
    assert finding.subject != SUBJECT
    assert finding.fingerprint in ledger.findings
    assert {outcome.fingerprint for outcome in ledger.outcomes.values()} == {finding.fingerprint, None}
    assert "shop" not in gzip.decompress(path.read_bytes()).decode().rpartition('{"ledger"')[2]


@pytest.mark.parametrize("wrong", ['{"ledger": 7}', '{"ledger": null}'])
def test_a_ledger_that_is_none_is_damage(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "damaged.jsonl"
    lines: list[dict[str, Any]] = [{"recording": 1}, {"server": _identity(), "account": "a@b"}, {"collection": 1.0}]
    path.write_text("\n".join([*map(json.dumps, lines), wrong, json.dumps({"end": 4}), ""]))
    with pytest.raises(ValueError, match=":4: damaged recording"):
        list(Replayer().read(path))


def _identity() -> dict[str, str]:
    return dict(identity(server()))
