"""The page's parts and the pictures, from a record that is made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.campaign import records
from lab.curves import campaign, once, report
from lab.curves.plot import draw
from lab.curves.workloads import WORKLOADS
from lab.reports import pictures
from tests.lab.curves.test_judge import SIZES, data

PREDICTED = {"sizes": SIZES, "filled": [[0.1, 3.0], [0.2, 2.5]], "cpu": 0.2}
JOB = {"grown": 0, "blind": 0, "judged": 9, "read": 900.0, "least": 0.99}


def record(**said: Any) -> dict[str, Any]:
    """Every workload on every server, with the same numbers."""
    parts = {}
    for server in campaign.SERVERS:
        for each in WORKLOADS:
            parts[f"{server}, {each.name}"] = data(**said) | {"model": "0123"}
        parts[f"{server}, {once.NAME}"] = JOB | {"model": "0123"}
    return {
        "date": "2026-11-23",
        "machine": {"cores": 2, "memory_gib": 8, "kernel": "6.1"},
        "parts": {
            name: {"server": name.partition(",")[0], "version": "1.2.3", "data": each} for name, each in parts.items()
        },
    }


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "load", lambda _: record(**PREDICTED))


@pytest.mark.usefixtures("kept")
def test_the_table_has_every_workload_and_says_whether_the_bounds_are_kept() -> None:
    text = report.verdicts()
    assert text.startswith("**The bounds are not kept**: 90 of 120 measured values (75%) lie within their interval.")
    assert "| [zipf-0.9](#zipf-09) | 3 of 4 | 7.5% | 3 of 4 | 7.5% |" in text
    assert "| **all** | 45 of 60 | 7.5% | 45 of 60 | 7.5% |" in text
    assert "0.20 s of CPU on average" in text
    assert "mariadb 1.2.3, mysql 1.2.3" in text


@pytest.mark.usefixtures("kept")
def test_every_workload_has_a_section_with_its_picture_and_its_misses() -> None:
    text = report.sections()
    for each in WORKLOADS:
        assert f"### {each.name}\n" in text
        assert f"](img/curves/{each.name}.svg)" in text
    assert "- MySQL 9.7, from 60% of the data to 2 × the size: 0% of the reads measured, 5% to 12% predicted\n" in text


@pytest.mark.usefixtures("kept")
def test_the_job_that_reads_everything_once_has_a_row_a_server() -> None:
    assert "| MySQL 9.7 | 9 times | 0 times | at least 99% of today's reads |" in report.jobs()


def test_without_a_record_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "load", lambda _: None)
    assert {report.verdicts(), report.jobs(), report.sections()} == {"Not measured yet.\n"}


@pytest.mark.parametrize("said", [PREDICTED, {"unanswerable": "why"}])
def test_a_picture_shows_its_numbers(said: dict[str, Any], tmp_path: Path) -> None:
    numbers = report.plot(record(**said), "uniform")
    pictures.save(draw, numbers, (9.5, 3.8), tmp_path / "uniform.svg")
    assert pictures.shown(tmp_path / "uniform.svg") == numbers
    [panel, _] = numbers["panels"]
    assert panel["measured"] == [[0.3, 0.4], [0.6, 0.2], [0.9, 0.05], [1.2, 0.0]]
    [prediction] = panel["predictions"]
    if "sizes" in said:
        assert prediction["sizes"][0] == [0.3, 0.38, 0.36, 0.42]
        assert prediction["filled"] == [[0.1, 0.6], [0.2, 0.5]]
