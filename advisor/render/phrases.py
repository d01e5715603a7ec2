"""The phrases, lines and tables of advice, for text.py, markdown.py and alerts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from advisor.contract.changes import BY_SQL
from advisor.contract.recommendation import Advice, Alternative, Change, Effect, Number, Recommendation, SetAside
from advisor.contract.templates import duration

NOTHING = "Nothing to change in this window."
_BLIND = "Blind rules: data they need is missing"
_FAILED = "Failed rules: their advice is unknown"
_SUPPRESSED = "Suppressed by the configuration"
_OVERRULED = "Overruled by another recommendation"


def instructions(found: Recommendation) -> Iterator[tuple[str, str]]:
    """What to do: label and text of each line."""
    for change in found.changes:
        yield from _change(change)
    for action in found.actions:
        yield "do", action.do
        yield from (("apply", f"{statement};") for statement in action.apply)
        yield from (("roll back", f"{statement};") for statement in action.rollback)


def _change(change: Change) -> Iterator[tuple[str, str]]:
    for label, statements in (("apply", change.apply), ("roll back", change.rollback), ("keep", change.persist)):
        yield from ((label, f"{statement};") for statement in statements)
    yield "option file" if change.via == BY_SQL else "set", change.config
    if change.via != BY_SQL:
        yield "where", change.via
    if change.note:
        yield "note", change.note


def details(found: Recommendation) -> Iterator[tuple[str, str]]:
    """Effect, cost, alternatives and origin: label and text of each line."""
    if found.effect is not None:
        yield "effect", effect(found.effect)
    if found.cost is not None:
        yield "cost", effect(found.cost)
    for other in found.alternatives:
        yield "or", f"{other.change.config}: {alternative(other)}"
    watched = f"watched {duration(found.watched_seconds)}"
    yield "rule", f"{found.rule}, confidence {found.confidence:g}, {watched}, {found.fingerprint}"


def effect(predicted: Effect) -> str:
    """A quantity before and after the change, with the model's error."""
    unsure = "" if predicted.error is None else f" (model error {predicted.error:.1%})"
    return f"{amount(predicted)}{unsure}"


def amount(predicted: Effect) -> str:
    """A quantity before and after the change."""
    before = "" if predicted.now is None else f"{value_text(predicted.now)} -> "
    return f"{predicted.quantity}: {before}{value_text(predicted.predicted)}"


def alternative(other: Alternative) -> str:
    """What another setting would do instead, its cost, and where it is set."""
    cost = "" if other.cost is None else f"; {amount(other.cost)}"
    where = "" if other.change.via == BY_SQL else f"; {other.change.via}"
    return f"{effect(other.effect)}{cost}{where}"


@dataclass(frozen=True, slots=True)
class Appendix:
    """A table that follows the recommendations."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def appendices(advice: Advice) -> Iterator[Appendix]:
    """The tables that have rows."""
    columns = "rule", "summary", "reason", "fingerprint"
    tables = (
        Appendix(_OVERRULED, columns, list(map(_set_aside, advice.overruled))),
        Appendix(_SUPPRESSED, columns, list(map(_set_aside, advice.suppressed))),
        Appendix(_FAILED, ("rule", "reason"), [(each.rule, each.reason) for each in advice.failed]),
        Appendix(_BLIND, ("lacks", "rules", "why", "cure"), _blind(advice)),
    )
    yield from (table for table in tables if table.rows)


def _blind(advice: Advice) -> list[tuple[str, ...]]:
    """A row for each reason: one missing source may blind a dozen rules, in several ways each."""
    by_reason: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for each in advice.blind:
        lacks, rules = by_reason.setdefault((each.reason, each.cure or ""), ({}, {}))
        lacks[each.lacks] = rules[each.rule] = None
    return [(", ".join(lacks), ", ".join(rules), reason, cure) for (reason, cure), (lacks, rules) in by_reason.items()]


def _set_aside(finding: SetAside) -> tuple[str, ...]:
    found = finding.recommendation
    return found.rule, found.summary, finding.reason, found.fingerprint


def value_text(value: Number | str) -> str:
    """A value for people, with commas between thousands."""
    return value if isinstance(value, str) else f"{value:,}"
