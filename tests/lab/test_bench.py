"""The benchmark of the LRU model, in its short form: the time it takes is no test's business."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from advisor.models.scenario import Scan
from lab.bench import __main__ as bench
from lab.bench.sweep import GIB, SWEEP, Configuration, scenario


def test_the_sweep_is_the_one_that_has_bounds() -> None:
    assert [len(set(values)) for values in zip(*SWEEP, strict=True)] == [5, 10, 3]
    assert len(SWEEP) == 150
    asked = scenario(Configuration(128, 37, 1000.0), 1)
    assert asked.pool.pages == 128 * GIB == 8_388_608
    assert sum(isinstance(step, Scan) for step in asked.flat()) == 1 + 5 * 20


def test_the_short_form_agrees_with_the_reference_and_says_what_it_measured() -> None:
    done = CliRunner().invoke(bench.main, ["--short"])
    assert done.exit_code == 0, done.output
    for expected in ("15 configurations", "CPU, s", "memory, MiB", "16,384", "Extrapolated, not measured", "issue 3"):
        assert expected in done.output
    assert "pages read, the worst of the comparison" in done.output
    assert "NOT under" not in done.output


def test_a_broken_bound_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "MOST_OFF", 0.0)
    done = CliRunner().invoke(bench.main, ["--short"])
    assert done.exit_code == 1
    assert "NOT under 0 %" in done.output
