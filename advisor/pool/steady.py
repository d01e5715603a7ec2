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
from functools import partial
from typing import NamedTuple

from advisor.models.lru.popularity import Pages
from advisor.pool.search import Point, search

LARGEST_EXPONENT = 700.0
"""exp of more overflows."""
LEAST_READS = 1e-9
"""Pages a second, or pages: fewer are none."""
_QUARTER = 0.25
"""Of the young sublist, in evictions: buf_page_peek_if_young."""


@dataclass(frozen=True, slots=True)
class Sublists:
    """The list.

    Attributes:
        young, old: Lengths of the sublists.
        old_seconds: innodb_old_blocks_time.
    """

    young: float
    old: float
    old_seconds: float


@dataclass(frozen=True, slots=True)
class SteadyState:
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


class Stay(NamedTuple):
    """What a page does, on average over time.

    Attributes:
        resident: The share of the time that it is in the pool.
        young: The share of the time that it is in the young sublist.
        read, made_young: How often a second.
    """

    resident: float
    young: float
    read: float
    made_young: float


def stays(held: Sublists, old_seconds: float, young_seconds: float, read: float) -> Callable[[float], Stay]:
    """What a page does, by how often a second it is asked for.

    Args:
        held: The list.
        old_seconds: How long a page stays in the old sublist if nothing asks for it.
        young_seconds: The same of the young sublist.
        read: Pages read a second.
    """
    wait = min(held.old_seconds, old_seconds)
    quarter = _QUARTER * held.young / max(read, LEAST_READS)
    settled, moved = min(quarter, young_seconds), max(young_seconds - quarter, 0.0)

    def stay(rate: float) -> Stay:
        if not rate:
            return Stay(0.0, 0.0, 0.0, 0.0)
        asked = -math.expm1(-min(rate * (old_seconds - wait), LARGEST_EXPONENT))
        again = math.exp(-min(rate * old_seconds, LARGEST_EXPONENT))
        stayed = math.exp(-min(rate * moved, LARGEST_EXPONENT))
        # A round from one read to the next: once old, and for each return from the young sublist once more; as
        # often as this happens on average, times the chance that it ends.
        leaves = stayed * again
        in_old = leaves * (wait + asked / rate) + asked * stayed * (1.0 - again) / rate
        in_young = asked * (settled + (1.0 - stayed) / rate)
        whole = leaves / rate + in_old + in_young
        if whole <= 0.0:  # asked for so often that it is never read
            return Stay(1.0, 1.0, 0.0, 0.0)
        return Stay(in_old / whole + in_young / whole, in_young / whole, leaves / whole, asked * stayed / whole)

    return stay


def settle(pages: Sequence[Pages], held: Sublists, near: SteadyState | None = None) -> SteadyState | None:
    """The steady state under these accesses.

    None where pages leave the old sublist before innodb_old_blocks_time has passed: none becomes young then, and what
    the young sublist holds is history.

    Args:
        pages: What is asked for, in groups.
        held: The list.
        near: The state of a similar list, where the search begins.
    """
    whole = math.fsum(group.pages for group in pages)
    asked = math.fsum(group.pages * group.rate for group in pages)
    size = held.young + held.old
    if whole <= size:
        return SteadyState(0.0, 0.0, math.inf, math.inf, (0.0,) * len(pages))
    seconds = math.log(whole / asked)
    start: Point = (seconds, seconds, math.log(asked * max(1 - size / whole, 0.01)))
    evaluate = partial(_evaluate, pages, held)
    if near is None or not near.read:
        return search(evaluate, start)
    nearby = (math.log(near.old_seconds), math.log(near.young_seconds), math.log(near.read))
    return search(evaluate, nearby) or search(evaluate, start)


def _evaluate(pages: Sequence[Pages], held: Sublists, at: Point) -> tuple[Point, SteadyState]:
    """How far sublists and reads are off, as logarithms, and the state.

    ``at`` are the logarithms of the two times, and of the pages read a second.
    """
    old_seconds, young_seconds, guess = (math.exp(min(logarithm, LARGEST_EXPONENT)) for logarithm in at)
    stay_at = stays(held, old_seconds, young_seconds, guess)
    old = young = made_young = 0.0
    reads = []
    for number, rate in pages:
        stay = stay_at(rate)
        old += number * (stay.resident - stay.young)
        young += number * stay.young
        made_young += number * stay.made_young
        reads.append(number * stay.read)
    read = math.fsum(reads)
    error = (
        math.log(max(old, LEAST_READS) / held.old),
        math.log(max(young, LEAST_READS) / held.young),
        at[2] - math.log(max(read, 1e-300)),
    )
    return error, SteadyState(read, made_young, old_seconds, young_seconds, tuple(reads))
