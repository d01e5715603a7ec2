"""Advice and checks for people: on a terminal, and as markdown."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.recommendation import Advice, Effect, Number, Recommendation, Severity
from advisor.summary import duration

_STYLE = {Severity.INFO: "cyan", Severity.WARNING: "yellow", Severity.CRITICAL: "bold red"}


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
    return Console(width=None if sys.stdout.isatty() else 200, highlight=False)


def print_advice(out: Console, advice: Advice) -> None:
    """Every recommendation with its evidence and SQL, then what the rules could not see."""
    out.print(
        f"{advice.server}, watched {duration(advice.watched_seconds)}", style="dim", markup=False, highlight=False
    )
    for found in advice.recommendations:
        out.print()
        out.print(_recommendation(found))
    if not advice.recommendations:
        out.print("Nothing to change, as far as has been watched.")
    if advice.blind:
        table = plain_table("rule", "lacks", "why", "cure")
        for each in advice.blind:
            table.add_row(*map(Text, (each.rule, each.lacks, each.reason, each.cure or "")))
        out.print("\nWhat the rules could not see:")
        out.print(table)


def _recommendation(found: Recommendation) -> Group:
    head = Text.assemble((found.severity.value, _STYLE[found.severity]), "  ", (found.summary, "bold"))
    evidence = plain_table("evidence", "value", "unit", "source")
    evidence.columns[1].justify = "right"
    for item in found.evidence:
        evidence.add_row(*map(Text, (item.name.replace("_", " "), shown(item.value), item.unit, item.source)))
    lines = Text("\n").join(
        Text.assemble((label, "dim"), statement, style="") for label, statement in _statements(found)
    )
    facts = Text("\n").join(Text(line) for line in _facts(found))
    return Group(
        head,
        Padding(lines, (0, 0, 0, 2), expand=False),
        Padding(facts, (0, 0, 0, 2), expand=False),
        Padding(evidence, (0, 0, 0, 2), expand=False),
    )


def _statements(found: Recommendation) -> Iterator[tuple[str, str]]:
    for change in found.changes:
        for label, statements in (
            ("apply       ", change.apply),
            ("take back   ", change.rollback),
            ("keep        ", change.persist),
        ):
            yield from ((label, f"{statement};") for statement in statements)
        yield "option file ", change.config


def _facts(found: Recommendation) -> Iterator[str]:
    yield f"effect      {_effect(found.effect)}"
    if found.cost is not None:
        yield f"cost        {_effect(found.cost)}"
    for other in found.alternatives:
        yield f"or          {other.change.setting} = {shown(other.change.to)}: {_effect(other.effect)}"
    yield (
        f"rule        {found.rule}, confidence {found.confidence:g}, "
        f"watched {duration(found.watched_seconds)}, {found.fingerprint}"
    )


def _effect(effect: Effect) -> str:
    before = "" if effect.now is None else f"{shown(effect.now)} -> "
    unsure = "" if effect.error is None else f" (the model is {effect.error:.1%} off what is read today)"
    return f"{effect.quantity}: {before}{shown(effect.predicted)}{unsure}"


def markdown(advice: Advice) -> str:
    """The same for a ticket or a chat."""
    lines = [f"# innodb-advisor: {advice.server}", "", f"Watched {duration(advice.watched_seconds)}.", ""]
    for found in advice.recommendations:
        lines += [f"## {found.severity.value}: {found.summary}", "", "```sql"]
        for change in found.changes:
            lines += [f"{statement};" for statement in change.apply]
            lines += [f"-- take back: {statement};" for statement in change.rollback]
            lines += [f"-- keep: {statement};" for statement in change.persist]
            lines.append(f"-- option file: {change.config}")
        lines += ["```", "", f"Effect: {_effect(found.effect)}.  "]
        if found.cost is not None:
            lines.append(f"Cost: {_effect(found.cost)}.  ")
        for other in found.alternatives:
            lines.append(f"Or `{other.change.config}`: {_effect(other.effect)}.  ")
        lines += [f"Rule `{found.rule}`, confidence {found.confidence:g}, fingerprint `{found.fingerprint}`.", ""]
        lines += ["| evidence | value | source |", "| --- | ---: | --- |"]
        lines += [
            f"| {item.name.replace('_', ' ')} | {shown(item.value)} {item.unit} | {item.source} |"
            for item in found.evidence
        ]
        lines.append("")
    if not advice.recommendations:
        lines += ["Nothing to change, as far as has been watched.", ""]
    if advice.blind:
        lines += ["## What the rules could not see", "", "| rule | lacks | why | cure |", "| --- | --- | --- | --- |"]
        lines += [f"| {b.rule} | {b.lacks} | {b.reason} | {b.cure or ''} |" for b in advice.blind]
        lines.append("")
    return "\n".join(lines)


def print_checks(out: Console, checks: Sequence[Check]) -> None:
    """One line a source."""
    table = plain_table("source", "", "why", "cure", "rules that need it")
    for check in checks:
        mark = Text("–", "dim") if check.ok is None else Text("ok", "green") if check.ok else Text("no", "red")
        table.add_row(
            Text(check.source), mark, Text(check.reason), Text(check.cure or ""), Text(", ".join(check.needed_by))
        )
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
