"""The grades for people: each outcome, then the promises by rule."""

from __future__ import annotations

from rich.console import Console

from advisor.contract.templates import duration
from advisor.ledger.grades import Grades, Stretch
from advisor.render import outcomes
from advisor.render.history_text import print_outcomes
from advisor.render.phrases import moment
from advisor.render.terminal import in_file, plain_table, words

_COLUMNS = ("rule", "kept", "missed", "not comparable", "harm")


def print_grades(out: Console, found: Grades) -> None:
    """Each stretch with its outcomes, then the promises of all by rule."""
    for number, stretch in enumerate(found.stretches):
        if number:
            out.print()
        out.print(words(_stretch(stretch), "dim"))
        out.print()
        print_outcomes(out, stretch.outcomes)
        if not stretch.outcomes:
            out.print(outcomes.NOTHING)
    if found.rules:
        out.print("\nPromises by rule:")
        table = plain_table(*_COLUMNS, right=tuple(range(1, len(_COLUMNS))))
        for each in found.rules:
            counts = (each.kept, each.missed, each.not_comparable, each.harmful)
            table.add_row(words(each.rule), *map(str, counts))
        out.print(table)


def plain(found: Grades) -> str:
    """The output of ``print_grades`` in a file."""
    return in_file(lambda out: print_grades(out, found))


def _stretch(stretch: Stretch) -> str:
    findings = f"{len(stretch.findings)} finding{'' if len(stretch.findings) == 1 else 's'}"
    return (
        f"{stretch.server}, {', '.join(stretch.recordings)}: {moment(stretch.began)} to {moment(stretch.ended)}"
        f" ({duration(stretch.ended - stretch.began)}, {stretch.collections} collections), {findings}"
    )
