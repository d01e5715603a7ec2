"""Which pages of an object are how popular: groups of pages that point accesses choose equally often."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

HALVINGS = (13, 9, 6, 4, 3, 2, 1, 0)
"""A group ends at so many halvings of the pages: finer where popular pages become rare ones, since what is popular
enough is always in the pool, and what is rare enough never."""
_EXACT = 256  # ranks whose weights are summed one by one


class Group(NamedTuple):
    """Pages of an object: ``pages`` of the page numbers ``lo`` to ``hi``, spread evenly."""

    lo: float
    hi: float
    pages: float

    @property
    def density(self) -> float:
        """Pages a page number."""
        return self.pages / (self.hi - self.lo)


def groups(pages: int, looked_up: int, *, skewed: bool) -> tuple[Group, ...]:
    """The groups of an object, the most popular first.

    Args:
        pages: Its size.
        looked_up: How many of its first pages are chosen by point accesses; 0 where it is only scanned.
        skewed: Whether some of them are chosen more often than others.
    """
    found = []
    if looked_up:
        bounds = _bounds(looked_up) if skewed else (0, looked_up)
        found = [Group(0.0, float(looked_up), float(b - a)) for a, b in pairwise(bounds) if b > a]
    if pages > looked_up:
        found.append(Group(float(looked_up), float(pages), float(pages - looked_up)))
    return tuple(found)


def chances(found: tuple[Group, ...], looked_up: int, skew: float) -> list[float]:
    """The part of point accesses on the first ``looked_up`` pages that each group gets; ranks as ``rank ** -skew``."""
    total = _weight(looked_up, skew)
    chosen = [group for group in found if group.lo < looked_up]
    if sum(group.pages for group in chosen) != looked_up or not skew:
        # Another step of points, over other pages: its popular pages are anywhere among these.
        within = [max(0.0, min(group.hi, looked_up) - group.lo) * group.density for group in found]
        return [each / sum(within) for each in within]
    weights, begin = [], 0
    for group in found:
        end = min(looked_up, begin + round(group.pages))
        weights.append((_weight(end, skew) - _weight(begin, skew)) / total)
        begin = end
    return weights


def _bounds(pages: int) -> tuple[int, ...]:
    return (0, *(pages >> halvings for halvings in HALVINGS))


@lru_cache(maxsize=1024)
def _weight(ranks: int, skew: float) -> float:
    """The sum of ``rank ** -skew`` over the first ranks, by Euler and Maclaurin beyond the first few."""
    head = math.fsum(rank**-skew for rank in range(1, min(ranks, _EXACT) + 1))
    if ranks <= _EXACT:
        return head
    a, b = float(_EXACT), float(ranks)
    integral = math.log(b / a) if abs(skew - 1) < 1e-9 else (math.pow(b, 1 - skew) - math.pow(a, 1 - skew)) / (1 - skew)
    return head + integral + (math.pow(b, -skew) - math.pow(a, -skew)) / 2
