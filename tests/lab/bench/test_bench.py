"""The benchmark's verdicts and its report. What it measures is not tested: figures have no verdict in a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.bench import __main__ as bench
from lab.bench import memory, record, report
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values, spread, times_worse
from lab.bench.registry import FIGURES, SHORT
from lab.servers import Unavailable


def figure(*values: float, bound: Bound | None = None, name: str = "made-up") -> Figure:
    """A figure with one line, whose values come from this list, beside 10."""
    remaining = list(values)

    def measure(_effort: Effort, say: Say) -> Measurement:
        say("measuring")
        if not remaining:
            raise Unavailable("no server")
        return Measurement({"line": Values(ours=(remaining.pop(0),), beside=(10.0,))}, {"MySQL": "9.7"})

    line = Line("a scrape", "ms", "another", bound or Bound(most=0.5))
    return Figure(name, "A title", "How.", {"line": line}, measure, (1.0, 1.0))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of records and the page."""
    monkeypatch.setattr("lab.harness.records.FOLDER", tmp_path)
    monkeypatch.setattr(report, "PAGE", tmp_path / "performance.md")
    return tmp_path


def measured(monkeypatch: pytest.MonkeyPatch, *figures: Figure, short: bool = False) -> tuple[int, str]:
    """Exit status and output of the benchmark with these figures."""
    monkeypatch.setattr(bench, "FIGURES", {figure.name: figure for figure in figures})
    monkeypatch.setattr(bench, "SHORT", tuple(figure.name for figure in figures))
    done = CliRunner().invoke(bench.main, ["--short"] if short else [])
    return done.exit_code, done.output


def test_a_value_is_the_median_and_a_ratio_that_of_the_medians_or_of_the_rounds() -> None:
    assert Values(ours=(1, 100, 3, 2, 4)).value == 3
    assert (spread([1, 2, 3, 4, 5]), spread([7])) == ((2, 4), (7, 7))
    ours, beside = (1.0, 2.0, 9.0), (2.0, 8.0, 9.0)
    assert Values(ours=ours, beside=beside).ratio == 2 / 8
    assert Values(ours=ours, beside=beside, paired=True).ratio == 0.5
    assert Values(ours=ours).ratio is None
    assert Values(ours=ours, beside=(0.0,)).ratio is None


@pytest.mark.parametrize(
    ("bound", "holds"),
    [
        (Bound(most=0.5), True),
        (Bound(most=0.4), False),
        (Bound(least=0.5), True),
        (Bound(least=0.6), False),
        (Bound(most=5, of="value"), True),
        (Bound(most=4, of="value"), False),
    ],
)
def test_a_bound_is_of_the_ratio_or_of_the_value_and_includes_its_limit(bound: Bound, holds: bool) -> None:  # noqa: FBT001
    assert Values(ours=(5.0,), beside=(10.0,)).kept(bound) is holds
    assert not Values(ours=(5.0,)).kept(Bound(most=0.5)), "without a reference there is no ratio"


def test_growth_compares_the_last_tenth_with_the_middle() -> None:
    assert memory.growth([float(min(n, 50)) for n in range(100)]) == 0
    assert memory.growth([float(n) for n in range(100)]) == 40
    assert memory.growth([1.0, 1.0]) == 0


def test_every_figure_has_a_bound_and_every_line_says_what_it_is() -> None:
    assert set(SHORT) <= set(FIGURES)
    for name, each in FIGURES.items():
        assert each.name == name
        assert any(line.bound for line in each.lines.values()), name
        for line in each.lines.values():
            assert line.what
            assert line.bound is None or line.bound.of == "value" or line.beside, line.what


def test_the_page_equals_the_records_and_these_keep_their_bounds() -> None:
    made = report.document(FIGURES)
    assert (report.PAGE.read_text(encoding="utf-8") if report.PAGE.is_file() else None) == made, "run: make bench"
    assert f"| {report.BROKEN} |" not in (made or "")


def test_a_figure_is_recorded_and_the_page_made_of_it(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = measured(monkeypatch, figure(4.0))
    assert (status, "made-up: kept" in output) == (0, True)
    saved = record.load("made-up")
    assert saved is not None
    assert (saved.lines["line"].ours, saved.times, saved.versions) == ((4.0,), 1, {"MySQL": "9.7"})
    page = (kept / "performance.md").read_text(encoding="utf-8")
    assert "| a scrape | 4.00 ms | 10.0 ms, another | 0.4 × | ≤ 0.5 × | kept |" in page


def test_a_bound_that_breaks_twice_fails_and_is_named(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = measured(monkeypatch, figure(9.0, 9.0), figure(9.0, 4.0, name="other"))
    assert status == bench.BROKEN
    assert "made-up: BROKEN: line, measured twice" in output
    assert "other: kept, measured twice" in output
    assert (kept / "performance.md").is_file()


def test_what_cannot_be_measured_is_named_and_the_rest_recorded(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = measured(monkeypatch, figure(name="lacking"), figure(4.0))
    assert status == bench.UNAVAILABLE
    assert "lacking: not measured: no server" in output
    assert [path.name for path in kept.glob("*.json")] == ["bench-made-up.json"]


def test_the_short_form_fails_nobody_and_ends_with_the_ratios_that_became_worse(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, figure(4.0), figure(6.0, name="faster", bound=Bound(least=0.1)))
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    status, output = measured(
        monkeypatch, figure(6.0), figure(4.0, name="faster", bound=Bound(least=0.1)), figure(name="lacking"), short=True
    )
    assert status == 0
    assert output.splitlines()[-1] == (
        "worse than recorded by a quarter: made-up, a scrape: 0.6 × beside another, recorded 0.4 ×;"
        " faster, a scrape: 0.4 × beside another, recorded 0.6 ×"
    )
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before
    assert measured(monkeypatch, figure(4.9), short=True)[1].endswith("worse than recorded by a quarter: no ratio\n")


def test_a_ratio_is_compared_in_the_direction_of_its_bound() -> None:
    now, before = Values(ours=(2.0,), beside=(1.0,)), Values(ours=(1.0,), beside=(1.0,))
    assert times_worse(Line("CPU", "ms", "x", Bound(most=1)), now, before) == 2
    assert times_worse(Line("throughput", "", "x", Bound(least=1)), now, before) == 0.5
    assert times_worse(Line("alone", ""), Values(ours=(2.0,)), before) is None
