"""docs/experiments.md and its pictures, from the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.experiments import EXPERIMENTS
from lab.experiments.base import Conclusion, Experiment
from lab.harness import records
from lab.reports import pictures
from lab.reports.criterion import Criterion
from lab.reports.markdown import ran_on, table

PICTURES = pictures.FOLDER / "experiments"

_HEAD = """\
# The published experiments, on real servers here

These are five published experiments on InnoDB, repeated on real servers and scaled down to a small machine. The
server's own counters are read with every time. Each experiment has one table and one picture with the published
numbers, the numbers measured here, and the model's. Its expectations are ratios or numbers of pages, never seconds.
`make lab` repeats all experiments, `make lab EXPERIMENT=E3` repeats one. This page is generated from their records.

"""


def conclusions() -> dict[str, tuple[Experiment, Mapping[str, Any], Conclusion]]:
    """The experiments with a record, with the record and its conclusion."""
    return {
        name: (experiment, record, experiment.conclude(records.data(record)))
        for name, experiment in EXPERIMENTS.items()
        if (record := records.load(f"experiments/{name}")) is not None
    }


def page() -> str:
    """The page as a whole."""
    concluded = conclusions()
    rows = [
        [f"[{name}](#{_anchor(experiment)})", experiment.title, _held(conclusion.criteria)]
        for name, (experiment, _, conclusion) in concluded.items()
    ]
    overview = table(["experiment", "what was published", "what must hold"], rows)
    return _HEAD + overview + "".join("\n".join(["", *_section(*parts)]) for parts in concluded.values())


def draw() -> None:
    """Draw the pictures, as SVG and PNG."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, (experiment, _, conclusion) in conclusions().items():
        for suffix in (".svg", ".png"):
            pictures.save(experiment.draw, conclusion.plot, experiment.size, PICTURES / f"{name}{suffix}")


def _anchor(experiment: Experiment) -> str:
    """The anchor of its section, as GitHub derives it from the heading."""
    letters = "".join(letter for letter in _heading(experiment).lower() if letter.isalnum() or letter in " -_")
    return letters.replace(" ", "-")


def _heading(experiment: Experiment) -> str:
    return f"{experiment.id}: {experiment.title}"


def _held(criteria: Sequence[Criterion]) -> str:
    failed = [criterion.what for criterion in criteria if not criterion.holds]
    return f"NOT: {'; '.join(failed)}" if failed else f"all {len(criteria)} checks"


def _section(experiment: Experiment, record: Mapping[str, Any], conclusion: Conclusion) -> Iterator[str]:
    picture = f"{PICTURES.relative_to(pictures.FOLDER.parent)}/{experiment.id}"
    yield f"## {_heading(experiment)}\n"
    yield f"{experiment.about}\n"
    yield f"![{experiment.title}: published, measured and the model's]({picture}.svg)\n"
    yield f"The same as [PNG]({picture}.png).\n"
    columns = experiment.columns
    yield table(
        [column.title for column in columns], ([column.cell(row) for column in columns] for row in conclusion.rows)
    )
    yield "**What must hold**\n"
    rows = [
        [criterion.what, f"{criterion.value:,.4g}", criterion.bounds, "yes" if criterion.holds else "**no**"]
        for criterion in conclusion.criteria
    ]
    yield table(["", "measured", "wanted", "holds"], rows)
    yield experiment.differences(conclusion)
    yield f"{ran_on(record)}\n"
