"""Advice and checks for people: on a terminal, as plain text, and as markdown."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.changes import BY_SQL
from advisor.recommendation import Advice, Alternative, Change, Effect, Number, Recommendation, SetAside, Severity
from advisor.summary import duration

WIDTH = 200
"""Columns of what goes into a file, a pipe or an HTTP response."""
NOTHING = "Nothing to change, as far as has been watched."
_STYLE = {Severity.INFO: "cyan", Severity.WARNING: "yellow", Severity.CRITICAL: "bold red"}
_BLIND = "What the rules could not see"
_FAILED = "Rules that broke: what they would say is not known"
_SUPPRESSED = "Suppressed by the configuration"
_OVERRULED = "Overruled by another recommendation"


@dataclass(frozen=True, slots=True)
class Check:
    """One source in ``innodb-advisor check``; ``needed_by`` names the rules that go blind without it."""

    source: str
    ok: bool | None
    reason: str
    cure: str | None
    needed_by: tuple[str, ...]


def console() -> Console:
    """Standard output; tables that go into a file or a pipe are not folded to a terminal that is not there."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def print_advice(out: Console, advice: Advice) -> None:
    """Every recommendation with its evidence and SQL, then what is set aside and what the rules could not see."""
    out.print(
        f"{advice.server}, watched {duration(advice.watched_seconds)}", style="dim", markup=False, highlight=False
    )
    for found in advice.recommendations:
        out.print()
        out.print(_recommendation(found))
    if not advice.recommendations:
        out.print(NOTHING)
    for title, columns, rows in _tables(advice):
        table = plain_table(*columns)
        for row in rows:
            table.add_row(*map(Text, row))
        out.print(f"\n{title}:")
        out.print(table)


def plain(advice: Advice) -> str:
    """What ``print_advice`` prints into a file."""
    out = io.StringIO()
    print_advice(Console(file=out, width=WIDTH, highlight=False), advice)
    return _trimmed(out)


def plain_finding(found: Recommendation | SetAside) -> str:
    """The same of one recommendation; where it is set aside, with the reason."""
    out = io.StringIO()
    to = Console(file=out, width=WIDTH, highlight=False)
    if isinstance(found, SetAside):
        to.print(Text(f"Set aside: {found.reason}"))
        found = found.recommendation
    to.print(_recommendation(found))
    return _trimmed(out)


def _trimmed(out: io.StringIO) -> str:
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _recommendation(found: Recommendation) -> Group:
    head = Text.assemble((found.severity.value, _STYLE[found.severity]), "  ", (found.summary, "bold"))
    lines = [Text.assemble((f"{label:<12}", "dim"), line) for label, line in _lines(found)]
    facts = [Text(f"{label:<12}{line}") for label, line in _facts(found)]
    evidence = plain_table("evidence", "value", "unit", "source")
    evidence.columns[1].justify = "right"
    for item in found.evidence:
        evidence.add_row(*map(Text, (item.name.replace("_", " "), shown(item.value), item.unit, item.source)))
    parts = (Text("\n").join(lines), Text("\n").join(facts), evidence)
    return Group(head, *(Padding(part, (0, 0, 0, 2), expand=False) for part in parts))


def _lines(found: Recommendation) -> Iterator[tuple[str, str]]:
    """What to do, line by line, with what each line is."""
    for change in found.changes:
        yield from _change(change)
    for action in found.actions:
        yield "do", action.do
        yield from (("apply", f"{statement};") for statement in action.apply)
        yield from (("take back", f"{statement};") for statement in action.rollback)


def _change(change: Change) -> Iterator[tuple[str, str]]:
    for label, statements in (("apply", change.apply), ("take back", change.rollback), ("keep", change.persist)):
        yield from ((label, f"{statement};") for statement in statements)
    yield "option file" if change.via == BY_SQL else "set", change.config
    if change.via != BY_SQL:
        yield "where", change.via
    if change.note:
        yield "note", change.note


def _facts(found: Recommendation) -> Iterator[tuple[str, str]]:
    if found.effect is not None:
        yield "effect", _effect(found.effect)
    if found.cost is not None:
        yield "cost", _effect(found.cost)
    for other in found.alternatives:
        yield "or", f"{other.change.config}: {_alternative(other)}"
    watched = f"watched {duration(found.watched_seconds)}"
    yield "rule", f"{found.rule}, confidence {found.confidence:g}, {watched}, {found.fingerprint}"


def _effect(effect: Effect) -> str:
    unsure = "" if effect.error is None else f" (the model is {effect.error:.1%} off what is read today)"
    return f"{_amount(effect)}{unsure}"


def _amount(effect: Effect) -> str:
    before = "" if effect.now is None else f"{shown(effect.now)} -> "
    return f"{effect.quantity}: {before}{shown(effect.predicted)}"


def _alternative(other: Alternative) -> str:
    cost = "" if other.cost is None else f"; {_amount(other.cost)}"
    where = "" if other.change.via == BY_SQL else f"; {other.change.via}"
    return f"{_effect(other.effect)}{cost}{where}"


_TableOf = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def _tables(advice: Advice) -> Iterator[_TableOf]:
    """What follows the recommendations: title, columns and rows, of those that have any."""
    columns = "rule", "what", "why not", "fingerprint"
    tables: tuple[_TableOf, ...] = (
        (_OVERRULED, columns, list(map(_aside, advice.overruled))),
        (_SUPPRESSED, columns, list(map(_aside, advice.suppressed))),
        (_FAILED, ("rule", "how"), [(each.rule, each.reason) for each in advice.failed]),
        (_BLIND, ("lacks", "rules", "why", "cure"), _blind(advice)),
    )
    yield from (table for table in tables if table[2])


def _blind(advice: Advice) -> list[tuple[str, ...]]:
    """A row for each reason: one thing that is shut may blind a dozen rules, in several ways each."""
    by_reason: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for each in advice.blind:
        lacks, rules = by_reason.setdefault((each.reason, each.cure or ""), ({}, {}))
        lacks[each.lacks] = rules[each.rule] = None
    return [(", ".join(lacks), ", ".join(rules), reason, cure) for (reason, cure), (lacks, rules) in by_reason.items()]


def _aside(aside: SetAside) -> tuple[str, ...]:
    found = aside.recommendation
    return found.rule, found.summary, aside.reason, found.fingerprint


def markdown(advice: Advice) -> str:
    """The same for a ticket or a chat."""
    lines = [f"# innodb-advisor: {_inline(advice.server)}", "", f"Watched {duration(advice.watched_seconds)}.", ""]
    for found in advice.recommendations:
        lines += [f"## {found.severity.value}: {_inline(found.summary)}", "", *_markdown(found), ""]
    if not advice.recommendations:
        lines += [NOTHING, ""]
    for title, columns, rows in _tables(advice):
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
    sql = list(map(_sql, _lines(found)))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", "\n".join(sql))), default=0))  # names may hold some
    lines = [f"{fence}sql", *sql, fence, ""]
    if found.effect is not None:
        lines.append(f"Effect: {_inline(_effect(found.effect))}.  ")
    if found.cost is not None:
        lines.append(f"Cost: {_inline(_effect(found.cost))}.  ")
    lines += [f"Or `{other.change.config}`: {_inline(_alternative(other))}.  " for other in found.alternatives]
    lines += [f"Rule `{found.rule}`, confidence {found.confidence:g}, fingerprint `{found.fingerprint}`.", ""]
    lines += ["| evidence | value | source |", "| --- | ---: | --- |"]
    lines += [
        _row((item.name.replace("_", " "), f"{shown(item.value)} {item.unit}".strip(), item.source))
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


def print_checks(out: Console, checks: Sequence[Check]) -> None:
    """One line a source."""
    table = plain_table("source", "", "why", "cure", "rules that need it")
    for check in checks:
        mark = Text("–", "dim") if check.ok is None else Text("ok", "green") if check.ok else Text("no", "red")
        blinds = ", ".join(check.needed_by) if check.ok is False else ""
        table.add_row(Text(check.source), mark, Text(check.reason), Text(check.cure or ""), Text(blinds))
    out.print(table)


def plain_table(*columns: str) -> Table:
    """An empty one without lines."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def shown(value: Number | str) -> str:
    """A value for people: thousands apart."""
    return value if isinstance(value, str) else f"{value:,}"
