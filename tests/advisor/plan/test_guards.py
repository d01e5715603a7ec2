"""What is refused: what would not last, contradicts another finding, comes upon a resize, or changes no setting."""

from __future__ import annotations

import pytest

from advisor.contract.changes import change_at
from advisor.contract.recommendation import Action, Recommendation, SetAside
from advisor.observe.window import Window
from advisor.plan.plan import plan
from advisor.plan.targets.target import PlanRefused
from exporter.collectors.variable_origins import VARIABLE_ORIGINS, VariableOrigins
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot
from tests.advisor.building import RECORDING, advised, captured

PCT, SIZE = "innodb_old_blocks_pct", "innodb_buffer_pool_size"


@pytest.fixture(scope="module")
def finding() -> Recommendation:
    [finding] = advised(captured(RECORDING)).recommendations
    return finding


def refusal(finding: Recommendation | SetAside, window: Window, *beside: Recommendation) -> str:
    with pytest.raises(PlanRefused) as refused:
        plan(finding, window, "cnf", beside=beside)
    return str(refused.value)


def with_latest(latest: Snapshot) -> Window:
    return Window((*captured(RECORDING).snapshots[:-1], latest))


def with_variables(snapshot: Snapshot, **variables: str) -> Snapshot:
    before = snapshot[VARIABLES]
    assert before is not None
    return snapshot.with_section(VARIABLES, {**before, **variables})


def resized(finding: Recommendation, size: float) -> Recommendation:
    """The same with another size of the pool in place of its own change."""
    latest = captured(RECORDING).latest
    now = float(latest.setting(SIZE) or 0)
    return finding.model_copy(update={"changes": (change_at(latest, SIZE, now, size),)})


@pytest.mark.parametrize(
    ("origins", "text"),
    [
        (
            VariableOrigins({PCT: "runtime"}, {PCT: "37"}),
            f"run RESET PERSIST {PCT} on each member first, and plan again",
        ),
        (VariableOrigins({PCT: "command line"}, {}), "is set by the command line, which wins over every option file"),
        (VariableOrigins({PCT: "environment"}, {}), "is set by the environment, which wins over every option file"),
    ],
)
def test_what_another_place_would_undo_is_refused(finding: Recommendation, origins: VariableOrigins, text: str) -> None:
    latest = captured(RECORDING).latest.with_section(VARIABLE_ORIGINS, origins)
    assert text in refusal(finding, with_latest(latest))


def test_what_an_option_file_or_a_session_set_is_planned(finding: Recommendation) -> None:
    for origin in ("option file", "runtime"):
        latest = captured(RECORDING).latest.with_section(VARIABLE_ORIGINS, VariableOrigins({PCT: origin}, {}))
        assert plan(finding, with_latest(latest), "cnf").steps


def test_a_finding_that_is_set_aside_is_refused_with_the_reason(finding: Recommendation) -> None:
    aside = SetAside(recommendation=finding, reason="the nightly report, on purpose")
    assert refusal(aside, captured(RECORDING)) == f"{finding.rule} is set aside: the nightly report, on purpose"


def test_an_action_without_a_setting_is_refused_by_its_name(finding: Recommendation) -> None:
    bare = finding.model_copy(update={"changes": (), "alternatives": (), "actions": (Action(do="Add an index."),)})
    assert refusal(bare, captured(RECORDING)).endswith("but for this: Add an index")


def test_without_a_change_of_its_own_the_first_alternative_is_planned(finding: Recommendation) -> None:
    first, *others = finding.alternatives
    planned = plan(finding.model_copy(update={"changes": ()}), captured(RECORDING), "cnf")
    assert planned.changes == (first.change,)
    for other in others:
        assert f"Instead of this, {other.change.config} would help too." in planned.notes


def test_two_findings_about_one_setting_are_planned_only_where_they_agree(finding: Recommendation) -> None:
    [change] = finding.changes
    same = finding.model_copy(update={"fingerprint": "0123456789abcdef"})
    other = same.model_copy(update={"changes": (change.model_copy(update={"to": 90}),)})
    assert plan(finding, captured(RECORDING), "cnf", beside=(finding, same)).changes == (change,)
    assert f"({same.fingerprint}) sets {PCT} to 90" in refusal(finding, captured(RECORDING), finding, other)


def test_a_pool_that_is_being_resized_gets_no_other_size(finding: Recommendation) -> None:
    latest = captured(RECORDING).latest
    size = float(latest.setting(SIZE) or 0)
    assert plan(resized(finding, 2 * size), captured(RECORDING), "cnf").memory is not None
    under_way = with_variables(latest, **{SIZE: f"{2 * size:.0f}"})
    assert "it is still being resized" in refusal(resized(finding, 4 * size), with_latest(under_way))


def test_a_size_that_the_server_rounds_is_told(finding: Recommendation) -> None:
    size = float(captured(RECORDING).latest.setting(SIZE) or 0)
    planned = plan(resized(finding, size + 2**20), captured(RECORDING), "cnf")
    assert any(note.startswith("The server rounds") for note in planned.notes)


def test_a_size_beyond_the_most_at_runtime_is_told(finding: Recommendation) -> None:
    latest = captured("mariadb-11.8/batches").latest
    size = float(latest.setting(SIZE) or 0)
    bounded = with_variables(latest, innodb_buffer_pool_size_max=f"{size:.0f}")
    change = change_at(bounded, SIZE, size, 2 * size)
    window = Window((*captured("mariadb-11.8/batches").snapshots[:-1], bounded))
    planned = plan(finding.model_copy(update={"changes": (change,)}), window, "cnf")
    assert any("It is beyond innodb_buffer_pool_size_max" in note for note in planned.notes)
    assert "restart the server" in planned.steps[-1].do


def test_without_the_value_of_today_there_is_no_way_back(finding: Recommendation) -> None:
    [change] = finding.changes
    blind = finding.model_copy(update={"changes": (change.model_copy(update={"from_": None}),)})
    assert "no way back" in refusal(blind, captured(RECORDING))
