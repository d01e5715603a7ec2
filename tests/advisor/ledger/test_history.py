"""What is asked of the history, and the outcomes of a finding."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from advisor.contract.recommendation import SetAside
from advisor.ledger.entry import Result
from advisor.ledger.history import HistoryFilter, graded, history
from advisor.ledger.ledger import Ledger
from tests.advisor.building import RECORDING, advised, captured
from tests.advisor.ledger.entries import AT, FINGERPRINT, RULE, closed, opened, remembered, unasked

OTHER = remembered(fingerprint="0" * 16, rule="warmup-disabled", last_seen=AT + 5000, settings={}, promises=())
LEDGER = Ledger.of([remembered(), OTHER, closed("1"), unasked("2"), opened("3", at=AT + 9000)])


def moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


@pytest.mark.parametrize(
    ("wanted", "outcomes", "findings"),
    [
        (HistoryFilter(), "321", [OTHER, remembered()]),
        (HistoryFilter(rule=[RULE]), "31", [remembered()]),
        (HistoryFilter(rule=["warmup-disabled"]), "", [OTHER]),
        (HistoryFilter(fingerprint=[FINGERPRINT, "none"]), "31", [remembered()]),
        (HistoryFilter(result=[Result.KEPT]), "1", [remembered()]),
        (HistoryFilter(result=[Result.UNPROMISED, Result.OPEN]), "32", [remembered()]),
        (HistoryFilter(result=[Result.MISSED]), "", []),
        (HistoryFilter(setting=["innodb_old_blocks_time"]), "2", []),
        (HistoryFilter(setting=["innodb_old_blocks_pct"]), "31", [remembered()]),
        (HistoryFilter(since=moment(AT + 960)), "321", [OTHER]),
        (HistoryFilter(since=moment(AT + 961)), "32", [OTHER]),
        (HistoryFilter(since=moment(AT + 9001)), "", []),
        (
            HistoryFilter(rule=[RULE], result=[Result.KEPT], setting=["innodb_old_blocks_pct"], since=moment(AT)),
            "1",
            [remembered()],
        ),
    ],
)
def test_each_filter_leaves_what_it_names_the_newest_first(
    wanted: HistoryFilter, outcomes: str, findings: object
) -> None:
    answer = history(LEDGER, wanted)
    assert "".join(outcome.id for outcome in answer.outcomes) == outcomes
    assert list(answer.findings) == findings
    assert (answer.more_outcomes, answer.more_findings) == (0, 0)


def test_the_limit_keeps_the_newest_and_says_what_it_leaves_out() -> None:
    answer = history(LEDGER, HistoryFilter(limit=1))
    assert [outcome.id for outcome in answer.outcomes] == ["3"]
    assert answer.findings == (OTHER,)
    assert (answer.more_outcomes, answer.more_findings) == (2, 1)


def test_what_could_not_be_written_is_not_kept() -> None:
    assert history(LEDGER, kept=True).kept
    assert not history(LEDGER, kept=True, problem="No space left on device").kept


def test_a_finding_has_its_own_outcomes_also_when_it_is_set_aside() -> None:
    [finding] = [finding for finding in advised(captured(RECORDING)).recommendations if finding.rule == RULE]
    assert finding.fingerprint == FINGERPRINT
    shown = graded(finding, LEDGER)
    assert [outcome.id for outcome in shown.outcomes] == ["3", "1"]
    assert shown.model_dump(exclude={"outcomes"}) == finding.model_dump()
    aside = graded(SetAside(recommendation=finding, reason="on purpose"), LEDGER)
    assert [outcome.id for outcome in aside.outcomes] == ["3", "1"]
    assert not graded(finding, Ledger()).outcomes
