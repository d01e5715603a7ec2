"""docs/experiments.md and its pictures, from the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lab.experiments import EXPERIMENTS
from lab.experiments.base import Cell, Column, Conclusion, Expectation, Experiment
from lab.harness import records
from lab.reports import pictures
from lab.reports.markdown import ran_on, table

PICTURES = pictures.FOLDER / "experiments"

_HEAD = """\
# The published experiments, on real servers here

These are five published experiments on InnoDB, repeated on real servers and scaled down to a small machine. The
server's own counters are read with every time. Each experiment has one table and one picture with the published
numbers, the numbers measured here, and the model's. Its expectations are ratios or numbers of pages, never seconds.
`make lab` repeats all experiments, `make lab EXPERIMENT=E3` repeats one. This page is generated from their records.

"""


def outcomes() -> dict[str, tuple[Experiment, Mapping[str, Any], Conclusion]]:
    """The experiments with a record, with the record and its conclusion."""
    found = {}
    for name, each in EXPERIMENTS.items():
        record = records.load(f"experiments/{name}")
        if record is not None:
            found[name] = (each, record, each.conclude(records.data(record)))
    return found


def page() -> str:
    """The page as a whole."""
    found = outcomes()
    rows = [
        [f"[{name}](#{anchor(each)})", each.title, _held(outcome.checks)] for name, (each, _, outcome) in found.items()
    ]
    overview = table(["experiment", "what was published", "what must hold"], rows)
    return _HEAD + overview + "".join(_section(*each) for each in found.values())


def draw() -> None:
    """Draw the pictures, as SVG and PNG."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, (each, _, outcome) in outcomes().items():
        for suffix in (".svg", ".png"):
            pictures.save(each.draw, outcome.plot, each.size, PICTURES / f"{name}{suffix}")


def anchor(experiment: Experiment) -> str:
    """The anchor of its section, as GitHub derives it from the heading."""
    kept = "".join(letter for letter in _heading(experiment).lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _heading(experiment: Experiment) -> str:
    return f"{experiment.id}: {experiment.title}"


def _held(checks: tuple[Expectation, ...]) -> str:
    failed = [check.what for check in checks if not check.holds]
    return f"NOT: {'; '.join(failed)}" if failed else f"all {len(checks)} checks"


def _section(experiment: Experiment, record: Mapping[str, Any], outcome: Conclusion) -> str:
    return "\n".join(["", *_paragraphs(experiment, record, outcome)])


def _paragraphs(experiment: Experiment, record: Mapping[str, Any], outcome: Conclusion) -> Iterator[str]:
    _, _, about = (experiment.folder / "README.md").read_text(encoding="utf-8").partition("\n")
    picture = f"{PICTURES.relative_to(pictures.FOLDER.parent)}/{experiment.id}"
    yield f"## {_heading(experiment)}\n"
    yield f"{about.strip()}\n"
    yield f"![{experiment.title}: published, measured and the model's]({picture}.svg)\n"
    yield f"The same as [PNG]({picture}.png).\n"
    cells = [[_cell(column, cell) for column, cell in zip(outcome.columns, row, strict=True)] for row in outcome.rows]
    yield table([column.title for column in outcome.columns], cells)
    yield "**What must hold**\n"
    rows = [
        [check.what, f"{check.value:,.4g}", check.wanted, "yes" if check.holds else "**no**"]
        for check in outcome.checks
    ]
    yield table(["", "measured", "wanted", "holds"], rows)
    if outcome.differences:
        yield "**Where it differs, and why**\n"
        yield "".join(f"- {each}\n" for each in outcome.differences)
    yield f"{ran_on(record)}\n"


def _cell(column: Column, value: Cell) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else format(value, column.form)
