"""The conclusion of E4 follows from its record."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lab.campaign import records
from lab.experiments.e4.conclusion import FIRST, LARGE, LARGEST, conclude
from lab.experiments.e4.experiment import PARALLEL, SETTINGS, BuildSetting


@pytest.fixture
def recorded() -> dict[str, Any]:
    record = records.load("experiments/E4")
    assert record is not None
    return copy.deepcopy(records.data(record))


def broken(parts: dict[str, Any]) -> list[str]:
    return [check.what for check in conclude(parts).checks if not check.holds]


def builds(parts: dict[str, Any], setting: BuildSetting) -> list[dict[str, float]]:
    found: list[dict[str, float]] = parts[PARALLEL]["builds"][str(setting)]
    return found


def test_every_buffer_is_a_tenth_of_the_published_one() -> None:
    assert [each.buffer for each in SETTINGS] == [round(each.published_buffer / 10) for each in SETTINGS]


def test_a_build_that_writes_a_third_more_than_the_model_says_breaks_a_check(recorded: dict[str, Any]) -> None:
    for build in builds(recorded, FIRST):
        build["written_bytes"] *= 1.35
    assert broken(recorded) == ["bytes written, the model's beside ours, lowest"]


def test_a_buffer_without_effect_breaks_the_checks_of_bytes_and_of_times(recorded: dict[str, Any]) -> None:
    recorded[PARALLEL]["builds"][str(LARGE)] = builds(recorded, FIRST)
    assert len(broken(recorded)) == 4


def test_uneven_builds_are_explained_only_if_there_are_any(recorded: dict[str, Any]) -> None:
    for setting in SETTINGS:
        for build in builds(recorded, setting):
            build["written_bytes"] = builds(recorded, setting)[0]["written_bytes"]
    assert not any("did not always write the same" in said for said in conclude(recorded).differences)
    builds(recorded, LARGEST)[0]["written_bytes"] *= 1.4
    assert any("did not always write the same" in said for said in conclude(recorded).differences)
