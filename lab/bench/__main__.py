"""What the LRU model's sweep costs, beside the page-exact reference: `python -m lab.bench`, or `make bench`."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table

from lab.bench.sweep import GIB, SWEEP, Configuration
from lab.bench.worker import Measured, measured

MOST_SECONDS, MOST_MIB, MOST_OFF = 1.0, 50.0, 0.03
"""The bounds of issue 3: for the whole sweep on one core, and for pages read where there are point accesses too."""
SCALE = 512  # 128 GiB become 16,384 pages
COMPARED = tuple(
    Configuration(gib, pct, ms)
    for gib, pct, ms in ((128, 5, 1000.0), (128, 37, 1000.0), (192, 37, 100_000.0), (128, 80, 0.0), (128, 95, 1000.0))
)
DAY = 86_400.0  # seconds


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--runs", default=5, show_default=True, type=click.IntRange(1), help="Take the median of so many.")
@click.option("--short", is_flag=True, help="A tenth of the sweep, once, and one comparison; only that is judged.")
def main(runs: int, short: bool) -> None:  # noqa: FBT001 - click's flag
    """Measure the sweep's time and memory, and the page-exact reference's; 1 is returned if a bound is broken."""
    console = Console(width=110, highlight=False)
    configurations = SWEEP[::10] if short else SWEEP
    sweeps = [measured("served", configurations) for _ in range(1 if short else runs)]
    compared = COMPARED[1:2] if short else COMPARED
    pairs = [(each, measured("served", [each], SCALE), measured("page-exact", [each], SCALE)) for each in compared]
    cpu, mib = (statistics.median(values) for values in ([s.cpu_seconds for s in sweeps], [s.mib for s in sweeps]))
    worst = max(_off(ours, exact) for _, ours, exact in pairs)
    console.print(_sweep_table(sweeps, len(configurations)), _comparison(pairs), sep="\n")
    console.print(_extrapolated([exact for _, _, exact in pairs], [each for each, _, _ in pairs], cpu))
    verdicts = [_verdict("pages read, the worst of the comparison", worst * 100, MOST_OFF * 100, "%")]
    if not short:
        verdicts += [_verdict("CPU time", cpu, MOST_SECONDS, "s"), _verdict("memory", mib, MOST_MIB, "MiB")]
    console.print("The bounds are those of issue 3:")
    for text, _ in verdicts:
        console.print(f"  {text}")
    sys.exit(0 if all(kept for _, kept in verdicts) else 1)


def _verdict(what: str, value: float, bound: float, unit: str) -> tuple[str, bool]:
    kept = value < bound
    return f"{what}: {value:.3f} {unit}, {'under' if kept else 'NOT under'} {bound:g} {unit}", kept


def _off(ours: Measured, exact: Measured) -> float:
    """By which part of the pages that the reference reads the served model is off."""
    return abs(ours.pages_read[0] / exact.pages_read[0] - 1)


def _sweep_table(sweeps: Iterable[Measured], configurations: int) -> Table:
    table = _table(
        f"The sweep: {configurations} configurations of a pool around 128 GiB,\n20 rounds of 5 scans and a hot set",
        "run", "CPU, s", "wall, s", "memory, MiB", "CPU a configuration, ms",
    )  # fmt: skip
    rows = [(each.cpu_seconds, each.wall_seconds, each.mib) for each in sweeps]
    medians = tuple(statistics.median(column) for column in zip(*rows, strict=True))
    for name, (cpu, wall, mib) in (*((str(n), row) for n, row in enumerate(rows, 1)), ("median", medians)):
        table.add_row(name, f"{cpu:.3f}", f"{wall:.3f}", f"{mib:.1f}", f"{cpu / configurations * 1000:.1f}")
    return table


def _comparison(pairs: Iterable[tuple[Configuration, Measured, Measured]]) -> Table:
    table = _table(
        f"The same {SCALE} times smaller, beside the page-exact reference (in the tests)",
        "pool,\npages", "pct", "time,\nms", "served,\ns", "exact,\ns", "ratio", "served,\nMiB", "exact,\nMiB",
        "served,\npages read", "exact,\npages read", "off,\n%", "lookups\nalone, %",
    )  # fmt: skip
    for (gib, pct, ms), ours, exact in pairs:
        table.add_row(
            f"{gib * GIB // SCALE:,}", f"{pct}", f"{ms:.0f}",
            f"{ours.cpu_seconds:.3f}", f"{exact.cpu_seconds:.2f}", f"{exact.cpu_seconds / ours.cpu_seconds:.0f}",
            f"{ours.mib:.1f}", f"{exact.mib:.1f}",
            f"{ours.pages_read[0]:,.0f}", f"{exact.pages_read[0]:,.0f}", f"{_off(ours, exact) * 100:.2f}",
            f"{abs(ours.looked_up[0] / exact.looked_up[0] - 1) * 100:.1f}",
        )  # fmt: skip
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _extrapolated(exact: list[Measured], configurations: list[Configuration], cpu: float) -> str:
    """What the reference would take for the sweep itself: each of its pages costs what it cost here."""
    seconds = statistics.mean(each.cpu_seconds for each in exact) * SCALE
    each_page = statistics.mean(
        each.mib / (c.pool_gib * GIB / SCALE) for each, c in zip(exact, configurations, strict=True)
    )
    days = seconds * len(SWEEP) / DAY
    return (
        f"Extrapolated, not measured: the reference would take {seconds / 3600:.1f} h a configuration of the sweep,"
        f" {days:.0f} days for all {len(SWEEP)},\nand {each_page * 128 * GIB / 1024:.1f} GiB for a pool of 128 GiB."
        f" The served model took {cpu:.3f} s for what was asked of it above."
    )


if __name__ == "__main__":
    main()
