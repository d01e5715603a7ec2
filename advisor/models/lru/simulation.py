"""The simulation of InnoDB's midpoint LRU list. Its cost does not grow with the size of the pool.

The rules are those of storage/innobase/buf/buf0lru.cc, buf0buf.cc and buf0rea.cc, the same from MySQL 5.6 to 9.7 and
MariaDB 10.5 to 11.8; tests/advisor/models/lru/reference.py has them page by page. Here, pages that lie together in
the list and have the same history are one run (runs.py), and a scan goes through the runs from event to event
(scanning.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from advisor.models.lru.instance import EXTENT, FRAGMENTS, Instance, PageCounts, TooManySteps
from advisor.models.lru.lookups import LookupPass
from advisor.models.lru.popularity import PageGroup, Pages, chances, groups
from advisor.models.lru.runs import NOTHING
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


def simulate(
    scenario: Scenario, most_steps: float = math.inf, popularity: Mapping[str, Sequence[Pages]] | None = None
) -> Simulation:
    """Run a scenario.

    Args:
        scenario: What happens.
        most_steps: Steps that it may take.
        popularity: By object, how often its pages are asked for, in place of a skew. Rates are relative.

    Raises:
        TooManySteps: It takes more.
    """
    simulation = Simulation(scenario, most_steps, popularity or {})
    simulation.run()
    return simulation


class Simulation:
    """A scenario, the pages that it reads, and the pages that it leaves in the pool.

    Attributes:
        passes: Each pass of a scan and each step of points so far, in their order.
        instances: The pool's instances; alike ones are simulated as one.
    """

    def __init__(self, scenario: Scenario, most_steps: float, popularity: Mapping[str, Sequence[Pages]]) -> None:
        self.passes: list[Pass] = []
        self._scenario, self._most_steps, self._popularity = scenario, most_steps, popularity
        self._pool = scenario.pool
        self._now = 0.0  # ms
        self._step = 0
        self._simulated = 0  # passes, in each instance
        self._groups = _groups(scenario, popularity)
        shares = _shares(scenario.pool, scenario.sizes())
        self.instances = [
            Instance(scenario.pool, self._groups, shares_of, count, most_steps / len(shares))
            for count, shares_of in shares
        ]

    @property
    def steps(self) -> int:
        """Events of scans and slices of lookups that were simulated: its cost, some 60 µs each."""
        return sum(instance.steps for instance in self.instances)

    def pages_of(self, object_: str) -> tuple[float, float]:
        """Pages of an object in the young and in the old sublists of all instances."""
        held = [(instance.count, *instance.list.pages_of(object_)) for instance in self.instances]
        return sum(count * young for count, young, _ in held), sum(count * old for count, _, old in held)

    def dump(self, share: float) -> dict[str, list[float]]:
        """Pages of each object in each of its groups, in a dump of a share of the lists, from their heads."""
        dump = {name: [0.0] * len(groups) for name, groups in self._groups.items()}
        for instance in self.instances:
            left = share * instance.list.pages
            for layer in (*instance.list.young, *instance.list.old):
                part = min(1.0, left / layer.pages) if layer.pages > NOTHING else 0.0
                left -= part * layer.pages
                for run in layer.runs:
                    pages = instance.count * part * run.pages
                    dump[run.object] = [had + pages * of for had, of in zip(dump[run.object], run.shares, strict=True)]
        return dump

    def load(self, dump: Mapping[str, Sequence[float]], done: float, part: float) -> float:
        """Read a part of a dump; the pages read.

        Args:
            dump: As of ``dump``. Pages that lookups or scans have read are there already.
            done: Share of it that was loaded before.
            part: Share of it to load.
        """
        return math.fsum(
            instance.count
            * instance.load(name, [instance.shares[name] * number for number in pages], done, part, self._now)
            for instance in self.instances
            for name, pages in dump.items()
        )

    def run(self) -> None:
        """Do all steps. Raises TooManySteps where they take more than they may."""
        try:
            for step in self._scenario.steps:
                self.passes += self.do(step)
        except TooManySteps:
            done = max(self._simulated / len(self.instances), 1.0)
            wanted = self._most_steps * max(self._scenario.passes / done, 1.0)
            raise TooManySteps(
                f"one simulation alone may take up to {wanted:,.0f} steps, some {wanted * _STEP_SECONDS:,.0f} s of a"
                f" core; {self._most_steps:,.0f} steps are allowed"
            ) from None

    def do(self, step: Step) -> Iterator[Pass]:
        """Do a step, as far as its passes are asked for."""
        if isinstance(step, Repeat):
            yield from self._rounds(step.repeat, lambda _: [pass_ for inner in step.steps for pass_ in self.do(inner)])
            return
        self._step += 1
        if isinstance(step, Scan):
            yield from self._rounds(step.passes, lambda number: [self._scan(step, number)])
        elif isinstance(step, Points):
            yield self._points(step)
        else:
            self._pool = self._pool.changed(step.set)
            for instance in self.instances:
                instance.set(self._pool)

    def _rounds(self, times: int, play: Callable[[int], list[Pass]]) -> Iterator[Pass]:
        """Repeat a round; once rounds no longer differ, the rest is copied."""
        before: list[Pass] = []
        state: list[float] = []
        for number in range(1, times + 1):
            first = self._step
            passes = play(number)
            yield from passes
            if number == times:
                return
            # A round that reads the whole pool anew forgets how old pages were before it.
            ages = sum(pass_.pages_read for pass_ in passes) < self._pool.pages
            previous, state = state, self._state(ages=ages)
            if number > 1 and self._close(previous, state) and self._close(_reads(before), _reads(passes)):
                yield from self._copied(passes, times - number, self._step - first)
                return
            before = passes

    def _copied(self, passes: Sequence[Pass], times: int, steps: int) -> Iterator[Pass]:
        """The passes of the rounds that are left, all like this one of so many steps; 0 for passes of one scan."""
        for later in range(1, times + 1):
            self._step += steps
            for pass_ in passes:
                number = pass_.number if steps else pass_.number + later
                yield pass_._replace(step=pass_.step + later * steps, number=number)

    def _close(self, some: Sequence[float], others: Sequence[float]) -> bool:
        least = max(STEADY * self._pool.pages, 0.5)
        return len(some) == len(others) and all(
            abs(a - b) < max(least, STEADY * a) for a, b in zip(some, others, strict=True)
        )

    def _state(self, *, ages: bool) -> list[float]:
        return [value for instance in self.instances for value in instance.state(self._now, ages=ages)]

    def _scan(self, step: Scan, number: int) -> Pass:
        pass_ = self._pass(step.scan, number, lambda instance: ScanPass(instance, step, self._now).run())
        self._now += step.seconds * 1000 + step.gap_seconds * 1000
        return pass_

    def _points(self, step: Points) -> Pass:
        if popular := self._popularity.get(step.points):
            asked = math.fsum(pages * rate for pages, rate in popular)
            shares = [pages * rate / asked for pages, rate in popular]
        else:
            shares = chances(self._groups[step.points], step.pages, step.skew)
        pass_ = self._pass(step.points, 1, lambda instance: LookupPass(instance, step, shares, self._now).run())
        self._now += step.seconds * 1000
        return pass_

    def _pass(self, object_: str, number: int, run: Callable[[Instance], None]) -> Pass:
        """Run a pass in each instance, and sum up what it did."""
        total = [0.0] * 6
        for instance in self.instances:
            instance.counts = counts = PageCounts()
            run(instance)
            lru = instance.list
            lru.tidy()
            self._simulated += 1
            instance.usual += (counts.read - instance.usual) / self._simulated * len(self.instances)
            values = (
                counts.read,
                counts.made_young,
                counts.not_made_young,
                lru.young_pages,
                lru.old_pages,
                instance.free,
            )
            total = [had + instance.count * value for had, value in zip(total, values, strict=True)]
        return Pass(self._step, object_, number, *total)


def _groups(scenario: Scenario, popularity: Mapping[str, Sequence[Pages]]) -> dict[str, tuple[PageGroup, ...]]:
    """The pages of each object, in groups that are asked for equally often."""
    looked_up: dict[str, int] = {}
    skewed = set()
    for step in scenario.distinct():
        if isinstance(step, Points):
            looked_up[step.points] = max(step.pages, looked_up.get(step.points, 0))
            if step.skew:
                skewed.add(step.points)
    return {
        name: tuple(PageGroup(0.0, size, pages) for pages, _ in popularity[name])
        if popularity.get(name)
        else groups(size, looked_up.get(name, 0), skewed=name in skewed)
        for name, size in scenario.sizes().items()
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
    return [value for pass_ in passes for value in (pass_.pages_read, pass_.made_young)]
