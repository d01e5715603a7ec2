"""GET /history: filters and forms; and the outcomes of a finding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.service import Service
from advisor.ledger.history import GoneFinding, GradedRecommendation, History, history
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.render import outcomes, text
from advisor.render.markdown import markdown
from advisor.rules.rulebook import Rulebook
from exporter.connection.errors import ServerError
from exporter.state_file import StateFile
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.http.asking import asking_service
from tests.advisor.in_process import InProcess
from tests.advisor.ledger.entries import AT, FINGERPRINT, RULE, baseline, closed, opened, remembered, unasked
from tests.advisor.ledger.recordings import carrying
from tests.advisor.sidecar import problem
from tests.waiting import wait_for

GONE = remembered(fingerprint="0" * 16, rule="a-rule-of-old", subject={"schema": "shop", "table": "items"})
LEDGER = Ledger.of(
    [remembered(), GONE, closed("1" * 16), unasked("2" * 16), opened("3" * 16, at=AT + 9000), baseline("3" * 16)]
)
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """A sidecar that replays a recording with a ledger."""
    folder = tmp_path_factory.mktemp("sidecar")
    with InProcess("--recording", carrying(folder / "recording.jsonl", LEDGER)) as started:
        wait_for(started.judged)
        yield started


def asked(sidecar: InProcess, query: str = "") -> History:
    response = sidecar.get(f"/history{query}")
    assert response.status_code == 200, response.text
    return History.model_validate_json(response.content)


def test_the_whole_history_comes_from_memory(sidecar: InProcess) -> None:
    answer = asked(sidecar)
    assert answer.outcomes == history(LEDGER).outcomes
    assert {finding.fingerprint for finding in answer.findings} >= set(LEDGER.findings)
    assert not answer.kept
    assert answer.problem is None


@pytest.mark.parametrize(
    ("query", "outcomes"),
    [
        (f"?rule={RULE}", "31"),
        ("?rule=a-rule-of-old", ""),
        (f"?fingerprint={FINGERPRINT}", "31"),
        ("?result=kept&result=unpromised", "21"),
        ("?result=not+comparable", ""),
        ("?setting=innodb_old_blocks_time", "2"),
        (f"?since={AT + 8000:.0f}", "3"),
        ("?since=2026-11-21", "321"),
        ("?since=2026-11-21T07:34:40Z", "32"),
        ("?since=2026-11-21T07:34:41", "3"),
        ("?since=2026-11-21T09:34:41%2B02:00", "3"),
        ("?limit=1", "3"),
    ],
)
def test_a_filter_leaves_what_it_names(sidecar: InProcess, query: str, outcomes: str) -> None:
    assert "".join(outcome.id[0] for outcome in asked(sidecar, query).outcomes) == outcomes


def test_the_limit_says_what_it_leaves_out(sidecar: InProcess) -> None:
    assert asked(sidecar, "?limit=2").more_outcomes == 1


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("?rule=scan-exceeds-old", "no rule scan-exceeds-old; did you mean scan-exceeds-old-sublist or "),
        ("?setting=innodb_old_block_pct", "no setting innodb_old_block_pct; did you mean innodb_old_blocks_pct or "),
        ("?result=good", "result.0 must be 'open', 'kept', 'missed', 'unpromised' or 'not comparable'"),
        ("?since=yesterday", "since must be a valid datetime"),
        ("?limit=0", "limit must be greater than or equal to 1"),
        ("?limit=1001", "limit must be less than or equal to 1000"),
        ("?window=600", "window is not known here"),
    ],
)
def test_a_wrong_filter_is_refused_with_a_sentence(sidecar: InProcess, query: str, detail: str) -> None:
    status, message = problem(sidecar.get(f"/history{query}"))
    assert status == 422
    assert message.startswith(detail)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("application/json", "application/json"),
        ("text/plain", "text/plain; charset=utf-8"),
        ("text/markdown", "text/markdown; charset=utf-8"),
        (BROWSER, "text/html; charset=utf-8"),
    ],
)
def test_the_form_is_what_the_client_accepts(sidecar: InProcess, accept: str, form: str) -> None:
    response = sidecar.get("/history", headers={"Accept": accept})
    assert response.headers["content-type"] == form
    assert "Accept" in response.headers["vary"].split(", ")
    answer = asked(sidecar)
    if accept.startswith("text/plain"):
        assert response.text == text.text(outcomes.history(answer))
    elif accept.startswith("text/markdown"):
        assert response.text == markdown(outcomes.history(answer))
    assert problem(sidecar.get("/history", headers={"Accept": "image/png"})) == (
        406,
        "not acceptable; available: application/json, text/plain, text/markdown, text/html",
    )


def test_a_finding_has_its_outcomes_in_every_form(sidecar: InProcess) -> None:
    path = f"/advise/{FINGERPRINT}"
    answer = GradedRecommendation.model_validate_json(sidecar.get(path).content)
    assert [outcome.id[0] for outcome in answer.outcomes] == ["3", "1"]
    for accept in ("text/plain", "text/markdown"):
        text = sidecar.get(path, headers={"Accept": accept}).text
        assert text.count("innodb_old_blocks_pct 37 -> 64: ") == 2
    assert "outcomes" not in sidecar.get("/advise").json()


@pytest.mark.parametrize("query", ["", "?window=3"])
def test_a_finding_that_is_gone_says_because_of_what(sidecar: InProcess, query: str) -> None:
    answer = GoneFinding.model_validate_json(sidecar.get(f"/advise/{GONE.fingerprint}{query}").content)
    assert answer.because.endswith("there is no rule a-rule-of-old any more")
    assert (answer.rule, answer.subject, answer.first_seen) == (GONE.rule, GONE.subject, GONE.first_seen)
    assert answer.resolved_at is not None
    for form in ("text/plain", "text/markdown"):
        shown = sidecar.get(f"/advise/{GONE.fingerprint}{query}", headers={"Accept": form})
        assert shown.headers["content-type"].startswith(form)
        assert "there is no rule a-rule-of-old any more" in shown.text


def test_a_finding_has_when_it_was_first_seen_across_gaps(sidecar: InProcess) -> None:
    [listed] = [
        finding for finding in sidecar.get("/advise").json()["recommendations"] if finding["fingerprint"] == FINGERPRINT
    ]
    assert listed["first_seen"] == sidecar.get(f"/advise/{FINGERPRINT}").json()["first_seen"] == AT - 600


async def test_a_finding_is_known_while_the_server_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(Replay(capture(RECORDING)), Rulebook(RULES_FOLDER), recorder=LedgerRecorder(LEDGER))
    monkeypatch.setattr(Replay, "latest", None)
    monkeypatch.setattr(Replay, "problem", ServerError("Connection refused"))
    async with asking_service(service) as client:
        answer = GoneFinding.model_validate_json((await client.get(f"/advise/{FINGERPRINT}")).content)
        unknown = await client.get("/advise/0123456789abcdef")
    assert answer.resolved_at is None
    assert answer.because.endswith(
        "not measured yet: the pool settles; nothing is known of the server now: Connection refused"
    )
    assert problem(unknown) == (503, "Connection refused")


async def test_the_answer_says_whether_it_outlives_a_restart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder, kept, reason in ((tmp_path / "state", True, None), (tmp_path / "file" / "x", False, "Not a directory")):
        with StateFile(folder, "db:3306") as state:
            recorder = LedgerRecorder(state=state)
            service = Service(Replay(capture(RECORDING)), Rulebook(RULES_FOLDER), recorder=recorder)
            async with asking_service(service) as client:
                answer = (await client.get("/history")).json()
                assert (answer["kept"], answer["problem"]) == (kept, reason)
