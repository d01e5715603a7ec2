"""A capture that adds a series or a finding gives the /metrics text of its golden file, and a forecast its text."""

import difflib
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse
from prometheus_client.registry import Collector

from exporter import exposition
from exporter.sampling.metrics import SnapshotFamilies
from lab.captures import GOLDEN, Capture, forecasts, golden, history, plans
from tests.unavailable import promtool_says

AGAIN = "python -m lab.captures --golden"


def files() -> list[Capture]:
    return sorted(Capture(path.parent.name, path.stem) for path in GOLDEN.glob("*/*.prom"))


@pytest.mark.parametrize("capture", files(), ids=str)
def test_metrics_equal_the_golden_file_and_openmetrics_holds_the_same_samples(capture: Capture) -> None:
    registry = golden.registry(history(capture))
    text = golden.classic(registry)
    changed = list(difflib.unified_diff(lines(capture.golden), text.splitlines(), "golden", "now", n=1, lineterm=""))
    if changed:
        pytest.fail("\n".join([*changed, "", f"If this is meant: {AGAIN}"]), pytrace=False)
    families = parse_openmetrics(golden.openmetrics(registry))  # type: ignore[no-untyped-call]
    in_openmetrics = [(sample.name, str(sample.labels)) for family in families for sample in family.samples]
    assert exposition.classic(registry.collect()).decode() == text
    assert exposition.openmetrics(registry.collect()).decode() == golden.openmetrics(registry)
    in_classic = [line for line in text.splitlines() if not line.startswith("#")]
    assert len(in_openmetrics) == len(in_classic) == len(set(in_openmetrics))


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"])
def test_families_that_are_made_once_a_collection_are_those_of_each_snapshot(server: str) -> None:
    families = SnapshotFamilies()
    for snapshot in history(Capture(server, "repeated-scan")):
        assert exposition.openmetrics(families(snapshot)) == exposition.openmetrics(SnapshotFamilies()(snapshot))
    assert list(families(None)) == list(SnapshotFamilies()(None))


@pytest.mark.parametrize(("capture", "to"), forecasts.UPGRADES, ids=str)
def test_a_forecast_equals_the_golden_file(capture: Capture, to: str) -> None:
    expected, now = lines(forecasts.path(capture, to)), forecasts.written(capture, to).splitlines()
    changed = list(difflib.unified_diff(expected, now, "golden", "now", n=1, lineterm=""))
    if changed:
        pytest.fail("\n".join([*changed, "", f"If this is meant: {AGAIN}"]), pytrace=False)


@pytest.mark.parametrize("capture", plans.PLANNED, ids=str)
def test_plans_equal_the_golden_file(capture: Capture) -> None:
    expected, now = lines(plans.path(capture)), plans.written(capture).splitlines()
    changed = list(difflib.unified_diff(expected, now, "golden", "now", n=1, lineterm=""))
    if changed:
        pytest.fail("\n".join([*changed, "", f"If this is meant: {AGAIN}"]), pytrace=False)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_the_captures_with_a_golden_file_are_those_that_add_a_series_or_a_finding() -> None:
    assert files() == golden.chosen(), f"make them with {AGAIN}"


class Together(Collector):
    """The families of all golden files, each sample with its capture."""

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for capture in files():
            for family in parse(capture.golden.read_text()):
                one = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    one.samples.append(sample._replace(labels={**sample.labels, "capture": str(capture)}))
        yield from families.values()


def test_promtool_finds_no_problem_in_any_of_them() -> None:
    registry = CollectorRegistry()
    registry.register(Together())
    assert promtool_says(generate_latest(registry).decode()) == ""
