"""What the change buffer comes to, once changes go to random leaf pages of secondary indexes that are not in the pool.

Three things end the wait of the changes to a page, so that a merge applies them (ibuf0ibuf.cc of MySQL 5.6 to 9.7):

- The buffer is full. Each change then merges some pages from a random place of the buffer (ibuf_contract).
- The master thread merges innodb_io_capacity / 20 pages a second while the server is at work, and from half of the
  buffer's maximum on more: innodb_io_capacity more at the maximum would be twice as full (ibuf_merge_in_background).
- The page may run full: no more than an eighth of a page is ever buffered for it, all that its two bits in the bitmap
  can say (ibuf_index_page_calc_free_from_bits).

Changes that are spread evenly over the pages are a Poisson process at each of them. A place that is chosen by chance
among the changes is then at a page with one more than the mean: hence the form of ``operations_per_merge``. The
constants fit what MySQL 9.7.4 and 5.6.24 did with pools of 24 and 64 MiB, innodb_change_buffer_max_size 5, 25 and 50,
innodb_io_capacity 200 and 10,000, and indexes of 5,700 and 10,000 leaf pages (tests/advisor/models has the figures).
MariaDB merges nothing in the background from 10.5 on: this is not a model of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_SECONDS = 60
"""How long is simulated, in the master thread's steps of one."""
_RECORD_OVERHEAD = 37.0
"""Bytes that a change is larger than its entry in the index: table, page, kind, and six a column for the types."""
_FILL = 0.69
"""Of a B-tree page whose keys come in random order: the natural logarithm of 2."""
_PAGE_OVERHEAD = 134.0
_SPREAD = 1.2
"""How many more changes a merged page has than a page on average: chosen by its changes, and merged with neighbours."""
_SPREAD_OVER_ALL = 1.45
"""The same over all pages that have changes waiting (measured as buffers were emptied: 1.33 to 1.6). Changes wait for
pages that were not in the pool when they came, fewer than all at any time, but not always the same."""
_LEAST_READS = 1 / 40
"""Reads a change that no buffering saves: pages too full to take it, and the buffer's own (measured: 0.02 to 0.05)."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """The settings that bound the change buffer.

    Attributes:
        pool_pages: Of the whole buffer pool.
        page_bytes: innodb_page_size.
        max_size_pct: innodb_change_buffer_max_size, percent of the pool.
        io_capacity: innodb_io_capacity, pages a second.
    """

    pool_pages: float
    page_bytes: float
    max_size_pct: float
    io_capacity: float

    @property
    def max_pages(self) -> float:
        """Pages that it may have."""
        return self.pool_pages * self.max_size_pct // 100.0


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to leaf pages that are not in the pool.

    Attributes:
        per_second: How many.
        leaf_pages: Over how many pages they are spread.
        entry_bytes: Of an index entry.
    """

    per_second: float
    leaf_pages: float
    entry_bytes: float


@dataclass(frozen=True, slots=True)
class Steady:
    """What it comes to.

    Attributes:
        pages: Size of the change buffer.
        operations_per_merge: Changes that a read of a page is for.
        reads_per_second: Pages read for the changes.
    """

    pages: float
    operations_per_merge: float
    reads_per_second: float


def operations_per_page(page_bytes: float, entry_bytes: float) -> float:
    """Changes that a page of the change buffer holds (measured: 120 to 145 of 39 bytes on a page of 16 KiB)."""
    return _FILL * (page_bytes - _PAGE_OVERHEAD) / (entry_bytes + _RECORD_OVERHEAD)


def pages_with_changes(waiting: float, operations_per_merge: float) -> float:
    """Pages that so many waiting changes are for, if a merge applies so many of them.

    Merges find the pages with more changes than the mean (see above), so that these are more than the quotient.
    """
    mean = (operations_per_merge - 1.0) / _SPREAD_OVER_ALL
    return waiting if mean < 0.001 else waiting * (1.0 - math.exp(-mean)) / mean


def steady(buffer: Buffer, changes: Changes) -> Steady:
    """The state in which merges keep up with the changes, as a mean over ``_SECONDS``.

    Until the buffer has filled up to there, fewer pages are read. Within 20 % of the measured reads at up to a quarter
    of the pool; at half of it the change buffer drives out so much that more is read than this says.
    """
    if changes.per_second <= 0.0 or buffer.max_pages < 1.0:
        return Steady(pages=0.0, operations_per_merge=1.0, reads_per_second=changes.per_second)
    page_holds = operations_per_page(buffer.page_bytes, changes.entry_bytes)
    leaf_pages = max(changes.leaf_pages, 1.0)
    room = max(1.0, buffer.page_bytes / 8.0 / changes.entry_bytes)

    def each(waiting: float) -> float:
        """Changes that a merge applies while so many wait."""
        return float(((1.0 + _SPREAD * waiting / leaf_pages) ** -3.0 + room**-3.0) ** (-1.0 / 3.0))

    def tried(waiting: float) -> float:
        """Pages that the master thread merges a second."""
        above = max(0.0, waiting / page_holds - buffer.max_pages / 2.0) / (buffer.max_pages + 1.0)
        return buffer.io_capacity * (0.05 + above)

    most = min(buffer.max_pages * page_holds, room * leaf_pages)
    waiting = _balance(lambda waiting: each(waiting) * tried(waiting), most, changes.per_second)
    merged = merges = held = 0.0
    for _ in range(_SECONDS):
        waiting += changes.per_second
        if waiting > most:
            merged += waiting - most
            merges += (waiting - most) / each(most)
            waiting = most
        # The first pages merged have more changes than the mean; once all are merged, that is what was applied.
        pages = leaf_pages * (1.0 - math.exp(-waiting / leaf_pages))
        applied = waiting * (1.0 - math.exp(-tried(waiting) * each(waiting) / waiting))
        merges += pages * (1.0 - math.exp(-tried(waiting) / pages))
        merged += applied
        waiting -= applied
        held += waiting / page_holds
    operations = max(1.0, merged / merges)
    reads = min(1.0, 1.0 / operations + _LEAST_READS)
    return Steady(held / _SECONDS, operations, changes.per_second * reads)


def _balance(merged: Callable[[float], float], most: float, per_second: float) -> float:
    """How many changes wait where as many are merged a second as come; ``most`` where fewer are."""
    if merged(most) < per_second:
        return most
    least = 0.0
    while most - least > 1.0:
        middle = (least + most) / 2.0
        least, most = (middle, most) if merged(middle) < per_second else (least, middle)
    return least
