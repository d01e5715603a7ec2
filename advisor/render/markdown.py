"""Advice in markdown, for a ticket or a chat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from advisor.contract.recommendation import Advice, Recommendation, SetAside
from advisor.contract.templates import duration
from advisor.render import phrases


def markdown(advice: Advice) -> str:
    """What there is to do, what is set aside, and what could not be seen."""
    lines = [f"# innodb-advisor: {_inline(advice.server)}", "", f"Watched {duration(advice.watched_seconds)}.", ""]
    for found in advice.recommendations:
        lines += [f"## {found.severity.value}: {_inline(found.summary)}", "", *_markdown(found), ""]
    if not advice.recommendations:
        lines += [phrases.NOTHING, ""]
    for title, columns, rows in phrases.tables(advice):
        lines += [f"## {title}", "", _row(columns), _row(["---"] * len(columns))]
        lines += [*map(_row, rows), ""]
    return "\n".join(lines)


def markdown_finding(found: Recommendation | SetAside) -> str:
    """The same of one recommendation; where it is set aside, with the reason."""
    lines: list[str] = []
    if isinstance(found, SetAside):
        lines, found = [f"Set aside: {_inline(found.reason)}", ""], found.recommendation
    lines = [f"# {found.severity.value}: {_inline(found.summary)}", "", *lines]
    return "\n".join([*lines, *_markdown(found), ""])


def _markdown(found: Recommendation) -> list[str]:
    sql = list(map(_sql, phrases.lines(found)))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", "\n".join(sql))), default=0))  # names may hold some
    lines = [f"{fence}sql", *sql, fence, ""]
    if found.effect is not None:
        lines.append(f"Effect: {_inline(phrases.effect(found.effect))}.  ")
    if found.cost is not None:
        lines.append(f"Cost: {_inline(phrases.effect(found.cost))}.  ")
    lines += [f"Or `{other.change.config}`: {_inline(phrases.alternative(other))}.  " for other in found.alternatives]
    lines += [f"Rule `{found.rule}`, confidence {found.confidence:g}, fingerprint `{found.fingerprint}`.", ""]
    lines += ["| evidence | value | source |", "| --- | ---: | --- |"]
    lines += [
        _row((item.name.replace("_", " "), f"{phrases.shown(item.value)} {item.unit}".strip(), item.source))
        for item in found.evidence
    ]
    return lines


def _sql(line: tuple[str, str]) -> str:
    """A statement to apply as it is, all else as a comment, so that the block can be pasted whole."""
    label, text = line
    return text if label == "apply" else f"-- {label}: {' '.join(text.split())}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_inline, cells))} |"


def _inline(text: str) -> str:
    """Text that is no markup, whatever the names in it: they come from the server."""
    return re.sub(r"([\\`*\[\]<|])", r"\\\1", " ".join(text.split()))
