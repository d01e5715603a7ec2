"""The cost of the LRU model's sweep, compared with the page-exact reference."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from rich.table import Table

from lab.bench import model_process
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.model_process import ModelCost
from lab.bench.sweep import GIB, SWEEP, SweepSettings

MOST_SECONDS, MOST_MIB, MOST_OFF = 1.0, 50.0, 3.0
"""The sweep's CPU and memory, and the error in pages read, in per cent, for workloads with point accesses."""
SCALE = 512  # 128 GiB become 16,384 pages
COMPARED = tuple(
    SweepSettings(gib, pct, ms)
    for gib, pct, ms in ((128, 5, 1000.0), (128, 37, 1000.0), (192, 37, 100_000.0), (128, 80, 0.0), (128, 95, 1000.0))
)
DAY = 86_400.0  # seconds
LINES = {
    "cpu": Line("a sweep around 128 GiB: CPU", "s", "", Bound(most=MOST_SECONDS, of="value")),
    "memory": Line("a sweep around 128 GiB: memory", "MiB", "", Bound(most=MOST_MIB, of="value")),
    "off": Line(f"the same {SCALE} times smaller: off in pages read", "%", "", Bound(most=MOST_OFF, of="value")),
    "faster": Line(f"the same {SCALE} times smaller: CPU of a configuration", "s", "page by page"),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """The sweep several times, and some configurations by the reference too."""
    sweeps = []
    for number in range(1, (runs := effort.rounds(5, 1)) + 1):
        say(f"sweep {number} of {runs}")
        sweeps.append(model_process.model_cost("served", SWEEP))
    pairs = []
    for each in COMPARED[1:2] if effort.short else COMPARED:
        say(f"page by page: a pool of {each.pool_gib} GiB, {each.old_blocks_pct} %")
        pairs.append(
            (
                each,
                model_process.model_cost("served", [each], SCALE),
                model_process.model_cost("page-exact", [each], SCALE),
            )
        )
    worst = max(_off(ours, exact) for _, ours, exact in pairs)
    return Measurement(
        {
            "cpu": Values(ours=tuple(each.cpu_seconds for each in sweeps)),
            "memory": Values(ours=tuple(each.mib for each in sweeps)),
            "off": Values(ours=(worst * 100,)),
            "faster": Values(
                ours=tuple(ours.cpu_seconds for _, ours, _ in pairs),
                beside=tuple(exact.cpu_seconds for _, _, exact in pairs),
                paired=True,
            ),
        },
        details=(
            _sweep_table(sweeps, len(SWEEP)),
            _comparison(pairs),
            _extrapolated([exact for _, _, exact in pairs], [each for each, _, _ in pairs]),
        ),
    )


def _off(ours: ModelCost, exact: ModelCost) -> float:
    """The served model's error in pages read, as a share of the reference's."""
    return abs(ours.pages_read[0] / exact.pages_read[0] - 1)


def _sweep_table(sweeps: Sequence[ModelCost], configurations: int) -> Table:
    table = _table(
        f"The sweep: {configurations} configurations of a pool around 128 GiB,\n20 rounds of 5 scans and a hot set",
        "run", "CPU, s", "wall, s", "memory, MiB", "CPU a configuration, ms",
    )  # fmt: skip
    rows = [(each.cpu_seconds, each.wall_seconds, each.mib) for each in sweeps]
    medians = tuple(statistics.median(column) for column in zip(*rows, strict=True))
    for name, (cpu, wall, mib) in (*((str(n), row) for n, row in enumerate(rows, 1)), ("median", medians)):
        table.add_row(name, f"{cpu:.3f}", f"{wall:.3f}", f"{mib:.1f}", f"{cpu / configurations * 1000:.1f}")
    return table


def _comparison(pairs: Iterable[tuple[SweepSettings, ModelCost, ModelCost]]) -> Table:
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


def _extrapolated(exact: Sequence[ModelCost], configurations: Sequence[SweepSettings]) -> str:
    """The reference's cost for the full sweep, at its measured cost per page."""
    seconds = statistics.mean(each.cpu_seconds for each in exact) * SCALE
    each_page = statistics.mean(
        each.mib / (c.pool_gib * GIB / SCALE) for each, c in zip(exact, configurations, strict=True)
    )
    return (
        f"Extrapolated, not measured: the reference would take {seconds / 3600:.1f} h a configuration of the sweep,"
        f" {seconds * len(SWEEP) / DAY:.0f} days for all {len(SWEEP)},\n"
        f"and {each_page * 128 * GIB / 1024:.1f} GiB for a pool of 128 GiB."
    )


FIGURE = Figure(
    name="model",
    title="The LRU model",
    about=(
        f"The sweep of {len(SWEEP)} configurations of a pool around 128 GiB: five sizes, ten values of"
        " innodb_old_blocks_pct, three of innodb_old_blocks_time; 20 rounds of five scans and a hot set. Each run has"
        " its own process on one core. Some configurations also run on the page-exact reference of the tests."
    ),
    lines=LINES,
    measure=measure,
    seconds=(160.0, 25.0),
)
