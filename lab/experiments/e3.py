"""E3: a table larger than the old sublist is read repeatedly, at pct 37 and 95."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from advisor.models.lru.scenario import Scan, Scenario
from lab.experiments import passes
from lab.experiments.base import Column, Conclusion, Experiment, Row
from lab.experiments.passes import PassSeries
from lab.harness.records import Data, Part, Say
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
WRITTEN_ON = ("mysql-5.6", "mysql-9.7")
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


def _measure(server: PrivateServer, say: Say) -> Data:
    played = {}
    for run in RUNS[server.name]:
        say(run.key)
        played[run.key] = dumped(play(server, scenario(server.name, run)))
    return played


PARTS = tuple(Part(GROUP, name, name, {}, _measure) for name in RUNS)
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
    here = load(SCENARIOS[37])
    return Conclusion(
        rows=tuple(_rows(results)),
        criteria=tuple(_criteria(results)),
        figures={
            "flat": {server: results[server, FULL_SPEED] for server in RUNS},
            "slowed": {server: results[server, SLOWED] for server in WRITTEN_ON},
            "written": {server: results[server, WRITTEN] for server in WRITTEN_ON},
            "quiet": results["mysql-5.6", QUIET],
            "published": PUBLISHED,
            "published_share": PUBLISHED_SHARE,
            "share": here.sizes()[TABLE] / here.pool.pages,
        },
        plot={
            "pages": {name: results[key].lines for name, key in drawn.items()},
            "published": {f"pct {pct}": list(seconds) for pct, seconds in PUBLISHED.items()},
        },
    )


def _rows(results: Results) -> Iterator[Row]:
    """One row per pass. Published seconds stand with the published runs: 5.6 with steps, and with pct 95."""
    for (server, run), table in results.items():
        theirs = PUBLISHED[run.pct] if server == "mysql-5.6" and run in {SLOWED, WIDE} else ()
        for row in passes.rows(table, theirs):
            yield {"server": server, "reads": run.name, "pct": run.pct, **row}


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


def draw(figure: Figure, data: Data) -> None:
    """On the left what each pass read, by server and setting; on the right what was published."""
    passes.draw(figure, data, (GREEN, BLUE, PINK, ORANGE), (BLUE, ORANGE), ratio=1.5)
    left, right = figure.axes
    left.set_title("here: a pool of 256 MiB", fontsize=11)
    right.set_title("published: MySQL 5.6, a pool of 2 GB", fontsize=11)
    left.legend(loc="upper center", ncols=3, fontsize=8, bbox_to_anchor=(0.5, -0.16))
    right.legend(loc="upper right", fontsize=9)


COLUMNS = (Column("server", "server"), Column("reads", "reads"), Column("pct", "pct"), *passes.COLUMNS)
EXPERIMENT = Experiment("E3", "The same SELECT over and over", PARTS, COLUMNS, conclude, draw)
