"""Every rule has cases and a page, and gives the expected result in each case."""

import contextlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from advisor.casetest import cases, execution
from advisor.casetest.cases import Case
from advisor.files.yaml_file import FileError
from advisor.rules import check
from advisor.rules.check import Rule
from lab.servers import OWN

REPOSITORY = Path(__file__).parents[2]
RULES = check.load(REPOSITORY / "rules")
EXAMPLES = check.load(REPOSITORY / "docs" / "example-rules")


def usable(rule: Rule) -> tuple[Case, ...]:
    """The rule's cases; none if they cannot be loaded, which another test reports."""
    with contextlib.suppress(FileError):
        return cases.load(rule)
    return ()


CASES = [
    pytest.param(rule, case, id=f"{rule.id}: {case.name}") for rule in (*RULES, *EXAMPLES) for case in usable(rule)
]
SHOWN_BY_ALTERED_RECORDINGS = frozenset(
    {
        "buffer-pool-larger-than-needed",  # needs a memory of days
        "change-buffer-backlog",  # needs a hard disk
        "count-ignores-secondary-index",  # needs MySQL 8.0.17 to 8.0.36
        "parallel-read-threads-over-cores",  # needs MySQL 8.0.14 to 8.0.25
        "warmup-disabled",  # needs an hour of uptime
    }
)
"""Rules that no server at hand can show firing: of versions, or for machines, that are not to be had here."""
MAKE_DOCS = "run .venv/bin/python -m tools.docs"
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_the_rule_gives_the_cases_expected_result(rule: Rule, case: Case) -> None:
    differences, _, _ = execution.run(rule, case)
    assert list(map(str, differences)) == []


def on_own_servers(rule: Rule) -> Iterator[Case]:
    """A rule's unaltered cases on recordings of the same scenario from servers that no registry has.

    Where a case of the rule names such a recording itself, that case says what is expected there. A case whose name has
    a series is about that one.
    """
    named = {case.recording.resolve() for case in usable(rule)}
    for case, (own, stand_in) in product(usable(rule), OWN.items()):
        scenario = case.recording.resolve().parent
        recording = scenario.parent.with_name(own) / scenario.name / case.recording.name
        of_any_series = scenario.parent.name == stand_in and stand_in.replace("mysql-", "MySQL ") not in case.name
        if of_any_series and case.alteration is None and recording.is_file() and recording not in named:
            yield case.model_copy(update={"name": f"{own}: {case.name}", "recording": recording})


@pytest.mark.parametrize(
    ("rule", "case"),
    [pytest.param(rule, case, id=f"{rule.id}: {case.name}") for rule in RULES for case in on_own_servers(rule)],
)
def test_a_case_holds_on_a_recording_of_the_same_load_from_another_series(rule: Rule, case: Case) -> None:
    differences, _, _ = execution.run(rule, case)
    assert list(map(str, differences)) == []


@every_rule
def test_the_cases_show_it_firing_and_silent_after_its_own_advice_and_where_folklore_would_fire(rule: Rule) -> None:
    cases_of_rule = cases.load(rule)
    silent = [case for case in cases_of_rule if not case.expect and not case.blind]
    assert any(case.expect for case in cases_of_rule)
    assert any("folklore" in case.name for case in silent)
    if rule.file.change:
        assert any("after its own advice" in case.name for case in silent)


@every_rule
def test_a_case_does_what_its_name_says(rule: Rule) -> None:
    for case in cases.load(rule):
        first = case.name.split()[0]
        outcome = "fires" if case.expect else "blind" if case.blind else "silent"
        assert first not in ("fires", "silent", "blind") or first == outcome, case.name


@every_rule
def test_its_why_is_read_during_an_incident(rule: Rule) -> None:
    assert len(rule.file.why.strip().splitlines()) <= 8, "measurements belong under proved"


@every_rule
def test_it_has_a_proof_and_a_page(rule: Rule) -> None:
    assert rule.file.proved, f"say under proved in {rule.path.relative_to(REPOSITORY)} how you know; then " + MAKE_DOCS
    assert (REPOSITORY / "docs" / "rules" / f"{rule.id}.md").is_file(), MAKE_DOCS


def test_no_cases_are_left_without_their_rule() -> None:
    files = {
        path.name.removesuffix(check.CASES_SUFFIX) for path in (REPOSITORY / "rules").glob(f"*{check.CASES_SUFFIX}")
    }
    assert files == {rule.id for rule in RULES}


def test_the_rules_that_fire_only_on_altered_recordings_are_listed() -> None:
    shown = {rule.id for rule in RULES if any(case.expect and not case.alteration for case in usable(rule))}
    assert {rule.id for rule in RULES} - shown == SHOWN_BY_ALTERED_RECORDINGS
