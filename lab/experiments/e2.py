"""E2 on MySQL 9.7: three tables, each counted ten times in turn, in a pool that holds two of them or all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pymysql
from matplotlib.figure import Figure

from advisor.models.lru.scenario import Fetch, Pool, Scan, Scenario
from lab.experiments import passes
from lab.experiments.base import Column, Conclusion, Experiment, Row
from lab.experiments.passes import PassSeries
from lab.harness.measure import measure
from lab.harness.records import Data, Part, Say
from lab.harness.workloads import SCHEMA, ask, count, scan_slowly
from lab.lru_scenarios import CLEANER_SECONDS, PARALLEL_READ_THREADS, Reader, dumped, play, table_name
from lab.reports.criterion import Criterion
from lab.reports.pictures import BLUE, GREEN, INK, ORANGE, PINK
from lab.servers import PrivateServer

SHORT, LONG, LONG_UK = "short", "long", "long_uk"

SECONDS = {
    "1": {
        SHORT: (0.93, 0.08, 0.09, 0.08, 0.09, 0.08, 0.08, 0.08, 0.10, 0.11),
        LONG: (72.30, 0.33, 0.36, 0.32, 0.33, 0.35, 0.34, 0.33, 0.33, 0.33),
        LONG_UK: (62.56, 45.13, 46.65, 52.16, 43.03, 40.14, 42.18, 43.05, 42.12, 39.24),
    },
    "2": {
        SHORT: (0.40, 0.08, 0.08, 0.09, 0.08, 0.09, 0.08, 0.09, 0.08, 0.08),
        LONG_UK: (68.50, 0.34, 0.34, 0.33, 0.33, 0.33, 0.33, 0.32, 0.33, 0.33),
        LONG: (58.21, 46.88, 46.70, 49.13, 49.49, 51.86, 51.62, 57.11, 61.55, 55.76),
    },
    "3": {
        SHORT: (0.42, 0.34, 0.34, 0.34, 0.34, 0.34, 0.34, 0.34, 0.34, 0.34),
        LONG: (38.28, 0.85, 0.84, 0.85, 0.84, 0.84, 0.84, 0.85, 0.83, 0.84),
        LONG_UK: (36.10, 77.66, 73.98, 17.55, 10.92, 10.23, 8.96, 1.32, 1.01, 1.00),
    },
    "4": {
        SHORT: (0.81, 0.64, 0.64, 0.63, 0.63, 0.63, 0.63, 0.64, 0.63, 0.63),
        LONG: (51.94, 80.50, 47.61, 22.79, 14.38, 14.28, 14.18, 14.26, 14.42, 14.27),
        LONG_UK: (58.15, 77.20, 76.93, 44.45, 43.64, 44.40, 44.06, 44.60, 53.88, 51.60),
    },
    "5": {
        SHORT: (0.84, 0.04, 0.04, 0.04, 0.04, 0.04, 0.05, 0.04, 0.05, 0.04),
        LONG: (66.37, 0.18, 0.17, 0.18, 0.18, 0.17, 0.17, 0.17, 0.17, 0.18),
        LONG_UK: (63.46, 0.17, 0.17, 0.17, 0.18, 0.17, 0.17, 0.17, 0.17, 0.18),
    },
}
"""The tables in the order of their counts, ten each."""


def by_threads(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) by parallel threads, MySQL 8.0's default number."""
    _count(connection, table, PARALLEL_READ_THREADS)


def by_one(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) with innodb_parallel_read_threads = 1."""
    _count(connection, table, 1)


def by_one_slowed(connection: pymysql.Connection[Any], table: str, step: Scan) -> None:
    """COUNT(*) by one thread; for a step with a duration, a sum over the rows instead, which can be slowed down."""
    if step.seconds:
        scan_slowly(connection, table, step.pages, step.seconds)
    else:
        by_one(connection, table, step)


def above_zero(connection: pymysql.Connection[Any], table: str, _step: Scan) -> None:
    """COUNT(*) of every row with a condition, which has no parallel readers."""
    ask(connection, f"SELECT COUNT(*) FROM {SCHEMA}.{table} FORCE INDEX (PRIMARY) WHERE id > 0")


def _count(connection: pymysql.Connection[Any], table: str, threads: int) -> None:
    ask(connection, f"SET innodb_parallel_read_threads = {threads}")
    count(connection, table, force_primary=True)


SERVER = "mysql-9.7"
GROUP = "experiments/E2"

POOL, LARGE_POOL = 8_192, 16_384  # pages: the two large tables do not fit together; all tables fit
PAGES = {SHORT: 160, LONG: 6_112, LONG_UK: 6_112}
PROBE, PROBE_PAGES = "probe", 320
"""A table that fits the old sublist: a second count promotes its pages, if the reader promotes at all."""
INDEXES = {LONG_UK: 1}
PASSES = 10

OLD_BLOCKS_MS, GAP_SECONDS = 200.0, 0.25
"""At full speed a scan takes some tenths of a second, not the published 45 s. innodb_old_blocks_time is scaled down:
it is shorter than the time between two passes, as published."""
FREE_HIGH, SLOW_SECONDS, SLOW_GAP_SECONDS = 800, 4.3, 0.5
"""Case 3: the page cleaner refills innodb_lru_scan_depth pages a second, while a scan reads 1,400. On the published
server it refilled 8,192 (by default eight instances with 1,024 each), while a scan read about 15,000."""

SMALL = Pool(pages=POOL, old_blocks_time_ms=OLD_BLOCKS_MS)


@dataclass(frozen=True)
class PublishedCase:
    """One way to count the tables.

    Attributes:
        number: The published case.
        how: The differences from the published case, for the table.
        order: The tables in the order of their counts.
        reader: The statement.
        pool: The pool and its settings.
        fetch: The way in which the statement requests pages.
        slow_seconds: Seconds of each scan of the last table; 0 for full speed.
    """

    number: str
    how: str
    order: tuple[str, ...]
    reader: Reader
    pool: Pool = SMALL
    fetch: Fetch = "normal"
    slow_seconds: float = 0.0

    @property
    def name(self) -> str:
        """Its key in a part's data."""
        return f"{self.number}, {self.how}"

    @property
    def scenario(self) -> Scenario:
        """Its scenario."""
        scans = [
            Scan(
                scan=table,
                pages=PAGES[table],
                passes=PASSES,
                fetch=self.fetch,
                seconds=self.slow_seconds if last else 0.0,
                gap_seconds=SLOW_GAP_SECONDS if self.slow_seconds else GAP_SECONDS,
            )
            for table, last in zip(self.order, (False, False, True), strict=True)
        ]
        probe = Scan(scan=PROBE, pages=PROBE_PAGES, passes=2, fetch=self.fetch, gap_seconds=GAP_SECONDS)
        return Scenario(pool=self.pool, steps=(*scans, probe))


ALIKE: Mapping[Fetch, float] = {"normal": passes.ALIKE_PAGES, "scan": 0.2}
"""As in `passes`; larger for four threads, whose pages read differ from pass to pass."""
WRONG: Mapping[Fetch, float] = {"normal": 0.005, "scan": 0.05}
"""The largest error of the model, which reads in page order, at full speed, as a share of the pages read."""

USUAL, OTHER = (SHORT, LONG, LONG_UK), (SHORT, LONG_UK, LONG)
PARALLEL = PublishedCase("1", "4 threads", USUAL, by_threads, fetch="scan")
OTHER_ORDER = PublishedCase("2", "4 threads, other order", OTHER, by_threads, fetch="scan")
ONE = PublishedCase("3", "1 thread, full speed", USUAL, by_one)
SLOWED = PublishedCase(
    "3",
    "1 thread, slowed",
    USUAL,
    by_one_slowed,
    pool=Pool(pages=POOL, free_high=FREE_HIGH, refill_seconds=CLEANER_SECONDS),
    slow_seconds=SLOW_SECONDS,
)
WHERE = PublishedCase("4", "WHERE id > 0, full speed", USUAL, above_zero)
ALL_FITS = PublishedCase(
    "5",
    "4 threads, all fits",
    USUAL,
    by_threads,
    pool=Pool(pages=LARGE_POOL, old_blocks_time_ms=OLD_BLOCKS_MS),
    fetch="scan",
)
CASES = (PARALLEL, OTHER_ORDER, ONE, SLOWED, WHERE, ALL_FITS)
"""In the order of the table."""


def _measure(cases: Sequence[PublishedCase], server: PrivateServer, say: Say) -> Data:
    data = {}
    for case in cases:
        say(f"case {case.name}")
        played = play(server, case.scenario, case.reader, INDEXES)
        data[case.name] = {"played": dumped(played), "plain": _plain(server)}
    return data


def _plain(server: PrivateServer) -> Data:
    """The cost of COUNT(*) of the table with a secondary index, with a free choice of the index."""
    with server.connect() as connection:
        figures = measure(server, partial(count, connection, table_name(LONG_UK, PAGES[LONG_UK])))
    return {"pages": figures["pages"], "seconds": figures["seconds"]}


PARTS = (
    Part(GROUP, f"{SERVER}, four threads", SERVER, {}, partial(_measure, (PARALLEL, OTHER_ORDER, ALL_FITS))),
    Part(GROUP, f"{SERVER}, one thread", SERVER, {}, partial(_measure, (ONE, WHERE))),
    Part(GROUP, f"{SERVER}, one thread, slowed", SERVER, {}, partial(_measure, (SLOWED,))),
)


@dataclass(frozen=True)
class CaseCounters:
    """The counters of a case: passes by table, and the final plain COUNT(*) of the table with a secondary index."""

    tables: Mapping[str, PassSeries]
    plain: Data

    @property
    def last(self) -> PassSeries:
        """The table that was counted last."""
        return list(self.tables.values())[-2]

    @property
    def promoted(self) -> float:
        """Pages that the second count of the probe made young, as a share of its pages."""
        probe = self.tables[PROBE]
        return probe.measured[1].made_young / probe.pages


Results = Mapping[PublishedCase, CaseCounters]


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """Pages read by each pass, with the model's and the published seconds."""
    data = {name: case for part in parts.values() for name, case in part.items()}
    results = {case: CaseCounters(passes.series(data[case.name]["played"]), data[case.name]["plain"]) for case in CASES}
    drawn = (PARALLEL, OTHER_ORDER, SLOWED, WHERE, ALL_FITS)
    return Conclusion(
        rows=tuple(_rows(results)),
        criteria=tuple(_criteria(results)),
        figures={
            "one": results[ONE],
            "parallel": results[PARALLEL],
            "other": results[OTHER_ORDER].last,
            "slowed": results[SLOWED].last,
            "where": results[WHERE],
            "published": SECONDS[WHERE.number][LONG],
        },
        plot={
            "pages": {case.name: results[case].last.lines for case in drawn},
            "published": {f"case {number}": list(list(tables.values())[-1]) for number, tables in SECONDS.items()},
        },
    )


def _rows(results: Results) -> Iterator[Row]:
    """One row per pass. Case 3 at full speed has no published numbers: they stand with the slowed form."""
    for case, counters in results.items():
        theirs = {} if case == ONE else SECONDS[case.number]
        for table in case.order:
            for row in passes.rows(counters.tables[table], theirs.get(table, ()), ALIKE[case.fetch]):
                yield {"case": case.name, "table": table, **row}
        if case == PARALLEL:
            plain = counters.plain
            name = f"{LONG_UK}, plain COUNT(*)"
            yield {
                "case": case.name,
                "table": name,
                "pass": "after",
                "seconds": plain["seconds"],
                "read": plain["pages"],
            }


def _criteria(results: Results) -> Iterator[Criterion]:
    for case in (PARALLEL, OTHER_ORDER, ONE, WHERE, ALL_FITS):
        off = passes.off(results[case].tables)
        yield Criterion(f"{case.name}: pages off the model, share of those read", off, most=WRONG[case.fetch])
    for case in (PARALLEL, OTHER_ORDER, ONE, WHERE):
        least = results[case].last.least_later
        yield Criterion(f"{case.name}: least that a later pass reads of the last table, share of it", least, least=0.5)
    most = results[ALL_FITS].last.most_later
    yield Criterion(f"{ALL_FITS.name}: most that a later pass reads of the last table, share of it", most, most=0.01)
    last = results[SLOWED].last
    yield Criterion(f"{SLOWED.name}: the pass that finds the last table cached", last.cached_at, 3, PASSES)
    yield Criterion(f"{SLOWED.name}: passes until then, more than the model's", last.late, -1, 1)
    most = max(counters.tables[table].most_later for case, counters in results.items() for table in case.order[:2])
    yield Criterion("all cases: most that a later pass reads of the first two tables, share of one", most, most=0.01)
    promoted = "promoted by a second count, share of the table"
    for case in (PARALLEL, OTHER_ORDER):
        yield Criterion(f"{case.name}: {promoted}", results[case].promoted, most=0.05)
    for case in (ONE, WHERE):
        yield Criterion(f"{case.name}: {promoted}", results[case].promoted, least=0.95)
    most = max(counters.plain["pages"] for counters in results.values()) / PAGES[LONG_UK]
    yield Criterion(f"all cases: plain COUNT(*) of {LONG_UK}, share of its clustered index", most, most=0.1)


def draw(figure: Figure, data: Data) -> None:
    """The table counted last: pages read by each pass on the left, published seconds on the right."""
    pages = {f"case {name}": lines for name, lines in data["pages"].items()}
    passes.draw(figure, {**data, "pages": pages}, COLOURS, COLOURS, ratio=1.0)
    for axes, title in zip(figure.axes, ("here: the table counted last", "published"), strict=True):
        axes.set_title(title, fontsize=11)
        axes.legend(loc="upper center", ncols=2, fontsize=8, bbox_to_anchor=(0.5, -0.16))


COLOURS = (BLUE, PINK, ORANGE, GREEN, INK)
"""The colours of cases 1 to 5."""
COLUMNS = (Column("case", "case"), Column("table", "table"), *passes.COLUMNS)
EXPERIMENT = Experiment("E2", "COUNT(*) of three tables in turn", PARTS, COLUMNS, conclude, draw)
