"""Phrases, lines and table rows of advice, for text.py and markdown.py."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.changes import BY_SQL
from advisor.contract.recommendation import Advice, Alternative, Change, Effect, Number, Recommendation, SetAside
from advisor.contract.templates import duration

NOTHING = "Nothing to change in this window."
_BLIND = "Blind rules: data they need is missing"
_FAILED = "Failed rules: their advice is unknown"
_SUPPRESSED = "Suppressed by the configuration"
_OVERRULED = "Overruled by another recommendation"


def lines(found: Recommendation) -> Iterator[tuple[str, str]]:
    """Each step as label and text."""
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


def facts(found: Recommendation) -> Iterator[tuple[str, str]]:
    """Effect, cost, alternatives and origin as label and text."""
    if found.effect is not None:
        yield "effect", effect(found.effect)
    if found.cost is not None:
        yield "cost", effect(found.cost)
    for other in found.alternatives:
        yield "or", f"{other.change.config}: {alternative(other)}"
    watched = f"watched {duration(found.watched_seconds)}"
    yield "rule", f"{found.rule}, confidence {found.confidence:g}, {watched}, {found.fingerprint}"


def effect(predicted: Effect) -> str:
    """A quantity before and after, with the model error."""
    unsure = "" if predicted.error is None else f" (model error {predicted.error:.1%})"
    return f"{amount(predicted)}{unsure}"


def amount(predicted: Effect) -> str:
    """A quantity before and after."""
    before = "" if predicted.now is None else f"{shown(predicted.now)} -> "
    return f"{predicted.quantity}: {before}{shown(predicted.predicted)}"


def alternative(other: Alternative) -> str:
    """Effect and cost of an alternative setting."""
    cost = "" if other.cost is None else f"; {amount(other.cost)}"
    where = "" if other.change.via == BY_SQL else f"; {other.change.via}"
    return f"{effect(other.effect)}{cost}{where}"


_TableOf = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def tables(advice: Advice) -> Iterator[_TableOf]:
    """The tables after the recommendations, as title, columns and rows; empty ones are left out."""
    columns = "rule", "what", "why not", "fingerprint"
    tables: tuple[_TableOf, ...] = (
        (_OVERRULED, columns, list(map(_aside, advice.overruled))),
        (_SUPPRESSED, columns, list(map(_aside, advice.suppressed))),
        (_FAILED, ("rule", "how"), [(each.rule, each.reason) for each in advice.failed]),
        (_BLIND, ("lacks", "rules", "why", "cure"), _blind(advice)),
    )
    yield from (table for table in tables if table[2])


def _blind(advice: Advice) -> list[tuple[str, ...]]:
    """One row per reason: one unreadable source may blind a dozen rules."""
    by_reason: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for each in advice.blind:
        lacks, rules = by_reason.setdefault((each.reason, each.cure or ""), ({}, {}))
        lacks[each.lacks] = rules[each.rule] = None
    return [(", ".join(lacks), ", ".join(rules), reason, cure) for (reason, cure), (lacks, rules) in by_reason.items()]


def _aside(aside: SetAside) -> tuple[str, ...]:
    found = aside.recommendation
    return found.rule, found.summary, aside.reason, found.fingerprint


def shown(value: Number | str) -> str:
    """A value for people, with thousands separators."""
    return value if isinstance(value, str) else f"{value:,}"
