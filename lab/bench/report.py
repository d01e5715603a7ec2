"""The table of the figures: on the terminal, and as docs/performance.md from the records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table

from lab.bench import record
from lab.bench.figures import Bound, Figure, Line, Values, spread, times_worse
from lab.bench.record import FigureRecord
from lab.packages import cache
from lab.reports import markdown

PAGE = cache.REPOSITORY / "docs" / "performance.md"
MADE = "<!-- made by lab/bench from lab/records: make bench -->\n\n"
KEPT, BROKEN = "kept", "BROKEN"
WORSE = 1.25
"""A ratio that is so many times worse than its record is named."""
TITLES = ("figure", "ours", "beside it", "ratio", "bound", "")
_HEAD = """\
# What it costs

The figures of `make bench`: a real `innodb-advisor serve` on real servers, scraped over HTTP as Prometheus does. A
value is the median of all rounds, with the middle half in brackets. A ratio is our value divided by the reference. A
figure that breaks a bound is measured again, three times as long; only then does it count as broken.
`make bench ONLY=peer` measures one figure. This page is generated from the records.

"""


def terminal(
    measured: Mapping[str, Mapping[str, Values]], figures: Mapping[str, Figure], recorded: Mapping[str, FigureRecord]
) -> Table:
    """The table of what was measured, by figure and key, with the recorded ratios beside it."""
    table = Table(title="What it costs", title_justify="left", title_style="bold")
    for number, title in enumerate((*TITLES[:-1], "recorded ratio", TITLES[-1])):
        table.add_column(title, justify="left" if number in {0, 6} else "right")
    for name, lines in measured.items():
        table.add_section()
        before = recorded[name].lines if name in recorded else {}
        for key, cells in rows(figures[name], lines):
            style = "bold red" if cells[-1] == BROKEN else "green" if cells[-1] == KEPT else ""
            table.add_row(*cells[:-1], ratio(before.get(key)), cells[-1], style=style)
    return table


def worse(
    measured: Mapping[str, Mapping[str, Values]], figures: Mapping[str, Figure], recorded: Mapping[str, FigureRecord]
) -> list[str]:
    """The ratios that are worse than their record by a quarter."""
    return [
        f"{name}, {line.what}: {ratio(values)} beside {line.beside}, recorded {ratio(before)}"
        for name, lines in measured.items()
        if name in recorded
        for key, line in figures[name].lines.items()
        if (values := lines.get(key)) and (before := recorded[name].lines.get(key))
        if (times_worse(line, values, before) or 0.0) >= WORSE
    ]


def rows(figure: Figure, measured: Mapping[str, Values]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The cells of a figure's lines, as in `TITLES`, by key."""
    for key, line in figure.lines.items():
        found = measured.get(key)
        if found is not None:
            yield key, _row(line, found)
        elif line.bound is not None:
            yield key, (line.what, "not measured", "", "", bound(line.bound, line.unit), BROKEN)


def _row(line: Line, found: Values) -> tuple[str, ...]:
    verdict = "" if line.bound is None else KEPT if found.kept(line.bound) else BROKEN
    return (
        line.what,
        values(found.ours, line.unit),
        f"{values(found.beside, line.unit)}, {line.beside}" if found.beside else "",
        ratio(found),
        "" if line.bound is None else bound(line.bound, line.unit),
        verdict,
    )


def values(found: tuple[float, ...], unit: str) -> str:
    """The median, and the middle half if there are several values."""
    median = number(Values(ours=found).value)
    low, high = map(number, spread(found))
    told = f"{median} {unit}".strip()
    return told if low == high else f"{told} ({low}–{high})"


def ratio(found: Values | None) -> str:
    """The ratio to the reference; empty without one."""
    return "" if found is None or found.ratio is None else f"{number(found.ratio)} ×"


def bound(wanted: Bound, unit: str) -> str:
    """The limits in words."""
    sign = "×" if wanted.of == "ratio" else unit
    parts = [f"{word} {limit:g} {sign}".strip() for word, limit in (("≥", wanted.least), ("≤", wanted.most)) if limit]
    return ", ".join(parts)


def number(value: float) -> str:
    """A number with about three digits."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3f}".rstrip("0").rstrip(".")


def page(figures: Mapping[str, Figure], records: Mapping[str, FigureRecord]) -> str:
    """The text of docs/performance.md, from the records."""
    return _HEAD + "\n".join(
        part for name, figure in figures.items() if name in records for part in _section(figure, records[name])
    )


def _section(figure: Figure, record: FigureRecord) -> Iterator[str]:
    yield f"## {figure.title}\n"
    yield f"{figure.about}\n"
    yield markdown.table(TITLES, (cells for _, cells in rows(figure, record.lines)))
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    again = "" if record.times == 1 else " Measured twice: the first measurement broke a bound."
    machine = record.machine
    yield (
        f"Measured on {record.date}, {machine['cores']} cores, {machine['memory_gib']:g} GiB, Linux {machine['kernel']}"
        f"{f': {versions}' if versions else ''}.{again}\n"
    )


def document(figures: Mapping[str, Figure]) -> str | None:
    """The text of docs/performance.md with its head; None while there is no record."""
    found = {name: each for name in figures if (each := record.load(name)) is not None}
    return MADE + page(figures, found) if found else None


def write(figures: Mapping[str, Figure]) -> None:
    """Bring docs/performance.md up to date with the records."""
    made = document(figures)
    if made is not None:
        PAGE.write_text(made, encoding="utf-8")
