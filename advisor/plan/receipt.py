"""The receipt of a finding: what became of the newest change of its settings, beside what was predicted."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from advisor.contract.recommendation import Frozen
from advisor.ledger import history, words
from advisor.ledger.entry import Outcome, RememberedFinding, Result
from advisor.ledger.ledger import Ledger


class ReceiptState(StrEnum):
    """What a receipt says."""

    NOT_CHANGED = "not changed"
    """No change of the finding's settings was seen."""
    OPEN = "open"
    """The pool settles, or the work is not there yet to compare."""
    KEPT = "kept"
    """Measured as predicted, and nothing else got worse."""
    MISSED = "missed"
    """Measured, and not as predicted."""
    HARM = "harm"
    """Something else got worse, whatever became of the promise."""
    UNDECIDED = "undecided"
    """Nothing can be said: no promise that is measured, other work, or another change."""


class Receipt(Frozen):
    """What became of a finding."""

    fingerprint: str
    rule: str
    subject: Mapping[str, str]
    summary: str = Field(description="As the finding was told last; empty where only its outcome is remembered.")
    state: ReceiptState
    says: str = Field(description="The state in a sentence, with its figures.")
    outcome: Outcome | None = Field(description="Of the newest change; null where none was seen.")
    earlier: int = Field(0, description="Outcomes of older changes, which /history has.")


_STATES: Mapping[Result, ReceiptState] = {
    Result.OPEN: ReceiptState.OPEN,
    Result.KEPT: ReceiptState.KEPT,
    Result.MISSED: ReceiptState.MISSED,
    Result.UNPROMISED: ReceiptState.UNDECIDED,
    Result.NOT_COMPARABLE: ReceiptState.UNDECIDED,
}
_WORDS: Mapping[ReceiptState, str] = {
    ReceiptState.OPEN: "The outcome is open",
    ReceiptState.KEPT: "The promise was kept",
    ReceiptState.MISSED: "The promise was missed",
    ReceiptState.UNDECIDED: "Nothing can be said",
}


def receipt(ledger: Ledger, fingerprint: str) -> Receipt | None:
    """The receipt of a finding; None where the ledger knows neither the finding nor an outcome of it."""
    finding, outcomes = ledger.findings.get(fingerprint), history.of_finding(ledger, fingerprint)
    if outcomes:
        # Of a setting that went back to where the finding asks from, it is asked again: no change followed it.
        returns = {outcome.taken_back_at for outcome in outcomes}
        newest = next(
            (number for number, outcome in enumerate(outcomes) if outcome.followed or outcome.at not in returns), 0
        )
        return _of_outcome(finding, outcomes[newest], len(outcomes) - newest - 1)
    return None if finding is None else _of_finding(finding)


def _of_finding(finding: RememberedFinding) -> Receipt:
    """The receipt of a finding that no change has followed."""
    if finding.settings:
        gone = "" if finding.resolved_at is None else " It is gone by itself."
        state = ReceiptState.NOT_CHANGED
        says = f"No change of {' or '.join(finding.settings)} was seen since the finding stands.{gone}"
    else:
        state = ReceiptState.UNDECIDED
        says = "The finding asks for no setting, and what becomes of anything else is not measured."
    return Receipt(
        fingerprint=finding.fingerprint,
        rule=finding.rule,
        subject=finding.subject,
        summary=finding.summary,
        state=state,
        says=says,
        outcome=None,
    )


def _of_outcome(finding: RememberedFinding | None, outcome: Outcome, earlier: int) -> Receipt:
    state = ReceiptState.HARM if outcome.harm else _STATES[outcome.result]
    return Receipt(
        fingerprint=outcome.fingerprint or "",
        rule=outcome.rule or "",
        subject=outcome.subject,
        summary="" if finding is None else finding.summary,
        state=state,
        says=_says(state, outcome),
        outcome=outcome,
        earlier=earlier,
    )


def _says(state: ReceiptState, outcome: Outcome) -> str:
    taken_back = outcome.taken_back_at is not None
    if outcome.promise is None:
        figures = outcome.why
    elif state is ReceiptState.UNDECIDED and outcome.result is Result.UNPROMISED:
        figures = outcome.why  # it is promised, and nobody measures it
    else:
        figures = words.promised(outcome, outcome.promise)
    if state is ReceiptState.HARM:
        cure = "It was taken back." if taken_back else "Take it back."
        about = f" Of its promise: {figures}." if outcome.promise is not None else ""
        return f"The change did harm: {'; '.join(map(words.rise, outcome.harm))}. {cure}{about}"
    return f"{_WORDS[state]}{f': {figures}' if figures else ''}.{' It was taken back.' if taken_back else ''}"
