"""A pass of a scan through the LRU list, from event to event.

Rates are constant between two events. An event is: a run of the object begins or ends, the last layer of a sublist or
the free list is used up, the midpoint reaches the edge of its tolerance, or the answer to "is this page moved to the
head?" changes. Rates are pages per page of the scan.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from advisor.models.lru.instance import FRAGMENTS, Instance
from advisor.models.lru.runs import NOTHING, Layer, Run
from advisor.models.lru.scenario import Scan
from exporter.midpoint import MINIMUM_LENGTH, TOLERANCE

READ_AHEAD_FAILURES = 8
"""64 - innodb_read_ahead_threshold: pages of an area that may be out of order (buf0rea.cc, buf_read_ahead_linear)."""
TOUCHES = 3
"""Accesses of the row path to a page while it reads its rows; more than one, as seen on MySQL 9.7."""
SHORTEST = 0.25  # pages between two events


class _Flow(NamedTuple):
    """Rates until the next event.

    Attributes:
        missed, evicted: Pages read, and pages evicted for them.
        promoted: Runs whose pages move to the head when accessed.
        to_head: Share of the pages read that goes to the head at once.
        ahead: Share of the pages read that read-ahead brings. Where the midpoint passes them, they go to the head when
            accessed.
        moved: Young pages that become old; where negative, pages just read that become young.
        through: Whether this pass needs none of the evicted pages, so that its own pages may be evicted as well.
    """

    missed: float
    evicted: float
    promoted: tuple[Run, ...]
    to_head: float
    ahead: float
    moved: float
    through: bool


class ScanPass:
    """One pass over an object, in page order.

    Args:
        instance: The instance that holds the pages.
        scan: The step of the scenario.
        start: Start of the pass, ms.
    """

    def __init__(self, instance: Instance, scan: Scan, start: float) -> None:
        self.at = instance
        self.object = scan.scan
        self.groups = instance.groups[scan.scan]
        self.end = scan.pages * instance.shares[scan.scan]  # page number to stop before
        page_ms = scan.seconds * 1000 / self.end if self.end else 0.0
        self.access = (start, page_ms)
        self.normal = scan.fetch == "normal"
        self.unread = instance.unread
        self.leads, self.disorder = True, 0.0  # whether read-ahead follows the last pages, and their disorder
        self.lingers = page_ms * (TOUCHES - 1) / TOUCHES if self.normal else 0.0
        self.cursor = 0.0
        # At the cursor: pages of the object, the pages of these that are not in the pool, and the runs of the others
        # with their pages. Then the runs that the scan reaches later.
        self.present = self.missed = 0.0
        self.hits: dict[Run, float] = {}
        self.pending: list[Run] = []

    def run(self) -> None:
        """Scan the object."""
        while self.cursor < self.end - NOTHING:
            start, page_ms = self.access
            if self.at.refill(start + page_ms * self.cursor):
                self._access_passed()
            if self.at.list.crowded:
                self.at.list.tidy()
            self._look()
            self._apply(*self._next_event())

    def _look(self) -> None:
        """Find the pages at the cursor."""
        cursor = self.cursor
        self.present = sum([g.pages / (g.hi - g.lo) for g in self.groups if g.lo <= cursor + NOTHING < g.hi])
        self.hits, self.pending = {}, []
        missed = self.present
        for run in self.at.list.runs(self.object):
            if run.hi <= cursor + NOTHING:
                continue
            if run.lo <= cursor + NOTHING:
                self.hits[run] = density = run.density
                missed -= density
            else:
                self.pending.append(run)
        self.missed = missed if missed > NOTHING else 0.0

    def _next_event(self) -> tuple[float, _Flow]:
        """The number of pages to the next event, and the rates until then."""
        at, lru = self.at, self.at.list
        at.spend(len(self.hits) + len(self.pending))
        full = at.room <= NOTHING
        spare, tail = lru.tail_of(self.object) if full else (math.inf, None)
        if tail is not None and self.missed:
            self._race(tail)
        missed, evicted, refill = self.missed, self.missed if full else 0.0, self._until_refill()
        promoted, promotion_lasts = self._promoted(evicted)
        to_head, ahead, fate_lasts = self._fate(evicted)
        area_lasts = math.inf
        if ahead and not full and refill < math.inf:
            ahead, area_lasts = self._ahead_of_refill(ahead, refill)
        moved, midpoint_lasts = self._midpoint(missed * (1 - to_head) - evicted, missed - evicted, promoted)
        through = bool(evicted) and not to_head and not moved and self._through(promoted)
        lasts = [refill, self._room_lasts(evicted), promotion_lasts, fate_lasts, area_lasts, midpoint_lasts]
        lasts.append(self._runs_last(tail, evicted, promoted))
        if evicted and not through:
            lasts.append(spare / evicted)
            if tail is not None:
                lasts.append(self._layer_lasts(tail, evicted, promoted))
        if moved > 0 and (layer := lru.before_midpoint) is not None:
            lasts.append(self._layer_lasts(layer, moved, promoted))
        flow = _Flow(missed, evicted, tuple(promoted), to_head, ahead, moved, through)
        return min(max(min(lasts), SHORTEST), self.end - self.cursor), flow

    def _room_lasts(self, evicted: float) -> float:
        """Pages of the scan until the free list is used up; at the first eviction, until the clock runs."""
        if evicted:
            return 1 / evicted if self.at.clock < 1 else math.inf
        return self.at.room / self.missed if self.missed else math.inf

    def _ahead_of_refill(self, ahead: float, refill: float) -> tuple[float, float]:
        """``ahead`` of _Flow where the free list is refilled after so many pages, and how long it is valid.

        A refill during the read-ahead of an area: the midpoint moves back over the pages that it passed before the scan
        accesses them.
        """
        area = self._area_of(self.cursor + refill - NOTHING)
        return (ahead, area - self.cursor) if self.cursor < area - NOTHING else (0.0, math.inf)

    def _until_refill(self) -> float:
        """Pages of the scan until the page cleaner refills the free list."""
        at, (start, page_ms) = self.at, self.access
        if at.period:
            return max((at.due - start) / page_ms - self.cursor, 0.0) if page_ms else math.inf
        return at.room / self.missed if at.free_low and self.missed and not at.fluid else math.inf

    def _midpoint(self, old: float, grown: float, promoted: dict[Run, float]) -> tuple[float, float]:
        """The move of the midpoint while the old sublist grows by ``old`` and the list by ``grown`` pages.

        Returns:
            ``moved`` of _Flow, and the number of pages that it is valid for.
        """
        at = self.at
        if not at.sublists:
            return 0.0, (MINIMUM_LENGTH - at.list.pages) / grown if grown > 0 else math.inf
        leaving = sum(density for run, density in promoted.items() if run.layer and run.layer.old)
        drift = old - leaving - at.target_slope * grown
        if abs(drift) <= NOTHING:
            return 0.0, math.inf
        edge = TOLERANCE - (at.off if drift > 0 else -at.off)
        return (0.0, edge / abs(drift)) if edge > NOTHING else (-drift, math.inf)

    def _area_of(self, page: float) -> float:
        """The start of a page's read-ahead area."""
        return (page - FRAGMENTS) // self.at.area * self.at.area + FRAGMENTS

    def _race(self, tail: Layer) -> None:
        """For runs whose next pages are at the tail: whether the scan or the eviction reaches them first."""
        for run in tail.runs:
            if run not in self.hits or run.order >= 0 or run.lo < self.cursor - NOTHING:
                continue
            density, share = self.hits[run], run.pages / tail.pages
            if not self._promotes(run, self.missed)[0]:
                left = density if share * self.missed <= density else 0.0
            else:
                # Hits and evictions together are all pages that the scan passes.
                left = density - share * self.missed / (1 - share) if share < 1 - 1e-9 else 0.0
            self.missed += density - max(left, 0.0)
            if left > NOTHING:
                self.hits[run] = left
            else:
                del self.hits[run]
                self.pending.append(run)

    def _promoted(self, clock_rate: float) -> tuple[dict[Run, float], float]:
        """The runs at the cursor whose pages move to the head, with their pages; valid for so many pages."""
        promoted: dict[Run, float] = {}
        shortest = math.inf
        for run, density in self.hits.items():
            yes, lasts = self._promotes(run, clock_rate)
            shortest = min(shortest, lasts)
            if yes:
                promoted[run] = density
        return promoted, shortest

    def _promotes(self, run: Run, clock_rate: float) -> tuple[bool, float]:
        """Whether pages of a run move to the head when accessed, and the number of pages that this is valid for.

        The source: buf_page_peek_if_too_old and buf_page_peek_if_young.
        """
        at = self.at
        if not self.normal or at.clock <= 0 or run.layer is None:
            return False, math.inf
        page = self.cursor
        start, page_ms = self.access
        if at.time_ms and run.layer.old:
            over = start + page_ms * page + self.lingers - (run.access + run.access_slope * page) - at.time_ms
            slope = page_ms - run.access_slope
        else:
            over = at.clock - (run.stamp + run.stamp_slope * page) - at.distance
            slope = clock_rate - run.stamp_slope
        yes = over >= -NOTHING
        if abs(slope) < 1e-12 or (slope > 0) == yes:
            return yes, math.inf
        return yes, max(-over / slope, SHORTEST)

    def _fate(self, evicted: float) -> tuple[float, float, float]:
        """Where pages read go: ``to_head`` and ``ahead`` of _Flow, and the number of pages that they are valid for."""
        at = self.at
        if not self.normal:
            return 0.0, 0.0, math.inf
        disorder = self._out_of_order()
        leads = self.missed > 0 and disorder * at.area <= READ_AHEAD_FAILURES
        if leads and not self.leads:
            # Read-ahead starts at the end of an area that is in order and whose last page was read.
            area = self._area_of(self.cursor)
            failed = self.disorder * (self.cursor - area) > READ_AHEAD_FAILURES
            self.unread = max(self.unread, area + at.area * (2 if failed else 1))
        self.leads, self.disorder = leads, disorder
        if not self.missed:
            return 0.0, 0.0, math.inf
        if at.clock <= 0:
            return 0.0, 0.0, math.inf
        lasts = math.inf
        moves = at.clock >= at.distance - NOTHING
        if not moves and evicted:
            lasts = max((at.distance - at.clock) / evicted, SHORTEST)
            area = self._area_of(self.cursor + lasts)
            if leads and area >= self.unread:  # the whole area is read before its first page is accessed
                moves = self.cursor > area - NOTHING
                lasts = math.inf if moves else area - self.cursor
        if (not at.time_ms and moves) or (at.time_ms and self.lingers >= at.time_ms):
            return 1.0, 0.0, lasts
        if evicted and not at.carried:  # the old sublist does not grow: the midpoint passes no page
            return 0.0, 0.0, lasts
        ahead = self.missed / self.present if moves and leads else 0.0
        if self.cursor < self.unread - NOTHING:
            return 0.0, 0.0, min(lasts, self.unread - self.cursor)
        return at.carried * ahead if evicted else 0.0, ahead, lasts

    def _out_of_order(self) -> float:
        """Share of the pages whose predecessor was first accessed later (buf_read_ahead_linear counts these)."""
        if len(self.hits) + (self.missed > 0) < 2:
            return 0.0
        pages: dict[tuple[float, float], float] = {self.access: self.missed}
        for run, density in self.hits.items():
            access = (run.access, run.access_slope)
            pages[access] = pages.get(access, 0.0) + density
        total = sum(pages.values())
        return (1 - sum((count / total) ** 2 for count in pages.values())) / 2

    def _through(self, promoted: dict[Run, float]) -> bool:
        """Whether the old sublist holds no page that this pass reaches: then it does not matter which are evicted."""
        if promoted or not self.at.list.old_pages:
            return False
        return not any(run.layer and run.layer.old for runs in (self.hits, self.pending) for run in runs)

    def _layer_lasts(self, layer: Layer, rate: float, promoted: dict[Run, float]) -> float:
        """Pages of the scan until a layer is used up that loses ``rate`` pages per page."""
        for run, density in promoted.items():
            if run.layer is layer:
                rate += density
        lasts = layer.pages / rate
        if layer.old or not any(run.layer is layer for run in self.hits):
            return lasts
        return max(lasts / 16, 1.0)  # pages change sublists during the scan

    def _runs_last(self, tail: Layer | None, evicted: float, promoted: dict[Run, float]) -> float:
        """Pages of the scan until a run of the object, or a group, begins or ends, with evictions."""
        cursor, lasts = self.cursor, math.inf
        for group in self.groups:
            edge = group.lo if group.lo > cursor + NOTHING else group.hi
            if edge > cursor + NOTHING:
                lasts = min(lasts, edge - cursor)
        for run in self.hits:
            speed = 0.0
            if evicted and tail is not None and run.layer is tail:
                speed = evicted * (run.hi - run.lo) / tail.pages
                if run.order == 0:
                    lasts = min(lasts, max(0.1 * tail.pages / evicted, 1.0))
                elif run.order < 0 and speed > 1 and run not in promoted and run.lo < cursor:
                    lasts = min(lasts, (cursor - run.lo) / (speed - 1))
            lasts = min(lasts, (run.hi - cursor) / (1 + (speed if run.order > 0 else 0.0)))
        for run in self.pending:
            speed = 0.0
            if evicted and tail is not None and run.layer is tail and run.order < 0:
                speed = evicted * (run.hi - run.lo) / tail.pages
            if speed < 1 - 1e-9:
                lasts = min(lasts, (run.lo - cursor) / (1 - speed))
        return lasts

    def _apply(self, chunk: float, flow: _Flow) -> None:
        """Apply the rates up to the next event."""
        at, lru = self.at, self.at.list
        if self.normal and at.time_ms > 0 and at.clock > 0:
            at.counts.not_made_young += self._refused(flow) * chunk
        stamp = (at.clock - flow.evicted * self.cursor, flow.evicted)
        read, passed, middle = self._read(chunk, flow, stamp)
        promoted = self._promote(chunk, flow, stamp)
        if flow.evicted:
            at.clock += flow.evicted * chunk
            if not flow.through:
                lru.evict(flow.evicted * chunk)
        if flow.moved > 0:
            middle += lru.cut_before_midpoint(flow.moved * chunk)
        lru.put_at_midpoint(middle)
        lru.put_before_midpoint(passed)
        lru.put_at_head(promoted + read)
        if flow.through:
            lru.evict(flow.evicted * chunk)
        self.cursor += chunk
        if not at.sublists or not lru.old_pages:
            at.balance()

    def _refused(self, flow: _Flow) -> float:
        """Pages of the old sublist that are accessed and stay there, per page of the scan."""
        stay = 0.0
        if self.at.sublists:
            stay = flow.missed * (1 if self.lingers else 1 - flow.to_head)
        for run, density in self.hits.items():
            if run not in flow.promoted and run.layer and run.layer.old:
                stay += density
        return stay

    def _read(self, chunk: float, flow: _Flow, stamp: tuple[float, float]) -> tuple[list[Run], list[Run], list[Run]]:
        """Read the missing pages: runs for the head, for before the midpoint, and for the midpoint."""
        if not flow.missed:
            return [], [], []
        at, counts = self.at, self.at.counts
        pages = flow.missed * chunk
        counts.read += pages
        at.free -= pages - flow.evicted * chunk
        if not at.sublists:
            shares = (1.0, 0.0, 0.0)
        else:
            if flow.to_head == 1.0:
                counts.made_young += pages
            young = -flow.moved / flow.missed if flow.moved < 0 else 0.0
            head = flow.to_head + young * flow.ahead
            shares = (head, young * (1 - flow.ahead), 1 - flow.to_head - young)
        span = (self.cursor, self.cursor + chunk)
        groups = self._not_found()

        def put(part: float, order: int, stamp: tuple[float, float] = (0.0, 0.0)) -> list[Run]:
            if part <= 0:
                return []
            return [Run(self.object, groups, span, pages * part, order=order, access=self.access, stamp=stamp)]

        return put(shares[0], -1, stamp), put(shares[1], 1), put(shares[2], -1)

    def _promote(self, chunk: float, flow: _Flow, stamp: tuple[float, float]) -> list[Run]:
        """Remove the pages that move to the head from their places."""
        head = []
        lru = self.at.list
        for run in flow.promoted:
            pages = self.hits[run] * chunk
            if run.lo < self.cursor - NOTHING:
                run = lru.split(run, self.cursor)  # noqa: PLW2901 - what lies behind the scan stays
            pages = min(pages, run.pages)
            if run.layer is not None and run.layer.old:
                self.at.counts.made_young += pages
            lru.take(run, pages)
            run.lo += pages / run.density
            run.pages -= pages
            span = (self.cursor, self.cursor + chunk)
            access = (run.access, run.access_slope)
            head.append(Run(self.object, run.shares, span, pages, order=-1, access=access, stamp=stamp))
        return head

    def _not_found(self) -> tuple[float, ...]:
        """The share of each group in the pages read."""
        if len(self.groups) == 1:
            return (1.0,)
        left = [g.density if g.lo <= self.cursor + NOTHING < g.hi else 0.0 for g in self.groups]
        for run, density in self.hits.items():
            left = [had - density * share for had, share in zip(left, run.shares, strict=True)]
        left = [max(0.0, pages) for pages in left]
        total = sum(left)
        return tuple(pages / total for pages in left)

    def _access_passed(self) -> None:
        """Move pages to the head that read-ahead brought, the midpoint passed, and the scan accesses."""
        at, lru = self.at, self.at.list
        layer = lru.before_midpoint
        if layer is None or at.clock < at.distance or not self.normal:
            return
        for run in layer.runs:
            passed = run.order > 0 and run.lo >= self.unread and run.object == self.object and run.pages > NOTHING
            if passed and (run.access, run.access_slope) == self.access:
                pages, run.pages = run.pages, 0.0
                layer.pages -= pages
                lru.young_pages -= pages
                span, stamp = (run.lo, run.hi), (at.clock, 0.0)
                lru.put_at_head([Run(self.object, run.shares, span, pages, order=-1, access=self.access, stamp=stamp)])
