"""The reference of the model: the LRU list page by page, as in InnoDB's source.

Sources: storage/innobase/buf/buf0lru.cc (buf_LRU_add_block_low, buf_LRU_remove_block, buf_LRU_old_adjust_len,
buf_LRU_old_init, buf_LRU_make_block_young), buf0buf.cc (Buf_fetch::single_page, buf_page_peek_if_too_old,
read_ahead_area) and buf0rea.cc (buf_read_ahead_linear), the same in MySQL 5.6 to 9.7 and MariaDB 10.5 to 11.8 but for
what the scenario says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from advisor.models.lru.scenario import Fetch, Pass, Points, Pool, Scan, Scenario, Set
from exporter.midpoint import MINIMUM_LENGTH, RATIO_DIVISOR, TOLERANCE, old_ratio, old_target
from lab.harness.workloads import Draws

EXTENT = 64
FRAGMENTS = 32
"""Pages that an index takes one by one from the first extent of its file before it is given whole extents
(FSEG_FRAG_ARR_N_SLOTS): page 32 of a table begins an extent. The single ones end before the extent does, so that no
read-ahead starts from them."""
TOUCHES = 3
"""Accesses of the row path to a page while it reads its rows; at least two, as seen on MySQL 9.7."""
READ_AHEAD_FAILURES = 8  # 64 - innodb_read_ahead_threshold


class Page:
    __slots__ = ("access", "after", "before", "number", "object", "old", "stamp")

    def __init__(self, object_: str, number: int) -> None:
        self.object = object_
        self.number = number
        self.before: Page | None = None
        self.after: Page | None = None
        self.old = False
        self.access: float | None = None  # ms; None where it was never asked for
        self.stamp = 0  # freed_page_clock when it was last put at the head


class Instance:
    """One buffer pool instance: ``head`` … ``lru_old`` … ``tail``."""

    def __init__(self, pages: int, pool: Pool) -> None:
        self.pages = pages
        self.free = pages
        self.length = self.old_length = self.clock = 0
        self.head: Page | None = None
        self.tail: Page | None = None
        self.lru_old: Page | None = None
        self.resident: dict[tuple[str, int], Page] = {}
        self.made_young = self.reads = 0
        self.due = 0.0  # ms
        self.set(pool)

    def set(self, pool: Pool) -> None:
        self.pct = pool.old_blocks_pct
        self.time_ms = pool.old_blocks_time_ms
        self.free_low, self.free_high = pool.free_low, pool.free_high
        self.period = pool.refill_seconds * 1000
        self.distance = self.pages * (RATIO_DIVISOR - old_ratio(self.pct)) // (RATIO_DIVISOR * 4)
        if self.length > MINIMUM_LENGTH:
            self._adjust()

    def read(self, object_: str, number: int) -> Page:
        if not self.free:
            self._evict()
        self.free -= 1
        page = Page(object_, number)
        self.resident[object_, number] = page
        self.reads += 1
        self._add(page, old=True)
        if self.free < self.free_low:
            self._refill()
        return page

    def clean(self, now: float) -> None:
        """Refill the free list, if a page cleaner that goes by the clock is due."""
        if self.period and now >= self.due:
            self.due = (now // self.period + 1) * self.period
            self._refill()

    def _refill(self) -> None:
        while self.free < self.free_high:
            self._evict()

    def touch(self, page: Page, now: float, fetch: Fetch) -> bool:
        """Access a resident page; True if it was not moved."""
        if page.access is None:
            page.access = now
        if fetch == "scan" or not self.clock:
            return False
        if self.time_ms and page.old:
            if now - page.access < self.time_ms:
                return True
        elif self.clock < page.stamp + self.distance:
            return False
        self.made_young += page.old
        self._remove(page)
        self._add(page, old=False)
        return False

    def _evict(self) -> None:
        assert self.tail is not None
        page = self.tail
        self.clock += 1
        self._remove(page)
        del self.resident[page.object, page.number]
        self.free += 1

    def _add(self, page: Page, *, old: bool) -> None:
        if not old or self.length < MINIMUM_LENGTH:
            page.stamp = self.clock
            page.before, page.after = None, self.head
            if self.head:
                self.head.before = page
            else:
                self.tail = page
            self.head = page
        else:
            middle = self.lru_old
            assert middle is not None
            page.before, page.after = middle, middle.after
            if middle.after:
                middle.after.before = page
            else:
                self.tail = page
            middle.after = page
            self.old_length += 1
        self.length += 1
        if self.length > MINIMUM_LENGTH:
            page.old = old
            self._adjust()
        elif self.length == MINIMUM_LENGTH:
            at = self.head
            while at:
                at.old = True
                at = at.after
            self.lru_old, self.old_length = self.head, self.length
            self._adjust()
        else:
            page.old = False

    def _remove(self, page: Page) -> None:
        if page is self.lru_old:
            assert page.before is not None
            self.lru_old = page.before
            self.lru_old.old = True
            self.old_length += 1
        if page.before:
            page.before.after = page.after
        else:
            self.head = page.after
        if page.after:
            page.after.before = page.before
        else:
            self.tail = page.before
        self.length -= 1
        if self.length < MINIMUM_LENGTH:
            at = self.head
            while at and self.lru_old:
                at.old = False
                at = at.after
            self.lru_old, self.old_length = None, 0
            return
        self.old_length -= page.old
        self._adjust()

    def _adjust(self) -> None:
        target = old_target(self.length, self.pct)
        while self.old_length + TOLERANCE < target:
            assert self.lru_old
            assert self.lru_old.before
            self.lru_old = self.lru_old.before
            self.lru_old.old = True
            self.old_length += 1
        while self.old_length > target + TOLERANCE:
            assert self.lru_old
            self.lru_old.old = False
            assert self.lru_old.after
            self.lru_old = self.lru_old.after
            self.old_length -= 1


class Reference:
    """A buffer pool, page by page."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.pool = scenario.pool
        count = self.pool.instances
        self.instances = [Instance(self.pool.pages // count, self.pool) for _ in range(count)]
        self.offsets = {name: number for number, name in enumerate(scenario.sizes())}
        self.now = 0.0  # ms
        self.draws = Draws()
        portion = max(1, self.instances[0].pages // 32)
        self.area = min(EXTENT, 1 << (portion - 1).bit_length())

    def instance(self, object_: str, number: int) -> Instance:
        return self.instances[(self.offsets[object_] + (number + FRAGMENTS) // EXTENT) % len(self.instances)]

    def passes(self) -> Iterator[Pass]:
        for number, step in enumerate(self.scenario.flat(), 1):
            match step:
                case Set():
                    changed = {k: v for k, v in step.set.model_dump().items() if v is not None}
                    self.pool = Pool.model_validate(self.pool.model_dump() | changed)
                    for instance in self.instances:
                        instance.set(self.pool)
                case Scan():
                    for count in range(1, step.passes + 1):
                        yield self._measured(number, step.scan, count, self._scan(step))
                        self.now += step.gap_seconds * 1000
                case Points():
                    yield self._measured(number, step.points, 1, self._points(step))

    def _measured(self, step: int, object_: str, count: int, work: Iterator[tuple[str, int, bool]]) -> Pass:
        reads, young = (sum(i.reads for i in self.instances), sum(i.made_young for i in self.instances))
        refused = {number for _, number, was_refused in work if was_refused}
        return Pass(
            step=step,
            object=object_,
            number=count,
            pages_read=sum(i.reads for i in self.instances) - reads,
            made_young=sum(i.made_young for i in self.instances) - young,
            not_made_young=len(refused),
            young_pages=sum(i.length - i.old_length for i in self.instances),
            old_pages=sum(i.old_length for i in self.instances),
            free_pages=sum(i.free for i in self.instances),
        )

    def _scan(self, step: Scan) -> Iterator[tuple[str, int, bool]]:
        page_ms = step.seconds * 1000 / step.pages
        touches = 1 if step.fetch == "scan" else TOUCHES
        for number in range(step.pages):
            self._clean()
            instance = self.instance(step.scan, number)
            page = instance.resident.get((step.scan, number)) or instance.read(step.scan, number)
            first = page.access is None
            for touch in range(touches):
                yield step.scan, number, instance.touch(page, self.now + page_ms * touch / touches, step.fetch)
                if touch == 0 and first:
                    self._read_ahead(step.scan, number, step.pages)
            self.now += page_ms

    def _clean(self) -> None:
        for instance in self.instances:
            instance.clean(self.now)

    def _read_ahead(self, object_: str, number: int, pages: int) -> None:
        """Read the next area after the last page of an area that was read in order."""
        if number < FRAGMENTS or (number + 1 - FRAGMENTS) % self.area:
            return
        failed, last = 0, None
        for other in range(number + 1 - self.area, number + 1):
            page = self.instance(object_, other).resident.get((object_, other))
            if page is None or page.access is None:
                failed += 1
            else:
                failed += last is not None and int(page.access) < int(last)
                last = page.access
        if failed > READ_AHEAD_FAILURES or number + 1 + self.area > pages:
            return
        for other in range(number + 1, number + 1 + self.area):
            instance = self.instance(object_, other)
            if (object_, other) not in instance.resident:
                instance.read(object_, other)

    def _points(self, step: Points) -> Iterator[tuple[str, int, bool]]:
        for number in self.draws.of(step):
            self._clean()
            instance = self.instance(step.points, number)
            page = instance.resident.get((step.points, number)) or instance.read(step.points, number)
            yield step.points, number, instance.touch(page, self.now, "normal")
            self.now += step.seconds * 1000 / step.accesses


def simulate(scenario: Scenario) -> list[Pass]:
    """The passes of a scenario, page by page."""
    return list(Reference(scenario).passes())


def resident(scenario: Scenario) -> dict[tuple[str, bool], int]:
    """Pages of each object in the pool at the end, by sublist (True: old)."""
    reference = Reference(scenario)
    for _ in reference.passes():
        pass
    pages: dict[tuple[str, bool], int] = defaultdict(int)
    for instance in reference.instances:
        for page in instance.resident.values():
            pages[page.object, page.old] += 1
    return dict(pages)
