"""Each capture gives the /metrics text of its golden file, byte for byte."""

import difflib

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from exporter.recording.file import replay
from lab.captures import Capture, golden, kept
from tests.unavailable import promtool_says

AGAIN = "python -m lab.captures --golden"

each_capture = pytest.mark.parametrize("capture", kept(), ids=str)


@each_capture
def test_metrics_equal_the_golden_file(capture: Capture) -> None:
    assert capture.golden.is_file(), f"make it with {AGAIN}"
    expected, found = capture.golden.read_text().splitlines(), golden.of(capture).splitlines()
    changed = list(difflib.unified_diff(expected, found, str(capture.golden), "now", n=1, lineterm=""))
    if changed:
        pytest.fail("\n".join([*changed, "", f"If this is meant: {AGAIN}"]), pytrace=False)


@each_capture
def test_openmetrics_parse_and_hold_the_same_samples(capture: Capture) -> None:
    *_, last = replay(capture.recording)
    parsed = list(text_string_to_metric_families(golden.openmetrics(last)))  # type: ignore[no-untyped-call]
    in_openmetrics = sorted((sample.name, str(sample.labels)) for family in parsed for sample in family.samples)
    classic = [line for line in golden.classic(last).splitlines() if not line.startswith("#")]
    assert len(in_openmetrics) == len(classic) == len(set(in_openmetrics))


@each_capture
def test_promtool_finds_no_problem(capture: Capture) -> None:
    assert promtool_says(capture.golden.read_text()) == ""


def test_there_are_captures() -> None:
    assert kept()


def test_no_golden_file_is_left_over() -> None:
    assert golden.stale() == []
