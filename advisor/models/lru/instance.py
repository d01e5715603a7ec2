"""A buffer pool instance: its LRU list, its free list, its clock and its settings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.models.lru.list import LruList
from advisor.models.lru.popularity import PageGroup
from advisor.models.lru.runs import NOTHING, Run
from advisor.models.lru.scenario import Pool
from exporter.midpoint import MINIMUM_LENGTH, MINIMUM_YOUNG, RATIO_DIVISOR, TOLERANCE, old_ratio

EXTENT = 64
FRAGMENTS = 32
"""Pages that an index takes one by one from the first extent of its file (FSEG_FRAG_ARR_N_SLOTS). Page 32 of the index
begins an extent; read-ahead does not start before it."""
RUNS_OF_A_STEP = 128
"""A step that looks at so many more runs counts as one more: it takes as much longer."""
FLUID = 64
"""A free list that many times smaller than the pool is refilled continuously in the model, not in batches."""


class TooManySteps(Exception):
    """A simulation takes more steps than it may; the text says how many it would take."""


@dataclass(slots=True)
class PageCounts:
    """Pages read and promoted during a pass."""

    read: float = 0.0
    made_young: float = 0.0
    not_made_young: float = 0.0


class Instance:
    """Buffer pool instances that are alike, simulated as one.

    Args:
        pool: The settings.
        groups: The pages of each object in all instances.
        shares: The share of each object, 0 to 1, that one of these instances holds.
        count: The number of these instances.
        most_steps: Steps that it may take.

    Attributes:
        pages: Size of one instance.
        groups: The pages of each object in one instance.
        clock: Evictions so far: freed_page_clock.
        distance: Evictions until a young page is moved to the head again (buf_page_peek_if_young).
        area: Pages of a linear read-ahead (read_ahead_area).
        unread: Pages at the beginning of an object that read-ahead never brings.
        usual: Pages that a pass reads on average.
        due: Time of the page cleaner's next refill, ms; only where it refills by the clock.
        carried: Share of the pages just read that the midpoint passes during a refill.
        steps: Events of scans and slices of lookups so far: what the simulation costs.
    """

    def __init__(
        self,
        pool: Pool,
        groups: Mapping[str, Sequence[PageGroup]],
        shares: Mapping[str, float],
        count: int,
        most_steps: float = math.inf,
    ) -> None:
        self.count, self.shares = count, shares
        self.pages = pages = pool.pages // pool.instances
        self.groups = {name: [group.part(shares[name]) for group in groups_of] for name, groups_of in groups.items()}
        self._most_steps = most_steps
        self.list = LruList()
        self.free = float(pages)
        self.clock = 0.0
        self.counts = PageCounts()
        self.usual = 0.0
        self.due = 0.0
        self.steps = 0
        self.area = min(EXTENT, 1 << (max(1, pages // 32) - 1).bit_length())
        self.unread = (FRAGMENTS + self.area) / pool.instances
        self.set(pool)

    def spend(self, runs: int) -> None:
        """Count a step that looks at so many runs. Raises TooManySteps beyond the most."""
        self.steps += 1 + runs // RUNS_OF_A_STEP
        if self.steps > self._most_steps:
            raise TooManySteps

    def set(self, pool: Pool) -> None:
        """SET GLOBAL."""
        ratio = old_ratio(pool.old_blocks_pct)
        self.ratio = ratio / RATIO_DIVISOR
        self.time_ms = pool.old_blocks_time_ms
        self.distance = float(self.pages * (RATIO_DIVISOR - ratio) // (RATIO_DIVISOR * 4))
        self.free_low, self.free_high = pool.free_low, pool.free_high
        self.period = pool.refill_seconds * 1000
        batch = pool.free_high - pool.free_low + 1
        self.fluid = pool.free_low > 0 and self.pages > FLUID * batch
        # Of a batch, both edges of the tolerance and half an area of pending read-ahead stay old.
        kept = (1 - self.ratio) * (1 - self.area / 2 / batch) - 2 * TOLERANCE / batch
        self.carried = max(0.0, kept) if self.fluid else 0.0
        self.balance()

    @property
    def sublists(self) -> bool:
        """Whether the list is long enough to have an old sublist."""
        return self.list.pages >= MINIMUM_LENGTH - 0.5

    @property
    def off(self) -> float:
        """Pages by which the old sublist is longer than its target."""
        length = self.list.pages
        return self.list.old_pages - min(length * self.ratio, length - TOLERANCE - MINIMUM_YOUNG)

    @property
    def target_slope(self) -> float:
        """Growth of the target per page of the list."""
        return self.ratio if self.list.pages * (1 - self.ratio) > TOLERANCE + MINIMUM_YOUNG else 1.0

    @property
    def room(self) -> float:
        """Pages that can be read before an eviction."""
        if self.fluid:
            return max(0.0, self.free - (self.free_low + self.free_high) / 2)
        if self.free_low:
            return max(1.0, self.free - self.free_low + 1)
        return self.free

    def refill(self, now: float) -> bool:
        """Refill the free list if a batch of the page cleaner is due; ``now`` in ms."""
        if self.period:
            return self._refill_by_clock(now)
        if not self.free_low or self.fluid or self.free >= self.free_low - 0.5:
            return False
        self.evict(self.free_high - self.free)
        return True

    def _refill_by_clock(self, now: float) -> bool:
        if now < self.due - NOTHING:
            return False
        self.due = ((now + NOTHING) // self.period + 1) * self.period
        wanted = self.free_high - self.free
        self.evict(wanted)
        return wanted > NOTHING

    def evict(self, pages: float) -> None:
        """Evict at the tail; the midpoint follows."""
        while pages > NOTHING:
            at_once = min(pages, max(self.list.old_pages / 2, 1.0))
            self.list.evict(at_once)
            self.clock += at_once
            self.free += at_once
            pages -= at_once
            self.balance()

    def make_room(self, pages: float, now: float) -> None:
        """Evict as many pages as the read of ``pages`` needs; the midpoint follows later."""
        while pages > NOTHING:
            self.refill(now)
            room = self.room
            if room <= NOTHING:
                if pages * 2 < self.list.old_pages:
                    self.list.evict(pages)
                    self.clock += pages
                    return
                self.evict(pages)
                room = pages
            taken = min(pages, room)
            self.free -= taken
            pages -= taken

    def load(self, object_: str, pages: Sequence[float], done: float, part: float, now: float) -> float:
        """Read a part of a dump, as far as its pages are not there yet; the pages read.

        Args:
            object_: The object.
            pages: In the dump, of each of its groups.
            done: Share of these that was loaded before.
            part: Share to load.
            now: Time, ms.
        """
        present = [0.0] * len(pages)
        for run in self.list.runs(object_):
            present = [had + run.pages * share for had, share in zip(present, run.shares, strict=True)]
        groups = self.groups[object_]
        # Lookups have read as large a share of what is not loaded yet as of what is not in the dump.
        absent = [
            part * dumped * min(1.0, max(0.0, group.pages - there) / max(group.pages - done * dumped, NOTHING))
            for dumped, there, group in zip(pages, present, groups, strict=True)
        ]
        read = math.fsum(absent)
        if read <= NOTHING:
            return 0.0
        self.make_room(read, now)
        span = (min(group.lo for group in groups), max(group.hi for group in groups))
        shares = tuple(number / read for number in absent)
        run = Run(object_, shares, span, read, order=0, access=(now, 0.0), stamp=(self.clock, 0.0))
        (self.list.put_at_midpoint if self.sublists else self.list.put_at_head)([run])
        self.balance()
        return read

    def balance(self) -> None:
        """Move the midpoint to within its tolerance (buf_LRU_old_adjust_len, buf_LRU_old_init)."""
        lru = self.list
        if not self.sublists:
            if lru.old_pages:
                lru.move_midpoint(-lru.old_pages)
        elif lru.old_pages <= NOTHING:
            lru.move_midpoint(TOLERANCE - self.off)
        elif abs(off := self.off) > TOLERANCE:
            lru.move_midpoint(math.copysign(TOLERANCE, off) - off)

    def state(self, now: float, *, ages: bool) -> list[float]:
        """The state that the next pass depends on, in pages. A round that leaves it unchanged repeats itself.

        For each object: its young and old pages, their positions in the list, and with ``ages`` how long ago they were
        last put at the head, or first accessed, as far as that matters; else 0.
        """
        sums: dict[str, list[float]] = {}
        position = 0.0
        for layers in (self.list.young, self.list.old):
            for layer in layers:
                middle = (position + layer.pages / 2) / self.pages
                position += layer.pages
                for run in layer.runs:
                    sum_ = sums.setdefault(run.object, [0.0] * 6)
                    page = (run.lo + run.hi) / 2
                    at = 3 if layer.old else 0
                    sum_[at] += run.pages
                    sum_[at + 1] += run.pages * middle
                    if not ages:
                        continue
                    if layer.old:
                        age, limit = now - (run.access + run.access_slope * page), self.time_ms
                    else:
                        age, limit = self.clock - (run.stamp + run.stamp_slope * page), self.distance
                    sum_[at + 2] += run.pages * min(1.0, age / limit) if limit else 0.0
        return [value for name in sorted(sums) for value in sums[name]]
