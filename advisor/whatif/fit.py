"""A workload fitted to what was measured: the model at today's settings then reads what the server reads.

The scans are known. The point accesses beside them are not: how many pages they fall on, how evenly and how fast is
searched for, on a grid and then around its best point. The model is deterministic, so the search is too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import HOT, OTHER, ROUNDS, UNSEEN, Background, Rates, Workload, rates, scenario

ACCEPTED_ERROR = 0.15
NEGLIGIBLE = 0.02
"""Other reads that are so small a part of the scanned pages are left out: nothing could be learnt from them."""
_SIZES = 5
_SKEWS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
_SPREADS = (1.0, 0.25)
_SLOW = 20
"""Rounds that last so many times innodb_old_blocks_time: how the accesses in them are spread makes no difference, nor
does it where there are no scans to leave pauses."""
_FEW = 2
"""Tables; between the scans of more of them there is hardly a pause for a burst to leave."""
_REFINED = 2
_REFINEMENTS = (0.5, 0.25, 0.12)
"""Steps of the skew, and as many halvings of the step from one size to the next."""
_STEPS_TO_RATE = 2
_SHARES = (1.0, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1)
_ONE = 1.0
"""Page a second: fewer other reads are none, and deviations are relative to it where next to nothing is read."""
_UNSURE = 0.2
_RARELY, _FASTEST = 1e-3, 1e7
_YOUNG_WEIGHT, _ACCESS_WEIGHT = 0.2, 0.05
_DRIFT_WEIGHT = 0.5
_SKEW_WEIGHT, _COLD_WEIGHT = 0.002, 0.005
"""What decides between fits that read the same: a server has been running for long, so that its hot set reads as much
today as before; and what has most to lose by a smaller young sublist comes first."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the server did, per second unless said otherwise; None is not known.

    Attributes:
        per_pass: Pages read per pass, by table.
        other: Pages read by anything but the scans.
        made_young: Pages made young.
        accesses: Accesses to single pages, roughly, and so many at least.
        other_pages: Pages that the other reads may fall on.
    """

    per_pass: Mapping[str, float]
    other: float
    made_young: float | None = None
    accesses: tuple[float, float] | None = None
    other_pages: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """A workload, what the model makes of it, and how far that is from what was measured.

    Attributes:
        error: Sum of the deviations of all scans and of the other reads, relative to all reads.
        loss: The same, and what it was chosen by beside it.
    """

    workload: Workload
    rates: Rates
    error: float
    loss: float

    def background(self, name: str) -> Background | None:
        """HOT: what other reads were fitted by; UNSEEN: the most that could be there without being read."""
        return next((each for each in self.workload.backgrounds if each.name == name), None)

    @property
    def confidence(self) -> float:
        """1 within the accepted error, less and less beyond it."""
        return min(1.0, ACCEPTED_ERROR / self.error) if self.error else 1.0


@dataclass(frozen=True, slots=True)
class _Case:
    """What a fit is for: today's settings, what was measured under them, and who says that time is over."""

    pool: Pool
    measured: Measured
    check_time: Callable[[], None]


def fit(workload: Workload, pool: Pool, measured: Measured, check_time: Callable[[], None] = lambda: None) -> Fit:
    """Find the background that goes with these scans.

    Args:
        workload: The scans, with what the pool may keep of them; without a background.
        pool: Today's settings.
        measured: Under these.
        check_time: Called between two simulations; what it raises ends the fit.
    """
    negligible = measured.other <= max(NEGLIGIBLE * _scanned(workload), _ONE)
    if negligible:
        measured = replace(measured, other=0.0)
    case = _Case(pool, measured, check_time)
    anew = replace(workload, scans=tuple(replace(scan, kept=0.0) for scan in workload.scans))
    best = _best(_judged(anew, case), [_judged(workload, case)])
    if not negligible:
        best = _searched(best, case)
    return _with_unseen(best, case)


def _with_unseen(best: Fit, case: _Case) -> Fit:
    """With the largest hot set, evenly used, that the young sublist can hold so that it is never read.

    There is one where more pages are asked for than by the scans and by what is read. How large it is cannot be told:
    that a smaller one would lose less is left out, so that nothing harms what was not seen.
    """
    workload, hot = best.workload, best.background(HOT)
    least = case.measured.accesses[1] if case.measured.accesses else 0.0
    rate = least - (hot.per_second if hot else 0.0)
    if rate <= _UNSURE * least or not workload.other_pages:
        return best
    young = simulation.simulate(scenario(workload, case.pool)).resident[OTHER].young
    enough = max(NEGLIGIBLE * _scanned(workload), _ONE, _RARELY * rate) + best.rates.other
    for pages in (round(young * share) for share in _SHARES):
        unseen = Background(max(pages, 1), 0.0, rate, warm=True, name=UNSEEN)
        backgrounds = (*workload.backgrounds, unseen)
        found = _judged(replace(workload, backgrounds=backgrounds), case)
        if found.rates.other <= enough:
            return found
    return best


def _searched(best: Fit, case: _Case) -> Fit:
    """With the background that goes best with what was case.measured."""
    workload = best.workload
    largest = float(case.measured.other_pages or 16 * case.pool.pages)
    smallest = max(1.0, min(case.pool.pages, largest) / 16)
    step = (largest / smallest) ** (1 / (_SIZES - 1))
    sizes = [(round(smallest * step**n), skew) for n in range(_SIZES - 1) for skew in (0.0, 1.0)]
    sizes += [(round(largest), skew) for skew in _SKEWS]  # the pages that were read are most likely pages of all of it
    slow = not workload.scans or workload.round_seconds >= _SLOW * case.pool.old_blocks_time_ms / 1000
    spreads = _SPREADS[:1] if slow or len(workload.scans) > _FEW else _SPREADS
    rate = case.measured.accesses[0] if case.measured.accesses else case.measured.other
    found = []
    for warm, spread in product((True, False), spreads):
        grid = [Background(size, skew, rate, warm, spread) for size, skew in sizes]
        found.append(_best(best, (_with_rate(workload, case, each, _STEPS_TO_RATE) for each in grid)))
    return min((_refined(each, step, largest, case) for each in sorted(found, key=_loss)[:_REFINED]), key=_loss)


def _refined(best: Fit, step: float, largest: float, case: _Case) -> Fit:
    """The best one around, in smaller and smaller steps."""
    for more in _REFINEMENTS:
        step = math.sqrt(step)
        if (hot := best.background(HOT)) is None:
            break
        around = [replace(hot, pages=round(min(size, largest))) for size in (hot.pages / step, hot.pages * step)]
        around += [replace(hot, skew=skew) for skew in (hot.skew - more, hot.skew + more) if skew >= 0]
        best = _best(best, (_with_rate(best.workload, case, each, 1) for each in around))
    return best


def _best(known: Fit, more: Iterable[Fit]) -> Fit:
    return min([known, *more], key=_loss)


def _loss(found: Fit) -> float:
    return found.loss


def _with_rate(workload: Workload, case: _Case, hot: Background, steps: int) -> Fit:
    """The fit with this background, at the rate where the misses come out right if one can be found."""
    fits = []
    for _ in range(1 + steps):
        fits.append(_judged(replace(workload, backgrounds=(hot,)), case))
        missed = fits[-1].rates.other / hot.per_second  # a part of the accesses
        rate = case.measured.other / missed if missed > _RARELY else 8 * hot.per_second
        hot = replace(hot, per_second=min(max(rate, case.measured.other), _FASTEST))
    return _best(fits[0], fits[1:])


def _judged(workload: Workload, case: _Case) -> Fit:
    case.check_time()
    passes = simulation.simulate(scenario(workload, case.pool)).passes
    found, before = rates(workload, passes), rates(workload, passes, ago=ROUNDS // 2)
    per_second = workload.passes_per_second
    off = abs(found.other - case.measured.other)
    read = case.measured.other
    for name, per_pass in case.measured.per_pass.items():
        off += abs(found.per_pass[name] - per_pass) * per_second[name]
        read += per_pass * per_second[name]
    least = max(NEGLIGIBLE * _scanned(workload), _ONE)
    error = off / max(read, least)
    loss = error + _DRIFT_WEIGHT * abs(found.other - before.other) / max(read, least)
    if case.measured.made_young is not None:
        most = max(case.measured.made_young, found.made_young, least, NEGLIGIBLE * read)
        loss += _YOUNG_WEIGHT * abs(found.made_young - case.measured.made_young) / most
    for hot in workload.backgrounds:
        loss += _SKEW_WEIGHT * hot.skew + _COLD_WEIGHT * (not hot.warm)
        if case.measured.accesses:
            loss += _ACCESS_WEIGHT * abs(math.log(hot.per_second / case.measured.accesses[0]))
    return Fit(workload, found, error, loss)


def _scanned(workload: Workload) -> float:
    """Pages that scans go through, per second."""
    return sum(scan.pages / scan.period for scan in workload.scans)
