"""The metrics of the service itself, and sums over its last report: no series for a server or a finding.

While there is no new report the families of the last one are left out: what is old is not shown as new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from prometheus_client import Metric

from advisor.contract.fleet import FleetReport, Source
from advisor.contract.links import Links
from advisor.fleet.client import QueryOutcome
from advisor.fleet.watch import FleetWatch
from exporter.exposition import Sample, Spec, assemble

MOST_RULES = 100
"""Rules with series of their own, those with the most findings first; the sidecars may have any number of their own."""
OTHERS = "others"
"""The label ``rule`` of all others together."""

SPECS = {
    spec.name: spec
    for spec in (
        Spec("innodb_fleet_page_info", "info", "The address of the service for people.", ("url",)),
        Spec("innodb_fleet_prometheus_up", "gauge", "Whether the last reading of the fleet made a report."),
        Spec("innodb_fleet_readings_total", "counter", "Readings that made a report."),
        Spec("innodb_fleet_reading_failures_total", "counter", "Readings that failed."),
        Spec("innodb_fleet_queries_total", "counter", "Queries by how they ended.", ("outcome",)),
        Spec(
            "innodb_fleet_duration_seconds",
            "gauge",
            "Wall time of the last reading by stage.",
            ("stage",),
            "seconds",
        ),
        Spec(
            "innodb_fleet_report_timestamp_seconds",
            "gauge",
            "The time that the last report is of; it stays while Prometheus is away.",
            (),
            "seconds",
        ),
        Spec("innodb_fleet_interval_seconds", "gauge", "Time between two readings, --every.", (), "seconds"),
        Spec("innodb_fleet_servers", "gauge", "Servers in the last report by source.", ("source",)),
        Spec("innodb_fleet_not_asked", "gauge", "Servers of which the last report says nothing."),
        Spec("innodb_fleet_not_modelled", "gauge", "Servers that the model's budget left out."),
        Spec("innodb_fleet_vanished", "gauge", "Servers that series knew an hour before the report, and no more."),
        Spec("innodb_fleet_undecided", "gauge", "Servers on which a rule could not be judged.", ("rule",)),
        Spec("innodb_fleet_findings", "gauge", "Findings by rule.", ("rule", "severity")),
        Spec("innodb_fleet_suppressed", "gauge", "Findings that the servers' own sidecars suppress."),
        Spec(
            "innodb_fleet_predicted_read_bytes_saved_per_second",
            "gauge",
            "Predicted saving of reads from disk, if the findings of a rule are followed. Of two findings on one table "
            "only the larger counts.",
            ("rule",),
        ),
        Spec(
            "innodb_fleet_buffer_pool_may_go_bytes",
            "gauge",
            "Memory of buffer pools that could go within --may-read.",
            (),
            "bytes",
        ),
    )
}


def families(watch: FleetWatch, links: Links | None = None) -> Iterator[Metric]:
    """The families now."""
    return assemble(SPECS, _samples(watch, links))


def _samples(watch: FleetWatch, links: Links | None) -> Iterator[Sample]:
    if links is not None:
        yield "innodb_fleet_page_info", (links.page,), 1.0
    if watch.readings or watch.failures:
        yield "innodb_fleet_prometheus_up", (), float(watch.problem is None)
    yield "innodb_fleet_readings_total", (), watch.readings
    yield "innodb_fleet_reading_failures_total", (), watch.failures
    yield "innodb_fleet_interval_seconds", (), watch.every
    for outcome in get_args(QueryOutcome):
        yield "innodb_fleet_queries_total", (outcome,), watch.queries[outcome]
    if watch.report is None:
        return
    yield "innodb_fleet_report_timestamp_seconds", (), watch.report.at
    if watch.problem is None:
        for stage, seconds in watch.seconds.items():
            yield "innodb_fleet_duration_seconds", (stage,), seconds
        yield from _report(watch.report)


def _report(report: FleetReport) -> Iterator[Sample]:
    sources = Counter(server.source for server in report.servers)
    for source in Source:
        yield "innodb_fleet_servers", (source.value,), sources[source]
    yield "innodb_fleet_not_asked", (), sum(len(left.servers) for left in report.not_asked)
    yield "innodb_fleet_not_modelled", (), len(report.not_modelled)
    yield "innodb_fleet_vanished", (), len(report.vanished)
    yield "innodb_fleet_suppressed", (), report.suppressed
    undecided = Counter(rule for server in report.servers for rule in server.undecided)
    named = _named(report, undecided)
    yield from _summed("innodb_fleet_undecided", (((_shown(rule, named),), n) for rule, n in undecided.items()))
    yield from _summed(
        "innodb_fleet_findings",
        (((_shown(of.rule, named), of.severity.value), of.findings) for of in report.rules),
    )
    yield from _summed(
        "innodb_fleet_predicted_read_bytes_saved_per_second",
        (
            ((_shown(of.rule, named),), of.read_bytes_saved_per_second)
            for of in report.rules
            if of.read_bytes_saved_per_second is not None
        ),
    )
    if report.capacity is not None:
        yield "innodb_fleet_buffer_pool_may_go_bytes", (), report.capacity.may_go_bytes


def _named(report: FleetReport, undecided: Mapping[str, int]) -> frozenset[str]:
    """The rules with series of their own: with the most findings, and of equals those undecided on most servers."""
    findings = Counter[str]()
    for of in report.rules:
        findings[of.rule] += of.findings
    rules = sorted({*findings, *undecided}, key=lambda rule: (-findings[rule], -undecided.get(rule, 0), rule))
    return frozenset(rules[:MOST_RULES])


def _shown(rule: str, named: frozenset[str]) -> str:
    return rule if rule in named else OTHERS


def _summed(name: str, values: Iterable[tuple[tuple[str, ...], float]]) -> Iterator[Sample]:
    sums: dict[tuple[str, ...], float] = {}
    for labels, value in values:
        sums[labels] = sums.get(labels, 0.0) + value
    yield from ((name, labels, value) for labels, value in sums.items())
