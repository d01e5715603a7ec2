"""The popularity of an object's pages: groups of pages that point accesses choose equally often."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

HALVINGS = (13, 9, 6, 4, 3, 2, 1, 0)
"""A group ends at each of these halvings of the pages. Groups are finer where popular pages turn into rare ones: very
popular pages are always in the pool, very rare ones never."""
_EXACT = 256  # ranks whose weights are summed one by one


class Pages(NamedTuple):
    """Pages that are asked for equally often: ``rate`` times a second each."""

    pages: float
    rate: float


class PageGroup(NamedTuple):
    """``pages`` pages of an object, spread evenly over the page numbers ``lo`` to ``hi``."""

    lo: float
    hi: float
    pages: float

    @property
    def density(self) -> float:
        """Pages per page number."""
        return self.pages / (self.hi - self.lo)

    def part(self, share: float) -> PageGroup:
        """The pages that an instance with this share of the object holds."""
        return PageGroup(self.lo * share, self.hi * share, self.pages * share)


def groups(pages: int, looked_up: int, *, skewed: bool) -> tuple[PageGroup, ...]:
    """The groups of an object, the most popular first.

    Args:
        pages: Size of the object.
        looked_up: Number of its first pages that point accesses choose; 0 where it is only scanned.
        skewed: Whether accesses prefer some of these pages.
    """
    page_groups = []
    if looked_up:
        bounds = _bounds(looked_up) if skewed else (0, looked_up)
        page_groups = [PageGroup(0.0, float(looked_up), float(b - a)) for a, b in pairwise(bounds) if b > a]
    if pages > looked_up:
        page_groups.append(PageGroup(float(looked_up), float(pages), float(pages - looked_up)))
    return tuple(page_groups)


def chances(page_groups: tuple[PageGroup, ...], looked_up: int, skew: float) -> list[float]:
    """The share of point accesses on the first ``looked_up`` pages for each group; rank r weighs ``r ** -skew``."""
    total = _weight(looked_up, skew)
    chosen = [group for group in page_groups if group.lo < looked_up]
    if sum(group.pages for group in chosen) != looked_up or not skew:
        # A step of points over other pages: its popular pages may be any of these.
        within = [max(0.0, min(group.hi, looked_up) - group.lo) * group.density for group in page_groups]
        return [weight / sum(within) for weight in within]
    weights, begin = [], 0
    for group in page_groups:
        end = min(looked_up, begin + round(group.pages))
        weights.append((_weight(end, skew) - _weight(begin, skew)) / total)
        begin = end
    return weights


def _bounds(pages: int) -> tuple[int, ...]:
    return (0, *(pages >> halvings for halvings in HALVINGS))


@lru_cache(maxsize=1024)
def _weight(ranks: int, skew: float) -> float:
    """The sum of ``rank ** -skew`` over the first ranks, by the Euler-Maclaurin formula beyond the first few."""
    head = math.fsum(rank**-skew for rank in range(1, min(ranks, _EXACT) + 1))
    if ranks <= _EXACT:
        return head
    a, b = float(_EXACT), float(ranks)
    integral = math.log(b / a) if abs(skew - 1) < 1e-9 else (math.pow(b, 1 - skew) - math.pow(a, 1 - skew)) / (1 - skew)
    return head + integral + (math.pow(b, -skew) - math.pow(a, -skew)) / 2
