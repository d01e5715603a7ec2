"""The record of the miss curves is complete and keeps the bounds, and the pictures show its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lab.curves import campaign, report
from lab.harness import records
from lab.reports import pictures


@pytest.fixture(scope="module")
def record() -> Mapping[str, Any]:
    found = records.load(campaign.GROUP)
    assert found is not None
    return found


def test_it_has_every_workload_on_both_servers(record: Mapping[str, Any]) -> None:
    parts = {part.name: part.server for part in campaign.parts()}
    assert {name: each["server"] for name, each in record["parts"].items()} == parts


def test_it_keeps_the_bounds(record: Mapping[str, Any]) -> None:
    results = [(each["server"], name, each["data"]) for name, each in record["parts"].items()]
    assert list(campaign.broken(results)) == []


def test_its_predictions_are_by_one_model(record: Mapping[str, Any]) -> None:
    assert len({each["data"]["model"] for each in record["parts"].values()}) == 1


@pytest.mark.parametrize("name", [each.name for each in report.DRAWN])
def test_a_picture_shows_its_numbers(record: Mapping[str, Any], name: str) -> None:
    drawn = pictures.shown(report.PICTURES / f"{name}.svg")
    assert drawn == report.plot(record, name), "run: .venv/bin/python -m tools.docs"


def test_there_is_no_other_picture() -> None:
    assert {path.stem for path in report.PICTURES.iterdir()} == {each.name for each in report.DRAWN}
