"""The gauntlet's workloads: their number, their expectations, and their mixes."""

from __future__ import annotations

from lab.gauntlet.workload import SERVERS
from lab.gauntlet.workloads import mixes, others, reported, workloads
from lab.harness.watch import rules


def test_names_are_unique() -> None:
    names = [each.name for each in workloads()]
    assert len(names) == len(set(names))


def test_there_are_at_least_as_many_untuned_workloads_as_reported_ones() -> None:
    assert len(others.WORKLOADS) >= len(reported.WORKLOADS)
    assert all(each.reported for each in reported.WORKLOADS)
    assert not any(each.reported for each in others.WORKLOADS)


def test_every_workload_states_its_expectation_in_rules_that_exist() -> None:
    known = {rule.id for rule in rules()}
    for each in workloads():
        assert each.expectation.endswith("."), each.name
        assert {*each.one_of, *each.never} <= known, each.name


def test_every_workload_but_a_mix_runs_on_both_servers() -> None:
    assert all(each.servers == SERVERS for each in (*reported.WORKLOADS, *others.WORKLOADS))


def test_the_short_form_has_workloads_of_both_kinds_and_servers() -> None:
    assert {each.reported for each in workloads() if each.short} == {True, False}
    assert {each.short for each in workloads() if each.short} == set(SERVERS)


def test_mixes_are_the_same_for_the_same_seed() -> None:
    first, again, other = ([(each.about, each.tables) for each in mixes.mixes(seed, 4)] for seed in (1, 1, 2))
    assert first == again
    assert first != other
