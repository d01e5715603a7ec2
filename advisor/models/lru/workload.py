"""The workload of a buffer pool, in rates, and the scenario that the LRU model runs for it.

Lengths are pages, times seconds unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import (
    MOST_ACCESSES,
    Fetch,
    Pass,
    Points,
    Pool,
    Repeat,
    Scan,
    Scenario,
    Set,
    Settings,
    Step,
)
from advisor.models.lru.simulation import LONGEST, Simulation, simulate
from exporter.midpoint import MINIMUM_LENGTH

LOOKED_UP, OTHER = "(looked up)", "(other pages)"
"""Objects of a scenario beside the tables; no table can have such a name."""
ROUNDS = 20
LAST_ROUNDS = 2
"""Rounds at the end that rates are averaged over: passes may read more and less by turns."""
MOST_PASSES = 8
"""Most passes over a table in a round. A table that more passes would keep cached is cached by eight, too."""
_QUIET_ROUND = 10.0
_WARM_UP = 3
"""Accesses before the first round, times the pages that the pool can hold of those looked up: it is warm."""
_SMALLEST_PCT, _LARGEST_PCT = 5, 95


@dataclass(frozen=True, slots=True)
class TableScan:
    """Repeated full scans of a table.

    Attributes:
        name: A workload may have it twice, once for each kind of fetch.
        period: Time from the start of one pass to the start of the next.
        seconds: Time of a pass.
        kept: Share of the table, 0 to 1, that the pool holds to begin with.
        sharers: Scans in a pass. Sessions that scan side by side read each page once.
    """

    name: str
    pages: int
    period: float
    seconds: float
    fetch: Fetch
    kept: float = 0.0
    sharers: float = 1.0


@dataclass(frozen=True, slots=True)
class Workload:
    """All accesses to a pool.

    Attributes:
        scans: Of tables.
        other_pages: Were read before, and nothing asks for them again.
        lookups: Pages that are asked for one by one, in groups that are asked for equally often.
        begins: Of passes over a table in a round: seconds since the round's, and the table. Passes over others are
            spread evenly.
        least_seconds: Of a round.
    """

    scans: tuple[TableScan, ...]
    other_pages: int
    lookups: tuple[Pages, ...] = ()
    begins: tuple[tuple[float, str], ...] = ()
    least_seconds: float = 0.0

    @property
    def asked(self) -> float:
        """Lookups a second."""
        return math.fsum(pages * rate for pages, rate in self.lookups)

    @property
    def round_seconds(self) -> float:
        """The longest period: each table is scanned at least once in it."""
        return max([self.least_seconds, *(scan.period for scan in self.scans)]) or _QUIET_ROUND

    @property
    def scanned(self) -> float:
        """Pages that scans go through, a second."""
        return math.fsum(scan.pages / scan.period for scan in self.scans)

    @property
    def scans_per_second(self) -> Mapping[str, float]:
        """By table, over both kinds of fetch."""
        per_second: dict[str, float] = {}
        for scan in self.scans:
            per_second[scan.name] = per_second.get(scan.name, 0.0) + scan.sharers / scan.period
        return per_second


@dataclass(frozen=True, slots=True)
class Rates:
    """Reads and promotions of a pool under a workload.

    Attributes:
        per_pass: Pages read by a scan, by table.
        scans: Pages read per second by all scans.
        other: Pages read per second by lookups.
        made_young: Pages made young per second.
    """

    per_pass: Mapping[str, float]
    scans: float
    other: float
    made_young: float

    @property
    def read(self) -> float:
        """Pages read per second."""
        return self.scans + self.other


def scenario(workload: Workload, pool: Pool, then: tuple[Settings, Workload] | None = None) -> Scenario:
    """The scenario of a workload: steps that fill the pool, and the rounds.

    Args:
        workload: The accesses of a round; at least one.
        pool: Today's settings.
        then: Settings to change after these rounds, and the workload of as many rounds after that.
    """
    steps = [*_fill(workload, pool), *_rounds(workload)]
    if then is not None:
        steps += [Set(set=then[0]), *_rounds(then[1])]
    return Scenario(pool=pool, steps=tuple(steps))


def run(workload: Workload, pool: Pool, then: tuple[Settings, Workload] | None = None) -> Simulation:
    """The simulation of a workload, as ``scenario`` has it.

    Raises:
        TooManySteps: It takes too long.
    """
    return simulate(scenario(workload, pool, then), LONGEST, {LOOKED_UP: workload.lookups})


def passes_of(workload: Workload) -> int:
    """The number of passes in the rounds, lookups included."""
    return ROUNDS * len(round_of(workload))


def rates(workload: Workload, passes: Sequence[Pass]) -> Rates:
    """The rates over the last rounds of a scenario of this workload."""
    last = passes[len(passes) - LAST_ROUNDS * len(round_of(workload)) :]
    sharers = {scan.name: scan.sharers for scan in workload.scans}
    per_pass, scans, made_young = {}, 0.0, 0.0
    for name, rate in workload.scans_per_second.items():
        of_table = [pass_ for pass_ in last if pass_.object == name]
        shared = len(of_table) * sharers[name]
        per_pass[name] = sum(pass_.pages_read for pass_ in of_table) / shared
        scans += per_pass[name] * rate
        made_young += sum(pass_.made_young for pass_ in of_table) / shared * rate
    seconds = LAST_ROUNDS * workload.round_seconds
    looked_up = [pass_ for pass_ in last if pass_.object == LOOKED_UP]
    return Rates(
        per_pass=per_pass,
        scans=scans,
        other=sum(pass_.pages_read for pass_ in looked_up) / seconds,
        made_young=made_young + sum(pass_.made_young for pass_ in looked_up) / seconds,
    )


def _fill(workload: Workload, pool: Pool) -> list[Step]:
    """Steps that fill the pool with looked-up pages, with the kept part of each table, and with other pages."""
    tables = {scan.name: scan for scan in workload.scans}.values()
    young = 1 - _SMALLEST_PCT / 100
    parts = [
        Scan(scan=scan.name, pages=min(scan.pages, math.ceil(scan.kept * scan.pages / young)))
        for scan in tables
        if 0 < scan.kept < 1
    ]
    whole = [scan for scan in tables if scan.kept == 1]
    steps: list[Step] = []
    warm = bool(workload.asked)
    if parts or warm:  # first pages stay young in a pool with a minimal old sublist
        steps.append(_set(_SMALLEST_PCT))
    if parts and workload.other_pages:  # below the minimum length pages enter at the head
        steps += [Scan(scan=OTHER, pages=min(workload.other_pages, MINIMUM_LENGTH + 64)), *parts]
    if warm:
        accesses = max(1, round(_WARM_UP * min(pool.pages, _looked_up(workload))))
        steps.append(_points(workload, accesses, accesses / workload.asked))
    if workload.other_pages:
        steps.append(Scan(scan=OTHER, pages=workload.other_pages))
    if parts or warm or whole:  # the largest old sublist takes any table that fits the pool
        steps.append(_set(_LARGEST_PCT))
    steps += map(_twice, whole)
    if parts or warm or whole:  # from above: the midpoint is then where a full pool has it
        steps.append(_set(pool.old_blocks_pct))
    return steps


def _twice(scan: TableScan) -> Scan:
    """Two passes: the second makes the pages young."""
    gap_seconds = max(0.0, scan.period - scan.seconds)
    seconds = min(scan.seconds, scan.period)
    return Scan(scan=scan.name, pages=scan.pages, passes=2, seconds=seconds, gap_seconds=gap_seconds, fetch=scan.fetch)


def _set(pct: int) -> Set:
    return Set(set=Settings(old_blocks_pct=pct))


def _rounds(workload: Workload) -> list[Step]:
    steps = round_of(workload)
    return [Repeat(repeat=ROUNDS, steps=tuple(steps))] if steps else []


def round_of(workload: Workload) -> list[Step]:
    """The scans in the order of their start, each after the accesses since the scan before."""
    length = workload.round_seconds
    begins = sorted((begin, place) for place in range(len(workload.scans)) for begin in _begins(workload, place))
    if not begins:
        return [*_accesses(workload, 0.0, length, length)]
    steps: list[Step] = []
    for (begin, place), (end, _) in pairwise([*begins, (begins[0][0] + length, 0)]):
        scan = workload.scans[place]
        seconds = min(scan.seconds, end - begin)
        lookups = list(_accesses(workload, begin, end, end - begin - seconds))
        steps += lookups
        busy = sum(step.seconds for step in lookups)
        pause = max(0.0, end - begin - seconds - busy)
        steps.append(Scan(scan=scan.name, pages=scan.pages, seconds=seconds, gap_seconds=pause, fetch=scan.fetch))
    return steps


def _begins(workload: Workload, place: int) -> list[float]:
    """When the passes of a scan begin in a round: as known, else evenly."""
    scan, length = workload.scans[place], workload.round_seconds
    known = [begin for begin, name in workload.begins if name == scan.name]
    if known and sum(other.name == scan.name for other in workload.scans) == 1:
        return known
    passes = min(max(1, round(length / scan.period)), MOST_PASSES)
    return [(number + place / len(workload.scans)) * length / passes for number in range(passes)]


def _accesses(workload: Workload, begin: float, end: float, seconds: float) -> Iterator[Points]:
    """The lookups of a part of the round, in ``seconds`` of it."""
    accesses = round(workload.asked * end) - round(workload.asked * begin)
    if accesses:
        yield _points(workload, accesses, seconds)


def _points(workload: Workload, accesses: int, seconds: float) -> Points:
    pages = _looked_up(workload)
    return Points(points=LOOKED_UP, pages=pages, accesses=min(accesses, MOST_ACCESSES), seconds=seconds)


def _looked_up(workload: Workload) -> int:
    return max(1, math.ceil(math.fsum(pages for pages, _ in workload.lookups)))
