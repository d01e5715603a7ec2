"""Other backgrounds that explain the measured reads as well as the fitted one, and foretell other reads.

Pages, skew and rate of the accesses, and how many of the pages are young, are four unknowns for the number of reads and
that of pages made young. Many combinations explain them, and they part ways after a change: in a larger pool a small
set that is asked for evenly ends its reads at its size, and a large one with a long tail hardly notices; a larger old
sublist takes nothing from a set that is old today, and the pages from one that is young. Only a change that helps with
all of them is advised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import HOT, Background, Rates, Workload, rates, scenario
from advisor.pool.errors import ACCEPTED_ERROR
from advisor.whatif.fit import Fit, Measured

_FEWER = 0.75
"""Accesses may be fewer than estimated: an access to a large index takes four gets and not three."""
_MORE = 1.5
"""The same the other way round: an access to a small index takes two gets."""
_BURST = 0.8
"""Share of innodb_old_blocks_time: accesses in such a time make no page young that they read."""
_STILL = 0.02
"""Share of the reads: if fewer pages are made young, hardly any leaves the young sublist."""
_HALVINGS = 6
_STEEPEST = 1.5
_YOUNG = 3.0
"""Factor that a rival's pages made young may be off: these are the hits in the old sublist, which tell of its skew."""


def rivals(fitted: Fit, pool: Pool, measured: Measured, check_time: Callable[[], None]) -> tuple[Workload, ...]:
    """Workloads that explain the measured reads within the accepted error: at most three.

    The long tail over all pages, by as few accesses as may be, is the pessimistic end: with more pages or more even
    accesses it would read more than was measured. As few pages as may be, all alike, are the optimistic end. Where
    hardly a page is made young beside scans, as many pages as may be, most of them young, lose the most to a larger old
    sublist.

    Args:
        fitted: Its background is the one to be rivalled; without one it has no rivals.
        pool: Today's settings.
        measured: Rates under these settings.
        check_time: Called between two simulations; an exception from it ends the search.
    """
    hot = fitted.background(HOT)
    if hot is None or measured.accesses is None or not measured.other_pages:
        return ()
    search = _Search(fitted.workload, pool, measured, check_time)
    largest, accesses = max(measured.other_pages, hot.pages), max(measured.accesses[0], measured.other)
    found = [
        search.even(replace(hot, per_second=_MORE * accesses), largest),
        search.long_tail(replace(hot, pages=largest, per_second=max(_FEWER * accesses, measured.other))),
    ]
    burst = _BURST * pool.old_blocks_time_ms / 1000 / fitted.workload.round_seconds
    if fitted.workload.scans and burst and (measured.made_young or 0.0) <= _STILL * measured.other:
        found.append(
            search.settled(replace(hot, per_second=accesses, warm=1.0, spread=min(hot.spread, burst)), largest)
        )
    return tuple(each for each in found if search.explains(each))


@dataclass(frozen=True, slots=True)
class _Search:
    """The search of a background for the reads that were measured."""

    workload: Workload
    pool: Pool
    measured: Measured
    check_time: Callable[[], None]

    def even(self, hot: Background, most: int) -> Workload:
        """All pages alike, and as many of them as explain the reads: accesses miss those that the pool cannot hold."""
        found = 1 - self.measured.other / hot.per_second  # share of the accesses
        low, high = 1, most if found <= 0 else min(most, math.ceil(self.pool.pages / found))
        for _ in range(_HALVINGS):
            middle = (low + high) // 2
            if self._reads(replace(hot, skew=0.0, pages=middle)) < self.measured.other:
                low = middle
            else:
                high = middle
        return self._with(replace(hot, skew=0.0, pages=high))

    def long_tail(self, hot: Background) -> Workload:
        """All pages that there are, and the skew that explains the reads."""
        low, high = 0.0, _STEEPEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._reads(replace(hot, skew=middle)) > self.measured.other:
                low = middle
            else:
                high = middle
        return self._with(replace(hot, skew=low))

    def settled(self, hot: Background, most: int) -> Workload:
        """As many pages as may be, all alike; the young sublist holds all but those that are read, and pages of others.

        Where accesses make no page young, no page leaves the young sublist: it holds what it held at first.
        """
        hot = replace(hot, skew=0.0, pages=most)
        if self._reads(hot) > self.measured.other:
            return self.even(hot, most)
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if self._reads(replace(hot, warm=middle)) > self.measured.other:
                low = middle
            else:
                high = middle
        return self._with(replace(hot, warm=high))

    def explains(self, found: Workload) -> bool:
        """Whether it reads what was measured, and does not make young what was not."""
        by_model = self._rates(found)
        young = by_model.made_young, self.measured.made_young or 0.0
        least = ACCEPTED_ERROR * self.measured.other
        return abs(by_model.other - self.measured.other) <= least and max(young) <= max(_YOUNG * min(young), least)

    def _reads(self, hot: Background) -> float:
        return self._rates(self._with(hot)).other

    def _with(self, hot: Background) -> Workload:
        others = (each for each in self.workload.backgrounds if each.name != HOT)
        return replace(self.workload, backgrounds=(hot, *others))

    def _rates(self, found: Workload) -> Rates:
        self.check_time()
        return rates(found, simulation.simulate(scenario(found, self.pool), simulation.LONGEST).passes)
