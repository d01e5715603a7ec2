"""Records of the benchmark: lab/records/bench-<figure>.json."""

from __future__ import annotations

import datetime as dt

from pydantic import BaseModel

from lab.bench.figures import Measurement, Values
from lab.harness import records


class FigureRecord(BaseModel):
    """The record of one figure.

    Attributes:
        date: ISO 8601.
        machine: As from `records.machine`.
        versions: Versions of the programs, by name.
        times: The number of measurements: 2 if the first broke a bound.
        lines: By key.
    """

    date: str
    machine: dict[str, float | str]
    versions: dict[str, str]
    times: int
    lines: dict[str, Values]


def save(name: str, found: Measurement, times: int) -> None:
    """Write the record of a figure, over the old one."""
    made = FigureRecord(
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        machine=records.machine(),
        versions=dict(found.versions),
        times=times,
        lines={key: _rounded(each) for key, each in found.values.items()},
    )
    path = records.FOLDER / f"bench-{name}.json"
    path.write_text(made.model_dump_json(indent=1) + "\n", encoding="utf-8")


def load(name: str) -> FigureRecord | None:
    """A figure's record; None while there is none."""
    found = records.load(f"bench-{name}")
    return None if found is None else FigureRecord.model_validate(found)


def _rounded(measured: Values) -> Values:
    """The values with five digits, more than their precision."""

    def short(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(float(f"{value:.5g}") for value in values)

    return Values(ours=short(measured.ours), beside=short(measured.beside), paired=measured.paired)
