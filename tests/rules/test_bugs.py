"""Whatever a rule advises, no bug of the server (exporter/knowledge.toml) makes it dangerous at runtime."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from advisor.advice import evaluation
from advisor.advice.interpreter import evaluate
from advisor.casetest import cases, execution
from advisor.casetest.alterations import Alteration
from advisor.casetest.cases import Case
from advisor.contract.changes import change_on, refuses
from advisor.contract.recommendation import Change
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.rules.check import Rule
from exporter.knowledge import BUGS, Bug
from exporter.server import Server
from tests.advisor.building import server
from tests.rules.test_cases import RULES

LARGE = 2.0**34


def affected(name: str) -> Iterator[Server]:
    """A server of each series that has the bug: the first release with it, which may be one that never was."""
    for suffix, floors in (("", BUGS[name].on.mysql), ("-MariaDB", BUGS[name].on.mariadb)):
        for floor, has in floors:
            if has:
                yield server(".".join(map(str, max(floor, (10, 5, 0) if suffix else floor))) + suffix)


AFFECTED = [(name, of) for name in BUGS for of in affected(name)]


def values(bug: Bug) -> tuple[SettingValue, SettingValue]:
    """Two values between which the bug makes a change dangerous."""
    if SETTINGS[bug.setting].kind == "text":
        safe = str(bug.safe[0])
        return safe, next(word for word in SETTINGS[bug.setting].words_on(None) if word != safe)
    return (LARGE / 2, LARGE) if bug.direction == "up" else (LARGE, LARGE / 2)


def obeys(bug: Bug, change: Change) -> bool:
    """Whether a change is none that the bug makes dangerous, and says why."""
    match bug.consequence:
        case "refuse":
            return not bug.concerns(None, change.to)
        case "restart":
            return not (change.dynamic or change.apply or change.rollback) and bug.bug in change.note
        case "warn":
            return bug.bug in change.note or not change.dynamic


@pytest.mark.parametrize(("name", "of"), AFFECTED, ids=str)
def test_every_bug_is_heeded_by_every_change_of_its_setting(name: str, of: Server) -> None:
    bug = BUGS[name]
    before, after = values(bug)
    assert of.has(name)
    if refuses(of, bug.setting, after) is None:
        assert obeys(bug, change_on(of, bug.setting, before, after))
        assert obeys(bug, change_on(of, bug.setting, None, after))
    else:
        assert bug.consequence == "refuse"
    back = change_on(of, bug.setting, after, before)
    assert bug.consequence != "restart" or bug.bounded or back.rollback == ()


def firing(rule: Rule, setting: str) -> Iterator[Case]:
    """The first case in which a rule changes a setting."""
    for case in cases.load(rule):
        if any(setting in finding.changes for finding in case.expect):
            yield case
            return


WALK = [
    pytest.param(rule, name, of, case, id=f"{rule.id}: {name} of {of.version_text}")
    for rule in RULES
    for name in BUGS
    for of in itertools.islice((of for of in affected(name) if of in rule.file.applies), 1)
    for case in firing(rule, BUGS[name].setting)
]


@pytest.mark.parametrize(("rule", "name", "of", "case"), WALK)
def test_every_rule_heeds_every_bug_of_its_settings(rule: Rule, name: str, of: Server, case: Case) -> None:
    alteration = (case.alteration or Alteration()).model_copy(update={"version": of.version_text})
    altered = case.model_copy(update={"alteration": alteration})
    window, bug = execution.window(altered), BUGS[name]
    before = SETTINGS[bug.setting].read(window.latest.setting(bug.setting))
    if not any(bug.concerns(before, finding.changes[bug.setting]) for finding in case.expect):
        return  # only the way back is dangerous: the test above is about it
    patient = rule.with_budget(execution.BUDGET_SECONDS)
    advice = evaluation.advice([*evaluate([patient], window, remembered=alteration.remembered(window))], window)
    changes = [change for finding in advice.recommendations for change in finding.changes]
    for change in changes:
        if change.setting == bug.setting and change.from_ is not None and bug.concerns(change.from_, change.to):
            assert obeys(bug, change)


def test_the_walk_meets_every_bug() -> None:
    assert {walked.values[1] for walked in WALK} == set(BUGS)


def test_no_action_of_a_rule_sets_a_setting_to_a_value_with_a_bug() -> None:
    statements = {sql for rule in RULES for action in rule.file.action for sql in action.apply}
    for bug in BUGS.values():
        safe = {f"SET GLOBAL {bug.setting} = '{value}'" for value in bug.safe}
        assert {sql for sql in statements if f" {bug.setting} =" in sql} <= safe
