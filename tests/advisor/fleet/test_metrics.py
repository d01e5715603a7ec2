"""The metrics of the service: how readings go, and sums that do not grow with the fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import pytest

from advisor.contract.fleet import Capacity, FleetReport, NotAsked, RuleSum
from advisor.contract.recommendation import Severity
from advisor.fleet.client import QueryError, QueryOutcome
from advisor.fleet.metrics import MOST_RULES, OTHERS, SPECS, families
from advisor.fleet.progress import Progress
from advisor.fleet.watch import FleetWatch
from tests.advisor.fleet import reports

Samples = dict[str, dict[tuple[str, ...], float]]


def samples(watch: FleetWatch) -> Samples:
    by_name: Samples = {}
    for family in families(watch):
        for sample in family.samples:
            by_name.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return by_name


async def watched(*read: FleetReport | Exception) -> FleetWatch:
    left = list(read)

    async def reading(progress: Progress) -> FleetReport:
        with progress.during("verdicts"):
            progress.queries["answered"] += 1
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    watch = FleetWatch(reading, 300)
    while left:
        await watch.look()
    return watch


async def test_sums_are_those_of_the_report() -> None:
    report = reports.of(*reports.FEW, copies=2, not_asked=[NotAsked(servers=("a", "b"), reason="too many samples")])
    exposed = samples(await watched(report))
    assert exposed["innodb_fleet_servers"] == {("verdict",): 6, ("own",): 0, ("peer",): 6}
    assert exposed["innodb_fleet_not_asked"] == {(): 2}
    assert exposed["innodb_fleet_findings"] == {
        (rule.rule, rule.severity.value): rule.findings for rule in report.rules
    }
    assert exposed["innodb_fleet_predicted_read_bytes_saved_per_second"] == pytest.approx(
        {
            (rule.rule,): rule.read_bytes_saved_per_second
            for rule in report.rules
            if rule.read_bytes_saved_per_second is not None
        }
    )
    assert exposed["innodb_fleet_queries_total"] == {
        (outcome,): float(outcome == "answered") for outcome in get_args(QueryOutcome)
    }
    assert exposed["innodb_fleet_report_timestamp_seconds"] == {(): report.at}
    assert exposed["innodb_fleet_prometheus_up"] == {(): 1}
    assert list(exposed["innodb_fleet_duration_seconds"]) == [("verdicts",)]


async def test_what_is_old_is_not_shown_as_new() -> None:
    exposed = samples(await watched(reports.of(*reports.FEW), QueryError("cannot connect")))
    assert exposed["innodb_fleet_prometheus_up"] == {(): 0}
    assert exposed["innodb_fleet_reading_failures_total"] == {(): 1}
    assert exposed["innodb_fleet_report_timestamp_seconds"] == {(): reports.AT}
    assert {"innodb_fleet_servers", "innodb_fleet_findings", "innodb_fleet_not_asked"}.isdisjoint(exposed)


async def test_nothing_is_said_of_prometheus_before_the_first_reading() -> None:
    assert {"innodb_fleet_prometheus_up", "innodb_fleet_servers"}.isdisjoint(samples(FleetWatch(_never, 300)))


async def _never(_: Progress) -> FleetReport:
    raise AssertionError


async def test_more_servers_make_no_more_series() -> None:
    one, many = [samples(await watched(undecided(reports.of(*reports.FEW, copies=copies)))) for copies in (1, 5)]
    assert {name: set(series) for name, series in one.items()} == {name: set(series) for name, series in many.items()}
    assert one["innodb_fleet_undecided"] == {("a",): 6, ("b",): 6}
    assert many["innodb_fleet_undecided"] == {("a",): 30, ("b",): 30}


def undecided(report: FleetReport) -> FleetReport:
    servers = tuple(server.model_copy(update={"undecided": ("a", "b")}) for server in report.servers)
    return report.model_copy(update={"servers": servers})


async def test_rules_of_sidecars_own_are_summed_up_beyond_a_number() -> None:
    own = tuple(
        RuleSum(
            rule=f"own-{number}",
            severity=Severity.INFO,
            findings=number + 1,
            servers=1,
            read_bytes_saved_per_second=1.0,
        )
        for number in range(MOST_RULES + 20)
    )
    exposed = samples(await watched(reports.of(reports.FEW[0]).model_copy(update={"rules": own})))
    findings: Mapping[tuple[str, ...], float] = exposed["innodb_fleet_findings"]
    assert len(findings) == MOST_RULES + 1
    assert findings[OTHERS, "info"] == sum(range(1, 21))
    assert sum(exposed["innodb_fleet_predicted_read_bytes_saved_per_second"].values()) == len(own)


async def test_memory_that_could_go_is_told_where_it_is_known() -> None:
    capacity = Capacity(may_read=50, servers=(), may_go_bytes=3 * 2**30, left_out={})
    report = reports.of(reports.FEW[0])
    assert "innodb_fleet_buffer_pool_may_go_bytes" not in samples(await watched(report))
    exposed = samples(await watched(report.model_copy(update={"capacity": capacity})))
    assert exposed["innodb_fleet_buffer_pool_may_go_bytes"] == {(): 3 * 2**30}


def test_names_have_their_units() -> None:
    for spec in SPECS.values():
        assert spec.name.removesuffix("_total").endswith(spec.unit)
