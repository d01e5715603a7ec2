"""The phrases, lines and tables of advice, for text.py, markdown.py and alerts. Every line shows as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from advisor.contract.changes import BY_SQL
from advisor.contract.recommendation import (
    Action,
    Advice,
    Alternative,
    Change,
    Effect,
    Evidence,
    Number,
    Recommendation,
    SetAside,
    Trend,
    tidy,
)
from advisor.contract.settings import SETTINGS
from advisor.contract.templates import binary, duration, exact_binary
from advisor.contract.visible import visible, visible_lines

NOTHING = "Nothing to change in this window."
_BLIND = "Blind rules: data they need is missing"
_FAILED = "Failed rules: their advice is unknown"
_SUPPRESSED = "Suppressed by the configuration"
_OVERRULED = "Overruled by another recommendation"
_WHOLE = 10
"""Of a larger quantity nobody wants to read decimals."""
BYTES = "bytes"
STATEMENTS = frozenset({"apply", "roll back", "keep"})
"""The labels of statements."""
_NAME = re.compile("`(?:[^`]|``)*`")
"""A name in SQL. Of a statement only the rule's author ends a line, and never in a name."""


class Advised(Protocol):
    """What a finding says to do."""

    @property
    def changes(self) -> Sequence[Change]: ...  # noqa: D102 - as Recommendation has them
    @property
    def actions(self) -> Sequence[Action]: ...  # noqa: D102


def instructions(found: Advised) -> Iterator[tuple[str, str]]:
    """What to do: label and text of each line; only statements have several lines."""
    for change in found.changes:
        yield from _change(change)
    for action in found.actions:
        yield "do", visible(action.do)
        yield from (("apply", statement(sql)) for sql in action.apply)
        yield from (("roll back", statement(sql)) for sql in action.rollback)


def statement(sql: str, longest: int | None = None) -> str:
    """A statement as it can be pasted, or a comment in its place.

    What a person pastes has to be what the person read: a terminal would obey a name with an escape sequence, and a
    bidirectional mark in one shows another statement than it is.

    Args:
        sql: The statement, without its semicolon.
        longest: Characters that there is room for.
    """
    broken = any("\n" in name for name in _NAME.findall(sql))
    if not broken and visible_lines(sql) == sql and (longest is None or len(sql) <= longest):
        return f"{sql};"
    text = visible(sql)
    return not_shown(text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…")


def not_shown(sql: str) -> str:
    """A comment in place of a statement that would be another one as it is shown."""
    return f"-- this name cannot be shown as it is; the JSON has the statement: {sql}"


def comment(label: str, text: str) -> str:
    """Lines of SQL that do nothing."""
    return "\n".join(f"-- {line}" for line in f"{label}: {text}".split("\n"))


def shown(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Labels, each with a text in one line."""
    return ((label, visible(text)) for label, text in lines)


def _change(change: Change) -> Iterator[tuple[str, str]]:
    in_words = {
        "apply": _in_words(change, change.to),
        "roll back": _in_words(change, change.from_),
        "keep": _in_words(change, change.to),
    }
    for label, statements in (("apply", change.apply), ("roll back", change.rollback), ("keep", change.persist)):
        yield from ((label, f"{statement(sql)}{in_words[label]}") for sql in statements)
    yield "option file" if change.via == BY_SQL else "set", visible(change.config)
    if change.via != BY_SQL:
        yield "where", visible(change.via)
    if change.note:
        yield "note", visible(change.note)


def _in_words(change: Change, value: Number | str | None) -> str:
    """A comment after a statement that has bytes."""
    return f"  -- {setting_text(change.setting, value)}" if SETTINGS[change.setting].unit == BYTES else ""


def setting_text(setting: str, value: Number | str | None) -> str:
    """A value of a setting, for people."""
    if value is None:
        return "unknown"
    exact = SETTINGS[setting].unit == BYTES and not isinstance(value, str)
    return exact_binary(value) if exact else value_text(value)


def details(found: Recommendation) -> Iterator[tuple[str, str]]:
    """Effect, cost, alternatives and origin: label and text of each line."""
    return shown(_details(found))


def _details(found: Recommendation) -> Iterator[tuple[str, str]]:
    if found.effect is not None:
        yield "effect", effect(found.effect)
    if found.cost is not None:
        yield "cost", effect(found.cost)
    if found.others is not None:
        yield "others", effect(found.others)
    for other in found.alternatives:
        yield "or", alternative(other)
    if found.since is not None and found.judged_at is not None:
        trend = f", {TRENDS[found.trend]}" if found.trend else ""
        yield "since", f"{moment(found.since)}{trend}; last seen {moment(found.judged_at)}"
    watched = f"watched {duration(found.watched_seconds)}"
    yield "rule", f"{found.rule}, confidence {found.confidence:g}, {watched}, {found.fingerprint}"


TRENDS: dict[Trend, str] = {"worse": "getting worse", "steady": "steady", "better": "getting better"}


def origin(advice: Advice) -> str:
    """What the advice is of, how old it is, and when the next may come."""
    of = f"{advice.server}, watched {duration(advice.watched_seconds)}"
    if advice.age_seconds is None or advice.next_at is None:
        return of
    return f"{of}; made {duration(advice.age_seconds)} ago, anew at {moment(advice.next_at)} or later"


def moment(at: float) -> str:
    """A time for people."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def effect(predicted: Effect) -> str:
    """A quantity before and after the change, and the range to expect."""
    return f"{amount(predicted)}{_range(predicted)}"


def _range(predicted: Effect) -> str:
    if predicted.error is None or predicted.now is None:
        return ""
    off = predicted.error * predicted.now
    low, high = (max(0.0, predicted.predicted + each) for each in (-off, off))
    if predicted.now >= _WHOLE:
        low, high = round(low), round(high)
    return f" (expect {value_text(tidy(low), predicted.unit)} to {value_text(tidy(high), predicted.unit)})"


def amount(predicted: Effect) -> str:
    """A quantity before and after the change."""
    before = "" if predicted.now is None else f"{value_text(predicted.now, predicted.unit)} -> "
    return f"{predicted.quantity}: {before}{value_text(predicted.predicted, predicted.unit)}"


def alternative(other: Alternative) -> str:
    """Another setting, what it would do instead, its cost, and where it is set."""
    change = other.change
    parts = [effect(other.effect), *(amount(each) for each in (other.cost, other.others) if each is not None)]
    if change.via != BY_SQL:
        parts.append(change.via)
    return f"{change.setting} = {setting_text(change.setting, change.to)}: {'; '.join(parts)}"


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


def value_text(value: Number | str, unit: str = "") -> str:
    """A value for people: bytes in binary units, other numbers with commas between thousands."""
    if isinstance(value, str):
        return value
    return binary(value) if unit.split(" ", maxsplit=1)[0] == BYTES else f"{value:,}"


def unit_text(unit: str) -> str:
    """The unit that follows a value of `value_text`, which has that of bytes in it."""
    return unit.removeprefix(BYTES).strip() if unit.split(" ", maxsplit=1)[0] == BYTES else unit


def quantity(item: Evidence) -> str:
    """The value of a fact with its unit."""
    return f"{value_text(item.value, item.unit)} {unit_text(item.unit)}".strip()
