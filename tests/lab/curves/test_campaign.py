"""Runs of the curves: what was measured is kept, and predicted anew."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from lab.__main__ import main
from lab.campaign import campaign as runs
from lab.campaign.part import Data, Part
from lab.campaign.progress import Reporter
from lab.curves import campaign, measure, predict
from lab.curves.measure import FULL, SHORT
from lab.curves.workloads import WORKLOADS
from tests.lab.curves.test_judge import SIZES, data


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The servers that were started, and none is real."""
    names: list[str] = []

    @contextmanager
    def start(name: str, _options: Any) -> Iterator[SimpleNamespace]:
        names.append(name)
        yield SimpleNamespace(version="1.2.3")

    monkeypatch.setattr(runs, "start", start)
    monkeypatch.setenv("INNODB_ADVISOR_CACHE", str(tmp_path))
    return names


def measured(*_: object) -> Data:
    return {key: value for key, value in data().items() if key != "predicted"}


def run(chosen: list[Part], **options: bool) -> campaign.Outcome:
    return campaign.run(chosen, Reporter(1.0, Console(file=io.StringIO())), **options)


def test_a_second_run_predicts_from_what_the_first_measured(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [replace(part, run=measured) for part in campaign.parts() if part.name == "mysql-9.7, uniform"]
    monkeypatch.setattr(predict, "predict", lambda *_: {"0.6": {"unanswerable": "why"}})
    assert list(run(chosen).failed) == ["curves"]
    monkeypatch.setattr(predict, "predict", lambda *_: {"0.6": {"sizes": SIZES}})
    again = run(chosen)
    assert (again.failed, again.complete, started) == ({}, False, ["mysql-9.7"])
    assert [each.data["model"] for each in again.done] == [predict.model()]
    run(chosen, fresh=True)
    assert started == ["mysql-9.7"] * 2


def test_servers_that_are_measured_side_by_side_are_collected(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [replace(part, run=measured) for part in campaign.parts() if part.name.endswith(", uniform")]
    monkeypatch.setattr(predict, "predict", lambda *_: {"0.6": {"sizes": SIZES}})
    for part in chosen:
        run([part])
    assert [each.server for each in run(chosen).done] == started == list(campaign.SERVERS)


def test_no_size_that_judges_a_prediction_is_watched_for_it() -> None:
    for plan in (FULL, SHORT):
        every = {*plan.watched, *plan.others}
        assert {round(share * times, 3) for share in plan.watched for times in (0.5, 1.5, 2.0)} - every <= {1.8}
        assert max(plan.others) >= 1.1
    assert [measure.mebibytes(share) for share in (0.01, 0.1, 1.2)] == [8, 19, 230]


def test_fifteen_workloads_and_a_job_run_on_both_servers_and_a_short_form_on_one() -> None:
    assert len(WORKLOADS) == 15
    assert len(campaign.parts()) == 2 * 16
    short = CliRunner().invoke(main, ["--short", "--experiment", "curves", "--list"])
    assert [line.split("  ")[-1].strip() for line in short.output.splitlines()[:-1]] == [
        "curves: mysql-9.7, zipf-0.9",
        "curves: mysql-9.7, everything-once",
    ]
    proofs = CliRunner().invoke(main, ["--short", "--list"])
    assert set(short.output.splitlines()[:-1]) < set(proofs.output.splitlines())
    assert "curves" not in CliRunner().invoke(main, ["--proofs", "--list"]).output
