"""A load is kept while its evidence stands, and fitted anew once what it rests on has moved."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from advisor.advice.judgement import judge
from advisor.facts import facts
from advisor.models.lru.workload import TableScan
from advisor.observe.window import Window
from advisor.pool import fitting
from advisor.pool.evidence import PoolEvidence, evidence
from advisor.pool.load import TableReads
from advisor.pool.model import PoolModel
from advisor.pool.steady import Sublists
from advisor.rules import check
from tests.advisor.building import RECORDING, RULES_FOLDER, captured, scanned

SCAN = TableScan("shop.orders", 11_400, 20.0, 0.2, "normal")
ITEMS = TableReads(20_000.0, 100.0, 8_000.0)


def before() -> PoolEvidence:
    """A table is scanned, and another one looked up."""
    window = Window(tuple(scanned(10.0 * n, n, 11_400 * n) for n in range(4)))
    watched = evidence(window.snapshots, window, facts(window))
    workload = replace(watched.scanned.workload, scans=(SCAN,))
    beside = replace(watched.scanned, workload=workload, reserved=100)
    return replace(watched, tables={"shop.items": ITEMS}, scanned=beside, made_young=40.0, reads=600.0)


BEFORE = before()


def moved(**changes: Any) -> PoolEvidence:
    return replace(BEFORE, tables={"shop.items": replace(ITEMS, **changes)})


def scans(*scans: TableScan, other_pages: int = BEFORE.scanned.workload.other_pages) -> PoolEvidence:
    workload = replace(BEFORE.scanned.workload, scans=scans, other_pages=other_pages)
    return replace(BEFORE, scanned=replace(BEFORE.scanned, workload=workload))


class Fits:
    """Counts the fits."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, watched: PoolEvidence, _check_time: Callable[[], None]) -> fitting.FittedLoad:
        self.count += 1
        return fitting.FittedLoad(watched, None, never_read=(), lookups=((),), scanned=watched.scanned, hurried=False)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Fits:
    """The fits of the test."""
    counted = Fits()
    monkeypatch.setattr(fitting, "fitted", counted)
    return counted


def nothing() -> None:
    """Time is never over."""


@pytest.mark.parametrize(
    "now",
    [
        moved(reads=104.0),
        moved(resident=8_100.0),
        replace(BEFORE, made_young=44.0),
        scans(replace(SCAN, period=20.8, pages=11_500, seconds=0.9)),
    ],
)
def test_evidence_that_moved_a_little_needs_no_new_fit(now: PoolEvidence, fits: Fits) -> None:
    loads = fitting.Loads()
    first, second = (loads.of(watched, nothing) for watched in (BEFORE, now))
    assert fits.count == 1
    assert second is first


@pytest.mark.parametrize(
    "now",
    [
        moved(reads=150.0),
        moved(resident=9_000.0),
        replace(BEFORE, tables={}),
        replace(BEFORE, made_young=100.0),
        replace(BEFORE, held=Sublists(BEFORE.held.young / 2, BEFORE.held.old, 1.0)),
        replace(BEFORE, resting={"shop.ledger": TableReads(5_000.0, 0.0, 5_000.0)}),
        replace(BEFORE, scanned=replace(BEFORE.scanned, settings={"innodb_old_blocks_pct": 60.0})),
        replace(BEFORE, scanned=replace(BEFORE.scanned, reserved=400)),
        scans(replace(SCAN, pages=13_000)),
        scans(replace(SCAN, period=10.0)),
        scans(replace(SCAN, fetch="scan")),
        scans(SCAN, replace(SCAN, name="shop.invoices")),
        scans(SCAN, other_pages=4_000),
    ],
)
def test_evidence_that_moved_much_does_not_stand(now: PoolEvidence, fits: Fits) -> None:
    loads = fitting.Loads()
    for watched in (BEFORE, now):
        loads.of(watched, nothing)
    assert fits.count == 2


def test_a_slow_drift_is_measured_from_the_fit_and_not_from_the_last_evidence(fits: Fits) -> None:
    loads = fitting.Loads()
    for reads in range(100, 1_000, 10):  # each step is less than what stands
        loads.of(moved(reads=float(reads)), nothing)
    assert 5 < fits.count < 45


def test_windows_in_turn_keep_their_loads_and_only_a_few_are_kept(fits: Fits) -> None:
    loads = fitting.Loads()
    windows = [moved(reads=100.0 * number) for number in range(1, fitting.MOST_LOADS + 2)]
    for watched in windows[1:] * 3:
        loads.of(watched, nothing)
    assert fits.count == fitting.MOST_LOADS
    for watched in windows[:2]:
        loads.of(watched, nothing)
    assert fits.count == fitting.MOST_LOADS + 2


def test_advice_on_an_unchanged_server_simulates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rules, window, loads = check.load(RULES_FOLDER), captured(RECORDING), fitting.Loads()
    first = list(judge(rules, window, loads=loads))
    assert any(judgement.findings for judgement in first)

    def simulated(*_: object) -> None:
        raise AssertionError("a simulation")

    monkeypatch.setattr("advisor.models.lru.workload.simulate", simulated)
    sent = pickle.loads(pickle.dumps(loads))  # noqa: S301 - as the worker sends them
    assert list(judge(rules, window, loads=sent)) == first


def test_a_steady_load_is_fitted_once() -> None:
    loads = fitting.Loads()
    snapshots = [scanned(10.0 * n, 4.0 * n, 30_000 * n + n % 2 * 300) for n in range(60)]
    fitted = set()
    for n in range(10, 60):
        window = Window(tuple(snapshots[:n]))
        model = PoolModel(window, facts(window), loads)
        assert model.error < 0.05
        fitted.add(id(model.sizes.load))
    assert len(fitted) == 1
