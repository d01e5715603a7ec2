"""The answer: pages read a second for a row of pool sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.pool.errors import ACCEPTED_ERROR

TIMES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""The sizes that are always answered for, as multiples of today's."""
_OFF = {1.0: 0.21, 0.75: 0.41, 0.5: 0.94}
"""How far nine tenths of the predictions were off at most, as a share of today's reads, by the least multiple of
today's size: docs/miss-curve.md."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Pages read a second.

    Attributes:
        expected: The likeliest.
        low, high: For larger pools, what smooth popularity would give, and the most by any independent accesses. For
            smaller ones, the least by any independent accesses, and what was seen beyond smooth popularity.
    """

    expected: float
    low: float
    high: float


NO_READS = Estimate(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Size:
    """A size of the pool, and the reads to expect.

    Attributes:
        times: Multiple of today's size.
        bytes: innodb_buffer_pool_size.
        reads: By everything: scans, all tables, and first reads as far as they go on.
        scans: Pages read a second by full scans, which are a part of these.
        tables: Reads of each table's pages by anything but full scans, by ``schema.table``.
        per_pass: Pages that a scan of each table reads.
    """

    times: float
    bytes: float
    reads: Estimate
    scans: float = 0.0
    tables: Mapping[str, Estimate] = field(default_factory=dict)
    per_pass: Mapping[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        """How far such predictions were off at most, nine times of ten, as a share of today's reads."""
        return next((off for times, off in _OFF.items() if self.times >= times), max(_OFF.values()))

    @property
    def confidence(self) -> float:
        """1 within the accepted error, and less beyond it."""
        return min(1.0, ACCEPTED_ERROR / self.error)


@dataclass(frozen=True, slots=True)
class Filled:
    """What was read while the pool filled: a measured point of the curve.

    Attributes:
        bytes: Of data in the pool at that time.
        reads: Pages read a second, at the accesses a second of today.
    """

    bytes: float
    reads: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The miss curve of a server.

    Attributes:
        at: Time of the newest collection, Unix seconds.
        seconds: Length of the window that it rests on.
        bytes: innodb_buffer_pool_size today.
        page_bytes: Size of a page.
        reads: Pages read a second today, as measured.
        sizes: Ascending; today's is among them.
        first_reads: Of the pages read a second today, those that are read for the first time.
        filled: Measured points from the last time that the pool filled, ascending.
        notes: What the answer rests on, and what it cannot see, in sentences.
    """

    at: float
    seconds: float
    bytes: float
    page_bytes: float
    reads: float
    sizes: tuple[Size, ...]
    first_reads: Estimate = NO_READS
    filled: tuple[Filled, ...] = ()
    notes: tuple[str, ...] = ()

    def at_times(self, times: float) -> Size | None:
        """The answer for a multiple of today's size, where it is among them."""
        return next((size for size in self.sizes if size.times == times), None)
