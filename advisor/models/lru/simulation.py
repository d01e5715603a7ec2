"""The simulation of InnoDB's midpoint LRU list. Its cost does not grow with the size of the pool.

The rules are those of storage/innobase/buf/buf0lru.cc, buf0buf.cc and buf0rea.cc, the same from MySQL 5.6 to 9.7 and
MariaDB 10.5 to 11.8; tests/advisor/models/lru/reference.py has them page by page. Here, pages that lie together in
the list and have the same history are one run (runs.py), and a scan goes through the runs from event to event
(scanning.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from advisor.models.lru.errors import TooManySteps
from advisor.models.lru.instance import EXTENT, FRAGMENTS, Instance, PageCounts
from advisor.models.lru.list import SublistPages
from advisor.models.lru.lookups import LookupSlices
from advisor.models.lru.popularity import PageGroup, Pages, chances, groups
from advisor.models.lru.scanning import ScanPass
from advisor.models.lru.scenario import Pass, Points, Pool, Repeat, Scan, Scenario, Step

ALIKE = 1e-3
"""Share of an instance: instances that differ by less in each object are one instance in the model."""
LONGEST = 30_000
"""Steps of a simulation that somebody waits for, some 3 s of a core: twelve tables beside lookups take 3,700, and a
table beside lookups on MariaDB, which keeps a free list, up to 16,735 (the gauntlet's secondary-index-scan)."""
_STEP_SECONDS = 100e-6
"""Of a core, for a step of a long simulation (60 to 190 µs were measured)."""
STEADY = 2e-3
"""Share of the pool, or of what a round reads: a round that changes less than this repeats itself from then on."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a scenario.

    Attributes:
        passes: Each pass of a scan and each step of points, in their order.
        resident: Pages of each object in the pool at the end.
        steps: Events of scans and slices of lookups that were simulated: its cost, some 60 µs each.
    """

    passes: tuple[Pass, ...]
    resident: dict[str, SublistPages]
    steps: int


def simulate(
    scenario: Scenario, most_steps: float = math.inf, popularity: Mapping[str, Sequence[Pages]] | None = None
) -> Simulation:
    """Run a scenario: the pages it reads, and the pages it leaves in the pool.

    Args:
        scenario: What happens.
        most_steps: Steps that it may take.
        popularity: By object, how often its pages are asked for, in place of a skew. Rates are relative.

    Raises:
        TooManySteps: It takes more.
    """
    simulator = _Simulator(scenario, most_steps, popularity or {})
    try:
        passes = tuple(done for step in scenario.steps for done in simulator.do(step))
    except TooManySteps:
        done = max(simulator.measured / len(simulator.instances), 1.0)
        wanted = most_steps * max(_parts(scenario.steps) / done, 1.0)
        raise TooManySteps(
            f"one simulation alone may take up to {wanted:,.0f} steps, some {wanted * _STEP_SECONDS:,.0f} s of a"
            f" core; {most_steps:,.0f} steps are allowed"
        ) from None
    resident = {name: simulator.resident(name) for name in simulator.sizes}
    return Simulation(passes, resident, sum(group.instance.steps for group in simulator.instances))


def _parts(steps: Sequence[Step]) -> int:
    """The scans and lookups of some steps, repetitions included."""
    parts = 0
    for step in steps:
        if isinstance(step, Repeat):
            parts += step.repeat * _parts(step.steps)
        elif isinstance(step, Scan):
            parts += step.passes
        elif isinstance(step, Points):
            parts += 1
    return parts


class _Simulator:
    def __init__(self, scenario: Scenario, most_steps: float, popularity: Mapping[str, Sequence[Pages]]) -> None:
        self.pool = scenario.pool
        self.sizes = scenario.sizes()
        self.now = 0.0  # ms
        self.step = 0
        self.measured = 0
        looked_up: dict[str, int] = {}
        skewed = set()
        for step in scenario.distinct():
            if isinstance(step, Points):
                looked_up[step.points] = max(step.pages, looked_up.get(step.points, 0))
                if step.skew:
                    skewed.add(step.points)
        self.popularity = popularity
        self.groups = {
            name: tuple(PageGroup(0.0, size, pages) for pages, _ in popularity[name])
            if popularity.get(name)
            else groups(size, looked_up.get(name, 0), skewed=name in skewed)
            for name, size in self.sizes.items()
        }
        shares = _shares(self.pool, self.sizes)
        steps_each = most_steps / len(shares)
        self.instances = [_Instances(self.pool, count, parts, self.groups, steps_each) for count, parts in shares]

    def do(self, step: Step) -> Iterator[Pass]:
        """One step of the scenario."""
        if isinstance(step, Repeat):
            yield from self._rounds(step.repeat, lambda _: [done for inner in step.steps for done in self.do(inner)])
            return
        self.step += 1
        if isinstance(step, Scan):
            yield from self._rounds(step.passes, lambda number: [self._scan(step, number)])
        elif isinstance(step, Points):
            yield self._points(step)
        else:
            self.pool = self.pool.changed(step.set)
            for group in self.instances:
                group.instance.set(self.pool)

    def _rounds(self, times: int, one: Callable[[int], list[Pass]]) -> Iterator[Pass]:
        """Repeat a round; once rounds no longer differ, the rest is copied."""
        before: list[Pass] = []
        state: list[float] = []
        for number in range(1, times + 1):
            first = self.step
            passes = one(number)
            yield from passes
            if number == times:
                return
            # A round that reads the whole pool anew forgets how old pages were before it.
            ages = sum(done.pages_read for done in passes) < self.pool.pages
            known, state = state, self._state(ages=ages)
            if number > 1 and self._close(known, state) and self._close(_reads(before), _reads(passes)):
                taken = self.step - first
                for later in range(1, times - number + 1):
                    self.step += taken
                    for done in passes:
                        at = done.number if taken else done.number + later
                        yield done._replace(step=done.step + later * taken, number=at)
                return
            before = passes

    def _close(self, some: Sequence[float], others: Sequence[float]) -> bool:
        least = max(STEADY * self.pool.pages, 0.5)
        return len(some) == len(others) and all(
            abs(a - b) < max(least, STEADY * a) for a, b in zip(some, others, strict=True)
        )

    def _state(self, *, ages: bool) -> list[float]:
        return [value for group in self.instances for value in group.instance.state(self.now, ages=ages)]

    def _scan(self, step: Scan, number: int) -> Pass:
        lasts = step.seconds * 1000

        def one(group: _Instances) -> None:
            end = step.pages * group.shares[step.scan]
            ScanPass(
                group.instance,
                step.scan,
                group.groups[step.scan],
                start=self.now,
                page_ms=lasts / end if end else 0.0,
                end=end,
                fetch=step.fetch,
                unread=(FRAGMENTS + group.instance.area) / self.pool.instances,
            ).run()

        made = self._measured(step.scan, number, one)
        self.now += lasts + step.gap_seconds * 1000
        return made

    def _points(self, step: Points) -> Pass:
        lasts = step.seconds * 1000
        if popular := self.popularity.get(step.points):
            asked = math.fsum(pages * rate for pages, rate in popular)
            shares = [pages * rate / asked for pages, rate in popular]
        else:
            shares = chances(self.groups[step.points], step.pages, step.skew)

        def one(group: _Instances) -> None:
            share = group.shares[step.points]
            rates = [step.accesses * chance * share for chance in shares]
            LookupSlices(
                group.instance, step.points, group.groups[step.points], rates=rates, start=self.now, lasts=lasts
            ).run()

        made = self._measured(step.points, 1, one)
        self.now += lasts
        return made

    def _measured(self, object_: str, number: int, work: Callable[[_Instances], None]) -> Pass:
        """Do the work in each instance, and sum up what it did."""
        total = [0.0] * 6
        for group in self.instances:
            instance = group.instance
            instance.counts = counts = PageCounts()
            work(group)
            instance.list.tidy()
            self.measured += 1
            instance.usual += (counts.read - instance.usual) / self.measured * len(self.instances)
            lru = instance.list
            values = (
                counts.read,
                counts.made_young,
                counts.not_made_young,
                lru.young_pages,
                lru.old_pages,
                instance.free,
            )
            total = [had + group.count * value for had, value in zip(total, values, strict=True)]
        return Pass(self.step, object_, number, *total)

    def resident(self, object_: str) -> SublistPages:
        """Pages of an object in all instances."""
        held = [(group.count, group.instance.list.resident(object_)) for group in self.instances]
        return SublistPages(
            sum(n * sublists.young for n, sublists in held), sum(n * sublists.old for n, sublists in held)
        )


class _Instances:
    """``count`` instances that are alike, each with these shares (0 to 1) of the objects."""

    def __init__(
        self,
        pool: Pool,
        count: int,
        shares: dict[str, float],
        groups: Mapping[str, Sequence[PageGroup]],
        most_steps: float,
    ) -> None:
        self.count = count
        self.shares = shares
        self.instance = Instance(pool, pool.pages // pool.instances, most_steps)
        self.groups = {
            name: [PageGroup(g.lo * shares[name], g.hi * shares[name], g.pages * shares[name]) for g in page_groups]
            for name, page_groups in groups.items()
        }


def _shares(pool: Pool, sizes: Mapping[str, int]) -> list[tuple[int, dict[str, float]]]:
    """Shares of each object in an instance, with the number of instances that have the same shares.

    Extents go to the instances in turn: (space << 20 + space + page >> 6) modulo their number (buf0buf.ic,
    buf_pool_get; seen on 9.7: of 8,003 pages the fullest of 8 instances held 1,024).
    """
    count = pool.instances
    alike: dict[tuple[int, ...], list[list[float]]] = {}
    for instance in range(count):
        held = []
        for offset, size in enumerate(sizes.values()):
            extents, rest = divmod(size + FRAGMENTS, EXTENT)
            first = (instance - offset) % count
            whole = (extents - first + count - 1) // count if extents > first else 0
            held.append(
                whole * EXTENT + (rest if extents % count == first else 0.0) - (FRAGMENTS if not first else 0.0)
            )
        alike.setdefault(tuple(round(pages / (ALIKE * pool.pages / count)) for pages in held), []).append(held)
    means = (
        (len(instances), (sum(column) / len(instances) for column in zip(*instances, strict=True)))
        for instances in alike.values()
    )
    return [
        (number, {name: pages / sizes[name] for name, pages in zip(sizes, held, strict=True)}) for number, held in means
    ]


def _reads(passes: Sequence[Pass]) -> list[float]:
    return [value for done in passes for value in (done.pages_read, done.made_young)]
