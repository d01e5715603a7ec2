"""Calibrations that are kept while their evidence stands: a fit takes a thousand times as long as anything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import Rates, TableScan, Workload
from advisor.pool.estimate import Loads
from advisor.whatif.calibration import Calibration, Evidence, calibration
from advisor.whatif.fit import Fit, Measured, fit, judged_again, movement

MOVED, RATES_MOVED = 0.05, 0.1
"""How far evidence may move before the model is fitted again: MOVED is a share of sizes; RATES_MOVED one of periods,
and for measured reads the error that a fit could gain by it. The last pass of a scan alone varies by 6 % under a steady
load (seen beside lab.demo)."""
RESERVED = 0.01
"""Share of the pool that the reserved pages may grow by: a value chosen for fewer of them may be too small."""
MOST = 8
"""Calibrations that are kept: advice is asked for windows of several lengths."""
MOST_PREDICTIONS = 1000
"""Predictions that a calibration keeps."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model says of some settings.

    Attributes:
        rates: Reads of the last rounds.
        others: Pages in the pool that the scanned tables leave for everything else.
        young: How many of these are in the young sublist.
        until_cached: By table, the passes until it is cached; None where it never is.
    """

    rates: Rates
    others: float
    young: float
    until_cached: Mapping[str, int | None]


Question = tuple[tuple[tuple[str, float], ...], bool, Workload | None]
"""The changes that a prediction is for, whether it is made under strain, and a workload in place of the fitted one."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration, with its rivals and every prediction that was made with it."""

    calibration: Calibration
    rivals: list[tuple[Workload, ...]] = field(default_factory=list)
    predictions: dict[Question, Prediction] = field(default_factory=dict)

    def rivalled(self, find: Callable[[], tuple[Workload, ...]]) -> tuple[Workload, ...]:
        """The rivals of the fitted workload, found when they are first asked for."""
        if not self.rivals:
            self.rivals.append(find())
        return self.rivals[0]

    def predicted(self, question: Question, predict: Callable[[], Prediction]) -> Prediction:
        """The prediction for a question, made when it is first asked for."""
        found = self.predictions.get(question)
        if found is None:
            found = self.predictions[question] = predict()
            for old in list(self.predictions)[:-MOST_PREDICTIONS]:
                self.predictions.pop(old, None)
        return found


@dataclass(frozen=True, slots=True)
class Kept:
    """A calibration, and what it was made from."""

    evidence: Evidence
    fit: Fit
    calibrated: Calibrated


class Calibrations:
    """Keeps calibrations of one server. Several threads may ask at once; they may then calibrate the same twice.

    A kept calibration stands for new evidence where settings and pool are the same, and what was measured moved by
    less than MOVED and RATES_MOVED. It then has its error against the new measurements. The same evidence always gives
    the same calibration where nothing is kept.
    """

    def __init__(self, fit: Callable[[Workload, Pool, Measured, Callable[[], None]], Fit] = fit) -> None:
        """Nothing is kept yet.

        Args:
            fit: Finds the background beside the scans.
        """
        self.loads = Loads()
        """Those of the miss curve."""
        self._fit = fit
        self._kept: list[Kept] = []

    def of(self, found: Evidence, check_time: Callable[[], None]) -> Calibrated:
        """The calibration for some evidence: a kept one that stands for it, or a new one.

        Args:
            found: What a window tells the model.
            check_time: Called between two simulations; an exception from it ends the fit.
        """
        kept = next((each for each in self._kept if stands(each.evidence, found)), None)
        if kept is None:
            made = self._fit(found.workload, found.pool, found.measured, check_time)
            kept = Kept(found, made, Calibrated(calibration(found, made)))
        self._kept = [kept, *(each for each in self._kept if each is not kept)][:MOST]
        if kept.evidence is found:
            return kept.calibrated
        again = judged_again(kept.fit, found.measured)
        now = replace(kept.evidence, measured=found.measured, left_out=found.left_out)
        return replace(kept.calibrated, calibration=calibration(now, again))


def stands(before: Evidence, now: Evidence) -> bool:
    """Whether a calibration by earlier evidence stands for new evidence."""
    return (
        before.server == now.server
        and before.settings == now.settings
        and before.pool == now.pool
        and now.reserved <= before.reserved + RESERVED * now.pool.pages
        and _same_workload(before.workload, now.workload, now.pool)
        and _near(before.measured.asked_pages, now.measured.asked_pages, MOVED * now.pool.pages)
        and movement(before.workload, before.measured, now.measured) <= RATES_MOVED
    )


def _near(before: int | None, now: int | None, most: float) -> bool:
    return before == now if before is None or now is None else abs(before - now) <= most


def _same_workload(before: Workload, now: Workload, pool: Pool) -> bool:
    return abs(before.other_pages - now.other_pages) <= MOVED * pool.pages and _same_scans(before.scans, now.scans)


def _same_scans(before: Sequence[TableScan], now: Sequence[TableScan]) -> bool:
    """Whether the tables are the same, with about the same size, period and time of a pass."""
    if len(before) != len(now):
        return False
    in_order = zip(sorted(before, key=_identity), sorted(now, key=_identity), strict=True)
    return all(
        _identity(was) == _identity(has)
        and abs(was.pages - has.pages) <= MOVED * was.pages
        and abs(was.period - has.period) <= RATES_MOVED * was.period
        and abs(was.seconds - has.seconds) <= RATES_MOVED * was.period
        and abs(was.kept - has.kept) <= RATES_MOVED
        for was, has in in_order
    )


def _identity(scan: TableScan) -> tuple[str, str]:
    return scan.name, scan.fetch
