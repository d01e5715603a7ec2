from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import pytest

from advisor.ledger.entry import Baseline, Entry, Outcome, Result
from advisor.ledger.ledger import Ledger, rule_version
from advisor.rules.check import Rule
from tests.advisor.ledger.load import INTERVAL, Done, Load

WINDOW = 300.0
TICKS = round(WINDOW / INTERVAL)
HOUR = 12 * TICKS
PCT = "innodb_old_blocks_pct"
Work = Callable[[int], Mapping[str, Done]]
"""What is done in a tick."""

chance = random.Random(16)  # noqa: S311 - noise


def _about(value: float, share: float = 0.05) -> float:
    return value * chance.uniform(1.0 - share, 1.0 + share)


def _hot(reads: float = 0.01, slower: float = 1.0, rows: float = 1_000.0) -> Done:
    """Lookups that read so many pages for a row."""
    done = _about(rows)
    return Done(rows=done, read=_about(done * reads), waited=_about(done * 1e-4 * slower))


def _steady(_: int) -> Mapping[str, Done]:
    return {"hot": _hot(), "report": Done(scanned=_about(5_000.0), read=_about(500.0), waited=_about(0.2))}


def _played(load: Load, ledger: Ledger, work: Work, ticks: int) -> tuple[Ledger, list[Entry]]:
    entries: list[Entry] = []
    for tick in range(ticks):
        load.go_on(work(tick))
        ledger, new = ledger.observe(load.history, None)
        entries += new
    return ledger, entries


@pytest.fixture
def load() -> Load:
    return Load()


def _changed(load: Load, work: Work, after: Work, ticks: int = HOUR + 2, **settings: str) -> list[Outcome]:
    """All that is told of a change that comes after an hour of the work."""
    ledger, entries = _played(load, Ledger(), work, HOUR)
    assert entries == []
    load.settings |= settings or {PCT: "95"}
    _, entries = _played(load, ledger, after, ticks)
    return [entry for entry in entries if isinstance(entry, Outcome)]


def test_a_change_opens_an_outcome_with_what_takes_it_back(load: Load) -> None:
    [opened] = _changed(load, _steady, _steady, ticks=1)
    [change] = opened.changes
    assert (opened.result, change.setting, change.before, change.after) == (Result.OPEN, PCT, 37, 95)
    assert change.undo == (f"SET GLOBAL {PCT} = 37",)


def test_harm_is_told_after_three_windows_and_not_before(load: Load) -> None:
    def worse(_: int) -> Mapping[str, Done]:
        return {**_steady(0), "hot": _hot(reads=0.3, slower=5.0)}

    opened, *entries = _changed(load, _steady, worse, ticks=3 * TICKS + 1)
    assert entries, "three windows have passed"
    assert {(*rise.subject.values(),) for rise in entries[0].harm} >= {("shop", "hot")}
    [all_] = (rise for rise in entries[0].harm if not rise.subject and "pages" in rise.unit)
    assert [all_.before, all_.after] == pytest.approx([510.0, 800.0], rel=0.02)
    assert opened.harm == ()


def test_harm_that_was_told_stays_told_if_the_change_is_taken_back_before_the_pool_has_settled() -> None:
    def worse(_: int) -> Mapping[str, Done]:
        return {**_steady(0), "hot": _hot(reads=0.3, slower=5.0)}

    load = Load(pages=2_000_000)
    ledger, _ = _played(load, Ledger(), _steady, HOUR)
    load.settings[PCT] = "95"
    ledger, entries = _played(load, ledger, worse, 3 * TICKS + 1)
    [_, _, harmful] = entries
    assert isinstance(harmful, Outcome)
    assert (harmful.result, harmful.why) == (Result.OPEN, "it did harm")
    del load.settings[PCT]
    _, [ended] = _played(load, ledger, _steady, 1)
    assert isinstance(ended, Outcome)
    assert (ended.harm, ended.result) == (harmful.harm, Result.UNPROMISED)
    assert ended.taken_back_at == ended.closed_at == load.history[-1].at
    assert ended.why == f"it did harm; then {PCT} was taken back before it could be measured"


def test_a_harmless_change_closes_without_harm(load: Load) -> None:
    _, closed = _changed(load, _steady, _steady)
    assert (closed.result, closed.harm) == (Result.UNPROMISED, ())


def test_clients_that_wait_for_slower_answers_do_the_same_work(load: Load) -> None:
    def slower(_: int) -> Mapping[str, Done]:
        return {**_steady(0), "hot": Done(rows=_about(250.0), read=_about(100.0), waited=_about(0.1))}

    *_, closed = _changed(load, _steady, slower)
    assert closed.result is Result.UNPROMISED
    [hot] = (rise for rise in closed.harm if rise.subject.get("table") == "hot" and "pages" in rise.unit)
    assert hot.after == pytest.approx(1_000 * 100.0 / 250.0, rel=0.1)  # by the work of before


def test_a_batch_job_that_begins_with_a_change_is_not_comparable(load: Load) -> None:
    def with_batch(_: int) -> Mapping[str, Done]:
        batch = Done(rows=_about(2_000.0), read=_about(1_500.0), waited=_about(0.8))
        return {**_steady(0), "hot": _hot(reads=0.2, slower=3.0), "batch": batch}

    _, closed = _changed(load, _steady, with_batch)
    assert (closed.result, closed.harm) == (Result.NOT_COMPARABLE, ())
    assert "lookups of shop.batch" in closed.why


def test_a_night_that_falls_with_a_change_is_not_comparable(load: Load) -> None:
    def night(_: int) -> Mapping[str, Done]:
        return {**_steady(0), "hot": _hot(rows=100.0, reads=0.2)}

    _, closed = _changed(load, _steady, night)
    assert (closed.result, closed.harm) == (Result.NOT_COMPARABLE, ())


def test_reads_of_a_pool_that_warms_up_after_a_restart_are_no_harm(load: Load) -> None:
    def cold(tick: int) -> Mapping[str, Done]:
        return {**_steady(0), "hot": _hot(reads=max(0.01, 0.5 - tick * 0.005), slower=max(1.0, 3.0 - tick * 0.02))}

    ledger, _ = _played(load, Ledger(), _steady, HOUR)
    load.restart()
    load.settings[PCT] = "60"
    entries: list[Entry] = []
    for tick in range(HOUR + 1):
        load.go_on(cold(tick), free=max(0, 9_000 - 90 * tick))  # full after a quarter of an hour
        ledger, new = ledger.observe(load.history, None)
        entries += new
    opened, _, closed = entries
    assert isinstance(opened, Outcome)
    assert isinstance(closed, Outcome)
    assert (closed.result, closed.harm) == (Result.UNPROMISED, ())
    assert closed.closed_at is not None
    assert closed.closed_at - opened.at >= 3.0 * WINDOW + 800.0


def test_harm_is_told_of_a_pool_that_shrank(load: Load) -> None:
    def worse(_: int) -> Mapping[str, Done]:
        return {**_steady(0), "hot": _hot(reads=0.3)}

    load.settings["innodb_buffer_pool_size"] = str(256 << 20)
    *_, closed = _changed(load, _steady, worse, innodb_buffer_pool_size=str(128 << 20))
    assert closed.harm


def test_without_performance_schema_all_reads_tell_of_harm() -> None:
    def worse(_: int) -> Mapping[str, Done]:
        return {**_steady(0), "hot": _hot(reads=1.0)}

    *_, closed = _changed(Load(instrumented=False), _steady, worse)
    assert [(rise.subject, rise.unit) for rise in closed.harm] == [({}, "pages per second")]


def test_a_change_that_is_taken_back_before_it_is_measured_is_not_comparable(load: Load) -> None:
    ledger, _ = _played(load, Ledger(), _steady, HOUR)
    load.settings[PCT] = "95"
    ledger, _ = _played(load, ledger, _steady, TICKS)
    del load.settings[PCT]
    ledger, entries = _played(load, ledger, _steady, HOUR)
    [closed] = entries
    assert isinstance(closed, Outcome)
    assert (closed.result, ledger.open, ledger.before) == (Result.NOT_COMPARABLE, (), {})


def test_a_measured_change_knows_when_it_is_taken_back(load: Load) -> None:
    ledger, _ = _played(load, Ledger(), _steady, HOUR)
    load.settings[PCT] = "95"
    ledger, _ = _played(load, ledger, _steady, HOUR + 2)
    load.settings[PCT] = "60"  # another value is not the one of before
    ledger, _ = _played(load, ledger, _steady, HOUR + 2)
    assert [outcome.taken_back_at for outcome in ledger.outcomes.values()] == [None, None]
    load.settings[PCT] = "95"
    ledger, entries = _played(load, ledger, _steady, 1)
    assert [outcome.taken_back_at for outcome in ledger.outcomes.values()] == [None, load.history[-1].at, None]
    assert {entry.kind for entry in entries} == {"outcome", "baseline"}


def test_an_outcome_has_the_servers_version(load: Load) -> None:
    [opened] = _changed(load, _steady, _steady, ticks=1)
    assert opened.server == str(load.history[-1].server)


def test_a_second_change_before_the_first_is_measured_joins_it(load: Load) -> None:
    ledger, _ = _played(load, Ledger(), _steady, HOUR)
    load.settings[PCT] = "95"
    ledger, _ = _played(load, ledger, _steady, TICKS)
    load.settings["innodb_old_blocks_time"] = "0"
    ledger, entries = _played(load, ledger, _steady, 1)
    first, second, baseline = entries
    assert isinstance(first, Outcome)
    assert isinstance(second, Outcome)
    assert isinstance(baseline, Baseline)
    assert first.result is Result.NOT_COMPARABLE
    assert {change.setting for change in second.changes} == {PCT, "innodb_old_blocks_time"}
    assert baseline.reading.at < second.at - TICKS * INTERVAL / 2  # before the first change


def test_the_entries_make_the_same_ledger(load: Load) -> None:
    ledger, _ = _played(load, Ledger(), _steady, HOUR)
    load.settings[PCT] = "95"
    ledger, _ = _played(load, ledger, _steady, 3)
    again = Ledger()
    for entry in ledger.by_key.values():
        again = again.with_entries([entry])
    assert again == ledger
    assert ledger.before


def test_a_rule_whose_file_says_something_else_has_another_version(make_rule: Callable[..., Rule]) -> None:
    first, same, other = (rule_version(make_rule(**keys)) for keys in ({}, {}, {"confidence": 0.7}))
    assert first == same != other
