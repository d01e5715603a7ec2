"""Whatever a rule advises, each owner gets a plan, or a refusal that says why; every expression is PromQL."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from ruamel.yaml import YAML

from advisor.casetest import cases, execution
from advisor.casetest.cases import Case
from advisor.contract.plan import Plan, TargetName
from advisor.contract.recommendation import Recommendation
from advisor.observe.window import Window
from advisor.plan.plan import plan
from advisor.plan.targets.target import PlanRefused
from advisor.pool.fitting import Loads
from advisor.render import html, text
from advisor.render import plan as documents
from advisor.render.markdown import markdown
from advisor.rules.check import Rule
from lab.programs import promtool
from tests.rules.test_cases import RULES
from tests.unavailable import if_available

TARGETS: tuple[TargetName, ...] = get_args(TargetName)


def firing() -> Iterator[tuple[Rule, Case]]:
    """For each rule its first case that finds something, of each family of servers."""
    for rule in RULES:
        families: set[str] = set()
        for case in cases.load(rule):
            family = case.recording.parent.parent.name.partition("-")[0]
            if case.expect and family not in families:
                families.add(family)
                yield rule, case


FIRING = [*firing()]


@functools.cache
def advice(number: int) -> tuple[Window, tuple[Recommendation, ...]]:
    rule, case = FIRING[number]
    _, found, _ = execution.run(rule, case)
    return execution.window(case), found.recommendations


def plans(number: int) -> Iterator[Plan | PlanRefused]:
    window, findings = advice(number)
    loads = Loads()
    for finding, target in itertools.product(findings, TARGETS):
        try:
            yield plan(finding, window, target, beside=findings, loads=loads)
        except PlanRefused as refusal:
            yield refusal


def expressions(planned: Plan) -> Iterator[str]:
    for step in (*planned.steps, *planned.undo):
        if step.done and step.done.promql:
            yield step.done.promql
    yield from (threshold.promql for threshold in (*planned.abort_when, *planned.done_when) if threshold.promql)


@pytest.mark.parametrize("number", range(len(FIRING)), ids=lambda number: f"{FIRING[number][0].id}-{number}")
def test_every_finding_gets_a_plan_or_a_refusal_that_says_why(number: int, tmp_path: Path) -> None:
    every = [*plans(number)]
    assert every
    for planned in every:
        if isinstance(planned, PlanRefused):
            assert len(str(planned)) > 40
            continue
        assert planned.steps
        assert planned.undo
        assert any(step.patch for step in planned.steps)
        assert Plan.model_validate_json(planned.model_dump_json(by_alias=True)) == planned
        document = documents.plan(planned)
        for written in (text.text(document), markdown(document), html.html(document)):
            assert planned.changes[0].setting in written
    promql = dict.fromkeys(
        expression for planned in every if isinstance(planned, Plan) for expression in expressions(planned)
    )
    if promql:
        rules = [{"alert": f"Plan{position}", "expr": expression} for position, expression in enumerate(promql)]
        path = tmp_path / "rules.yaml"
        with path.open("w") as file:
            YAML().dump({"groups": [{"name": "plan", "rules": rules}]}, file)
        assert [if_available(promtool.check_rules, suite, path) for suite in promtool.SUITES] == ["", ""]
