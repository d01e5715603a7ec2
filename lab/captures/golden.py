"""Golden files: the whole /metrics text of each capture that has a series or a finding that none before it has."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from advisor.advice import evaluation
from advisor.advice import metrics as advice_metrics
from advisor.casetest import cases
from advisor.observe.window import Window
from advisor.rules.rulebook import Rulebook
from exporter.sampling import metrics as exporter_metrics
from exporter.snapshot import Snapshot
from lab.captures import GOLDEN, Capture, all_captures, history
from lab.harness.watch import RULES_FOLDER, rules
from lab.servers import OWN

_OF_ONE_SERVER = frozenset(
    {
        *("schema", "table", "index", "columns", "value", "pool"),
        *("version", "version_text", "version_comment", "device", "filesystem", "storage"),
    }
)
"""Labels with values of one server. All others are enumerations."""
_OF_THE_PROCESS = "innodb_advisor_rules"
"""Begins the names of the families that do not depend on the capture."""
Novelty = tuple[str, ...]


class _Fixed(Collector):
    """A prometheus_client collector of fixed families."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = tuple(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def registry(snapshots: tuple[Snapshot, ...]) -> CollectorRegistry:
    """The families of a capture's last snapshot, and of the advice on its window."""
    patient = [rule.with_budget(math.inf) for rule in rules()]
    advice = evaluation.advise(patient, Window.of(snapshots, math.inf))
    advised = advice_metrics.families(advice, _rules())
    fixed = CollectorRegistry()
    fixed.register(_Fixed(exporter_metrics.families(snapshots[-1])))
    fixed.register(_Fixed(family for family in advised if not family.name.startswith(_OF_THE_PROCESS)))
    return fixed


@functools.cache
def _rules() -> Rulebook:
    return Rulebook(RULES_FOLDER)


def classic(registry: CollectorRegistry) -> str:
    """In Prometheus' classic text format."""
    return generate_latest(registry).decode()


def openmetrics(registry: CollectorRegistry) -> str:
    """In the OpenMetrics text format."""
    text: bytes = generate_openmetrics(registry)  # type: ignore[no-untyped-call]
    return text.decode()


def chosen() -> list[Capture]:
    """The captures that have a golden file, in the order of their names; of equals, one that can be recorded anew."""
    known: set[Novelty] = set()
    captures = []
    for capture in sorted(all_captures(), key=lambda capture: capture.server in OWN):
        news = {*_series(capture), *_findings().get(capture.recording, ())}
        if not news <= known:
            captures.append(capture)
            known |= news
    return sorted(captures)


def _series(capture: Capture) -> Iterator[Novelty]:
    """Its series by server, with the values of enumerations."""
    for family in exporter_metrics.families(history(capture)[-1]):
        for sample in family.samples:
            labels = (f"{name}={'' if name in _OF_ONE_SERVER else value}" for name, value in sample.labels.items())
            yield (capture.server, sample.name, *labels)


@functools.cache
def _findings() -> dict[Path, set[Novelty]]:
    """The findings that cases of the built-in rules expect, by recording; those on harms need a ledger, too."""
    findings: dict[Path, set[Novelty]] = {}
    for rule in rules():
        for case in cases.load(rule):
            if case.alteration is None and rule.file.for_each != "harms":
                expected = {
                    (rule.id, finding.severity or rule.file.severity, *sorted(finding.changes))
                    for finding in case.expect
                }
                findings.setdefault(case.recording.resolve(), set()).update(expected)
    return findings


def write() -> list[Capture]:
    """Write all golden files, and remove the others."""
    captures = chosen()
    for capture in captures:
        capture.golden.parent.mkdir(parents=True, exist_ok=True)
        capture.golden.write_text(classic(registry(history(capture))))
    for path in set(GOLDEN.glob("*/*.prom")) - {capture.golden for capture in captures}:
        path.unlink()
    return captures
