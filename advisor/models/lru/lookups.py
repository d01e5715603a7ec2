"""Point accesses to the LRU list, one slice of time after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from operator import add, mul, sub

from advisor.models.lru.instance import Instance, PageCounts
from advisor.models.lru.runs import NOTHING, Run
from advisor.models.lru.scenario import Points


@dataclass(frozen=True, slots=True)
class _Slices:
    """How finely a step is sliced. Tests against the page-exact reference hold with it."""

    most: int = 64
    """Slices of a step, unless a page would be read twice in one of them."""
    cycle: int = 32
    """After `most` slices, the effect of so many slices is repeated for as long as the step has lasted so far."""
    read: float = 1 / 12
    """Share of the object and of the old sublist: most pages that one slice reads. More would evict pages that the same
    slice accesses."""
    asked: float = 1.0
    """Share of the old sublist: most pages that one slice finds."""
    small: float = 0.08
    """Share of the pages that a pass reads on average: a slice of this size is fine enough, too."""
    short: float = 4.0
    """Times innodb_old_blocks_time: in a step that lasts longer than this time, but less than so many times as long, it
    matters when in the step a page was read. As many slices go into innodb_old_blocks_time then."""
    few: float = 8.0
    """Pages: a slice that moves no more is fine enough."""


_SLICES = _Slices()


class LookupPass:
    """Point accesses that are spread evenly over a time.

    Args:
        instance: The instance that holds the pages.
        points: The step of the scenario.
        chances: The share of the accesses, 0 to 1, on each group of pages.
        start: Start of the accesses, ms.
    """

    def __init__(self, instance: Instance, points: Points, chances: Sequence[float], start: float) -> None:
        self.at = instance
        self.object = points.points
        self.start, self.lasts = start, points.seconds * 1000
        groups, share = instance.groups[points.points], instance.shares[points.points]
        accesses = [points.accesses * chance * share for chance in chances]
        self.sizes = [group.pages for group in groups]
        # Accesses per page; some instances have no pages of a small object.
        self.rate_per_page = [
            asked / pages if pages else 0.0 for asked, pages in zip(accesses, self.sizes, strict=True)
        ]
        held = [group for group, count in zip(groups, accesses, strict=True) if count]
        self.span = (min(group.lo for group in held), max(group.hi for group in held)) if held else (0.0, 0.0)

    def run(self) -> None:
        """Do the accesses."""
        present = [0.0] * len(self.sizes)
        for run in self.at.list.runs(self.object):
            present = list(map(add, present, map(mul, run.shares, repeat(run.pages))))
        done, since, slices = 0.0, 0.0, 0
        counts, clock = replace(self.at.counts), self.at.clock
        while done < 1 - NOTHING:
            part = min(self._part(present), 1 - done)
            present = self._slice(present, self.start + self.lasts * (done + part / 2), self.lasts * part, part)
            done += part
            slices += 1
            if slices % 8 == 0:
                self.at.list.tidy()
            if slices >= _SLICES.most and slices % _SLICES.cycle == 0:
                if slices > _SLICES.most and done < 1 - NOTHING:
                    rest = min(done, 1 - done)
                    self._go_on(rest, rest / (done - since), counts, clock)
                    done += rest
                since, counts, clock = done, replace(self.at.counts), self.at.clock

    def _go_on(self, part: float, factor: float, counts: PageCounts, clock: float) -> None:
        """Repeat the effect of the last slices for another part of the step; the present pages stay alike."""
        at = self.at
        evicted = factor * (at.clock - clock)
        at.counts.read += factor * (at.counts.read - counts.read)
        at.counts.made_young += factor * (at.counts.made_young - counts.made_young)
        at.counts.not_made_young += factor * (at.counts.not_made_young - counts.not_made_young)
        at.clock += evicted
        for run in at.list.runs(self.object):
            run.access += part * self.lasts
            run.stamp += evicted

    def _part(self, present: list[float]) -> float:
        """The share of the step, up to 1, that one slice can do; ``present``: pages of each group in the pool."""
        at = self.at
        missed = math.fsum(map(mul, map(sub, self.sizes, present), self.rate_per_page))
        asked = math.fsum(map(mul, present, map(min, self.rate_per_page, repeat(1.0))))
        held = at.list.old_pages or at.list.pages
        small = min(held, math.fsum(self.sizes))
        fine = max(_SLICES.few, _SLICES.read * small, min(_SLICES.small * at.usual, small / 2))
        wanted = max(missed / fine, asked / max(_SLICES.few, _SLICES.asked * held), 1.0)
        if at.time_ms < self.lasts < _SLICES.short * at.time_ms:
            wanted = max(wanted, _SLICES.short * self.lasts / at.time_ms)
        # A page must not be read twice in one slice, however many slices that takes.
        return 1 / max(min(wanted, _SLICES.most), 4 * missed / max(small, _SLICES.few))

    def _slice(self, present: list[float], now: float, lasts: float, part: float) -> list[float]:
        """Do a part of the step around ``now``; return the present pages of each group."""
        at, lru = self.at, self.at.list
        rates = [rate * part for rate in self.rate_per_page]
        asked = [-math.expm1(-rate) for rate in rates]
        evicted_before = at.clock > 0
        # Half of the slice's evictions have happened when the average page is accessed.
        early = sum(self._missed(present, asked)) / 2
        at.make_room(early, now)
        present = moved = [0.0] * len(self.sizes)
        access = 0.0  # a sum over the pages moved
        runs = lru.runs(self.object)
        at.spend(len(runs))
        for run in runs:
            had = list(map(mul, run.shares, repeat(run.pages)))
            present = list(map(add, present, had))
            promoted, of_groups = self._access(run, had, asked, now, counted=evicted_before)
            if promoted > NOTHING:
                access += promoted * (run.access + run.access_slope * (run.lo + run.hi) / 2)
                moved = list(map(add, moved, of_groups))
        missed = self._missed(present, asked)
        still_present = list(map(add, present, missed))
        at.counts.read += sum(missed)
        at.make_room(sum(missed) - early, now)
        self._put(missed, self._again(rates, lasts), moved, access, now)
        at.balance()
        return still_present

    def _access(
        self, run: Run, had: list[float], asked: list[float], now: float, *, counted: bool
    ) -> tuple[float, list[float]]:
        """Access pages of a run, and take those that move to the head out of it.

        Args:
            run: The run.
            had: Its pages of each group.
            asked: The share of each group that is accessed.
            now: Time of the accesses.
            counted: Whether the server counts promotions, which it does after the first eviction.

        Returns:
            The pages that move, in all and of each group.
        """
        at, share = self.at, self._promoted(run, now)
        old = counted and run.layer is not None and run.layer.old
        if not share and not old:
            return 0.0, []
        accessed = list(map(mul, had, asked))
        promoted = sum(accessed) * share
        if old:
            at.counts.made_young += promoted
            if at.time_ms:
                at.counts.not_made_young += sum(accessed) - promoted
        if promoted <= NOTHING:
            return 0.0, []
        at.list.take(run, promoted)
        run.pages = left = run.pages - promoted
        gone = list(map(mul, accessed, repeat(share))) if share < 1 else accessed
        if left > NOTHING:
            stay = map(sub, had, gone) if share < 1 else map(mul, had, (1 - chance for chance in asked))
            run.shares = tuple(map(mul, stay, repeat(1 / left)))
        return promoted, gone

    def _put(
        self, missed: list[float], again: list[float] | None, moved: list[float], access: float, now: float
    ) -> None:
        """Put pages that were read at the midpoint, and pages that were moved at the head.

        Args:
            missed: Pages of each group that were read.
            again: Share of these that was accessed once more, and so goes to the head, too.
            moved: Pages of each group that were moved.
            access: First access of the moved pages, summed over the pages.
            now: First access of the pages that were read.
        """
        at, lru = self.at, self.at.list
        if again is not None:
            promoted = list(map(mul, missed, again))
            pages = math.fsum(promoted)
            if at.sublists:
                at.counts.made_young += pages
            missed, moved = list(map(sub, missed, promoted)), list(map(add, moved, promoted))
            access += now * pages
        (lru.put_at_midpoint if at.sublists else lru.put_at_head)(self._run(missed, now))
        lru.put_at_head(self._run(moved, access / math.fsum(moved) if access else now))

    def _missed(self, present: list[float], asked: list[float]) -> list[float]:
        """Pages of each group that are accessed and not present."""
        absent = map(max, map(sub, self.sizes, present), repeat(0.0))
        return list(map(mul, absent, asked))

    def _run(self, pages: Sequence[float], access: float) -> list[Run]:
        """A run of these pages of each group, first accessed at ``access``."""
        total = sum(pages)
        if total <= NOTHING:
            return []
        shares = (1.0,) if len(pages) == 1 else tuple(map(mul, pages, repeat(1 / total)))
        return [Run(self.object, shares, self.span, total, order=0, access=(access, 0.0), stamp=(self.at.clock, 0.0))]

    def _promoted(self, run: Run, now: float) -> float:
        """Share of a run's pages that move to the head when accessed."""
        at = self.at
        if at.clock <= 0 or run.layer is None:
            return 0.0
        if at.time_ms and run.layer.old:
            value, slope, wanted = run.access, run.access_slope, now - at.time_ms
        else:
            value, slope, wanted = run.stamp, run.stamp_slope, at.clock - at.distance
        if not slope:
            return float(value <= wanted)
        low, high = sorted((value + slope * run.lo, value + slope * run.hi))
        if high <= wanted:
            return 1.0
        return (wanted - low) / (high - low) if low < wanted else 0.0

    def _again(self, rates: Sequence[float], lasts: float) -> list[float] | None:
        """Share of the pages read that go to the head within the same slice, by group; None where none do.

        With innodb_old_blocks_time, these are accessed again when it is over. ``rates`` are accesses per page in it.
        """
        at = self.at
        if at.clock <= 0:
            return None
        if not at.time_ms:
            return [1.0] * len(rates) if at.clock >= at.distance else None
        if lasts <= at.time_ms:
            return None
        left = 1 - at.time_ms / lasts
        return [
            (-math.expm1(-left * rate) - left * rate * math.exp(-left * rate)) / -math.expm1(-rate) if rate else 0.0
            for rate in rates
        ]
