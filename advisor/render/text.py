"""Advice for people: on a terminal, and as plain text."""

from __future__ import annotations

from rich.console import Console, Group
from rich.padding import Padding

from advisor.contract.recommendation import Advice, Recommendation, SetAside, Severity
from advisor.render import phrases
from advisor.render.terminal import in_file, joined, labelled, plain_table, words

_STYLE = {Severity.INFO: "cyan", Severity.WARNING: "yellow", Severity.CRITICAL: "bold red"}


def print_advice(out: Console, advice: Advice) -> None:
    """Every recommendation with its evidence and SQL, then findings set aside, failed rules and blind spots."""
    out.print(words(phrases.origin(advice), "dim"))
    for found in advice.recommendations:
        out.print()
        out.print(_recommendation(found))
    if not advice.recommendations:
        out.print(phrases.NOTHING)
    for appendix in phrases.appendices(advice):
        table = plain_table(*appendix.columns)
        for row in appendix.rows:
            table.add_row(*map(words, row))
        out.print(f"\n{appendix.title}:")
        out.print(table)


def plain(advice: Advice) -> str:
    """The output of ``print_advice`` in a file."""
    return in_file(lambda out: print_advice(out, advice))


def plain_finding(found: Recommendation | SetAside) -> str:
    """One recommendation as ``plain`` has it; with the reason where it is set aside."""
    return in_file(lambda out: _print_finding(out, found))


def _print_finding(out: Console, found: Recommendation | SetAside) -> None:
    if isinstance(found, SetAside):
        out.print(words(f"Set aside: {found.reason}"))
        found = found.recommendation
    out.print(_recommendation(found))


def _recommendation(found: Recommendation) -> Group:
    head = joined((found.severity.value, _STYLE[found.severity]), "  ", (found.summary, "bold"))
    evidence = plain_table("evidence", "value", "unit", "source", right=(1,))
    for item in found.evidence:
        name, value = item.name.replace("_", " "), phrases.value_text(item.value, item.unit)
        evidence.add_row(*map(words, (name, value, phrases.unit_text(item.unit), item.source)))
    blocks = (labelled(phrases.instructions(found)), labelled(phrases.details(found), ""), evidence)
    return Group(head, *(Padding(block, (0, 0, 0, 2), expand=False) for block in blocks))
