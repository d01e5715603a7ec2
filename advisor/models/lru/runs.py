"""Runs of like pages in the LRU list. The cost of the model grows with the runs, not with their pages."""

from __future__ import annotations

import math

NOTHING = 1e-6
"""Fewer pages than this are zero: they come from rounding."""


class Run:
    """Pages of one object that lie together in the list, spread evenly over the page numbers ``lo`` to ``hi``.

    Attributes:
        object: Name of the object.
        shares: Share of the pages in each of the object's groups (popularity.py).
        lo, hi: Range of page numbers; ``pages`` of these are present.
        order: 1 where the page numbers rise from the head to the tail, -1 where they fall, 0 where there is no order.
        access, access_slope: Page p was first accessed at ``access + access_slope * p``, ms.
        stamp, stamp_slope: InnoDB's freed_page_clock when page p was last put at the head, likewise.
    """

    __slots__ = ("access", "access_slope", "hi", "layer", "lo", "object", "order", "pages", "shares", "stamp",
                 "stamp_slope")  # fmt: skip

    def __init__(
        self,
        object_: str,
        shares: tuple[float, ...],
        span: tuple[float, float],
        pages: float,
        *,
        order: int,
        access: tuple[float, float],
        stamp: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.object = object_
        self.shares = shares
        self.lo, self.hi = span
        self.pages = pages
        self.order = order
        self.access, self.access_slope = access
        self.stamp, self.stamp_slope = stamp
        self.layer: Layer | None = None

    @property
    def density(self) -> float:
        """Present pages per page number."""
        return self.pages / (self.hi - self.lo)

    def cut(self, pages: float, *, tailward: bool) -> tuple[float, float]:
        """Take pages from one end, and return their span. The caller updates the count of the layer."""
        lo, hi = self.lo, self.hi
        if self.order:
            width = (hi - lo) * (pages / self.pages) if pages < self.pages else hi - lo
            if (self.order > 0) == tailward:
                lo = self.hi = hi - width
            else:
                hi = self.lo = lo + width
        self.pages -= pages
        return lo, hi

    def like(self, span: tuple[float, float], pages: float) -> Run:
        """A run of other pages with the same history."""
        access, stamp = (self.access, self.access_slope), (self.stamp, self.stamp_slope)
        return Run(self.object, self.shares, span, pages, order=self.order, access=access, stamp=stamp)

    def continues(self, other: Run) -> bool:
        """Whether ``other``, next to this run in the list, continues it."""
        return (
            self.access == other.access
            and self.object == other.object
            and self.order == other.order
            and _alike(self.shares, other.shares)
            and self.access_slope == other.access_slope
            and abs(self.stamp - other.stamp) < 1e-3
            and abs(self.stamp_slope - other.stamp_slope) < 1e-9
        )

    def absorbs(self, other: Run) -> bool:
        """Take in a similar run: of the same pass, and next to this one or inside it. False if it is not similar."""
        if self.object != other.object or self.order != other.order:
            return False
        if self.order:
            if (self.access, self.access_slope) != (other.access, other.access_slope):
                return False
            apart = max(self.hi, other.hi) - min(self.lo, other.lo)
            if apart > (self.hi - self.lo + other.hi - other.lo) * 1.5:
                return False
        self.join(other)
        return True

    def join(self, other: Run) -> None:
        """Take in another run of the same object and order, similar or not: all pages, with their mean history."""
        pages = self.pages + other.pages
        ours, theirs = self.pages / pages, other.pages / pages
        self.access = ours * self.access + theirs * other.access
        self.access_slope = ours * self.access_slope + theirs * other.access_slope
        self.stamp = ours * self.stamp + theirs * other.stamp
        self.stamp_slope = ours * self.stamp_slope + theirs * other.stamp_slope
        if len(self.shares) > 1:
            self.shares = tuple(ours * a + theirs * b for a, b in zip(self.shares, other.shares, strict=True))
        self.lo, self.hi, self.pages = min(self.lo, other.lo), max(self.hi, other.hi), pages


class Layer:
    """Runs that lie in the same stretch of the list, evenly interleaved."""

    __slots__ = ("old", "pages", "runs")

    def __init__(self, runs: list[Run]) -> None:
        self.runs = runs
        self.pages = 0.0
        self.old = False
        for run in runs:
            run.layer = self
            self.pages += run.pages

    def cut(self, share: float, *, tailward: bool) -> list[Run]:
        """Take a share of each run from one end. The caller updates the count of the layer."""
        return [
            run.like(run.cut(pages * share, tailward=tailward), pages * share)
            for run in self.runs
            if (pages := run.pages) > NOTHING
        ]


def coarse(runs: list[Run], most: int) -> list[Run]:
    """The pages of some runs of a layer in about ``most`` runs: neighbours of one pass are joined.

    At least one run is left of each object and order.
    """
    alike: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        alike.setdefault((run.object, run.order), []).append(run)
    made = []
    for group in alike.values():
        group.sort(key=lambda run: (run.access, run.lo))
        joined = math.ceil(len(group) * len(runs) / max(most * len(group), len(runs)))
        for first in range(0, len(group), joined):
            whole, *others = group[first : first + joined]
            for run in others:
                whole.join(run)
            made.append(whole)
    return made


def _alike(some: tuple[float, ...], others: tuple[float, ...]) -> bool:
    return some == others or all(abs(a - b) < 1e-6 for a, b in zip(some, others, strict=True))


def extend(layer: Layer, runs: list[Run], pages: float, *, headward: bool) -> bool:
    """Let a layer grow by runs that continue its own, pair by pair and in the same proportions."""
    if len(layer.runs) != len(runs) or layer.pages <= NOTHING:
        return False
    scale = layer.pages / pages
    for have, more in zip(layer.runs, runs, strict=True):
        if not have.continues(more):
            return False
        had, order = have.pages, have.order
        if had <= NOTHING or abs(had - more.pages * scale) > 1e-3 * had:
            return False
        if not order:
            if have.lo != more.lo or have.hi != more.hi:
                return False
        elif (
            abs((have.lo - more.hi) if (order > 0) == headward else (more.lo - have.hi)) > NOTHING
            or abs((density := have.density) - more.density) > 1e-3 * density
        ):
            return False
    for have, more in zip(layer.runs, runs, strict=True):
        have.pages += more.pages
        have.lo, have.hi = min(have.lo, more.lo), max(have.hi, more.hi)
    layer.pages += pages
    return True


def mix(layer: Layer, runs: list[Run], pages: float, most: float) -> bool:
    """Let a small layer of unordered pages take in more."""
    if layer.pages + pages > most or len(layer.runs) != 1 or len(runs) != 1 or layer.runs[0].order or runs[0].order:
        return False
    if layer.pages <= NOTHING or not layer.runs[0].absorbs(runs[0]):
        return False
    layer.pages += pages
    return True
