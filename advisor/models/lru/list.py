"""The LRU list of one instance, as layers of runs."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from advisor.models.lru.runs import NOTHING, Layer, Run, coarse, extend, mix


@dataclass(frozen=True, slots=True)
class _Detail:
    """How finely the list is kept. Tests against the page-exact reference hold with them."""

    grain: float = 1 / 24
    """Share of the list: up to this size, neighbouring unordered pages form one run."""
    layers: int = 128
    """Most layers of a sublist: beyond it, layers are merged even if they differ."""
    runs: int = 16
    """Most runs of a layer, about: beyond it, runs are joined even if they differ. Whatever cuts a layer cuts each of
    them, so without a bound they multiply, until there are more runs than pages."""
    rarely: int = 8
    """Calls of `tidy` after which the list is compacted."""
    few: int = 32
    """Layers from which on every call compacts it."""
    many: int = 1024
    """Layers from which on it is compacted within a pass."""


_DETAIL = _Detail()


class LruList:
    """The list of one instance: the young sublist from head to midpoint, the old sublist from midpoint to tail."""

    def __init__(self) -> None:
        self.young: deque[Layer] = deque()
        self.old: deque[Layer] = deque()
        self.young_pages = self.old_pages = 0.0
        self._of: dict[str, list[Run]] = {}
        self._untidy = 0

    @property
    def pages(self) -> float:
        """Its length."""
        return self.young_pages + self.old_pages

    @property
    def tail(self) -> Layer | None:
        """The layer that evictions take from."""
        for layers in (self.old, self.young):
            while layers:
                if (last := layers[-1]).pages > NOTHING:
                    return last
                layers.pop()
        return None

    def tail_of(self, object_: str) -> tuple[float, Layer | None]:
        """Pages that can be evicted before an object is affected; where none can, the layer at the tail.

        An object is affected when its own pages are evicted, and when the old sublist is used up.
        """
        tail = self.tail
        if tail is None or not self.old_pages:
            return math.inf, tail
        spare = 0.0
        for layer in reversed(self.old):
            for run in layer.runs:
                if run.object == object_ and run.pages > NOTHING:
                    return (spare, None) if spare > NOTHING else (math.inf, layer)
            spare += layer.pages
        return max(spare, NOTHING), None

    @property
    def before_midpoint(self) -> Layer | None:
        """The young layer that becomes old next."""
        while self.young and self.young[-1].pages <= NOTHING:
            self.young.pop()
        return self.young[-1] if self.young else None

    def runs(self, object_: str) -> list[Run]:
        """The runs of an object that have pages."""
        self._of[object_] = runs = [run for run in self._of.get(object_, ()) if run.pages > NOTHING]
        return runs

    def put_at_head(self, runs: list[Run]) -> None:
        """Put pages at the head of the list."""
        self._put(runs, self.young, head=True)

    def put_before_midpoint(self, runs: list[Run]) -> None:
        """Put pages at the end of the young sublist."""
        self._put(runs, self.young, head=False)

    def put_at_midpoint(self, runs: list[Run]) -> None:
        """Put pages at the beginning of the old sublist."""
        self._put(runs, self.old, head=True)

    def _put(self, runs: list[Run], layers: deque[Layer], *, head: bool) -> None:
        put = runs and [run for run in runs if run.pages > NOTHING]
        if not put:
            return
        pages = put[0].pages if len(put) == 1 else sum([run.pages for run in put])
        old = layers is self.old
        if old:
            self.old_pages += pages
        else:
            self.young_pages += pages
        if layers:
            beside = layers[0] if head else layers[-1]
            if extend(beside, put, pages, headward=head) or mix(
                beside, put, pages, _DETAIL.grain * (self.old_pages if old else self.young_pages)
            ):
                return
        layer = Layer(put)
        layer.old = old
        if head:
            layers.appendleft(layer)
        else:
            layers.append(layer)
        for run in put:
            self._of.setdefault(run.object, []).append(run)

    def take(self, run: Run, pages: float) -> None:
        """Account for pages that left a run. The caller updates the run."""
        layer = run.layer
        assert layer is not None  # noqa: S101 - every run in the list has one
        layer.pages -= pages
        if layer.old:
            self.old_pages -= pages
        else:
            self.young_pages -= pages

    def split(self, run: Run, page: float) -> Run:
        """Split a run at ``page``: it keeps the pages before, the rest is returned."""
        layer = run.layer
        assert layer is not None  # noqa: S101 - every run in the list has one
        pages = run.pages * (run.hi - page) / (run.hi - run.lo)
        rest = run.like((page, run.hi), pages)
        run.pages -= pages
        run.hi = page
        self._of[run.object].append(rest)
        if len(layer.runs) > 1 or not run.order:
            layer.runs.append(rest)
            rest.layer = layer
            return rest
        layer.pages -= pages
        apart = Layer([rest])
        apart.old = layer.old
        layers = self.old if layer.old else self.young
        layers.insert(layers.index(layer) + (run.order > 0), apart)
        return rest

    def evict(self, pages: float) -> None:
        """Drop pages at the tail."""
        while pages > NOTHING and (tail := self.tail):
            dropped = min(pages, tail.pages)
            share = dropped / tail.pages
            for run in tail.runs:
                if run.pages > NOTHING:
                    run.cut(run.pages * share, tailward=True)
            if tail.old:
                self.old_pages -= dropped
            else:
                self.young_pages -= dropped
            tail.pages -= dropped
            pages -= dropped

    def cut_before_midpoint(self, pages: float) -> list[Run]:
        """Take pages from the end of the young sublist, at most its last layer."""
        layer = self.before_midpoint
        if layer is None:
            return []
        cut = layer.cut(min(1.0, pages / layer.pages), tailward=True)
        layer.pages -= pages
        self.young_pages -= pages
        return cut

    def move_midpoint(self, pages: float) -> None:
        """Make the last young pages old; where ``pages`` is negative, the first old ones young."""
        source, target = (self.young, self.old) if pages > 0 else (self.old, self.young)
        left = abs(pages)
        while left > NOTHING and source:
            layer = source[-1] if pages > 0 else source[0]
            if layer.pages <= left + NOTHING:
                moved = source.pop() if pages > 0 else source.popleft()
            else:
                moved = Layer(layer.cut(left / layer.pages, tailward=pages > 0))
                layer.pages -= moved.pages
                for run in moved.runs:
                    self._of[run.object].append(run)
            if moved.pages <= NOTHING:
                continue
            change = moved.pages if pages > 0 else -moved.pages
            left -= moved.pages
            self.young_pages -= change
            self.old_pages += change
            moved.old = target is self.old
            beside = (target[0] if pages > 0 else target[-1]) if target else None
            most = _DETAIL.grain * (self.old_pages if moved.old else self.young_pages)
            if beside is not None and mix(beside, moved.runs, moved.pages, most):
                for run in moved.runs:
                    run.pages = 0.0
            elif pages > 0:
                target.appendleft(moved)
            else:
                target.append(moved)

    @property
    def crowded(self) -> bool:
        """Whether it has so many layers that it should be compacted before the pass is over."""
        return len(self.young) + len(self.old) > _DETAIL.many

    def tidy(self) -> None:
        """Drop empty runs, merge similar neighbours, and correct rounding of the counts."""
        self._untidy += 1
        if self._untidy < _DETAIL.rarely and len(self.young) + len(self.old) < _DETAIL.few:
            return
        self._untidy = 0
        self.young, self.old = _tidied(self.young), _tidied(self.old)
        self.young_pages = sum(layer.pages for layer in self.young)
        self.old_pages = sum(layer.pages for layer in self.old)
        self._of = {}
        for layers in (self.young, self.old):
            for layer in layers:
                for run in layer.runs:
                    self._of.setdefault(run.object, []).append(run)

    def pages_of(self, object_: str) -> tuple[float, float]:
        """Pages of an object in the young and in the old sublist."""
        young = old = 0.0
        for run in self.runs(object_):
            if run.layer and run.layer.old:
                old += run.pages
            else:
                young += run.pages
        return young, old


def _tidied(layers: deque[Layer]) -> deque[Layer]:
    """The layers that have pages, with small ones merged."""
    full = []
    for layer in layers:
        layer.runs = _few([run for run in layer.runs if run.pages > NOTHING])
        if layer.runs:
            layer.pages = sum(run.pages for run in layer.runs)
            full.append(layer)
    grain = _DETAIL.grain * sum(layer.pages for layer in full)
    made: deque[Layer] = deque()
    for layer in full:
        last = made[-1] if made else None
        if last is not None and mix(last, layer.runs, layer.pages, grain):
            continue
        if last is None or len(full) < _DETAIL.layers or last.pages + layer.pages > grain / 4:
            made.append(layer)
            continue
        for run in layer.runs:
            if not any(have.absorbs(run) for have in last.runs):
                last.runs.append(run)
                run.layer = last
        last.runs = _few(last.runs)
        last.pages += layer.pages
    return made


def _few(runs: list[Run]) -> list[Run]:
    return coarse(runs, _DETAIL.runs) if len(runs) > 2 * _DETAIL.runs else runs
