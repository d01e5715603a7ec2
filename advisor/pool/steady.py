"""The steady state of InnoDB's midpoint list under independent accesses, in closed form.

Each page is asked for at random moments, at a rate of its own. In a large list the time that a page takes from the head
of a sublist to its end, if nothing asks for it, is then nearly the same for all pages: Che's approximation (Che, Tung,
Wang: Hierarchical Web Caching Systems, 2002; Fricker, Robert, Roberts: A versatile and accurate approximation for LRU
cache performance, 2012). The midpoint list has two such times. They are found from the lengths of its sublists.

What a page does (buf0lru.cc, buf0buf.ic): it is read to the head of the old sublist. An access there makes it young
unless innodb_old_blocks_time has not passed since it was read. In the young sublist an access moves it to the head,
unless less than a quarter of that sublist was evicted since it came there. From the end of the young sublist it goes
back into the old one, and from the end of that it is evicted.

Rates are per second, lengths are pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from advisor.pool.search import Point, search

_LARGEST = 700.0
"""exp of more overflows."""
_QUARTER = 0.25
"""Of the young sublist, in evictions: buf_page_peek_if_young."""
_PHASES = 6
"""Moments between two scans at which a page may be read: the time that it stays depends on the next scan."""
_NEAR, _PASSES = 0.75, 0.5
"""Room for what may last: pages leave earlier or later than on average."""
_LEAST = 1e-9
"""Pages a second: less is none."""


class Pages(NamedTuple):
    """Pages that are asked for equally often: ``rate`` times a second each."""

    pages: float
    rate: float


@dataclass(frozen=True, slots=True)
class Scan:
    """A full scan beside the lookups.

    Attributes:
        pages: Of the table.
        period: Seconds from a scan to the next.
        read: Pages that a scan reads. They pass through the old sublist. The others are found in the pool each time,
            and an old one is made young.
    """

    pages: float
    period: float
    read: float

    @property
    def kept(self) -> float:
        """Pages that stay in the pool."""
        return self.pages - self.read


@dataclass(frozen=True, slots=True)
class List:
    """The list.

    Attributes:
        young, old: Lengths of the sublists.
        old_seconds: innodb_old_blocks_time.
    """

    young: float
    old: float
    old_seconds: float


@dataclass(frozen=True, slots=True)
class State:
    """The steady state.

    Attributes:
        read, made_young: Pages a second in all.
        old_seconds, young_seconds: How long a page stays in a sublist if nothing asks for it.
        reads: Pages read a second of each group.
    """

    read: float
    made_young: float
    old_seconds: float
    young_seconds: float
    reads: tuple[float, ...]


def read_by(scans: Iterable[Scan]) -> float:
    """Pages that scans read a second."""
    return math.fsum(scan.read / scan.period for scan in scans)


def stays(scan: Scan, state: State) -> bool:
    """Whether pages that are kept from one scan to the next are still there by then."""
    return state.young_seconds + state.old_seconds >= _NEAR * scan.period


def passes(scan: Scan, state: State) -> bool:
    """Whether pages that a scan reads are evicted before the next scan, by its own pages and by what lookups read."""
    return scan.read + state.read * scan.period >= _PASSES * state.old_seconds * state.read


def settle(pages: Sequence[Pages], held: List, scans: Sequence[Scan] = (), near: State | None = None) -> State | None:
    """The steady state under these accesses, beside scans.

    None where pages leave the old sublist before innodb_old_blocks_time has passed: none becomes young then, and what
    the young sublist holds is history.

    Args:
        pages: What is asked for, in groups.
        held: The list.
        scans: Beside it.
        near: The state of a similar list, where the search begins.
    """
    whole = math.fsum(each.pages for each in pages)
    asked = math.fsum(each.pages * each.rate for each in pages)
    size = held.young + held.old
    if whole <= size - math.fsum(scan.kept + min(scan.read, held.old) for scan in scans):
        return State(0.0, 0.0, math.inf, math.inf, (0.0,) * len(pages))
    at: Point
    if near is not None and near.read:
        at = (math.log(near.old_seconds), math.log(near.young_seconds), math.log(near.read))
    else:
        at = _start(whole, asked, size)

    def evaluate(at: Point) -> tuple[Point, State]:
        return _evaluate(pages, held, scans, at)

    return search(evaluate, at) or (search(evaluate, _start(whole, asked, size)) if near is not None else None)


def _start(whole: float, asked: float, size: float) -> Point:
    seconds = math.log(whole / asked)
    return (seconds, seconds, math.log(asked * max(1 - size / whole, 0.01)))


def _evaluate(pages: Sequence[Pages], held: List, scans: Sequence[Scan], at: Point) -> tuple[Point, State]:
    """How far sublists and reads are off, as logarithms, and the state.

    ``at`` are the logarithms of the two times, and of the pages that lookups read a second.
    """
    old_seconds, young_seconds, guess = (math.exp(min(each, _LARGEST)) for each in at)
    regime = Regime(held, scans, old_seconds, young_seconds, guess)
    old, young, made_young = regime.scanned
    reads = []
    for number, rate in pages:
        stay = regime.of(rate)
        old += number * stay.old
        young += number * stay.young
        made_young += number * stay.made_young
        reads.append(number * stay.read)
    read = math.fsum(reads)
    error = (
        math.log(max(old, _LEAST) / held.old),
        math.log(max(young, _LEAST) / held.young),
        at[2] - math.log(max(read, 1e-300)),
    )
    return error, State(read, made_young, old_seconds, young_seconds, tuple(reads))


class Stay(NamedTuple):
    """What a page does, on average over time.

    Attributes:
        old, young: The share of the time that it is in each sublist.
        read, made_young: How often a second.
    """

    old: float
    young: float
    read: float
    made_young: float


class Regime:
    """What becomes of a page in a list, by how often it is asked for.

    Args:
        held: The list.
        scans: Beside the lookups.
        old_seconds, young_seconds: How long a page stays in a sublist if nothing asks for it, and no scan is there.
        read: Pages that lookups read a second.
    """

    def __init__(
        self, held: List, scans: Sequence[Scan], old_seconds: float, young_seconds: float, read: float
    ) -> None:
        self._held, self._scans, self._read = held, scans, read
        self._by_scans = read_by(scans)
        self._young_seconds = young_seconds
        self._stays = self._stays_of(old_seconds)
        self._wait = math.fsum(min(held.old_seconds, stay) for stay in self._stays) / len(self._stays)
        quarter = _QUARTER * held.young / max(read + self._by_scans, _LEAST)
        self._settled, self._moved = min(quarter, young_seconds), max(young_seconds - quarter, 0.0)
        self.scanned = self._scanned(old_seconds)
        """Pages of scans in the old and in the young sublist, and those made young a second."""

    def of(self, rate: float) -> Stay:
        """What a page does that is asked for so often a second."""
        if not rate:
            return Stay(0.0, 0.0, 0.0, 0.0)
        asked = 1.0 - _unasked(rate, self._stays, self._held.old_seconds)
        again = _unasked(rate, self._stays, 0.0)
        stayed = math.exp(-min(rate * self._moved, _LARGEST))
        # A round from one read to the next: once old, and for each return from the young sublist once more; as
        # often as this happens on average, times the chance that it ends.
        leaves = stayed * again
        in_old = leaves * (self._wait + asked / rate) + asked * stayed * (1.0 - again) / rate
        in_young = asked * (self._settled + (1.0 - stayed) / rate)
        whole = leaves / rate + in_old + in_young
        if whole <= 0.0:  # asked for so often that it is never read
            return Stay(0.0, 1.0, 0.0, 0.0)
        return Stay(in_old / whole, in_young / whole, leaves / whole, asked * stayed / whole)

    def _stays_of(self, old_seconds: float) -> list[float]:
        """How long pages stay in the old sublist if nothing asks for them; scans shorten it for some.

        A page leaves once as many pages came after it as lookups alone bring in ``old_seconds``.
        """
        read = self._read
        if not self._by_scans:
            return [old_seconds]
        if self._lingers():  # evicted by the first scan after old_seconds
            period = self._scans[0].period
            return [old_seconds + period * (phase + 0.5) / _PHASES for phase in range(_PHASES)]
        stays = []
        for phase in range(_PHASES):
            to_come = sorted(
                (scan.period * (phase + 0.5) / _PHASES + turn * scan.period, scan.read)
                for scan in self._scans
                for turn in range(1 + int(min(old_seconds / scan.period, _PHASES)))
            )
            left, now = old_seconds * read, 0.0
            for moment, pages in to_come:
                if left <= (moment - now) * read:
                    break
                left -= (moment - now) * read
                now = moment
                left -= pages
                if left <= 0:
                    break
            stays.append(now + max(left, 0.0) / read)
        return stays

    def _lingers(self) -> bool:
        """Whether a scan evicts the pages of the last one first: lookups in between do not evict them all.

        Pages of lookups leave the old sublist by being made young, so that the scan's gather at its end.
        """
        return len(self._scans) == 1 and self._read * self._scans[0].period < self._scans[0].read < self._held.old

    def _scanned(self, old_seconds: float) -> tuple[float, float, float]:
        old, young, made_young = self._passing(old_seconds), 0.0, 0.0
        for scan in self._scans:  # a page that is kept is young at first, then old, until the next scan
            share = min(self._young_seconds / scan.period, 1.0)
            young += scan.kept * share
            old += scan.kept * (1.0 - share)
            made_young += scan.kept / scan.period if share < 1.0 else 0.0
        return old, young, made_young

    def _passing(self, old_seconds: float) -> float:
        """Pages that scans read in the old sublist, on average over time."""
        if not self._by_scans:
            return 0.0
        if self._lingers():
            return self._scans[0].read - self._read * self._scans[0].period / 2
        whole, most = 0.0, old_seconds * self._read
        for scan in self._scans:
            held = min(scan.read, most)
            # The last page of a scan stays longest: from there on each stays a page's time shorter.
            longest, shortest = min(most / self._read, scan.period), min((most - held) / self._read, scan.period)
            level = max(0.0, held - (longest - shortest) * self._read)
            whole += (level * longest + (held - level) * (longest + shortest) / 2) / scan.period
        return whole


def _unasked(rate: float, stays: Sequence[float], after: float) -> float:
    """The chance that nothing asks for a page between ``after`` and the end of its stay."""
    return math.fsum(math.exp(-min(rate * max(stay - after, 0.0), _LARGEST)) for stay in stays) / len(stays)
