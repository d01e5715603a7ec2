"""A fit finds a workload from its reads, well enough to predict the effect of changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.facts import facts
from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pool, Settings
from advisor.models.lru.workload import HOT, UNSEEN, Background, Rates, TableScan, Workload, rates, scenario
from advisor.pool.errors import ACCEPTED_ERROR, Unanswerable
from advisor.whatif.calibration import calibrate
from advisor.whatif.fit import MOST_STEPS, Fit, Measured, fit
from tests.advisor.building import REPOSITORY, captured

CAPTURES = sorted("/".join(path.parts[-3:-1]) for path in (REPOSITORY / "tests/captures").glob("*/*/*.jsonl.gz"))
PAGES = 8_000
POOL = Pool(pages=PAGES)
SCAN = TableScan("shop.orders", 5_000, 20.0, 0.2, "normal")


def played(workload: Workload, pct: int | None = None) -> Rates:
    then = None if pct is None else (Settings(old_blocks_pct=pct), workload)
    return rates(workload, simulation.simulate(scenario(workload, POOL, then=then)).passes)


def measured(truth: Workload, accesses: tuple[float, float] | None = None) -> Measured:
    found = played(truth)
    pages = sum(hot.pages for hot in truth.backgrounds)
    return Measured(found.per_pass, found.other, found.made_young, accesses, pages or None)


def fitted(truth: Workload, accesses: tuple[float, float] | None = None) -> Fit:
    return fit(Workload(truth.scans, truth.other_pages), POOL, measured(truth, accesses))


@pytest.mark.parametrize(
    "hot",
    [
        Background(9_000, 0.0, 100.0),
        Background(20_000, 1.0, 200.0),
        Background(6_000, 0.8, 300.0, warm=True),
        Background(2_500, 0.0, 150.0, spread=0.25),
    ],
    ids=["even", "skewed", "warm", "in bursts"],
)
def test_the_fitted_hot_set_reads_as_much_today_and_after_a_change(hot: Background) -> None:
    truth = Workload((SCAN,), PAGES, (hot,))
    known = fitted(truth, (hot.per_second, hot.per_second / 2))
    assert known.error < 0.05
    assert known.confidence == 1.0
    for pct in (20, 50, 95):  # between them are values at which the table is cached sooner or later
        real, predicted = played(truth, pct), played(known.workload, pct)
        assert predicted.read == pytest.approx(real.read, abs=0.15 * known.rates.read), pct


@settings(max_examples=3)
@given(
    pages=st.integers(500, 20_000),
    skew=st.floats(0, 1.2),
    rate=st.floats(20, 500),
    warm=st.booleans(),
    period=st.floats(5, 60),
)
def test_the_model_reads_today_what_was_measured(
    pages: int, skew: float, rate: float, *, warm: bool, period: float
) -> None:
    scan = TableScan("shop.orders", 5_000, period, 0.2, "normal")
    truth = Workload((scan,), PAGES, (Background(pages, skew, rate, warm),))
    known = fitted(truth, (rate, rate / 3))
    assert known.error <= ACCEPTED_ERROR
    assert known.rates == played(known.workload)


def test_the_same_measurements_give_the_same_fit() -> None:
    truth = Workload((SCAN,), PAGES, (Background(2_000, 0.5, 100.0),))
    assert fitted(truth) == fitted(truth)


def test_scans_alone_need_no_hot_set() -> None:
    known = fitted(Workload((SCAN,), PAGES))
    assert (known.workload.backgrounds, known.error, known.confidence) == ((), 0.0, 1.0)


def test_a_kept_part_of_a_table_stays_if_it_explains_the_reads() -> None:
    workload = Workload((TableScan("shop.orders", 5_000, 20.0, 0.2, "normal", kept=0.4),), PAGES)
    known = fit(workload, POOL, Measured({"shop.orders": 3_000.0}, 0.0))
    assert known.workload.scans[0].kept == 0.4
    assert known.error < 0.02


def test_a_table_that_would_be_cached_anyway_is_not_kept() -> None:
    workload = Workload((TableScan("shop.orders", 1_000, 20.0, 0.2, "normal", kept=1.0),), PAGES)
    known = fit(workload, POOL, Measured({"shop.orders": 0.0}, 0.0))
    assert (known.workload.scans[0].kept, known.error) == (0.0, 0.0)


def test_accesses_without_reads_are_the_largest_possible_hot_set() -> None:
    known = fit(Workload((SCAN,), PAGES), POOL, Measured({"shop.orders": 5_000.0}, 0.0, 0.0, (900.0, 500.0)))
    unseen = known.background(UNSEEN)
    assert unseen is not None
    assert unseen.per_second == 500.0
    assert unseen.pages > 0.8 * 0.6 * PAGES
    assert known.background(HOT) is None
    assert known.error < 0.05
    # It has the most to lose: that is what keeps the advice from harming what it did not see.
    assert played(known.workload, 80).other > 100


def test_an_impossible_measurement_has_a_large_error() -> None:
    # A small table in a large pool cannot be read at every pass, nor that many pages be made young by none.
    small = TableScan("shop.orders", 500, 20.0, 0.2, "normal")
    known = fit(Workload((small,), PAGES), POOL, Measured({"shop.orders": 500.0}, 0.0))
    assert known.error == pytest.approx(1.0)
    assert known.confidence == pytest.approx(ACCEPTED_ERROR)


def test_few_reads_without_other_facts_give_a_fit() -> None:
    known = fit(Workload((), PAGES), POOL, Measured({}, 0.3))
    assert (known.workload.backgrounds, known.error) == ((), 0.0)


def test_reads_without_a_scan_are_fitted() -> None:
    truth = Workload((), PAGES, (Background(16_000, 0.0, 50.0),))
    known = fitted(truth, (50.0, 50.0))
    assert known.error < 0.05
    assert known.background(HOT) is not None


@pytest.mark.parametrize(
    "name",
    [
        "mysql-9.7/change-buffer-small",  # the longest of all captures
        "mariadb-10.11/write-pressure",
        "mysql-9.7/repeated-scan",
        *(pytest.param(each, marks=pytest.mark.long) for each in CAPTURES),
    ],
)
def test_a_fit_ends_by_itself_within_its_steps_and_each_simulation_is_short(name: str) -> None:
    window = captured(name)
    try:
        found = calibrate(window, facts(window))
    except Unanswerable:
        return
    assert 0 < found.fit.steps < MOST_STEPS
    assert simulation.simulate(scenario(found.fit.workload, found.pool)).steps < MOST_STEPS / 10


def test_a_search_that_takes_too_many_steps_ends_with_the_best_fit_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = Workload((SCAN,), PAGES, (Background(9_000, 0.5, 100.0),))
    whole = fitted(truth)
    monkeypatch.setattr("advisor.whatif.fit.MOST_STEPS", whole.steps // 4)
    cut = fitted(truth)
    assert whole.steps // 4 <= cut.steps < whole.steps // 2
    assert whole.loss <= cut.loss


def test_a_background_that_takes_too_many_steps_is_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.whatif.fit._MOST_OF_ONE", 1)
    found = fitted(Workload((SCAN,), PAGES, (Background(9_000, 0.5, 100.0),)))
    assert not found.workload.backgrounds
    assert found.steps > 0
