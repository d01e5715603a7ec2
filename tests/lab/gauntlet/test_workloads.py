"""The gauntlet's workloads: their number, their expectations, and their mixes."""

from __future__ import annotations

from lab.gauntlet.workload import SERVERS
from lab.gauntlet.workloads import mixes, others, reported, workloads
from lab.harness.watch import rules


def test_names_are_unique() -> None:
    names = [workload.name for workload in workloads()]
    assert len(names) == len(set(names))


def test_there_are_at_least_as_many_untuned_workloads_as_reported_ones() -> None:
    assert len(others.WORKLOADS) >= len(reported.WORKLOADS)
    assert all(workload.reported for workload in reported.WORKLOADS)
    assert not any(workload.reported for workload in others.WORKLOADS)


def test_every_workload_states_its_expectation_in_rules_that_exist() -> None:
    rule_ids = {rule.id for rule in rules()}
    for workload in workloads():
        assert workload.expectation.endswith("."), workload.name
        assert {*workload.one_of, *workload.never} <= rule_ids, workload.name


def test_every_workload_but_a_mix_runs_on_both_servers() -> None:
    assert all(workload.servers == SERVERS for workload in (*reported.WORKLOADS, *others.WORKLOADS))


def test_the_short_form_has_workloads_of_both_kinds_and_servers() -> None:
    assert {workload.reported for workload in workloads() if workload.short} == {True, False}
    assert {workload.short for workload in workloads() if workload.short} == set(SERVERS)


def test_mixes_are_the_same_for_the_same_seed() -> None:
    first, again, other = (
        [(workload.about, workload.tables) for workload in mixes.mixes(seed, 4)] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
