"""InnoDB's midpoint LRU list: what scans and point accesses read from disk, at a cost that does not grow with the pool.

The rules are those of storage/innobase/buf/buf0lru.cc, buf0buf.cc and buf0rea.cc, the same from MySQL 5.6 to 9.7 and
MariaDB 10.5 to 11.8; tests/advisor/models/lru/reference.py has them page by page. Here, pages that lie together in
the list and have the same history are one run (runs.py), and a scan goes through the runs from event to event
(scanning.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from advisor.models.lru.instance import EXTENT, FRAGMENTS, Counts, Instance
from advisor.models.lru.list import Sublists
from advisor.models.lru.lookups import Lookups
from advisor.models.lru.popularity import Group, chances, groups
from advisor.models.lru.scanning import ScanPass
from advisor.models.lru.scenario import Pass, Points, Pool, Repeat, Scan, Scenario, Step

ALIKE = 1e-3
"""Instances whose shares of every object differ by less than this part of an instance are one in the model."""
STEADY = 2e-3
"""A round that changes less than this part of the pool goes on in the same way."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a scenario did.

    Attributes:
        passes: Every pass of a scan and every step of points, in the order they happened.
        resident: Pages of each object in the pool at the end.
    """

    passes: tuple[Pass, ...]
    resident: dict[str, Sublists]


def simulate(scenario: Scenario) -> Simulation:
    """What the scenario reads, and what it leaves in the pool."""
    simulator = _Simulator(scenario)
    passes = tuple(each for step in scenario.steps for each in simulator.do(step))
    return Simulation(passes, {name: simulator.resident(name) for name in simulator.sizes})


class _Simulator:
    def __init__(self, scenario: Scenario) -> None:
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
        self.groups = {
            name: groups(size, looked_up.get(name, 0), skewed=name in skewed) for name, size in self.sizes.items()
        }
        self.parts = [_Part(self.pool, count, shares, self.groups) for count, shares in _shares(self.pool, self.sizes)]

    def do(self, step: Step) -> Iterator[Pass]:
        """One step of the scenario."""
        if isinstance(step, Repeat):
            yield from self._rounds(step.repeat, lambda _: [each for inner in step.steps for each in self.do(inner)])
            return
        self.step += 1
        if isinstance(step, Scan):
            yield from self._rounds(step.passes, lambda number: [self._scan(step, number)])
        elif isinstance(step, Points):
            yield self._points(step)
        else:
            self.pool = self.pool.changed(step.set)
            for part in self.parts:
                part.instance.set(self.pool)

    def _rounds(self, times: int, one: Callable[[int], list[Pass]]) -> Iterator[Pass]:
        """Do something so many times; what does not change any more is not worked out again."""
        before: list[Pass] = []
        state: list[float] = []
        for number in range(1, times + 1):
            first = self.step
            passes = one(number)
            yield from passes
            if number == times:
                return
            known, state = state, self._state()
            if number > 1 and self._close(known, state) and self._close(_reads(before), _reads(passes)):
                taken = self.step - first
                for later in range(1, times - number + 1):
                    self.step += taken
                    for each in passes:
                        at = each.number if taken else each.number + later
                        yield each._replace(step=each.step + later * taken, number=at)
                return
            before = passes

    def _close(self, some: Sequence[float], others: Sequence[float]) -> bool:
        bound = max(STEADY * self.pool.pages, 0.5)
        return len(some) == len(others) and all(abs(a - b) < bound for a, b in zip(some, others, strict=True))

    def _state(self) -> list[float]:
        return [value for part in self.parts for value in part.instance.state(self.now)]

    def _scan(self, step: Scan, number: int) -> Pass:
        lasts = step.seconds * 1000

        def one(part: _Part) -> None:
            end = step.pages * part.shares[step.scan]
            ScanPass(
                part.instance,
                step.scan,
                part.groups[step.scan],
                start=self.now,
                each=lasts / end if end else 0.0,
                end=end,
                fetch=step.fetch,
                unread=(FRAGMENTS + part.instance.area) / self.pool.instances,
            ).run()

        made = self._measured(step.scan, number, one)
        self.now += lasts + step.gap_seconds * 1000
        return made

    def _points(self, step: Points) -> Pass:
        lasts = step.seconds * 1000
        parts = chances(self.groups[step.points], step.pages, step.skew)

        def one(part: _Part) -> None:
            share = part.shares[step.points]
            rates = [step.accesses * chance * share for chance in parts]
            Lookups(
                part.instance, step.points, part.groups[step.points], rates=rates, start=self.now, lasts=lasts
            ).run()

        made = self._measured(step.points, 1, one)
        self.now += lasts
        return made

    def _measured(self, object_: str, number: int, work: Callable[[_Part], None]) -> Pass:
        """Do something in every instance; what it did."""
        total = [0.0] * 6
        for part in self.parts:
            instance = part.instance
            instance.counts = counts = Counts()
            work(part)
            instance.list.tidy()
            self.measured += 1
            instance.usual += (counts.read - instance.usual) / self.measured * len(self.parts)
            lru = instance.list
            values = (
                counts.read,
                counts.made_young,
                counts.not_made_young,
                lru.young_pages,
                lru.old_pages,
                instance.free,
            )
            total = [had + part.count * value for had, value in zip(total, values, strict=True)]
        return Pass(self.step, object_, number, *total)

    def resident(self, object_: str) -> Sublists:
        """Pages of an object in all instances."""
        found = [(part.count, part.instance.list.resident(object_)) for part in self.parts]
        return Sublists(sum(n * each.young for n, each in found), sum(n * each.old for n, each in found))


class _Part:
    """Instances that are alike: ``count`` of them, each with these shares (0 to 1) of the objects."""

    def __init__(self, pool: Pool, count: int, shares: dict[str, float], groups: Mapping[str, Sequence[Group]]) -> None:
        self.count = count
        self.shares = shares
        self.instance = Instance(pool, pool.pages // pool.instances)
        self.groups = {
            name: [Group(g.lo * shares[name], g.hi * shares[name], g.pages * shares[name]) for g in found]
            for name, found in groups.items()
        }


def _shares(pool: Pool, sizes: Mapping[str, int]) -> list[tuple[int, dict[str, float]]]:
    """How much of each object an instance holds, and how many instances hold as much.

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
        (len(found), (sum(column) / len(found) for column in zip(*found, strict=True))) for found in alike.values()
    )
    return [
        (number, {name: pages / sizes[name] for name, pages in zip(sizes, held, strict=True)}) for number, held in means
    ]


def _reads(passes: Sequence[Pass]) -> list[float]:
    return [value for each in passes for value in (each.pages_read, each.made_young)]
