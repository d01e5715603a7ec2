"""The fit of a workload to measured rates: at today's settings the model then reads what the server reads.

The scans are known. The point accesses beside them are not. Their number of pages, their skew and their rate are
searched on a grid, and then around its best point. The model is deterministic, and so is the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from advisor.models.lru import simulation
from advisor.models.lru.errors import TooManySteps
from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import HOT, OTHER, ROUNDS, UNSEEN, Background, Rates, Workload, rates, scenario
from advisor.pool.errors import ACCEPTED_ERROR

NEGLIGIBLE = 0.02
"""Share of the scanned pages: fewer other reads are ignored, for nothing can be learnt from them."""
_SIZES = 5
_SKEWS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
_SPREADS = (1.0, 0.25)
_SLOW = 20
"""Multiple of innodb_old_blocks_time: in longer rounds, and in those without scans, the spread of accesses makes no
difference."""
_FEW = 2
"""Tables: with more of them there are hardly any pauses between scans, so that bursts make no difference."""
MOST_STEPS = 30_000
"""Steps of simulations, 1.5 s of a core at most: a search that took more ends with the best fit so far."""
_MOST_OF_ONE = MOST_STEPS // 2
"""Steps of a simulation with a background that is tried: one that takes more is no candidate."""
_REFINED = 2
_NEAR = 0.02
"""A fit is refined if the best one loses no more less than this: refinement hardly gains as much."""
_REFINEMENTS = (0.5, 0.25, 0.12)
"""Steps of the skew; each comes with a halving of the step from one size to the next."""
_STEPS_TO_RATE = 2
_SHARES = (1.0, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1)
_ONE = 1.0
"""Pages per second: fewer other reads count as none, and the least that deviations are relative to."""
_UNSURE = 0.2
_RARELY, _FASTEST = 1e-3, 1e7
_SAME = 1e-3
"""Share of a rate: a step by less is not worth a simulation."""
_YOUNG_WEIGHT, _ACCESS_WEIGHT = 0.2, 0.05
_DRIFT_WEIGHT = 0.5
_SKEW_WEIGHT, _COLD_WEIGHT = 0.002, 0.005
"""Weights that decide between fits with the same reads. Reads that drift are unlikely on a server that has run for
long. A fit that loses more by a smaller young sublist is preferred."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured rates of the server, per second unless said otherwise; None is not known.

    Attributes:
        per_pass: Pages read per pass, by table.
        other: Pages read by anything but the scans.
        made_young: Pages made young.
        accesses: Accesses to single pages: an estimate, and a lower bound.
        other_pages: Pages that the other reads may fall on.
        asked_pages: Pages that the other accesses may fall on, with or without a read.
    """

    per_pass: Mapping[str, float]
    other: float
    made_young: float | None = None
    accesses: tuple[float, float] | None = None
    other_pages: int | None = None
    asked_pages: int | None = None


@dataclass(frozen=True, slots=True)
class Fit:
    """A workload, its rates in the model, and their deviation from the measured ones.

    Attributes:
        error: Sum of the deviations of all scans and of the other reads, relative to all reads.
        loss: The error with the weights that decide between equal fits.
        steps: Steps of the simulations that the fit took (`Simulation.steps`).
    """

    workload: Workload
    rates: Rates
    error: float
    loss: float
    steps: int = 0

    def background(self, name: str) -> Background | None:
        """A background by its name: HOT explains the other reads, UNSEEN is the largest set that is never read."""
        return next((each for each in self.workload.backgrounds if each.name == name), None)

    @property
    def confidence(self) -> float:
        """1 within the accepted error, and less beyond it."""
        return min(1.0, ACCEPTED_ERROR / self.error) if self.error else 1.0


@dataclass(frozen=True, slots=True)
class _Case:
    """The input of a fit: today's settings, the measured rates, and the check of the time.

    Attributes:
        found: The fits so far, by their background at any rate: neighbouring searches meet.
        steps: Of each simulation so far.
    """

    pool: Pool
    measured: Measured
    check_time: Callable[[], None]
    found: dict[Background, Fit] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)


def fit(workload: Workload, pool: Pool, measured: Measured, check_time: Callable[[], None] = lambda: None) -> Fit:
    """Find the background beside these scans.

    Args:
        workload: The scans, with the share of each table that the pool may keep; without a background.
        pool: Today's settings.
        measured: Rates under these settings.
        check_time: Called between two simulations; an exception from it ends the fit.
    """
    case = _Case(pool, _significant(workload, measured), check_time)
    anew = replace(workload, scans=tuple(replace(scan, kept=0.0) for scan in workload.scans))
    best = _best(_judged(anew, case), [_judged(workload, case)])
    if case.measured.other:
        best = _searched(best, case)
    return replace(_with_unseen(best, case), steps=sum(case.steps))


def judged_again(fitted: Fit, measured: Measured) -> Fit:
    """The same workload, with its error against other measured rates."""
    return replace(fitted, error=_error(fitted.workload, fitted.rates, _significant(fitted.workload, measured)))


def movement(workload: Workload, before: Measured, now: Measured) -> float:
    """How far measured rates moved, weighed as in the loss: 0.05 costs a fit as much as an error of 5 % of the reads.

    Infinite where a rate has become known or unknown.
    """
    if _known(before) != _known(now):
        return math.inf
    before, now = _significant(workload, before), _significant(workload, now)
    if bool(before.other) != bool(now.other):
        return math.inf
    moved = _error(workload, before, now) + _young_error(workload, before.made_young, now)
    least = _least(workload)
    for was, has in zip(before.accesses or (), now.accesses or (), strict=True):
        moved += _ACCESS_WEIGHT * abs(math.log(max(was, least) / max(has, least)))
    return moved


def _known(measured: Measured) -> tuple[object, ...]:
    """Which rates are known."""
    some = measured.made_young, measured.accesses, measured.other_pages
    return (measured.per_pass.keys(), *(each is None for each in some))


def _significant(workload: Workload, measured: Measured) -> Measured:
    """The rates without other reads where these are negligible."""
    negligible = measured.other <= max(NEGLIGIBLE * _scanned(workload), _ONE)
    return replace(measured, other=0.0) if negligible else measured


def _with_unseen(best: Fit, case: _Case) -> Fit:
    """Add the largest hot set, evenly accessed, that the young sublist can hold without reads.

    It exists where scans and reads do not explain all accesses. Its size cannot be measured. The largest possible one
    is the safe assumption: it has the most to lose. It is no larger than the tables that were asked for anything.
    """
    workload, hot = best.workload, best.background(HOT)
    least = case.measured.accesses[1] if case.measured.accesses else 0.0
    rate = least - (hot.per_second if hot else 0.0)
    if rate <= _UNSURE * least or not workload.other_pages:
        return best
    young = _simulated(workload, case).resident[OTHER].young
    if case.measured.asked_pages is not None:
        young = min(young, case.measured.asked_pages)
    enough = max(NEGLIGIBLE * _scanned(workload), _ONE, _RARELY * rate) + best.rates.other
    for pages in (round(young * share) for share in _SHARES):
        unseen = Background(max(pages, 1), 0.0, rate, warm=True, name=UNSEEN)
        backgrounds = (*workload.backgrounds, unseen)
        found = _judged(replace(workload, backgrounds=backgrounds), case)
        if found.rates.other <= enough:
            return found
    return best


def _searched(best: Fit, case: _Case) -> Fit:
    """Add the background that explains the measured rates best."""
    workload = best.workload
    largest = float(case.measured.other_pages or 16 * case.pool.pages)
    smallest = max(1.0, min(case.pool.pages, largest) / 16)
    step = (largest / smallest) ** (1 / (_SIZES - 1))
    sizes = [(round(smallest * step**n), skew) for n in range(_SIZES - 1) for skew in (0.0, 1.0)]
    sizes += [(round(largest), skew) for skew in _SKEWS]  # reads most likely fall on all of the pages
    slow = not workload.scans or workload.round_seconds >= _SLOW * case.pool.old_blocks_time_ms / 1000
    spreads = _SPREADS[:1] if slow or len(workload.scans) > _FEW else _SPREADS
    rate = case.measured.accesses[0] if case.measured.accesses else case.measured.other
    found = []
    for warm, spread in product((True, False), spreads):
        grid = [Background(size, skew, rate, warm, spread) for size, skew in sizes]
        known = best
        for each in grid:
            known = _best(known, [_with_rate(known, case, each, _STEPS_TO_RATE)])
        found.append(known)
    found.sort(key=_loss)
    near = [each for each in found[:_REFINED] if each.loss <= found[0].loss + _NEAR]
    return min((_refined(each, step, largest, case) for each in near), key=_loss)


def _refined(best: Fit, step: float, largest: float, case: _Case) -> Fit:
    """The best fit nearby, in ever smaller steps."""
    for more in _REFINEMENTS:
        step = math.sqrt(step)
        if (hot := best.background(HOT)) is None:
            break
        around = [replace(hot, pages=round(min(size, largest))) for size in (hot.pages / step, hot.pages * step)]
        around += [replace(hot, skew=skew) for skew in (hot.skew - more, hot.skew + more) if skew >= 0]
        for each in around:
            best = _best(best, [_with_rate(best, case, each, 1)])
    return best


def _best(known: Fit, more: Iterable[Fit]) -> Fit:
    return min([known, *more], key=_loss)


def _loss(found: Fit) -> float:
    return found.loss


def _with_rate(known: Fit, case: _Case, hot: Background, steps: int) -> Fit:
    """The fit with this background, at the rate that explains the misses, if there is one.

    A rate that would lose more than the known fit in any case is not tried.
    """
    any_rate = replace(hot, per_second=0.0)
    if any_rate in case.found:
        return case.found[any_rate]
    if sum(case.steps) >= MOST_STEPS:
        return known
    workload = known.workload
    fits: list[Fit] = []
    for _ in range(1 + steps):
        if fits and (_least_loss(hot, case) >= known.loss or sum(case.steps) >= MOST_STEPS):
            break  # it loses, however well it explains the reads
        try:
            fits.append(_judged(replace(workload, backgrounds=(hot,)), case, _MOST_OF_ONE))
        except TooManySteps:
            break
        missed = fits[-1].rates.other / hot.per_second  # share of the accesses
        rate = case.measured.other / missed if missed > _RARELY else 8 * hot.per_second
        rate = min(max(rate, case.measured.other), _FASTEST)
        if abs(rate - hot.per_second) <= _SAME * hot.per_second:
            break
        hot = replace(hot, per_second=rate)
    case.found[any_rate] = found = _best(fits[0], fits[1:]) if fits else known
    return found


def _judged(workload: Workload, case: _Case, most_steps: int = simulation.LONGEST) -> Fit:
    passes = _simulated(workload, case, most_steps).passes
    found, before = rates(workload, passes), rates(workload, passes, ago=ROUNDS // 2)
    error = _error(workload, found, case.measured)
    loss = error + _DRIFT_WEIGHT * abs(found.other - before.other) / _reads(workload, case.measured)
    loss += _young_error(workload, found.made_young, case.measured)
    loss += sum(_least_loss(hot, case) for hot in workload.backgrounds)
    return Fit(workload, found, error, loss)


def _simulated(workload: Workload, case: _Case, most_steps: int = simulation.LONGEST) -> simulation.Simulation:
    case.check_time()
    try:
        simulated = simulation.simulate(scenario(workload, case.pool), most_steps)
    except TooManySteps:
        case.steps.append(most_steps)
        raise
    case.steps.append(simulated.steps)
    return simulated


def _least_loss(hot: Background, case: _Case) -> float:
    """The loss of a background that explains all reads: what makes it unlikely."""
    loss = _SKEW_WEIGHT * hot.skew + _COLD_WEIGHT * (not hot.warm)
    if case.measured.accesses:
        loss += _ACCESS_WEIGHT * abs(math.log(hot.per_second / case.measured.accesses[0]))
    return loss


def _error(workload: Workload, found: Rates | Measured, measured: Measured) -> float:
    """Sum of the deviations of all scans and of the other reads, relative to all reads."""
    per_second = workload.scans_per_second
    off = abs(found.other - measured.other)
    for name, per_pass in measured.per_pass.items():
        off += abs(found.per_pass[name] - per_pass) * per_second[name]
    return off / _reads(workload, measured)


def _young_error(workload: Workload, made_young: float | None, measured: Measured) -> float:
    """The deviation of the pages made young, with its weight; 0 where they are not known."""
    if made_young is None or measured.made_young is None:
        return 0.0
    most = max(measured.made_young, made_young, _least(workload), NEGLIGIBLE * _reads(workload, measured))
    return _YOUNG_WEIGHT * abs(made_young - measured.made_young) / most


def _reads(workload: Workload, measured: Measured) -> float:
    """All measured reads per second, or the least that deviations are relative to."""
    per_second = workload.scans_per_second
    read = measured.other + sum(per_pass * per_second[name] for name, per_pass in measured.per_pass.items())
    return max(read, _least(workload))


def _least(workload: Workload) -> float:
    return max(NEGLIGIBLE * _scanned(workload), _ONE)


def _scanned(workload: Workload) -> float:
    """Pages that scans go through, per second."""
    return sum(scan.pages / scan.period for scan in workload.scans)
