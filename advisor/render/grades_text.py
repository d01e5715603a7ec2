"""The grades for people: each outcome, then the calibration."""

from __future__ import annotations

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from advisor.contract.templates import duration
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.grades import Grades, Stretch
from advisor.render import outcomes
from advisor.render.calibration_text import print_calibration
from advisor.render.phrases import moment
from advisor.render.terminal import WIDTH

_STYLE = {Result.KEPT: "green", Result.MISSED: "yellow", Result.NOT_COMPARABLE: "dim", Result.OPEN: "dim"}
_HARM = "bold red"
NOTHING = "No setting was changed: there is nothing to grade."


def print_grades(out: Console, found: Grades) -> None:
    """Each stretch with its outcomes, then the calibration of all."""
    for number, stretch in enumerate(found.stretches):
        if number:
            out.print()
        out.print(_stretch(stretch), style="dim", markup=False, highlight=False)
        for each in stretch.outcomes:
            out.print()
            print_outcome(out, each)
        if not stretch.outcomes:
            out.print(NOTHING)
    if found.calibration.rules:
        out.print("\nCalibration:")
        print_calibration(out, found.calibration)


def plain(found: Grades) -> str:
    """The output of ``print_grades`` in a file."""
    out = io.StringIO()
    print_grades(Console(file=out, width=WIDTH, highlight=False), found)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def print_outcome(out: Console, outcome: Outcome) -> None:
    """The change and what became of it, then its details."""
    style = _HARM if outcome.harm else _STYLE.get(outcome.result, "")
    out.print(Text(outcomes.head(outcome), style=style))
    lines = Text("\n").join(Text(f"{label:<11}{line}") for label, line in outcomes.details(outcome))
    out.print(Padding(lines, (0, 0, 0, 2), expand=False))


def _stretch(stretch: Stretch) -> str:
    findings = f"{len(stretch.findings)} finding{'' if len(stretch.findings) == 1 else 's'}"
    return (
        f"{stretch.server}, {', '.join(stretch.recordings)}: {moment(stretch.began)} to {moment(stretch.ended)}"
        f" ({duration(stretch.ended - stretch.began)}, {stretch.collections} collections), {findings}"
    )
