"""/state, /events and /series over HTTP, from a recording."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advisor.advice.state import State
from advisor.timeline.series import QUANTITIES, SeriesAnswer
from tests.advisor.building import RECORDING, REPOSITORY, capture
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem


def test_the_state_has_the_shape_of_the_contract(replaying: InProcess) -> None:
    state = State.model_validate_json(replaying.get("/state").content)
    assert (state.state, state.problem) == ("recording", None)
    assert state.judged is not None
    assert state.links.dashboard is None


def test_series_have_the_shape_of_the_contract(replaying: InProcess) -> None:
    answer = SeriesAnswer.model_validate_json(replaying.get("/series").content)
    assert len(answer.at) > 2
    assert {len(series.values) for series in answer.series} == {len(answer.at)}
    assert {series.unit for series in answer.series} == {"pages/s", "pages", "changes/s", "threads"}


def test_only_the_wanted_series_points_and_seconds_are_answered(replaying: InProcess) -> None:
    whole = SeriesAnswer.model_validate_json(replaying.get("/series").content)
    part = SeriesAnswer.model_validate_json(replaying.get("/series?names=pages_read,%20old_pages&points=2").content)
    assert {series.name for series in part.series} == {"pages_read", "old_pages"}
    assert len(part.at) == 2
    part = SeriesAnswer.model_validate_json(replaying.get("/series?names=old_pages&window=3").content)
    assert part.at == tuple(at for at in whole.at if at > whole.at[-1] - 3)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("series?names=made_yung", "no series made_yung; did you mean made_young or not_made_young?"),
        ("series?names=", "no series ; there are pages_read, "),
        ("series?points=0", "points must be greater than or equal to 1"),
        ("series?window=3601", "window must be less than or equal to 3600"),
        ("series?name=pages_read", "name is not known here"),
        ("events?window=0", "window must be greater than 0"),
    ],
)
def test_what_there_is_not_is_refused(replaying: InProcess, query: str, message: str) -> None:
    status, detail = problem(replaying.get(f"/{query}"))
    assert (status, detail[: len(message)]) == (422, message)


def test_a_recording_without_events_has_none(compose: Callable[..., InProcess]) -> None:
    assert compose("--recording", capture(RECORDING)).get("/events?window=60").json() == {"events": []}


def test_the_page_of_the_api_has_every_series_with_its_unit_and_source() -> None:
    text = (REPOSITORY / "docs" / "http-api.md").read_text()
    for quantity in QUANTITIES.values():
        assert f"| `{quantity.name}` | {quantity.unit} | {quantity.text} |" in text
