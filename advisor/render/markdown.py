"""Advice in markdown, for a ticket or a chat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from advisor.contract.recommendation import Advice, Recommendation, SetAside
from advisor.contract.visible import visible
from advisor.render import phrases

_MARKUP = re.compile(r"[\\`*\[\]|~]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|#(?=#*$)")
"""Marks of CommonMark and GFM, entities, underscores that do not lie within a word, and what ends a heading."""


def markdown(advice: Advice) -> str:
    """The recommendations, then findings set aside, failed rules and blind spots."""
    lines = [f"# innodb-advisor: {inline(advice.server)}", "", f"{inline(phrases.origin(advice))}.", ""]
    for found in advice.recommendations:
        lines += [f"## {found.severity.value}: {inline(found.summary)}", "", *_recommendation(found), ""]
    if not advice.recommendations:
        lines += [phrases.NOTHING, ""]
    for table in phrases.appendices(advice):
        lines += [f"## {table.title}", "", row(table.columns), row(["---"] * len(table.columns))]
        lines += [*map(row, table.rows), ""]
    return "\n".join(lines)


def markdown_finding(found: Recommendation | SetAside) -> str:
    """One recommendation as ``markdown`` has it; with the reason where it is set aside."""
    lines: list[str] = []
    if isinstance(found, SetAside):
        lines, found = [f"Set aside: {inline(found.reason)}", ""], found.recommendation
    lines = [f"# {found.severity.value}: {inline(found.summary)}", "", *lines]
    return "\n".join([*lines, *_recommendation(found), ""])


def _recommendation(found: Recommendation) -> list[str]:
    sql = list(map(statement, phrases.instructions(found)))
    lines = block(sql)
    if found.effect is not None:
        lines.append(f"Effect: {inline(phrases.effect(found.effect))}.  ")
    if found.cost is not None:
        lines.append(f"Cost: {inline(phrases.effect(found.cost))}.  ")
    if found.others is not None:
        lines.append(f"Others: {inline(phrases.effect(found.others))}.  ")
    lines += [f"Or {inline(phrases.alternative(other))}.  " for other in found.alternatives]
    if found.since is not None and found.judged_at is not None:
        trend = f", {phrases.TRENDS[found.trend]}" if found.trend else ""
        lines.append(f"Since {phrases.moment(found.since)}{trend}; last seen {phrases.moment(found.judged_at)}.  ")
    lines += [f"Rule `{found.rule}`, confidence {found.confidence:g}, fingerprint `{found.fingerprint}`.", ""]
    lines += ["| evidence | value | source |", "| --- | ---: | --- |"]
    lines += [row((item.name.replace("_", " "), phrases.quantity(item), item.source)) for item in found.evidence]
    return lines


def statement(line: tuple[str, str]) -> str:
    """A statement to apply, or a comment: the whole block can be pasted."""
    label, text = line
    return text if label == "apply" else phrases.comment(label, text)


def block(sql: Sequence[str]) -> list[str]:
    """Statements that can be pasted whole; the fence is longer than any backticks in a name."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", "\n".join(sql))), default=0))
    return [f"{fence}sql", *sql, fence, ""]


def row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(inline, cells))} |"


def inline(text: str) -> str:
    """Text with its markup escaped: names come from the server.

    ``<`` becomes an entity, which is also how chats such as Slack write it: ``<!channel>`` calls nobody.
    """
    return _MARKUP.sub(r"\\\g<0>", " ".join(visible(text).split())).replace("<", "&lt;")
