"""E3: a table larger than the old sublist is read repeatedly, at pct 37 and 95."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from advisor.models.lru.scenario import Scan, Scenario
from lab.experiments import passes
from lab.experiments.base import Cell, Column, Conclusion, Experiment
from lab.experiments.passes import PassSeries
from lab.harness.records import Data, Part
from lab.lru_scenarios import CLEANER_SECONDS, MYSQL, dumped, load, play
from lab.reports.criterion import Criterion
from lab.reports.pictures import BLUE, GREEN, ORANGE, PINK
from lab.servers import PrivateServer

GROUP = "experiments/E3"
PUBLISHED = {37: (45.71, 44.90, 24.44, 13.32, 13.12), 95: (35.87, 6.95, 6.95, 7.30, 7.03)}
"""Seconds of each pass, by innodb_old_blocks_pct (seed 002: MySQL 5.6, a 2 GB pool, a table of 1.6 GB)."""
PUBLISHED_SHARE = 1.6 / 2.0
"""The published table's share of the pool."""
SCENARIOS = {37: "seed-002-steps", 95: "seed-002-pct-95"}
TABLE = "big"

SLOW_SECONDS = 14.0
"""A pass of MySQL's slowed scans: one second reads half of the page cleaner's refill."""
QUIET_SECONDS, QUIET_PASSES = 5.0, 3
"""A slowed scan without writes."""


@dataclass(frozen=True)
class ScanRun:
    """One form of the experiment.

    Attributes:
        name: The kind of reads, for the table.
        pct: innodb_old_blocks_pct.
        written: Whether there are writes meanwhile, which keep MySQL's page cleaner awake.
        seconds: Seconds of a slowed pass; 0 for full speed.
        number: The number of passes.
    """

    name: str
    pct: int
    written: bool = False
    seconds: float = 0.0
    number: int = 5

    @property
    def key(self) -> str:
        """Its name in a part's data."""
        return f"{self.name}, pct {self.pct}"


FULL_SPEED, WIDE = ScanRun("full speed", 37), ScanRun("full speed", 95)
QUIET = ScanRun("slow, nothing written", 37, seconds=QUIET_SECONDS, number=QUIET_PASSES)
WRITTEN = ScanRun("full speed, writes", 37, written=True)
SLOWED = ScanRun("slow, writes", 37, written=True, seconds=SLOW_SECONDS)

RUNS = {
    "mysql-5.6": (FULL_SPEED, QUIET, WRITTEN, SLOWED, WIDE),
    "mysql-9.7": (FULL_SPEED, WRITTEN, SLOWED, WIDE),
    "mariadb-10.11": (FULL_SPEED, WIDE),
}
STEPS = {"mysql-5.6": SLOWED, "mysql-9.7": SLOWED, "mariadb-10.11": FULL_SPEED}
"""Each server's run with a constant free list."""


def scenario(server: str, run: ScanRun) -> Scenario:
    """The scenario of a run: MySQL's page cleaner runs once a second, and sleeps without writes."""
    published = load(SCENARIOS[run.pct])
    others, table = published.steps
    assert isinstance(table, Scan)  # noqa: S101 - it is what the experiment scans
    pool = published.pool
    if server in MYSQL:
        free_list = {"refill_seconds": CLEANER_SECONDS} if run.written else {"free_high": 0}
        pool = pool.model_copy(update={"free_low": 0, **free_list})
    return Scenario(
        pool=pool,
        steps=(others, table.model_copy(update={"passes": run.number, "seconds": run.seconds})),
    )


def _measure(name: str) -> Callable[[PrivateServer, Callable[[str], None]], Data]:
    def run(server: PrivateServer, say: Callable[[str], None]) -> Data:
        played = {}
        for form in RUNS[name]:
            say(form.key)
            played[form.key] = dumped(play(server, scenario(name, form)))
        return played

    return run


PARTS = tuple(Part(GROUP, name, name, {}, _measure(name)) for name in RUNS)
Results = Mapping[tuple[str, ScanRun], PassSeries]


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """Pages read by the passes on each server, with the model's and the published seconds."""
    results = {
        (server, run): passes.series(parts[server][run.key])[TABLE] for server, runs in RUNS.items() for run in runs
    }
    drawn = {
        "MySQL 5.6, full speed": ("mysql-5.6", FULL_SPEED),
        "MySQL 5.6, slow, writes": ("mysql-5.6", SLOWED),
        "MariaDB 10.11": ("mariadb-10.11", FULL_SPEED),
        "MySQL 5.6, pct 95": ("mysql-5.6", WIDE),
    }
    return Conclusion(
        columns=(Column("server"), Column("reads"), Column("pct"), *passes.COLUMNS),
        rows=tuple(_rows(results)),
        criteria=tuple(_criteria(results)),
        differences=tuple(_differences(results)),
        plot={
            "pages": {name: results[key].lines for name, key in drawn.items()},
            "published": {f"pct {pct}": list(seconds) for pct, seconds in PUBLISHED.items()},
        },
    )


def _rows(results: Results) -> Iterator[tuple[Cell, ...]]:
    """One row per pass. Published seconds stand with the published runs: 5.6 with steps, and with pct 95."""
    for (server, run), table in results.items():
        theirs = PUBLISHED[run.pct] if server == "mysql-5.6" and run in {SLOWED, WIDE} else ()
        for row in passes.rows(table, theirs):
            yield server, run.name, run.pct, *row


def _criteria(results: Results) -> Iterator[Criterion]:
    for (server, run), table in results.items():
        name = f"{server}, {run.name}, pct {run.pct}"
        if STEPS[server] == run:
            worst = max(abs(a - b) for a, b in zip(table.read, table.modelled, strict=True)) / table.pages
            yield Criterion(f"{name}: pages off the model, the worst pass, share of the table", worst, most=0.05)
            yield Criterion(f"{name}: passes until it is cached, more than the model's", table.late, -1, 1)
            yield Criterion(f"{name}: the pass that finds it cached", table.cached_at, 3, run.number)
        elif run == WIDE:
            yield Criterion(f"{name}: the pass that finds it cached", table.cached_at, 2, 2)
        elif not run.written:
            off = passes.off({TABLE: table})
            yield Criterion(f"{name}: pages off the model, share of those read", off, most=0.005)
            yield Criterion(f"{name}: least read by a later pass, share of the table", table.least_later, least=0.5)


def _differences(results: Results) -> Iterator[str]:
    for server in ("mysql-5.6", "mysql-9.7"):
        flat, slowed, written = (results[server, run] for run in (FULL_SPEED, SLOWED, WRITTEN))
        if flat.least_later > passes.CACHED and slowed.cached_at <= SLOWED.number:
            yield (
                f"{server} shows no steps at full speed: {flat.read[-1]:,} pages at the last pass, as at the second,"
                f" and at most {flat.most_free:,.0f} pages in the free list after a pass. Its page cleaner sleeps"
                f" without writes. With a small write load and slow reads, the free list had up to"
                f" {slowed.most_free:,.0f} pages, and the table was cached at pass {slowed.cached_at}."
            )
        if written.read[-1] < flat.read[-1] and written.cached_at > slowed.cached_at:
            yield (
                f"With writes at full speed {server} reads less with each pass, too, over more passes"
                f" ({passes.in_turn(written.read)}). They took {min(written.seconds):.1f} to"
                f" {max(written.seconds):.1f} s, and the page cleaner refills the free list once a second. The moment"
                f" of the refill within a pass decides its gain; the model does not know it and has"
                f" {passes.in_turn(written.modelled)}."
            )
    quiet, slowed = results["mysql-5.6", QUIET], results["mysql-5.6", SLOWED]
    if quiet.least_later > passes.CACHED:
        yield (
            f"Slow reads alone cause no steps on mysql-5.6: {passes.in_turn(quiet.read)} pages at"
            f" {min(quiet.seconds):.0f} s a pass without writes, and {quiet.most_free:,.0f} pages in the free list."
        )
    if slowed.cached_at <= len(PUBLISHED[37]) and PUBLISHED[37][-1] > 1.5 * PUBLISHED[95][-1]:
        here = load(SCENARIOS[37])
        yield (
            f"The published server still took {PUBLISHED[37][-1]} s at its fifth pass, more than the"
            f" {PUBLISHED[95][-1]} s of a cached one: part of the table was still read. Ours was cached at pass"
            f" {slowed.cached_at}. The table was {PUBLISHED_SHARE:.0%} of that pool and is"
            f" {here.sizes()[TABLE] / here.pool.pages:.0%} of ours. The"
            f" other reads and writes of the published server, and its free list, are unknown."
        )


def draw(figure: Figure, data: Data) -> None:
    """On the left what each pass read, by server and setting; on the right what was published."""
    passes.draw(figure, data, (GREEN, BLUE, PINK, ORANGE), (BLUE, ORANGE), ratio=1.5)
    left, right = figure.axes
    left.set_title("here: a pool of 256 MiB", fontsize=11)
    right.set_title("published: MySQL 5.6, a pool of 2 GB", fontsize=11)
    left.legend(loc="upper center", ncols=3, fontsize=8, bbox_to_anchor=(0.5, -0.16))
    right.legend(loc="upper right", fontsize=9)


EXPERIMENT = Experiment("E3", "The same SELECT over and over", PARTS, conclude, draw)
