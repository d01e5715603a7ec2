import pytest

from exporter.anonymisation import numbers
from exporter.collectors.base import Collector, fixed
from exporter.sampling.collector_run import FIRST_REST, LONGEST_REST, SHARE, Schedule
from exporter.snapshot import Failure

OFTEN = Collector("often", fixed("SELECT 1"), lambda _: 1, anonymise=numbers)
RARE = Collector("rare", fixed("SELECT 1"), lambda _: 1, anonymise=numbers, every=600.0)
SELDOM = Collector("seldom", fixed("SELECT 1"), lambda _: 1, anonymise=numbers, every=30.0)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def pause(schedule: Schedule, clock: Clock, collector: Collector[int]) -> float:
    """Seconds until a collector is due."""
    before, steps = clock.now, 0
    while not schedule.due(collector):
        clock.now += 0.5
        steps += 1
        assert steps < 5000
    waited = clock.now - before
    clock.now = before
    return waited


def test_everything_is_due_at_first(clock: Clock) -> None:
    schedule = Schedule(clock)
    assert schedule.due(OFTEN)
    assert schedule.due(SELDOM)


def test_one_without_a_period_is_always_due(clock: Clock) -> None:
    schedule = Schedule(clock)
    schedule.ran(OFTEN, 3.0, None)
    assert schedule.due(OFTEN)


def test_a_period_counts_from_the_beginning_of_a_run(clock: Clock) -> None:
    schedule = Schedule(clock)
    schedule.ran(SELDOM, 1.0, None)
    assert pause(schedule, clock, SELDOM) == 29.0


def test_a_slow_collector_runs_less_often(clock: Clock) -> None:
    schedule = Schedule(clock)
    schedule.ran(SELDOM, 4.0, None)
    assert pause(schedule, clock, SELDOM) == 4.0 / SHARE - 4.0 == 76.0


@pytest.mark.parametrize("collector", [OFTEN, SELDOM], ids=["often", "seldom"])
def test_one_that_misses_its_deadline_rests_twice_as_long_each_time(clock: Clock, collector: Collector[int]) -> None:
    schedule = Schedule(clock)
    rests = []
    for _ in range(6):
        schedule.ran(collector, 0.0, "deadline")
        rests.append(pause(schedule, clock, collector))
    assert rests == [FIRST_REST, 120.0, 240.0, 480.0, LONGEST_REST, LONGEST_REST]
    schedule.ran(collector, 0.0, None)
    schedule.ran(collector, 0.0, "deadline")
    assert pause(schedule, clock, collector) == FIRST_REST


@pytest.mark.parametrize(("failure", "seconds"), [("absent", 30), ("disabled", 30), ("failed", 0), ("privilege", 0)])
def test_a_curable_failure_is_retried_at_the_next_collection(clock: Clock, failure: Failure, seconds: float) -> None:
    schedule = Schedule(clock)
    schedule.ran(SELDOM, 0.0, failure)
    assert pause(schedule, clock, SELDOM) == seconds


@pytest.mark.parametrize("failure", [None, "deadline", "failed", "privilege"])
def test_collectors_that_burden_a_server_stay_rare(clock: Clock, failure: Failure | None) -> None:
    schedule = Schedule(clock)
    schedule.ran(RARE, 0.0, failure)
    schedule.clear()
    assert pause(schedule, clock, RARE) == 600.0


def test_nothing_is_left_of_what_was_forgotten(clock: Clock) -> None:
    schedule = Schedule(clock)
    schedule.ran(SELDOM, 0.0, "deadline")
    schedule.clear()
    assert schedule.due(SELDOM)
    schedule.ran(SELDOM, 0.0, "deadline")
    assert pause(schedule, clock, SELDOM) == FIRST_REST
