"""E2 on MySQL 9.7: three tables, each counted ten times in turn, in a pool that holds two of them or all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from advisor.models.lru.scenario import Fetch, Pool, Scan, Scenario
from lab.experiments import passes
from lab.experiments.base import Cell, Column, Conclusion, Expectation
from lab.experiments.e2.published import LONG, LONG_UK, MYSQL_5_7_LONG_UK, SECONDS, SHORT
from lab.experiments.e2.statements import above_zero, by_one, by_one_slowed, by_threads
from lab.experiments.passes import PassSeries
from lab.harness.measure import reads, seconds
from lab.harness.records import Data, Part
from lab.harness.workloads import count
from lab.lru_scenarios import CLEANER_SECONDS, Reader, dumped, play, table_name
from lab.servers import Server

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


def _measure(*cases: PublishedCase) -> Callable[[Server, Callable[[str], None]], Data]:
    def run(server: Server, say: Callable[[str], None]) -> Data:
        found = {}
        for case in cases:
            say(f"case {case.name}")
            played = play(server, case.scenario, case.reader, INDEXES)
            found[case.name] = {"played": dumped(played), "plain": _plain(server)}
        return found

    return run


def _plain(server: Server) -> Data:
    """The cost of COUNT(*) of the table with a secondary index, with a free choice of the index."""
    took: list[float] = []
    with server.connect() as connection:
        table = table_name(LONG_UK, PAGES[LONG_UK])
        pages = reads(server, lambda: took.append(seconds(lambda: count(connection, table), times=1)))
    return {"pages": pages, "seconds": took[0]}


PARTS = (
    Part(GROUP, f"{SERVER}, four threads", SERVER, {}, _measure(PARALLEL, OTHER_ORDER, ALL_FITS), takes=80.0),
    Part(GROUP, f"{SERVER}, one thread", SERVER, {}, _measure(ONE, WHERE), takes=60.0),
    Part(GROUP, f"{SERVER}, one thread, slowed", SERVER, {}, _measure(SLOWED), takes=90.0),
)


@dataclass(frozen=True)
class PassCounters:
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


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """Pages read by each pass, with the model's and the published seconds."""
    data = {name: each for part in parts.values() for name, each in part.items()}
    found = {case: PassCounters(passes.series(data[case.name]["played"]), data[case.name]["plain"]) for case in CASES}
    return Conclusion(
        columns=(Column("case"), Column("table"), *passes.COLUMNS),
        rows=tuple(_rows(found)),
        checks=tuple(_checks(found)),
        differences=tuple(_differences(found)),
        plot=_plot(found),
    )


Results = Mapping[PublishedCase, PassCounters]


def _rows(found: Results) -> Iterator[tuple[Cell, ...]]:
    """One row per pass. Case 3 at full speed has no published numbers: they stand with the slowed form."""
    for case, counted in found.items():
        theirs = {} if case == ONE else SECONDS[case.number]
        for table in case.order:
            for row in passes.rows(counted.tables[table], theirs.get(table, ()), ALIKE[case.fetch]):
                yield case.name, table, *row
        if case == PARALLEL:
            plain = counted.plain
            yield case.name, f"{LONG_UK}, plain COUNT(*)", "after", None, plain["seconds"], plain["pages"], None


def _checks(found: Results) -> Iterator[Expectation]:
    for case in (PARALLEL, OTHER_ORDER, ONE, WHERE, ALL_FITS):
        wrong = passes.off(found[case].tables)
        yield Expectation(f"{case.name}: pages off the model, share of those read", wrong, most=WRONG[case.fetch])
    for case in (PARALLEL, OTHER_ORDER, ONE, WHERE):
        least = found[case].last.least_later
        yield Expectation(
            f"{case.name}: least that a later pass reads of the last table, share of it", least, least=0.5
        )
    most = found[ALL_FITS].last.most_later
    yield Expectation(f"{ALL_FITS.name}: most that a later pass reads of the last table, share of it", most, most=0.01)
    last = found[SLOWED].last
    yield Expectation(f"{SLOWED.name}: the pass that finds the last table cached", last.cached_at, least=3, most=PASSES)
    late = last.cached_at - last.says_cached_at
    yield Expectation(f"{SLOWED.name}: passes until then, more than the model's", late, least=-1, most=1)
    most = max(counted.tables[table].most_later for case, counted in found.items() for table in case.order[:2])
    yield Expectation("all cases: most that a later pass reads of the first two tables, share of one", most, most=0.01)
    for case in (PARALLEL, OTHER_ORDER):
        yield Expectation(
            f"{case.name}: promoted by a second count, share of the table", found[case].promoted, most=0.05
        )
    for case in (ONE, WHERE):
        yield Expectation(
            f"{case.name}: promoted by a second count, share of the table", found[case].promoted, least=0.95
        )
    most = max(counted.plain["pages"] for counted in found.values()) / PAGES[LONG_UK]
    yield Expectation(f"all cases: plain COUNT(*) of {LONG_UK}, share of its clustered index", most, most=0.1)


def _differences(found: Results) -> Iterator[str]:
    one, slowed, parallel = found[ONE].last, found[SLOWED].last, found[PARALLEL].last
    if one.least_later > passes.CACHED and slowed.cached_at <= PASSES:
        yield (
            f"Case 3 flips only if the page cleaner keeps a free list. At full speed one thread reads"
            f" {one.read[-1]:,} pages at the last pass, like four threads ({parallel.read[-1]:,}); the free list has at"
            f" most {one.most_free:,.0f} pages after a pass. Slowed and with a small write load, the free list had up"
            f" to {slowed.most_free:,.0f} pages, and the table was cached at pass {slowed.cached_at}"
            f" (published: {_flip(SECONDS[SLOWED.number][LONG_UK])})."
        )
    other = found[OTHER_ORDER].last
    four, steady = sorted(other.read[1:]), sorted(one.read[1:])
    if four[-1] - four[0] > passes.ALIKE_PAGES * other.pages > steady[-1] - steady[0]:
        yield (
            f"Four threads read the parts of the table in a different order each time: in case 2 the later passes read"
            f" {four[0]:,} to {four[-1]:,} pages, while one thread's differ by {steady[-1] - steady[0]:,}."
            f" The model reads in page order and has {other.modelled[-1]:,}."
        )
    if slowed.read != slowed.modelled:
        speed = slowed.pages / slowed.seconds[0]
        yield (
            f"Slowed, the passes read {_in_turn(slowed.read)} pages, {_in_turn(slowed.modelled)} in the model. Once a"
            f" second the page cleaner refills {FREE_HIGH} pages, while {speed:,.0f} are read. The model does not know"
            f" the start of its seconds, nor their delay on a busy machine."
        )
    if found[ONE].promoted > found[PARALLEL].promoted:
        yield (
            f"One thread and four differ in promotion: a second count of a table of {PROBE_PAGES} pages made"
            f" {found[ONE].promoted:.0%} of them young with one thread, {found[PARALLEL].promoted:.0%} with four. This"
            f" has no effect on a table whose pages are evicted before their next access."
        )
    where, long = found[WHERE].last, found[WHERE].tables[LONG]
    theirs = SECONDS[WHERE.number][LONG]
    if where.least_later > passes.CACHED > long.least_later and theirs[1] > theirs[0]:
        yield (
            f"Case 4 behaves like case 3 at full speed: {where.read[-1]:,} pages at the last pass. On the published"
            f" server the first large table was slow again, too ({theirs[0]}, {theirs[1]}, {theirs[2]} … {theirs[-1]}"
            f" s): its pool was not empty at the start, or did not hold that table. Ours was empty, and read at most"
            f" {max(long.read[1:]):,} pages of it again."
        )
    plain = found[PARALLEL].plain["pages"]
    if plain < PAGES[LONG_UK] / 10:
        yield (
            f"Plain COUNT(*) of {LONG_UK} read {plain:,.0f} pages: MySQL 9.7 counts through the secondary index, as 5.7"
            f" did (published: {MYSQL_5_7_LONG_UK} s). The published 8.0.28 always read the clustered index, whatever"
            f" EXPLAIN said. FORCE INDEX (PRIMARY) does the same here."
        )


def _in_turn(read: Sequence[int]) -> str:
    """The pages of the passes until the table is cached."""
    return ", ".join(f"{pages:,}" for pages in read if pages > passes.CACHED * read[0])


def _flip(published: Sequence[float]) -> int:
    """The first pass that took less than a tenth of the first one."""
    return next(number for number, each in enumerate(published, 1) if each < published[0] / 10)


def _plot(found: Results) -> Data:
    shown = (PARALLEL, OTHER_ORDER, SLOWED, WHERE, ALL_FITS)
    return {
        "pages": {case.name: {"measured": found[case].last.read, "model": found[case].last.modelled} for case in shown},
        "published": {f"case {number}": list(list(tables.values())[-1]) for number, tables in SECONDS.items()},
    }
