"""Phrases that documents and alerts share: what to do, what to expect, and values as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from advisor.contract.changes import BY_SQL
from advisor.contract.fleet import FleetFinding
from advisor.contract.recommendation import Alternative, Change, Effect, Evidence, Recommendation, tidy
from advisor.contract.settings import is_size, setting_text
from advisor.contract.templates import value_text
from advisor.contract.visible import visible, visible_lines

_WHOLE = 10
"""Bounds of a quantity from here on are whole numbers."""
_NAME = re.compile("`(?:[^`]|``)*`")
"""A name in SQL. Of a statement only the rule's author ends a line, and never in a name."""


def instructions(finding: Recommendation | FleetFinding, longest: int | None = None) -> Iterator[tuple[str, str]]:
    """What to do: label and text of each line; only statements have several lines.

    Args:
        finding: Of one server, or of a fleet.
        longest: Characters of a line that there is room for.
    """
    for change in finding.changes:
        yield from _change(change, longest)
    for action in finding.actions:
        yield "do", shortened(action.do, longest)
        yield from (("apply", statement(sql, longest)) for sql in action.apply)
        yield from (("roll back", statement(sql, longest)) for sql in action.rollback)


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
    return not_shown(shortened(sql, longest))


def not_shown(sql: str) -> str:
    """A comment in place of a statement that would be another one as it is shown."""
    return f"-- this name cannot be shown as it is; the JSON has the statement: {sql}"


def shortened(text: str, longest: int | None) -> str:
    """A text that shows, in one line of so many characters at most."""
    text = visible(text)
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"


def _change(change: Change, longest: int | None) -> Iterator[tuple[str, str]]:
    kinds = (
        ("apply", change.apply, change.to),
        ("roll back", change.rollback, change.from_),
        ("keep", change.persist, change.to),
    )
    for label, statements, value in kinds:
        # A text, which only a series could bring, might end the comment.
        sized = is_size(change.setting) and not isinstance(value, str)
        comment = f"  -- {setting_text(change.setting, value)}" if sized else ""
        yield from ((label, f"{statement(sql, longest)}{comment}") for sql in statements)
    yield "option file" if change.via == BY_SQL else "set", shortened(change.config, longest)
    if change.via != BY_SQL:
        yield "where", shortened(change.via, longest)
    if change.note:
        yield "note", shortened(change.note, longest)


def effect(predicted: Effect) -> str:
    """A quantity before and after the change, and the range to expect."""
    if predicted.error is None or predicted.now is None:
        return amount(predicted)
    margin = predicted.error * predicted.now
    low, high = max(0.0, predicted.predicted - margin), max(0.0, predicted.predicted + margin)
    if predicted.now >= _WHOLE:
        low, high = round(low), round(high)
    bounds = f"{value_text(tidy(low), predicted.unit)} to {value_text(tidy(high), predicted.unit)}"
    return f"{amount(predicted)} (expect {bounds})"


def amount(predicted: Effect) -> str:
    """A quantity before and after the change."""
    before = "" if predicted.now is None else f"{value_text(predicted.now, predicted.unit)} -> "
    return f"{predicted.quantity}: {before}{value_text(predicted.predicted, predicted.unit)}"


def alternative(other: Alternative) -> str:
    """Another setting, what it would do instead, its cost, and where it is set."""
    change = other.change
    parts = [effect(other.effect), *(amount(also) for also in (other.cost, other.others) if also is not None)]
    if change.via != BY_SQL:
        parts.append(change.via)
    text = f"{change.setting} = {setting_text(change.setting, change.to)}: {'; '.join(parts)}"
    return f"{text}. {change.note}" if change.note else text


def moment(at: float) -> str:
    """A time, Unix seconds, as people read it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def quantity(evidence: Evidence) -> str:
    """The value of a fact with its unit; bytes have theirs already."""
    unit = evidence.unit
    if unit.split(" ", maxsplit=1)[0] == "bytes":
        unit = unit.removeprefix("bytes").strip()
    return f"{value_text(evidence.value, evidence.unit)} {unit}".strip()


def counted(number: int, noun: str) -> str:
    """``1 server``, ``2,000 servers``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
