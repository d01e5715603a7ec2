"""The steady state of the change buffer under changes to random leaf pages that are not in the pool.

A merge applies the waiting changes of a page for one of three reasons (ibuf0ibuf.cc of MySQL 5.6 to 9.7):

- The buffer is full. Each change then merges some pages from a random place of the buffer (ibuf_contract).
- The master thread merges innodb_io_capacity / 20 pages a second while the server is at work, and from half of the
  buffer's maximum on more: innodb_io_capacity more at the maximum would be twice as full (ibuf_merge_in_background).
- The page may run full: at most an eighth of a page is buffered for it, the most that its two bits in the bitmap can
  express (ibuf_index_page_calc_free_from_bits).

Changes that are spread evenly over the pages are a Poisson process at each page. A change chosen at random is then at a
page with one change more than the mean: hence the form of ``operations_per_merge``. The constants fit what MySQL 9.7.4
and 5.6.24 did with pools of 24 and 64 MiB, innodb_change_buffer_max_size 5, 25 and 50, innodb_io_capacity 200 and
10,000, and indexes of 5,700 and 10,000 leaf pages (tests/advisor/models has the figures).
MariaDB merges nothing in the background from 10.5 on: this is not a model of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_SECONDS = 60
"""Length of the simulation, in the master thread's steps of one second."""
_RECORD_OVERHEAD = 37.0
"""Bytes that a change needs beside its index entry: table, page, kind, and six for the type of each column."""
_FILL = 0.69
"""Fill of a B-tree page whose keys come in random order: the natural logarithm of 2."""
_PAGE_OVERHEAD = 134.0
_SPREAD = 1.2
"""Changes of a merged page relative to the mean page: it is chosen by its changes, and merged with neighbours."""
_SPREAD_OVER_ALL = 1.45
"""The same over all pages with waiting changes (measured while buffers were emptied: 1.33 to 1.6). Changes wait for
pages that were not in the pool when the changes came: not for all pages, and not always for the same ones."""
_LEAST_READS = 1 / 40
"""Reads per change that buffering never saves: of pages too full for it, and of the buffer (measured: 0.02 to 0.05)."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """The settings that bound the change buffer.

    Attributes:
        pool_pages: Size of the whole buffer pool.
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
        """The largest size of the change buffer."""
        return self.pool_pages * self.max_size_pct // 100.0


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to leaf pages that are not in the pool.

    Attributes:
        per_second: Changes per second.
        leaf_pages: Pages that the changes are spread over.
        entry_bytes: Size of an index entry.
    """

    per_second: float
    leaf_pages: float
    entry_bytes: float


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady state.

    Attributes:
        pages: Size of the change buffer.
        operations_per_merge: Changes that one read of a page serves.
        reads_per_second: Pages read for the changes.
    """

    pages: float
    operations_per_merge: float
    reads_per_second: float


def operations_per_page(page_bytes: float, entry_bytes: float) -> float:
    """Changes that a page of the change buffer holds (measured: 120 to 145 of 39 bytes on a page of 16 KiB)."""
    return _FILL * (page_bytes - _PAGE_OVERHEAD) / (entry_bytes + _RECORD_OVERHEAD)


def pages_with_changes(waiting: float, operations_per_merge: float) -> float:
    """Pages that the waiting changes are for.

    This is more than the quotient: merges find pages with more changes than the mean (see above).
    """
    mean = (operations_per_merge - 1.0) / _SPREAD_OVER_ALL
    return waiting if mean < 0.001 else waiting * (1.0 - math.exp(-mean)) / mean


def unbuffered_reads(changes: Changes, old_pages: float, other_reads: float) -> float:
    """Pages a second that the changes read where nothing is buffered.

    A page that a change reads comes into the old sublist, and leaves it as the pages do that are read beside it: of the
    sublist, the leaf pages have the share that they have of all reads. What is left of them is absent, and read.
    Measured with pools of 12 and 24 MiB and three random indexes, as reads of an inserted row: 2.57 to 2.72, 2.50 and
    2.34 (MySQL 9.7.4, 9.7.4 and 8.0.43); this gives 2.54, 2.41 and 2.43.

    Args:
        changes: Those to all leaf pages, in the pool or not; ``leaf_pages`` are all of them.
        old_pages: Of the old sublist.
        other_reads: Pages a second that are read for anything else.
    """
    held = other_reads - changes.per_second * (1.0 - old_pages / max(changes.leaf_pages, 1.0))
    return (math.sqrt(held * held + 4.0 * changes.per_second * other_reads) - held) / 2.0


def steady(buffer: Buffer, changes: Changes) -> Steady:
    """The state in which merges keep up with changes, as a mean over ``_SECONDS``.

    Until the buffer has filled up to there, fewer pages are read. Within 20 % of the measured reads at up to a quarter
    of the pool; at half of it the change buffer drives out so much that more is read than this says.
    """
    if changes.per_second <= 0.0 or buffer.max_pages < 1.0:
        return Steady(pages=0.0, operations_per_merge=1.0, reads_per_second=changes.per_second)
    page_holds = operations_per_page(buffer.page_bytes, changes.entry_bytes)
    leaf_pages = max(changes.leaf_pages, 1.0)
    room = max(1.0, buffer.page_bytes / 8.0 / changes.entry_bytes)

    def operations_per_merge(waiting: float) -> float:
        """Changes that a merge applies while ``waiting`` changes wait."""
        return float(((1.0 + _SPREAD * waiting / leaf_pages) ** -3.0 + room**-3.0) ** (-1.0 / 3.0))

    def merges_per_second(waiting: float) -> float:
        """Pages that the master thread merges a second."""
        above = max(0.0, waiting / page_holds - buffer.max_pages / 2.0) / (buffer.max_pages + 1.0)
        return buffer.io_capacity * (0.05 + above)

    most = min(buffer.max_pages * page_holds, room * leaf_pages)
    waiting = _balance(
        lambda waiting: operations_per_merge(waiting) * merges_per_second(waiting), most, changes.per_second
    )
    merged = merges = held = 0.0
    for _ in range(_SECONDS):
        waiting += changes.per_second
        if waiting > most:
            merged += waiting - most
            merges += (waiting - most) / operations_per_merge(most)
            waiting = most
        # The first merged pages have more changes than the mean. Once all pages are merged, all changes are applied.
        pages = leaf_pages * (1.0 - math.exp(-waiting / leaf_pages))
        applied = waiting * (1.0 - math.exp(-merges_per_second(waiting) * operations_per_merge(waiting) / waiting))
        merges += pages * (1.0 - math.exp(-merges_per_second(waiting) / pages))
        merged += applied
        waiting -= applied
        held += waiting / page_holds
    operations = max(1.0, merged / merges)
    reads = min(1.0, 1.0 / operations + _LEAST_READS)
    return Steady(held / _SECONDS, operations, changes.per_second * reads)


def _balance(merged: Callable[[float], float], most: float, per_second: float) -> float:
    """The number of waiting changes at which merges keep up; ``most`` where they never do."""
    if merged(most) < per_second:
        return most
    least = 0.0
    while most - least > 1.0:
        middle = (least + most) / 2.0
        least, most = (middle, most) if merged(middle) < per_second else (least, middle)
    return least
