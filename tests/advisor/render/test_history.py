"""The history for people: text and markdown say the same."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advisor.contract.recommendation import SetAside
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.history import GradedAdvice, HistoryFilter, graded, history
from advisor.ledger.ledger import Ledger
from advisor.render import advice as documents
from advisor.render import outcomes as outcome_documents
from advisor.render import text
from advisor.render.blocks import TextDocument
from advisor.render.markdown import markdown
from tests.advisor.building import RECORDING, advised, captured
from tests.advisor.ledger.entries import RULE, closed, opened, remembered, unasked

MISSED = closed("4" * 16, result=Result.MISSED, why="a second table is scanned by now")
LEDGER = Ledger.of([remembered(), closed("1" * 16), unasked("2" * 16), opened("3" * 16), MISSED])


def test_an_outcome_says_what_was_predicted_and_what_was_measured() -> None:
    written = text.text(outcome_documents.history(history(Ledger.of([closed()]))))
    assert written.splitlines() == [
        "2026-11-21 06:20:40 UTC  innodb_old_blocks_pct 37 -> 64: kept",
        "  rule        scan-exceeds-old-sublist, shop.orders, followed, a63178a321b3b23c",
        "  predicted   pages read per pass: 8,645 -> 0 (at most 1.0 % off)",
        "  measured    pages read per pass of shop.orders: 8,645 -> 12 (noise 20), off by +0.1 %",
        "  why         measured by the same work",
    ]


def test_harm_comes_with_the_statement_that_takes_it_back() -> None:
    harmful = unasked(changes=closed().changes)
    written = text.text(outcome_documents.history(history(Ledger.of([harmful]))))
    assert "  worse       pages read per second: 6 -> 900 (noise 2)\n" in written
    assert "  take back   SET GLOBAL innodb_old_blocks_pct = 37;\n" in written


@pytest.mark.parametrize("write", [text.text, markdown])
def test_every_outcome_and_finding_is_shown_in_both_forms(write: Callable[[TextDocument], str]) -> None:
    written = write(outcome_documents.history(history(LEDGER)))
    for outcome in LEDGER.outcomes.values():
        assert f": {outcome.result}\n" in written
        assert outcome.why in written
    assert "Findings that stood" in written
    assert "2026-11-21 06:19:40 UTC" in written
    cut = write(
        outcome_documents.history(history(LEDGER, HistoryFilter(limit=1), kept=True, problem="No space left on device"))
    )
    assert "and 3 older ones" in cut
    assert "not kept: No space left on device" in cut


@pytest.mark.parametrize("write", [text.text, markdown])
def test_no_history_says_so(write: Callable[[TextDocument], str]) -> None:
    assert "No change of a setting was seen." in write(outcome_documents.history(history(Ledger())))


def test_names_are_escaped_in_markdown() -> None:
    odd = closed(subject={"schema": "shop", "table": "a|b*`<c"})
    assert r"shop.a\|b\*\`&lt;c" in markdown(outcome_documents.history(history(Ledger.of([odd]))))


def test_a_finding_is_followed_by_its_outcomes_and_without_any_is_as_ever() -> None:
    [finding] = [finding for finding in advised(captured(RECORDING)).recommendations if finding.rule == RULE]
    for shown in (finding, SetAside(recommendation=finding, reason="on purpose")):
        before = text.text(documents.finding(shown))
        assert text.text(documents.finding(graded(shown, Ledger()))) == before
        written = text.text(documents.finding(graded(shown, LEDGER)))
        assert written.startswith(before)
        assert written.count("innodb_old_blocks_pct 37 -> 64: ") == 3
        in_markdown = markdown(documents.finding(graded(shown, LEDGER)))
        assert in_markdown.startswith(markdown(documents.finding(shown)))
        assert in_markdown.count("## 2026-11-21") == 3


def test_advice_is_followed_by_the_newest_outcomes() -> None:
    advice = advised(captured(RECORDING))
    outcomes: tuple[Outcome, ...] = tuple(closed(f"{number:016x}") for number in range(12))
    shown = GradedAdvice.model_construct(**dict(advice), outcomes=outcomes)
    written = text.text(documents.advice(shown))
    assert written.startswith(text.text(documents.advice(advice)))
    assert written.count("innodb_old_blocks_pct 37 -> 64: kept") == 10
    assert written.endswith("and 2 older ones: `innodb-advisor history` has them\n")
    in_markdown = markdown(documents.advice(shown))
    assert in_markdown.startswith(markdown(documents.advice(advice)))
    assert in_markdown.count("innodb_old_blocks_pct 37 -> 64: kept") == 10
