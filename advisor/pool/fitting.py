"""The load that explains a window: smooth popularity where there is one, and the load that loses most beside scans.

A fit is kept while later evidence is nearly the same, with all that was predicted with it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from advisor.models.lru.errors import TooManySteps
from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import MOST_PAGES
from advisor.pool import bounds
from advisor.pool.evidence import Evidence
from advisor.pool.load import Load, load
from advisor.pool.scanned import Prediction, Scanned, begun, predict

_HURRIED = 1.5
"""Times innodb_old_blocks_time: if pages stay no longer in the old sublist, hardly any becomes young, and what the
young sublist holds is history."""
_EXPLAINED = 0.1
"""Share of today's reads: a load that is further off explains them not."""
_NEARER, _NEAR = 0.25, 0.5
"""Share of the reads: lookups beside scans that are off by less tell by how much the reads change. The first is for the
load of the bound, the second for pages that are all alike."""
_STEPS = 4
"""Simulations to find how often pages are asked for."""
NEGLIGIBLE = 0.02
"""Share of the scanned pages: nothing can be learnt from fewer reads."""
_MANY = 100.0
"""Times the pages of the pool and those read from one scan to the next: of so many, none is asked for again in time."""
_MOVED, MOST_LOADS, _MOST_PREDICTIONS = 0.05, 8, 1_000
"""Share that reads, residents, pages made young and the list may move by: a load stands for such evidence. Then loads
that are kept, as windows of several lengths are judged, and predictions of each."""

Question = tuple[tuple[tuple[str, float], ...], bool, tuple[Pages, ...]]
"""Changes, whether they are tried under strain, and the lookups beside the scans."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The load of some evidence, and what was predicted with it.

    Attributes:
        smooth: By smooth popularity; None where none explains what was measured.
        hurried: Whether pages leave the old sublist too soon for a steady state.
        kept: The pages that are asked for and never read, all alike: the most to lose. Empty where there are none.
        lookups: Beside scans: by smooth popularity, where there is one, and the load that loses most.
        scanned: The scans, as they began.
        predictions: So far.
    """

    evidence: Evidence
    smooth: Load | None
    hurried: bool
    kept: tuple[Pages, ...]
    lookups: tuple[tuple[Pages, ...], ...]
    scanned: Scanned
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
        found = self.predictions.get(question)
        if found is None:
            found = predict(self.scanned, lookups, changes, check_time, strained=strained)
            self.predictions[question] = found
            for old in list(self.predictions)[:-_MOST_PREDICTIONS]:
                self.predictions.pop(old, None)
        return found


class Loads:
    """Keeps loads of one server: fitting one takes nearly all of the time that an answer takes.

    A load stands for later evidence that is nearly the same.
    """

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._kept: list[Fitted] = []

    def of(self, found: Evidence, check_time: Callable[[], None]) -> Fitted:
        """The load of some evidence, or of earlier evidence that was nearly the same: as ``fitted``."""
        kept = next((each for each in self._kept if _stands(each.evidence, found)), None)
        kept = kept or fitted(found, check_time)
        self._kept = [kept, *(each for each in self._kept if each is not kept)][:MOST_LOADS]
        return kept


def _stands(before: Evidence, now: Evidence) -> bool:
    """Whether the load of earlier evidence explains this, too."""
    if before.tables.keys() != now.tables.keys() or before.full is not now.full:
        return False
    tables = [(each, now.tables[name]) for name, each in before.tables.items()]
    moved = [
        (before.held.young, now.held.young, now.pages),
        (before.held.old, now.held.old, now.pages),
        (before.held.old_seconds, now.held.old_seconds, now.held.old_seconds),
        (before.made_young, now.made_young, max(now.made_young, before.reads)),
        *((was.reads, has.reads, before.reads) for was, has in tables),
        *((was.resident or 0.0, has.resident or 0.0, now.pages) for was, has in tables),
        (before.resting_pages, now.resting_pages, now.pages),
    ]
    return before.scanned.same(now.scanned) and all(abs(a - b) <= _MOVED * whole for a, b, whole in moved)


def fitted(found: Evidence, check_time: Callable[[], None]) -> Fitted:
    """Fit a load to some evidence.

    Args:
        found: Of a window.
        check_time: Called between two steps; an exception from it ends the work.
    """
    hurried, smooth, swept = _hurried(found), None, _swept(found)
    if not swept:
        smooth, hurried = _smooth(found, check_time, hurried=hurried)
    kept = bounds.kept(found.tables, found.resting, found.accesses, found.room, min(found.held.young, found.room))
    heaviest = _heaviest(found, kept, check_time, swept=swept)
    lookups = (smooth.merged(), heaviest) if smooth else (heaviest,)
    beside = found.scanned
    with contextlib.suppress(TooManySteps):
        beside = begun(beside, lookups[0], check_time)
    return Fitted(found, smooth, hurried, kept, lookups, beside)


def _swept(found: Evidence) -> bool:
    """Whether what lookups read comes and goes with the scans.

    Lookups alone evict no page that they read before the next scan does. So a page that is absent is read only once
    between two scans; if more is read than is absent, others are read, too.
    """
    absent = math.fsum(bounds.absent(found.tables, found.room).values())
    between = found.by_lookups * found.scanned.workload.round_seconds
    return bool(found.scanned.scans) and absent < between <= found.held.old


def _heaviest(
    found: Evidence, kept: tuple[Pages, ...], check_time: Callable[[], None], *, swept: bool
) -> tuple[Pages, ...]:
    """The load that loses most of those that explain what is read beside scans."""
    alike = (*kept, *bounds.read(found.tables, found.room))
    workload = found.scanned.workload
    if not workload.scans:
        return alike
    if found.by_lookups <= NEGLIGIBLE * workload.scanned:
        return kept

    def off(lookups: tuple[Pages, ...]) -> float:
        with contextlib.suppress(TooManySteps):
            return predict(found.scanned, lookups, {}, check_time).rates.other / found.by_lookups - 1.0
        return math.inf

    if not swept and abs(off(alike)) <= _NEARER:
        return alike
    accesses, tried = found.accesses, []
    for _ in range(_STEPS):  # all pages alike, so often that it explains the reads
        lookups = bounds.even(found.tables, found.resting, accesses)
        tried.append((off(lookups), lookups))
        if tried[-1][0] <= max((each for each, _ in tried[:-1]), default=-1.0):
            break  # pages that are asked for more often stay
        accesses = max(accesses / (1.0 + tried[-1][0]), found.by_lookups)
    nearest, lookups = min(tried, key=lambda each: abs(each[0]))
    if abs(nearest) <= _NEAR:
        return lookups
    # In bursts, say: no page that is read is asked for again while it stays. These come and go with the scans.
    staying = found.tables_pages + found.resting_pages - found.by_lookups * workload.round_seconds
    hot = [Pages(min(each.pages, staying), each.rate * max(1.0, each.pages / staying)) for each in kept if staying > 0]
    others = min(_MANY * (found.pages + found.by_lookups * workload.round_seconds), MOST_PAGES / 2)
    return (*hot, Pages(others, found.by_lookups / others))


def _hurried(found: Evidence) -> bool:
    """Whether pages leave the old sublist too soon for a steady state."""
    old = found.held.old * found.room / found.pages if found.pages else 0.0
    return old < _HURRIED * found.held.old_seconds * (found.reads - found.by_scans + found.made_young)


def _smooth(found: Evidence, check_time: Callable[[], None], *, hurried: bool) -> tuple[Load | None, bool]:
    """Smooth popularity that explains the reads, and whether pages leave the old sublist too soon for it."""
    if not found.full:
        return None, hurried
    held = found.of_lists
    for old_seconds in (0.0,) if hurried else (held.old_seconds, 0.0):
        smooth = load(found.tables, replace(held, old_seconds=old_seconds), found.made_young, check_time)
        if smooth is not None and abs(smooth.state.read - found.by_lookups) <= _EXPLAINED * found.by_lookups:
            return smooth, old_seconds != held.old_seconds
    return None, hurried
