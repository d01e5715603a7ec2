"""How far predictions were off: by rule, and what that makes of a rule's confidence.

Production, the replay of recordings, the proofs and the gauntlet all judge predictions by this code.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, TrackRecord
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.verdict import stated
from advisor.ledger.words import amount, rise

NEWEST = 8
"""Outcomes of a rule that its confidence counts, the newest ones: servers change, and so do rules."""
_CREDIT = 1.0
"""Kept promises that a rule brings along: it was proved on real servers before this one saw it."""


class Prediction(Frozen):
    """A prediction beside its measurement, both in ``unit``."""

    rule: str
    subject: Mapping[str, str] = {}
    where: str = Field("", description="The server, the recording or the workload.")
    quantity: str
    unit: str = ""
    now: Number = Field(description="As the finding said, before the change.")
    predicted: Number
    measured: Number = Field(description="After the change.")
    stated: Number | None = Field(None, description="The error that the finding stated, relative to now.")
    off: Number = Field(description="Measured less predicted, relative to now.")
    kept: bool = Field(description="Whether the stated error, or noise, explains what it is off.")


class RuleCalibration(Frozen):
    """The predictions of a rule; errors are relative to now."""

    rule: str
    predictions: int
    kept: int
    median_error: Number | None = Field(None, description="Without its sign; null without predictions.")
    largest_error: Number | None = Field(None, description="Without its sign; null without predictions.")
    bias: Number | None = Field(
        None, description="The median with its sign: above 0 where more was measured than predicted."
    )
    not_comparable: int = Field(0, description="Promises that could not be compared.")
    harmful: int = Field(0, description="Outcomes after which something else got worse.")


class Calibration(Frozen):
    """What became of predictions."""

    rules: tuple[RuleCalibration, ...] = Field((), description="In the order of their names.")
    predictions: tuple[Prediction, ...] = ()

    @property
    def kept(self) -> int:
        """Predictions that were kept."""
        return sum(each.kept for each in self.predictions)


def calibration(outcomes: Iterable[tuple[str, Outcome]]) -> Calibration:
    """The calibration that outcomes amount to. Changes that nobody promised anything of are left out.

    Args:
        outcomes: Each with where it comes from, in any state.
    """
    by_rule: dict[str, list[tuple[str, Outcome]]] = {}
    for where, outcome in outcomes:
        if outcome.rule is not None and outcome.promise is not None:
            by_rule.setdefault(outcome.rule, []).append((where, outcome))
    found = {
        rule: [each for where, outcome in of_rule if (each := prediction(outcome, where)) is not None]
        for rule, of_rule in sorted(by_rule.items())
    }
    return Calibration(
        rules=tuple(_row(rule, of_rule, [each for _, each in by_rule[rule]]) for rule, of_rule in found.items()),
        predictions=tuple(each for of_rule in found.values() for each in of_rule),
    )


def prediction(outcome: Outcome, where: str = "") -> Prediction | None:
    """The prediction of a closed outcome; None where nothing was promised or it could not be measured."""
    promise, measured = outcome.promise, outcome.measured
    if outcome.rule is None or promise is None or measured is None or outcome.error is None:
        return None
    if outcome.result not in (Result.KEPT, Result.MISSED):
        return None
    return Prediction(
        rule=outcome.rule,
        subject=outcome.subject,
        where=where,
        quantity=promise.quantity,
        unit=promise.unit,
        now=promise.now,
        predicted=promise.predicted,
        measured=measured.after,
        stated=promise.error,
        off=outcome.error,
        kept=outcome.result is Result.KEPT,
    )


def _row(rule: str, found: Sequence[Prediction], outcomes: Sequence[Outcome]) -> RuleCalibration:
    signed = [float(each.off) for each in found]
    errors = [abs(each) for each in signed]
    return RuleCalibration(
        rule=rule,
        predictions=len(found),
        kept=sum(each.kept for each in found),
        median_error=statistics.median(errors) if errors else None,
        largest_error=max(errors, default=None),
        bias=statistics.median(signed) if signed else None,
        not_comparable=sum(each.result is Result.NOT_COMPARABLE for each in outcomes),
        harmful=sum(bool(each.harm) for each in outcomes),
    )


def track_records(outcomes: Iterable[Outcome]) -> Mapping[str, TrackRecord]:
    """By rule, what became of its newest promises that could be measured; no entry for a rule without one."""
    by_rule: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda each: each.closed_at or each.at):
        if outcome.rule is not None and prediction(outcome) is not None:
            by_rule.setdefault(outcome.rule, []).append(outcome)
    return {rule: _track_record(found[-NEWEST:]) for rule, found in by_rule.items()}


def _track_record(outcomes: Sequence[Outcome]) -> TrackRecord:
    """The share of kept promises, as the rule of succession has it: the proved rule begins with one kept promise."""
    off = [each for each in outcomes if not _good(each)]
    worth = len(outcomes) - len(off) + sum(map(_worth, off))
    return TrackRecord(
        kept=len(outcomes) - len(off),
        off=len(off),
        factor=round((_CREDIT + worth) / (_CREDIT + len(outcomes)), 3),
        note=_note(outcomes, off),
    )


def _good(outcome: Outcome) -> bool:
    """Whether it counts as kept: advice that harms something else does not."""
    return outcome.result is Result.KEPT and not outcome.harm


def _worth(outcome: Outcome) -> float:
    """How much of a kept promise one that is not good is worth, 0 to 1: the stated error by the measured one."""
    if outcome.harm or outcome.promise is None or not outcome.error:
        return 0.0
    return min(1.0, stated(outcome.promise) / abs(float(outcome.error)))


def _note(outcomes: Sequence[Outcome], off: Sequence[Outcome]) -> str:
    kept = len(outcomes) - len(off)
    said = f"{kept} of the last {len(outcomes)} promises of this rule were kept on this server"
    if len(outcomes) == 1:
        said = f"the last promise of this rule was {'kept' if kept else 'off'} on this server"
    return f"{said}: {_what_was_off(off[-1])}" if off else said


def _what_was_off(outcome: Outcome) -> str:
    day = datetime.fromtimestamp(outcome.closed_at or outcome.at, UTC).strftime("%Y-%m-%d")
    promise, measured = outcome.promise, outcome.measured
    if outcome.result is Result.MISSED and promise is not None and measured is not None:
        predicted, after = (amount(each, promise.unit) for each in (promise.predicted, measured.after))
        return f"{day}, {promise.quantity}: predicted {predicted}, measured {after}"
    return f"{day}, {'; '.join(map(rise, outcome.harm))}"
