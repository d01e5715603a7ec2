"""The conclusion of E1 follows from its record: checks can fail, and explanations can be absent."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from lab.campaign import records
from lab.experiments.e1.conclusion import PUBLISHED, conclude, published_model
from lab.experiments.e1.experiment import GROWN, ORDERED, PARALLEL


@pytest.fixture
def recorded() -> dict[str, Any]:
    record = records.load("experiments/E1")
    assert record is not None
    return copy.deepcopy(records.data(record))


def alter(parts: Mapping[str, Any], table: str, threads: int, change: Callable[[dict[str, float]], None]) -> None:
    for count in parts[PARALLEL]["tables"][table]["counts"][str(threads)]:
        change(count)


def of_one_thread(parts: Mapping[str, Any], column: str) -> float:
    outcome = conclude(parts)
    cell = outcome.rows[0][[each.title for each in outcome.columns].index(column)]
    assert isinstance(cell, float)
    return cell


def broken(parts: Mapping[str, Any]) -> list[str]:
    return [check.what for check in conclude(parts).checks if not check.holds]


def test_the_published_times_fit_a_count_that_waits_most_of_its_time() -> None:
    assert published_model().wait_share == pytest.approx(0.6, abs=0.02)
    assert published_model().seconds_with(32) == pytest.approx(PUBLISHED[32])


def test_a_count_that_reads_pages_twice_breaks_a_check(recorded: dict[str, Any]) -> None:
    alter(recorded, GROWN, 8, lambda count: count.update(pages=1.2 * count["pages"]))
    assert broken(recorded) == ["pages read by a count beside the table's, most"]


def test_fewer_threads_than_allowed_break_a_check(recorded: dict[str, Any]) -> None:
    alter(recorded, GROWN, 32, lambda count: count.update(threads_made=8.0))
    assert broken(recorded) == ["threads made for a count beside those allowed, fewest"]


def test_threads_without_gain_break_the_checks_of_the_gain_and_of_the_model(recorded: dict[str, Any]) -> None:
    one = of_one_thread(recorded, "ours, s")
    alter(recorded, GROWN, 4, lambda count: count.update(seconds=one))
    assert len(broken(recorded)) == 3


@pytest.mark.parametrize(("slower", "said"), [(1.0, False), (4.0, True)])
def test_the_disk_is_blamed_only_if_its_reads_became_slower(
    recorded: dict[str, Any], slower: float, *, said: bool
) -> None:
    waits = slower * of_one_thread(recorded, "waits of all threads, s")
    speed_up = 4.0 / slower
    seconds = of_one_thread(recorded, "ours, s") / speed_up
    alter(recorded, GROWN, 4, lambda count: count.update(wait_seconds=waits, seconds=seconds))
    assert any(each.startswith("With 4 threads") for each in conclude(recorded).differences) == said


def test_read_ahead_is_reported_for_the_copy_in_key_order(recorded: dict[str, Any]) -> None:
    alter(recorded, ORDERED, 1, lambda count: count.update(read_ahead=1234.0))
    assert any("1,234 of" in said for said in conclude(recorded).differences)
