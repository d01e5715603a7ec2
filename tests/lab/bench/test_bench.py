"""The benchmark's verdicts and its report. What it measures is not tested: figures have no verdict in a test."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from lab.bench import __main__ as bench
from lab.bench import memory, report
from lab.bench.figures import Benchmark, BenchRun, Figure, Values, spread
from lab.bench.registry import BENCHMARKS, SHORT
from lab.servers import UnavailableHere


def benchmark(*values: float, figure: Figure | None = None, name: str = "made-up") -> Benchmark:
    """A benchmark with one figure, whose values come from this list, beside 10."""
    remaining = list(values)

    def measure(run: BenchRun) -> None:
        run.say("measuring")
        if not remaining:
            raise UnavailableHere("no server")
        run.put("figure", remaining.pop(0), 10.0)
        run.versions["MySQL"] = "9.7"

    figure = figure or Figure("a scrape", "ms", "another", most_ratio=0.5)
    return Benchmark(name, "A title", "How.", {"figure": figure}, measure, (1.0, 1.0))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of records and the page."""
    monkeypatch.setattr("lab.harness.records.FOLDER", tmp_path)
    monkeypatch.setattr(report, "PAGE", tmp_path / "performance.md")
    return tmp_path


def measured(monkeypatch: pytest.MonkeyPatch, *benchmarks: Benchmark, short: bool = False) -> tuple[int, str]:
    """Exit status and output of the command line with these benchmarks."""
    monkeypatch.setattr(bench, "BENCHMARKS", {benchmark.name: benchmark for benchmark in benchmarks})
    monkeypatch.setattr(bench, "SHORT", tuple(benchmark.name for benchmark in benchmarks))
    run = CliRunner().invoke(bench.main, ["--short"] if short else [])
    return run.exit_code, run.output


def test_a_ratio_is_that_of_the_medians_or_the_median_of_the_rounds_ratios() -> None:
    assert (spread([1, 2, 3, 4, 5]), spread([7])) == ((2, 4), (7, 7))
    values = Values(ours=(1.0, 2.0, 9.0), beside=(2.0, 8.0, 9.0))
    assert Figure("latency", "ms", "another").ratio(values) == 2 / 8
    assert Figure("latency", "ms", "another", paired=True).ratio(values) == 0.5
    assert Figure("latency").ratio(Values(ours=(1.0,))) is None
    assert Figure("latency").ratio(Values(ours=(1.0,), beside=(0.0,))) is None


@pytest.mark.parametrize(
    ("figure", "bound", "kept"),
    [
        (Figure("latency", "ms", "another", most_ratio=0.5), "≤ 0.5 ×", True),
        (Figure("latency", "ms", "another", most_ratio=0.4), "≤ 0.4 ×", False),
        (Figure("latency", "ms", "another", least_ratio=0.5), "≥ 0.5 ×", True),
        (Figure("latency", "ms", "another", least_ratio=0.6), "≥ 0.6 ×", False),
        (Figure("latency", "ms", "another", most=5), "≤ 5 ms", True),
        (Figure("latency", "ms", "another", most=4), "≤ 4 ms", False),
        (Figure("latency", "ms"), "", True),
    ],
)
def test_a_bound_is_of_the_ratio_or_of_the_median_and_includes_its_limit(
    figure: Figure,
    bound: str,
    kept: bool,  # noqa: FBT001
) -> None:
    assert figure.bound == bound
    assert figure.holds(Values(ours=(5.0,), beside=(10.0,))) is kept


def test_a_bound_without_its_value_or_its_rival_is_broken() -> None:
    figure = Figure("latency", "ms", "another", most_ratio=0.5)
    assert not figure.holds(Values(ours=(5.0,)))
    assert not figure.holds(None)


def test_growth_compares_the_last_tenth_with_the_middle() -> None:
    assert memory.growth([float(min(n, 50)) for n in range(100)]) == 0
    assert memory.growth([float(n) for n in range(100)]) == 40
    assert memory.growth([1.0, 1.0]) == 0


def test_every_benchmark_has_a_bound_and_every_figure_a_name() -> None:
    assert set(SHORT) <= set(BENCHMARKS)
    for name, benchmark in BENCHMARKS.items():
        assert any(figure.bound for figure in benchmark.figures.values()), name
        for figure in benchmark.figures.values():
            assert figure.what
            assert "×" not in figure.bound or figure.rival, figure.what


def test_the_page_equals_the_records_and_these_keep_their_bounds() -> None:
    page = report.document(BENCHMARKS)
    assert (report.PAGE.read_text(encoding="utf-8") if report.PAGE.is_file() else None) == page, "run: make bench"
    assert f"| {report.BROKEN} |" not in (page or "")


def test_a_benchmark_is_recorded_and_the_page_made_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = measured(monkeypatch, benchmark(4.0))
    assert (status, "made-up: kept" in output) == (0, True)
    record = report.load("made-up")
    assert record is not None
    assert (record.lines["figure"].ours, record.times, record.versions) == ((4.0,), 1, {"MySQL": "9.7"})
    page = (folder / "performance.md").read_text(encoding="utf-8")
    assert "| a scrape | 4.00 ms | 10.0 ms, another | 0.4 × | ≤ 0.5 × | kept |" in page


def test_a_bound_that_breaks_twice_fails_and_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = measured(monkeypatch, benchmark(9.0, 9.0), benchmark(9.0, 4.0, name="other"))
    assert status == bench.BROKEN
    assert "made-up: BROKEN: figure, measured twice" in output
    assert "other: kept, measured twice" in output
    assert (folder / "performance.md").is_file()


def test_what_cannot_be_measured_is_named_and_the_rest_recorded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, output = measured(monkeypatch, benchmark(name="lacking"), benchmark(4.0))
    assert status == bench.UNAVAILABLE
    assert "lacking: not measured: no server" in output
    assert [path.name for path in folder.glob("*.json")] == ["bench-made-up.json"]


def test_the_short_form_fails_nobody_and_ends_with_the_ratios_that_became_worse(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    throughput = Figure("throughput", "/s", "another", least_ratio=0.1)
    measured(monkeypatch, benchmark(4.0), benchmark(6.0, name="faster", figure=throughput))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, output = measured(
        monkeypatch,
        benchmark(6.0),
        benchmark(4.0, name="faster", figure=throughput),
        benchmark(name="lacking"),
        short=True,
    )
    assert status == 0
    assert output.splitlines()[-1] == (
        "worse than recorded by a quarter: made-up, a scrape: 0.6 × beside another, recorded 0.4 ×;"
        " faster, throughput: 0.4 × beside another, recorded 0.6 ×"
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert measured(monkeypatch, benchmark(4.9), short=True)[1].endswith("worse than recorded by a quarter: no ratio\n")
