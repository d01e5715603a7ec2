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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

_LARGEST = 700.0
"""exp of more overflows."""
_QUARTER = 0.25
"""Of the young sublist, in evictions: buf_page_peek_if_young."""
_PHASES = 6
"""Moments between two scans at which a page may be read: the time that it stays depends on the next scan."""
_STEP = 1.35
"""From one rank to the next at which a group of pages ends, at least."""
_BANDS, _TAILS = 16, 3.0
"""Groups of pages in a normal distribution, up to the standard deviation times this and the square root of two."""
_EXACT = 8
"""Ranks of a group: their weights are summed one by one up to here, and integrated beyond."""
_ITERATIONS, _ACCURACY, _TINY, _SLOWLY = 40, 1e-5, 1e-4, 0.3
_NEARLY, _RELAXATIONS, _DAMPED = 0.01, 100, 0.3
"""Accuracy that will do where lengths change suddenly with the times, and the steps to come there."""
_NEAR, _PASSES = 0.75, 0.5
"""Room for what may last: pages leave earlier or later than on average."""
_ALL = 0.999
"""Share of the pages: so many are as good as all."""
_LONGEST = 1e12
_LONGEST_STEP = 2.0
"""Most that a step changes the logarithm of a time by."""


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


def zipf(pages: float, skew: float, per_second: float, groups: int = 48) -> list[Pages]:
    """Accesses by Zipf's law: the page of rank r is asked for with weight ``r ** -skew``.

    Args:
        pages: That are asked for.
        skew: 0 for all alike.
        per_second: Accesses to all of them.
        groups: About as many at most.
    """
    step = max(_STEP, pages ** (1.0 / groups))
    if not skew or pages <= 1:
        return [Pages(pages, per_second / pages)]
    found, begin, reach = [], 0.0, 1.0
    while begin < pages:
        reach = max(reach * step, begin + 1)
        end = min(math.floor(reach), pages) if reach < pages else pages
        found.append((end - begin, _weight(begin, end, skew)))
        begin = end
    whole = math.fsum(weight for _, weight in found)
    return [Pages(n, per_second * weight / whole / n) for n, weight in found]


def bell(pages: float, spread: float, per_second: float) -> list[Pages]:
    """Accesses by a normal distribution over the pages in their order, around the middle.

    Args:
        pages: Of which those in the middle are asked for most.
        spread: The standard deviation, as a share of the pages.
        per_second: Accesses to all of them.
    """
    reach = 0.5 / spread / math.sqrt(2.0)  # of half of the pages, for the error function
    whole = math.erf(min(reach, _TAILS))
    edges = [min(reach, _TAILS) * n / _BANDS for n in range(_BANDS + 1)]
    found = [
        Pages(pages * (end - begin) / reach, per_second * (math.erf(end) - math.erf(begin)) / whole)
        for begin, end in pairwise(edges)
    ]
    return [Pages(n, rate / n) for n, rate in found]


def _weight(begin: float, end: float, skew: float) -> float:
    """The sum of ``r ** -skew`` over the ranks after ``begin`` up to ``end``."""
    if end - begin <= _EXACT and end == int(end):
        return math.fsum(rank**-skew for rank in range(int(begin) + 1, int(end) + 1))
    a, b = begin + 0.5, end + 0.5
    return math.log(b / a) if abs(skew - 1) < 1e-9 else (b ** (1 - skew) - a ** (1 - skew)) / (1 - skew)


def filled(pages: Sequence[Pages], data: float) -> State:
    """The state at the moment when a pool that fills has so many pages of data; nothing is evicted yet.

    It is the steady state of a list without a midpoint, too, as InnoDB has it below 512 pages.
    """
    if data >= math.fsum(each.pages for each in pages if each.rate):
        return State(0.0, 0.0, math.inf, math.inf, (0.0,) * len(pages))
    seconds = _longest(lambda time: math.fsum(-n * math.expm1(-min(rate * time, _LARGEST)) for n, rate in pages), data)
    reads = tuple(n * rate * math.exp(-min(rate * seconds, _LARGEST)) for n, rate in pages)
    return State(math.fsum(reads), 0.0, seconds, seconds, reads)


def _longest(held: Callable[[float], float], pages: float) -> float:
    """The time in seconds at which so many pages are held, which grow with it."""
    low, high = 0.0, 1.0
    while held(high) < pages and high < _LONGEST:
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if held(middle) < pages else (low, middle)
    return high


def stall(pages: Sequence[Pages], held: List) -> State:
    """The state of a list whose young sublist is of no use: its pages are not asked for, and no page becomes young.

    So it stays where pages leave the old sublist before innodb_old_blocks_time has passed. The old sublist alone serves
    the accesses then, first in, first out.
    """
    seconds = _longest(
        lambda time: math.fsum(n * rate * time / (1.0 + rate * time) for n, rate in pages),
        min(held.old, _ALL * math.fsum(each.pages for each in pages)),
    )
    reads = tuple(n * rate / (1.0 + rate * seconds) for n, rate in pages)
    return State(math.fsum(reads), 0.0, seconds, math.inf, reads)


def stays(scan: Scan, state: State) -> bool:
    """Whether pages that are kept from one scan to the next are still there by then."""
    return state.young_seconds + state.old_seconds >= _NEAR * scan.period


def passes(scan: Scan, state: State) -> bool:
    """Whether pages that a scan reads are evicted before the next scan, by its own pages and by what lookups read."""
    return scan.read + state.read * scan.period >= _PASSES * state.old_seconds * state.read


def rest(pages: Sequence[Pages], held: List) -> State:
    """The state of a list in a pool with free pages: nothing is evicted.

    Pages of the young sublist are not moved then, for eviction is the clock that says how near to the head they are.
    Each that is found in the old one goes to the head, and the last young page becomes old.

    Args:
        pages: All are in the list, in which others may be that nothing asks for.
        held: The list.
    """
    unasked = max(0.0, held.young + held.old - math.fsum(each.pages for each in pages))
    old = held.old - unasked
    if old <= 0.0:
        return State(0.0, 0.0, math.inf, math.inf, (0.0,) * len(pages))
    whole = math.fsum(each.pages for each in pages)
    seconds = _longest(lambda time: whole - math.fsum(n / (1.0 + rate * time) for n, rate in pages), whole - old)
    made_young = math.fsum(n * rate / (1.0 + rate * seconds) for n, rate in pages)
    return State(0.0, made_young, math.inf, seconds, (0.0,) * len(pages))


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
    if near is not None and near.read:
        at = (math.log(near.old_seconds), math.log(near.young_seconds), math.log(near.read))
    else:
        at = _start(whole, asked, size)
    search = _Search(pages, held, scans)
    return search.run(at) or (search.run(_start(whole, asked, size)) if near is not None else None)


def _start(whole: float, asked: float, size: float) -> _Point:
    seconds = math.log(whole / asked)
    return (seconds, seconds, math.log(asked * max(1 - size / whole, 0.01)))


def read_beside(pages: Sequence[Pages], held: List, scans: Sequence[Scan], state: State) -> float:
    """Pages read a second of pages that are asked for in this way, in a list that others keep in this state."""
    at = math.log(state.old_seconds), math.log(state.young_seconds), math.log(max(state.read, 1e-9))
    return _Search(pages, held, scans).at(at).read


_Point = tuple[float, float, float]
"""Logarithms of the two times, and of the pages read a second by lookups."""
_Slopes = tuple[_Point, _Point, _Point]


class _Search:
    """Newton's method for the lengths of the two sublists and the reads, from which the times follow."""

    def __init__(self, pages: Sequence[Pages], held: List, scans: Sequence[Scan]) -> None:
        self._pages, self._held, self._scans = pages, held, scans
        self._by_scans = math.fsum(scan.read / scan.period for scan in scans)

    def at(self, point: _Point) -> State:
        """The state at these times, whatever the lengths."""
        return self._evaluate(point)[1]

    def run(self, at: _Point) -> State | None:
        found = self._evaluate(at)
        slopes: _Slopes | None = None
        for _ in range(_ITERATIONS):
            error = max(map(abs, found[0]))
            if error < _ACCURACY:
                return found[1]
            fresh = slopes is None
            slopes = slopes or self._slopes(at, found[0])
            step = _newton(slopes, found[0])
            length = min(1.0, _LONGEST_STEP / max(map(abs, step)))
            tried = _moved(at, step, length)
            better = self._evaluate(tried)
            if not fresh and max(map(abs, better[0])) > _SLOWLY * error:
                slopes = None  # those of an earlier point lead no further
                if _squares(better[0]) < _squares(found[0]):
                    at, found = tried, better
                continue
            while length > 1e-3 and _squares(better[0]) >= _squares(found[0]):
                length /= 2
                tried = _moved(at, step, length)
                better = self._evaluate(tried)
            if length <= 1e-3:  # one coordinate at a time, as its own length asks for
                slopes = None
                tried = _moved(at, (-found[0][0], -found[0][1], found[0][2]), 0.5)
                better = self._evaluate(tried)
            at, found = tried, better
        return self._relaxed(at)

    def _relaxed(self, at: _Point) -> State | None:
        """Small steps, one coordinate at a time, where slopes change so suddenly that Newton's method goes round.

        So they do where a page would just be moved in the young sublist, or not.
        """
        for _ in range(_RELAXATIONS):
            error, state = self._evaluate(at)
            if max(map(abs, error)) < _NEARLY:
                return state
            at = _moved(at, (-error[0], -error[1], error[2]), _DAMPED)
        return None

    def _slopes(self, at: _Point, error: _Point) -> _Slopes:
        """How the errors change with each coordinate."""
        columns = []
        for axis in range(3):
            beside = list(at)
            beside[axis] += _TINY
            there = self._evaluate((beside[0], beside[1], beside[2]))[0]
            a, b, c = ((after - before) / _TINY for after, before in zip(there, error, strict=True))
            columns.append((a, b, c))
        return columns[0], columns[1], columns[2]

    def _evaluate(self, at: _Point) -> tuple[_Point, State]:
        """How far sublists and reads are off, as logarithms, and the state."""
        old_seconds, young_seconds, guess = (math.exp(min(each, _LARGEST)) for each in at)
        held = self._held
        stays = self._stays(old_seconds, guess)
        wait = math.fsum(min(held.old_seconds, stay) for stay in stays) / len(stays)
        quarter = _QUARTER * held.young / (guess + self._by_scans)
        settled, moved = min(quarter, young_seconds), max(young_seconds - quarter, 0.0)
        old = self._scanned(old_seconds, guess)
        young = made_young = 0.0
        for scan in self._scans:  # a page that is kept is young at first, then old, until the next scan
            share = min(young_seconds / scan.period, 1.0)
            young += scan.kept * share
            old += scan.kept * (1.0 - share)
            made_young += scan.kept / scan.period if share < 1.0 else 0.0
        reads = []
        for number, rate in self._pages:
            if not rate:
                reads.append(0.0)
                continue
            unasked = _unasked(rate, stays, held.old_seconds)
            again = _unasked(rate, stays, 0.0)
            stayed = math.exp(-min(rate * moved, _LARGEST))
            asked = 1.0 - unasked
            # A round from one read to the next: once old, and for each return from the young sublist once more; as
            # often as this happens on average, times the chance that it ends.
            leaves = stayed * again
            in_old = leaves * (wait + asked / rate) + asked * stayed * (1.0 - again) / rate
            in_young = asked * (settled + (1.0 - stayed) / rate)
            round_ = leaves / rate + in_old + in_young
            if round_ <= 0.0:  # asked for so often that it is never read
                young += number
                reads.append(0.0)
                continue
            old += number * in_old / round_
            young += number * in_young / round_
            reads.append(number * leaves / round_)
            made_young += number * asked * stayed / round_
        read = math.fsum(reads)
        error = (
            math.log(max(old, 1e-9) / held.old),
            math.log(max(young, 1e-9) / held.young),
            math.log(max(read, 1e-300)) - at[2],
        )
        return error, State(read, made_young, old_seconds, young_seconds, tuple(reads))

    def _stays(self, old_seconds: float, read: float) -> list[float]:
        """How long pages stay in the old sublist if nothing asks for them; scans shorten it for some.

        A page leaves once as many pages came after it as lookups alone bring in ``old_seconds``.
        """
        if not self._by_scans:
            return [old_seconds]
        if self._lingers(read):  # evicted by the first scan after old_seconds
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

    def _lingers(self, read: float) -> bool:
        """Whether a scan evicts the pages of the last one first: lookups in between do not evict them all.

        Pages of lookups leave the old sublist by being made young, so that the scan's gather at its end.
        """
        return len(self._scans) == 1 and read * self._scans[0].period < self._scans[0].read < self._held.old

    def _scanned(self, old_seconds: float, read: float) -> float:
        """Pages of scans in the old sublist, on average over time."""
        if self._lingers(read):
            return self._scans[0].read - read * self._scans[0].period / 2
        whole, most = 0.0, old_seconds * read
        for scan in self._scans:
            held = min(scan.read, most)
            # The last page of a scan stays longest: from there on each stays a page's time shorter.
            longest, shortest = min(most / read, scan.period), min((most - held) / read, scan.period)
            level = max(0.0, held - (longest - shortest) * read)
            whole += (level * longest + (held - level) * (longest + shortest) / 2) / scan.period
        return whole


def _unasked(rate: float, stays: Sequence[float], after: float) -> float:
    """The chance that nothing asks for a page between ``after`` and the end of its stay."""
    return math.fsum(math.exp(-min(rate * max(stay - after, 0.0), _LARGEST)) for stay in stays) / len(stays)


def _newton(slopes: _Slopes, error: _Point) -> _Point:
    """The step at whose end the errors are none, if they change as here."""
    (a, d, g), (b, e, h), (c, f, i) = slopes
    x, y, z = (-each for each in error)
    whole = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if abs(whole) < 1e-12:
        return (-error[0], -error[1], error[2])
    return (
        (x * (e * i - f * h) - b * (y * i - f * z) + c * (y * h - e * z)) / whole,
        (a * (y * i - f * z) - x * (d * i - f * g) + c * (d * z - y * g)) / whole,
        (a * (e * z - y * h) - b * (d * z - y * g) + x * (d * h - e * g)) / whole,
    )


def _moved(at: _Point, step: _Point, length: float) -> _Point:
    return (at[0] + length * step[0], at[1] + length * step[1], at[2] + length * step[2])


def _squares(error: _Point) -> float:
    return error[0] ** 2 + error[1] ** 2 + error[2] ** 2
