"""The load that explains a window: smooth popularity where there is one, and the load that loses most beside scans.

A fit is kept while later evidence is nearly the same, with all that was predicted with it.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from advisor.models.lru.instance import TooManySteps
from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import MOST_PAGES
from advisor.pool import bounds
from advisor.pool.evidence import PoolEvidence
from advisor.pool.load import SmoothLoad, load
from advisor.pool.scanned import Prediction, ScannedPool, begun, predict

MOST_LOADS = 8
"""Loads of a server: windows of several lengths are judged."""
NEGLIGIBLE = 0.02
"""Share of the scanned pages: nothing can be learnt from fewer reads."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """When a load explains what was watched, and how long it is kept (docs/miss-curve.md).

    Attributes:
        hurried: Times innodb_old_blocks_time. If pages stay no longer in the old sublist, hardly any becomes young, and
            what the young sublist holds is history.
        explained: Share of today's reads: a load that is further off does not explain them.
        nearer, near: Share of the reads. Lookups beside scans that are off by less predict how the reads change:
            the first for the load of the bound, the second for pages that are all alike.
        steps: Simulations to find how often pages are asked for.
        many: Times the pages of the pool and those read from one scan to the next: so many pages that no
            page is asked for again in time.
        moved: Share that reads, residents, pages made young and the list may move by: a load stands for such evidence.
        most_predictions: Kept with a load.
    """

    hurried: float = 1.5
    explained: float = 0.1
    nearer: float = 0.25
    near: float = 0.5
    steps: int = 4
    many: float = 100.0
    moved: float = 0.05
    most_predictions: int = 1_000


_FIT = _Fit()

Question = tuple[tuple[tuple[str, float], ...], bool, tuple[Pages, ...]]
"""Changes, whether they are tried under strain, and the lookups beside the scans."""


@dataclass(frozen=True, slots=True)
class FittedLoad:
    """The load of some evidence, and what was predicted with it.

    Attributes:
        smooth: By smooth popularity; None where none explains what was measured.
        hurried: Whether pages leave the old sublist too soon for a steady state.
        never_read: The pages that are asked for and never read, all alike: the most to lose. Often empty.
        lookups: Beside scans: by smooth popularity, where there is one, and the load that loses most.
        scanned: The scans, as they began.
        predictions: So far.
    """

    evidence: PoolEvidence
    smooth: SmoothLoad | None
    hurried: bool
    never_read: tuple[Pages, ...]
    lookups: tuple[tuple[Pages, ...], ...]
    scanned: ScannedPool
    predictions: dict[Question, Prediction] = field(default_factory=dict)

    def predict(
        self,
        changes: Mapping[str, float],
        lookups: tuple[Pages, ...],
        check_time: Callable[[], None],
        *,
        strained: bool = False,
    ) -> Prediction:
        """What the simulation says of some changes, made when it is first asked for: as ``scanned.predict``."""
        question = tuple(sorted(changes.items())), strained, lookups
        prediction = self.predictions.get(question)
        if prediction is None:
            prediction = predict(self.scanned, lookups, changes, check_time, strained=strained)
            self.predictions[question] = prediction
            for old in list(self.predictions)[: -_FIT.most_predictions]:
                self.predictions.pop(old, None)
        return prediction


class Loads:
    """The last loads of one server: fitting one takes nearly all of the time that an answer takes.

    A load stands for later evidence that is nearly the same.
    """

    def __init__(self) -> None:
        self._loads: list[FittedLoad] = []

    def of(self, evidence: PoolEvidence, check_time: Callable[[], None]) -> FittedLoad:
        """The load of some evidence, or of earlier evidence that was nearly the same: as ``fitted``."""
        standing = (load for load in self._loads if _stands(load.evidence, evidence))
        newest = next(standing, None) or fitted(evidence, check_time)
        self._loads = [newest, *(load for load in self._loads if load is not newest)][:MOST_LOADS]
        return newest


def _stands(before: PoolEvidence, now: PoolEvidence) -> bool:
    """Whether the load of earlier evidence explains this, too."""
    if before.tables.keys() != now.tables.keys() or before.full is not now.full:
        return False
    tables = [(table, now.tables[name]) for name, table in before.tables.items()]
    moved = [
        (before.held.young, now.held.young, now.pages),
        (before.held.old, now.held.old, now.pages),
        (before.held.old_seconds, now.held.old_seconds, now.held.old_seconds),
        (before.made_young, now.made_young, max(now.made_young, before.reads)),
        *((was.reads, has.reads, before.reads) for was, has in tables),
        *((was.resident or 0.0, has.resident or 0.0, now.pages) for was, has in tables),
        (before.resting_pages, now.resting_pages, now.pages),
    ]
    return before.scanned.same(now.scanned) and all(abs(a - b) <= _FIT.moved * whole for a, b, whole in moved)


def fitted(evidence: PoolEvidence, check_time: Callable[[], None]) -> FittedLoad:
    """Fit a load to some evidence.

    Args:
        evidence: Of a window.
        check_time: Called between two steps; an exception from it ends the work.
    """
    hurried, smooth, swept = _hurried(evidence), None, _swept(evidence)
    if not swept:
        smooth, hurried = _smooth(evidence, check_time, hurried=hurried)
    never_read = bounds.never_read(
        evidence.tables, evidence.resting, evidence.accesses, evidence.room, min(evidence.held.young, evidence.room)
    )
    heaviest = _heaviest(evidence, never_read, check_time, swept=swept)
    lookups = (smooth.merged(), heaviest) if smooth else (heaviest,)
    beside = evidence.scanned
    with contextlib.suppress(TooManySteps):
        beside = begun(beside, lookups[0], check_time)
    return FittedLoad(evidence, smooth, hurried, never_read, lookups, beside)


def _swept(evidence: PoolEvidence) -> bool:
    """Whether what lookups read comes and goes with the scans.

    Lookups alone evict no page that they read before the next scan does. So a page that is absent is read only once
    between two scans; if more is read than is absent, others are read, too.
    """
    absent = math.fsum(bounds.absent(evidence.tables, evidence.room).values())
    between = evidence.by_lookups * evidence.scanned.workload.round_seconds
    return bool(evidence.scanned.scans) and absent < between <= evidence.held.old


def _heaviest(
    evidence: PoolEvidence, never_read: tuple[Pages, ...], check_time: Callable[[], None], *, swept: bool
) -> tuple[Pages, ...]:
    """Of the loads that explain the reads beside scans, the one that loses most."""
    alike = (*never_read, *bounds.missed(evidence.tables, evidence.room))
    workload = evidence.scanned.workload
    if not workload.scans:
        return alike
    if evidence.by_lookups <= NEGLIGIBLE * workload.scanned:
        return never_read

    @functools.cache
    def off(lookups: tuple[Pages, ...]) -> float:
        with contextlib.suppress(TooManySteps):
            return predict(evidence.scanned, lookups, {}, check_time).rates.other / evidence.by_lookups - 1.0
        return math.inf

    if not swept and abs(off(alike)) <= _FIT.nearer:
        return alike
    even = _even(evidence, off)
    if abs(off(even)) <= _FIT.near:
        return even
    # In bursts, say: no page that is read is asked for again while it stays. These come and go with the scans.
    staying = evidence.tables_pages + evidence.resting_pages - evidence.by_lookups * workload.round_seconds
    hot = [
        Pages(min(group.pages, staying), group.rate * max(1.0, group.pages / staying))
        for group in never_read
        if staying > 0
    ]
    others = min(_FIT.many * (evidence.pages + evidence.by_lookups * workload.round_seconds), MOST_PAGES / 2)
    return (*hot, Pages(others, evidence.by_lookups / others))


def _even(evidence: PoolEvidence, off: Callable[[tuple[Pages, ...]], float]) -> tuple[Pages, ...]:
    """All pages alike, asked for so often that they are off by least."""
    accesses, errors = evidence.accesses, dict[tuple[Pages, ...], float]()
    for _ in range(_FIT.steps):
        lookups = bounds.even(evidence.tables, evidence.resting, accesses)
        error = off(lookups)
        stay = error <= max(errors.values(), default=-1.0)  # pages that are asked for more often stay
        errors[lookups] = error
        if stay:
            break
        accesses = max(accesses / (1.0 + error), evidence.by_lookups)
    return min(errors, key=lambda lookups: abs(errors[lookups]))


def _hurried(evidence: PoolEvidence) -> bool:
    """Whether pages leave the old sublist too soon for a steady state."""
    old = evidence.held.old * evidence.room / evidence.pages if evidence.pages else 0.0
    return old < _FIT.hurried * evidence.held.old_seconds * (evidence.reads - evidence.by_scans + evidence.made_young)


def _smooth(evidence: PoolEvidence, check_time: Callable[[], None], *, hurried: bool) -> tuple[SmoothLoad | None, bool]:
    """Smooth popularity that explains the reads, and whether pages leave the old sublist too soon for it."""
    if not evidence.full:
        return None, hurried
    held = evidence.of_lists
    for old_seconds in (0.0,) if hurried else (held.old_seconds, 0.0):
        smooth = load(evidence.tables, replace(held, old_seconds=old_seconds), evidence.made_young, check_time)
        if smooth is not None and abs(smooth.state.read - evidence.by_lookups) <= _FIT.explained * evidence.by_lookups:
            return smooth, old_seconds != held.old_seconds
    return None, hurried
