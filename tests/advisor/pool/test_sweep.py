"""A sweep agrees with single questions, is bounded in time, and goes on where it ended."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from advisor.contract.recommendation import Number
from advisor.facts import facts
from advisor.pool.errors import Refused, Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.model import PoolModel
from advisor.pool.ranges import POINTS, ranges, spread
from advisor.pool.settings import SETTINGS_OF_MODEL, values_as_set
from advisor.pool.sweep import Sweep, sweep
from advisor.pool.trials import LEFT, best
from advisor.pool.what_if import what_if
from tests.advisor.building import RECORDING, captured

PCT, TIME, SIZE = "innodb_old_blocks_pct", "innodb_old_blocks_time", "innodb_buffer_pool_size"
BESIDE_LOOKUPS = "mysql-9.7/time-zero-pollutes"
MARIADB = "mariadb-11.8/repeated-scan"


def at(swept: Sweep, value: float) -> dict[str, Number]:
    """All that a sweep says of a value."""
    number = swept.values.index(value)
    parts = {"others": swept.others, "other_reads": swept.other_reads, "reads": swept.reads}
    parts |= {".".join(table.subject.values()): table for table in swept.objects}
    return {name: part.predicted[number] for name, part in parts.items()}


@pytest.mark.parametrize("recording", [RECORDING, BESIDE_LOOKUPS, MARIADB])
@pytest.mark.parametrize(("setting", "value"), [(PCT, 64), (TIME, 0), (SIZE, "512M")])
def test_each_value_is_answered_as_a_single_question_is(recording: str, setting: str, value: Number | str) -> None:
    window, loads = captured(recording), Loads()
    swept = sweep(window, setting, values=[value], points=2, seconds=math.inf, loads=loads)
    single = what_if(window, {setting: value}, loads)
    assert len(single.changes) == 1
    [tables, to] = [single.tables, single.changes[0].to]
    assert isinstance(to, int | float)
    predicted = at(swept, to)
    assert {name: predicted.pop(name) for name in ("others", "other_reads", "reads")} == {
        "others": single.pages_of_others.then,
        "other_reads": single.other_pages_read_per_second.then,
        "reads": single.pages_read_per_second.then,
    }
    assert predicted == {".".join(table.subject.values()): table.pages_read_per_pass.then for table in tables}
    assert [table.now for table in swept.objects] == [table.pages_read_per_pass.now for table in tables]
    assert swept.notes == single.notes


def test_a_sweep_spreads_over_the_range_with_the_value_now_among_it() -> None:
    swept = sweep(captured(RECORDING), PCT, seconds=math.inf)
    assert (swept.values[0], swept.values[-1], swept.from_, swept.left_out) == (5, 95, 37, 0)
    assert len(swept.values) == POINTS + 1
    assert max(after - before for before, after in pairwise(swept.values)) <= 5
    today = at(swept, 37)
    assert today["shop.orders"] == swept.objects[0].now
    assert (today["reads"], today["others"]) == (swept.reads.now, swept.others.now)
    assert (swept.unit, swept.others.quantity) == ("percent", LEFT)
    assert at(swept, 75)["shop.orders"] == 0
    assert swept.objects[0].error == 0.01


def test_a_sweep_has_the_margin_that_the_choice_keeps() -> None:
    window, loads = captured(RECORDING), Loads()
    model = PoolModel(window, facts(window), loads)
    advised = best(model, PCT)
    swept = sweep(window, PCT, values=[advised, advised - 1], seconds=math.inf, loads=loads)
    [orders] = swept.objects
    assert orders.most is not None
    assert swept.reads.most is not None
    by_value = dict(zip(swept.values, zip(orders.predicted, orders.most, strict=True), strict=True))
    assert by_value[advised] == (0, 0)
    assert by_value[advised - 1][0] == 0 < by_value[advised - 1][1]
    assert all(most >= predicted for predicted, most in by_value.values())
    assert swept.others.most is swept.other_reads.most is sweep(window, SIZE, points=2).reads.most is None


def test_a_sweep_beside_other_settings_has_their_values_in_all_predictions() -> None:
    window = captured(RECORDING)
    swept = sweep(window, PCT, beside={SIZE: "512M", TIME: 1000}, seconds=math.inf)
    assert swept.set == {SIZE: 512 << 20}  # the other is as it was
    both = what_if(window, {SIZE: "512M", PCT: 20})
    assert at(swept, 20)["shop.orders"] == both.tables[0].pages_read_per_pass.then
    assert at(swept, 37)["reads"] == what_if(window, {SIZE: "512M"}).pages_read_per_second.then
    assert swept.reads.now == both.pages_read_per_second.now


def test_what_there_was_no_time_for_comes_with_the_next_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    window, loads = captured(BESIDE_LOOKUPS), Loads()
    first = sweep(window, PCT, values=[64], seconds=1e-9, loads=loads)
    assert 64 in first.values
    assert first.left_out == POINTS + 2 - len(first.values) > 10
    whole = sweep(window, PCT, values=[64], seconds=math.inf, loads=loads)
    assert whole.left_out == 0
    assert whole == sweep(window, PCT, values=[64], seconds=math.inf, loads=Loads())
    assert {value: at(first, value) for value in first.values}.items() <= {
        value: at(whole, value) for value in whole.values
    }.items()

    def simulated(*_: object) -> None:
        raise AssertionError("a simulation")

    monkeypatch.setattr("advisor.models.lru.workload.simulate", simulated)
    assert sweep(window, PCT, values=[64], seconds=math.inf, loads=loads) == whole


@pytest.mark.parametrize("points", [2, 3, 7, 19, 100])
@pytest.mark.parametrize("setting", SETTINGS_OF_MODEL)
def test_every_beginning_of_the_values_spreads_over_the_range(setting: str, points: int) -> None:
    recording = RECORDING if setting == "innodb_parallel_read_threads" else MARIADB
    values = spread(captured(recording), setting, points, None)
    assert len(values) == len({*values}) <= points
    assert {*values[:2]} == {min(values), max(values)}
    places = sorted(map(sorted(values).index, values[: len(values) // 2 + 1]))
    assert max((after - before for before, after in pairwise(places)), default=0) <= 4


@pytest.mark.parametrize(
    ("recording", "settings"),
    [
        (RECORDING, [PCT, TIME, SIZE, "innodb_parallel_read_threads"]),
        ("mysql-5.6/repeated-scan", [PCT, TIME, SIZE]),
        (MARIADB, [PCT, TIME, SIZE, "innodb_lru_scan_depth"]),
    ],
)
def test_the_settings_are_those_of_the_server_and_all_of_their_values_are_taken(
    recording: str, settings: list[str]
) -> None:
    window = captured(recording)
    answer = ranges(window)
    assert answer.lacks is None
    assert [swept.setting for swept in answer.settings] == settings
    for swept in answer.settings:
        assert swept.now in swept.values
        assert (swept.low, swept.high) == (swept.values[0], swept.values[-1])
        for value in swept.values:
            assert values_as_set(window, {swept.setting: value}) == {swept.setting: value}


def test_the_pool_is_not_swept_beyond_the_memory_of_the_machine() -> None:
    window = captured(RECORDING)
    assert max(spread(window, SIZE, 19, 300 << 20)) <= 300 << 20
    assert max(spread(window, SIZE, 19, 1)) == 256 << 20


def test_a_server_that_does_not_tell_enough_says_what_it_lacks() -> None:
    window = captured("mariadb-11.8/idle")
    answer = ranges(window)
    assert answer.settings
    assert answer.lacks is not None
    with pytest.raises(Unanswerable) as error:
        sweep(window, PCT)
    assert str(error.value) == answer.lacks


@pytest.mark.parametrize(
    ("setting", "asked", "reason"),
    [
        ("innodb_old_block_pct", {}, "unknown setting innodb_old_block_pct; did you mean innodb_old_blocks_pct"),
        ("sort_buffer_size", {}, "the model does not answer for sort_buffer_size"),
        ("innodb_lru_scan_depth", {}, "the model does not answer for innodb_lru_scan_depth here"),
        (PCT, {"values": [96]}, "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95"),
        (PCT, {"beside": {PCT: 50}}, "innodb_old_blocks_pct is swept"),
        (PCT, {"beside": {TIME: -1}}, "innodb_old_blocks_time: -1 is not a whole number from 0"),
    ],
)
def test_a_question_without_an_answer_is_refused_with_the_reason(
    setting: str, asked: dict[str, object], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        sweep(captured(RECORDING), setting, **asked)  # type: ignore[arg-type]
