"""Outcomes in words, for findings, alerts and people."""

from __future__ import annotations

from advisor.contract.recommendation import Number, tidy
from advisor.contract.settings import json_value, setting_text
from advisor.contract.templates import binary
from advisor.ledger.entry import Changed, Compared, Outcome, Promise, Result

_BYTES = "bytes"


def amount(value: Number, unit: str) -> str:
    """A number with commas between thousands, bytes in binary units."""
    return binary(value) if unit.split(" ", 1)[0] == _BYTES else f"{tidy(float(value)):,}"


def named(compared: Compared) -> str:
    """A quantity with what it is of."""
    return f"{compared.quantity} of {'.'.join(compared.subject.values())}" if compared.subject else compared.quantity


def change(changed: Changed) -> str:
    """A setting with both values."""
    before, after = (setting_text(changed.setting, json_value(value)) for value in (changed.before, changed.after))
    return f"{changed.setting} {before} -> {after}"


def changed(outcome: Outcome) -> str:
    """The change of an outcome, such as ``changed: innodb_old_blocks_pct 37 -> 50``."""
    changes = ", ".join(map(change, outcome.changes))
    return f"changed: {changes}" + (", another value than it advised" if outcome.rule and not outcome.followed else "")


def rise(worse: Compared) -> str:
    """What rose, from what to what."""
    return f"{named(worse)} rose from {amount(worse.before, worse.unit)} to {amount(worse.after, worse.unit)}"


def followed(outcome: Outcome) -> str:
    """What became of advice that was followed, such as ``followed: predicted 0, measured 12 pages read per pass``."""
    if outcome.promise is None:
        return "followed"
    return "; ".join((f"followed: {promised(outcome, outcome.promise)}", *map(rise, outcome.harm)))


def promised(outcome: Outcome, promise: Promise) -> str:
    """What an outcome's promise predicted, and what was measured, or why nothing was."""
    measured = outcome.measured
    predicted = f"predicted {amount(promise.predicted, promise.unit)}"
    if measured is None or outcome.result in (Result.OPEN, Result.NOT_COMPARABLE):
        missing = "not measured yet" if outcome.result is Result.OPEN else "not comparable"
        return f"{predicted} {_of(promise)}, {missing}: {outcome.why}"
    return f"{predicted}, measured {amount(measured.after, promise.unit)} {_of(promise)}"


def _of(promise: Promise) -> str:
    """The quantity, after its number."""
    unit = promise.unit.split(" ", 1)[0]
    if unit in ("", promise.quantity.split(" ", 1)[0]):
        return promise.quantity
    return f"({promise.quantity})" if unit == _BYTES else f"{promise.unit} ({promise.quantity})"
