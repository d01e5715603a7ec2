"""The records of the benchmarks, and their table: on the terminal, and as docs/performance.md from the records."""

from __future__ import annotations

import datetime as dt
import statistics
from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel
from rich.table import Table

from lab.bench.figures import Benchmark, BenchRun, Figure, Values, spread
from lab.harness import records
from lab.packages import cache
from lab.reports import markdown

PAGE = cache.REPOSITORY / "docs" / "performance.md"
KEPT, BROKEN = "kept", "BROKEN"
WORSE = 1.25
"""A ratio that is worse than its record by this factor is named."""
TITLES = ("figure", "ours", "beside it", "ratio", "bound", "")
_HEAD = """\
<!-- made by lab/bench from lab/records: make bench -->

# What it costs

The figures of `make bench`: a real `innodb-advisor serve` on real servers, scraped over HTTP as Prometheus does. A
value is the median of all rounds, with the middle half in brackets. A ratio is our value divided by the reference. A
figure that breaks a bound is measured again, three times as long; only then does it count as broken.
`make bench ONLY=peer` measures one figure. This page is generated from the records.

"""


class BenchRecord(BaseModel):
    """The record of one benchmark: lab/records/bench-<name>.json.

    Attributes:
        date: ISO 8601.
        commit: What was measured.
        machine: As from `records.machine`.
        versions: Versions of the programs, by name.
        times: The number of measurements: 2 if the first broke a bound.
        lines: By key of the figure.
    """

    date: str
    commit: str
    machine: dict[str, float | str]
    versions: dict[str, str]
    times: int
    lines: dict[str, Values]


def save(name: str, run: BenchRun) -> None:
    """Write the record of a benchmark, over the old one: values have five digits, more than their precision."""
    record = BenchRecord(
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        commit=records.commit(),
        machine=records.machine(),
        versions=run.versions,
        times=2 if run.longer else 1,
        lines={
            key: Values(ours=_rounded(values.ours), beside=_rounded(values.beside))
            for key, values in run.values.items()
        },
    )
    path = records.FOLDER / f"bench-{name}.json"
    path.write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _rounded(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(f"{value:.5g}") for value in values)


def load(name: str) -> BenchRecord | None:
    """A benchmark's record; None while there is none."""
    record = records.load(f"bench-{name}")
    return None if record is None else BenchRecord.model_validate(record)


def terminal(measured: Mapping[str, Mapping[str, Values]], benchmarks: Mapping[str, Benchmark]) -> Table:
    """The table of measured values, with the recorded ratios beside them."""
    table = Table(title="What it costs", title_justify="left", title_style="bold")
    for number, title in enumerate((*TITLES[:-1], "recorded ratio", TITLES[-1])):
        table.add_column(title, justify="left" if number in {0, 6} else "right")
    for name, values in measured.items():
        table.add_section()
        record = load(name)
        for key, cells in _rows(benchmarks[name], values):
            style = "bold red" if cells[-1] == BROKEN else "green" if cells[-1] == KEPT else ""
            recorded = record.lines.get(key) if record else None
            table.add_row(*cells[:-1], _ratio(benchmarks[name].figures[key], recorded), cells[-1], style=style)
    return table


def worse(measured: Mapping[str, Mapping[str, Values]], benchmarks: Mapping[str, Benchmark]) -> list[str]:
    """The ratios that are worse than their record by a quarter."""
    return [
        f"{name}, {figure.what}: {_ratio(figure, values[key])} beside {figure.rival}, recorded {_ratio(figure, before)}"
        for name, values in measured.items()
        if (record := load(name)) is not None
        for key, figure in benchmarks[name].figures.items()
        if key in values and (before := record.lines.get(key)) is not None
        if (figure.times_worse(values[key], before) or 0.0) >= WORSE
    ]


def _rows(benchmark: Benchmark, measured: Mapping[str, Values]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The cells of a benchmark's figures, as in `TITLES`, by key."""
    for key, figure in benchmark.figures.items():
        values = measured.get(key)
        if values is not None:
            beside = f"{_values(values.beside, figure.unit)}, {figure.rival}" if values.beside else ""
            verdict = "" if not figure.bound else KEPT if figure.holds(values) else BROKEN
            ours = _values(values.ours, figure.unit)
            yield key, (figure.what, ours, beside, _ratio(figure, values), figure.bound, verdict)
        elif figure.bound:
            yield key, (figure.what, "not measured", "", "", figure.bound, BROKEN)


def _values(values: Sequence[float], unit: str) -> str:
    """The median, and the middle half if there are several values."""
    median = f"{_number(statistics.median(values))} {unit}".strip()
    low, high = map(_number, spread(values))
    return median if low == high else f"{median} ({low}–{high})"


def _ratio(figure: Figure, values: Values | None) -> str:
    """The ratio to the rival; empty without one."""
    ratio = None if values is None else figure.ratio(values)
    return "" if ratio is None else f"{_number(ratio)} ×"


def _number(value: float) -> str:
    """A number with about three digits."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3f}".rstrip("0").rstrip(".")


def document(benchmarks: Mapping[str, Benchmark]) -> str | None:
    """The text of docs/performance.md; None while there is no record."""
    recorded = {name: record for name in benchmarks if (record := load(name)) is not None}
    sections = (part for name, record in recorded.items() for part in _section(benchmarks[name], record))
    return _HEAD + "\n".join(sections) if recorded else None


def _section(benchmark: Benchmark, record: BenchRecord) -> Iterator[str]:
    yield f"## {benchmark.title}\n"
    yield f"{benchmark.method}\n"
    yield markdown.table(TITLES, (cells for _, cells in _rows(benchmark, record.lines)))
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    again = "" if record.times == 1 else " Measured twice: the first measurement broke a bound."
    machine = record.machine
    yield (
        f"Measured on {record.date} at commit {record.commit}, {machine['cores']} cores,"
        f" {machine['memory_gib']:g} GiB, Linux {machine['kernel']}"
        f"{f': {versions}' if versions else ''}.{again}\n"
    )


def write(benchmarks: Mapping[str, Benchmark]) -> None:
    """Bring docs/performance.md up to date with the records."""
    page = document(benchmarks)
    if page is not None:
        PAGE.write_text(page, encoding="utf-8")
