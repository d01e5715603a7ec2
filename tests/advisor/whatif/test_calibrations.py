"""A fit is kept while its evidence stands, and made anew once what it rests on has moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from advisor.advice import fits
from advisor.advice.judgement import Options, judge
from advisor.facts import facts
from advisor.models.lru.scenario import Pool
from advisor.models.lru.workload import Rates, TableScan, Workload
from advisor.observe.window import Window
from advisor.rules import check
from advisor.whatif.calibration import Evidence, evidence
from advisor.whatif.calibrations import MOST, Calibrations, stands
from advisor.whatif.fit import Fit, Measured
from advisor.whatif.model import LruModel
from tests.advisor.building import RECORDING, RULES_FOLDER, captured, scanned, server

SCAN = TableScan("shop.orders", 5_000, 20.0, 0.2, "normal")
MEASURED = Measured({"shop.orders": 3_000.0}, 100.0, 40.0, (500.0, 300.0), 20_000)
BEFORE = Evidence(
    server(), {"innodb_old_blocks_pct": 37.0}, Pool(pages=8_000), 100, {}, (), Workload((SCAN,), 8_000), MEASURED
)


class Fits:
    """Counts the fits, each of which explains the reads."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, workload: Workload, _pool: Pool, measured: Measured, _check: object) -> Fit:
        self.made += 1
        found = Rates(measured.per_pass, 0.0, measured.other, measured.made_young or 0.0)
        return Fit(workload, found, error=0.0, loss=0.0)


def nothing() -> None:
    """Time is never over."""


def moved(**changes: Any) -> Evidence:
    return replace(BEFORE, measured=replace(MEASURED, **changes))


@pytest.mark.parametrize(
    "now",
    [
        moved(other=104.0),
        moved(per_pass={"shop.orders": 3_050.0}),
        moved(made_young=44.0),
        moved(accesses=(520.0, 310.0)),
        replace(BEFORE, workload=Workload((replace(SCAN, period=20.8, pages=5_100, seconds=0.9),), 8_100)),
    ],
)
def test_evidence_that_moved_a_little_needs_no_new_fit(now: Evidence) -> None:
    calibrations = Calibrations(fits := Fits())
    made, kept = (calibrations.of(each, nothing) for each in (BEFORE, now))
    assert fits.made == 1
    assert kept.predictions is made.predictions
    assert kept.calibration.fit.workload == made.calibration.fit.workload
    assert kept.calibration.measured == now.measured
    same_reads = (now.measured.per_pass, now.measured.other) == (MEASURED.per_pass, MEASURED.other)
    assert (kept.calibration.fit.error == 0.0) is same_reads


@pytest.mark.parametrize(
    "now",
    [
        moved(other=130.0),
        moved(other=0.0),
        moved(per_pass={"shop.orders": 2_000.0}),
        moved(made_young=100.0),
        moved(made_young=None),
        moved(accesses=(5_000.0, 300.0)),
        replace(BEFORE, settings={"innodb_old_blocks_pct": 60.0}),
        replace(BEFORE, pool=Pool(pages=16_000)),
        replace(BEFORE, reserved=400),
        replace(BEFORE, workload=Workload((replace(SCAN, pages=6_000),), 8_000)),
        replace(BEFORE, workload=Workload((replace(SCAN, period=10.0),), 8_000)),
        replace(BEFORE, workload=Workload((replace(SCAN, fetch="scan"),), 8_000)),
        replace(BEFORE, workload=Workload((SCAN, replace(SCAN, name="shop.items")), 8_000)),
        replace(BEFORE, workload=Workload((SCAN,), 4_000)),
    ],
)
def test_evidence_that_moved_much_does_not_stand(now: Evidence) -> None:
    assert stands(BEFORE, BEFORE)
    assert not stands(BEFORE, now)


def test_a_slow_drift_is_measured_from_the_fit_and_not_from_the_last_evidence() -> None:
    calibrations = Calibrations(fits := Fits())
    for other in range(100, 14_000, 100):  # each step is less than RATES_MOVED of all reads
        calibrations.of(moved(other=float(other)), nothing)
    assert 5 < fits.made < 70


def test_windows_in_turn_keep_their_calibrations() -> None:
    calibrations = Calibrations(fits := Fits())
    both = (BEFORE, moved(other=0.0))
    for each in both * 3:
        calibrations.of(each, nothing)
    assert fits.made == 2


def test_only_a_few_calibrations_are_kept() -> None:
    calibrations = Calibrations(fits := Fits())
    some = [replace(BEFORE, workload=Workload((SCAN,), pages)) for pages in range(0, 8_000, 500)]
    for each in (*some, *some[-MOST:]):
        calibrations.of(each, nothing)
    assert fits.made == len(some)
    calibrations.of(some[0], nothing)
    assert fits.made == len(some) + 1


def test_advice_on_an_unchanged_server_simulates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, window, before = check.load(RULES_FOLDER), captured(RECORDING), fits.Fits()
    first = list(judge(rules, window, Options(fits=before)))
    assert any(each.standing for each in first)

    def none(*_: object) -> None:
        raise AssertionError("a simulation")

    monkeypatch.setattr("advisor.models.lru.simulation.simulate", none)
    assert list(judge(rules, window, Options(fits=fits.Fits(fits.Kept(before.kept() or b""))))) == first


def test_a_steady_load_is_fitted_once() -> None:
    calibrations = Calibrations(fits := Fits())
    snapshots = [scanned(10.0 * n, 4.0 * n, 30_000 * n + n % 2 * 300) for n in range(60)]
    for n in range(10, 60):
        window = Window(tuple(snapshots[:n]))
        assert LruModel(window, facts(window), calibrations).calibration.fit.error < 0.05
    assert fits.made == 1


def test_the_evidence_of_a_window_is_deterministic() -> None:
    window = captured(RECORDING)
    assert stands(evidence(window, facts(window)), evidence(window, facts(window)))
