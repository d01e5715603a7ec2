"""GET /advise/{fingerprint}/receipt: its forms, and that it comes from memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.service import Service
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.plan.receipt import Receipt
from advisor.plan.receipt import receipt as receipt_of
from advisor.render import receipt as documents
from advisor.render import text
from advisor.render.markdown import markdown
from advisor.rules.rulebook import Rulebook
from exporter.connection.errors import ServerError
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.http.asking import asking_service
from tests.advisor.in_process import InProcess
from tests.advisor.ledger.entries import FINGERPRINT, closed, remembered, unasked
from tests.advisor.ledger.recordings import carrying
from tests.advisor.sidecar import problem

LEDGER = Ledger.of([remembered(), closed(server="mysql 9.7.4"), unasked()])
PATH = f"/advise/{FINGERPRINT}/receipt"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """A sidecar that replays a recording with a ledger."""
    folder = tmp_path_factory.mktemp("sidecar")
    with InProcess("--recording", carrying(folder / "recording.jsonl", LEDGER)) as started:
        yield started


def test_the_receipt_is_the_ledgers_in_every_form(sidecar: InProcess) -> None:
    answer = Receipt.model_validate_json(sidecar.get(PATH).content)
    assert answer.outcome == closed(server="mysql 9.7.4")
    document = documents.receipt(answer)
    for form, written in (("text/plain", text.text(document)), ("text/markdown", markdown(document))):
        response = sidecar.get(PATH, headers={"Accept": form})
        assert response.headers["content-type"] == f"{form}; charset=utf-8"
        assert response.text == written
    page = sidecar.get(PATH, headers={"Accept": BROWSER})
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'href="../../page/read.css"' in page.text
    assert page.text.count('<svg class="read-bar"') == 6
    assert problem(sidecar.get(PATH, headers={"Accept": "image/png"})) == (
        406,
        "not acceptable; available: application/json, text/plain, text/markdown, text/html",
    )


def test_a_finding_that_was_never_told_is_not_there(sidecar: InProcess) -> None:
    assert problem(sidecar.get("/advise/9f2c/receipt")) == (
        404,
        "no finding and no outcome has the fingerprint 9f2c; /history has all there are",
    )


async def test_it_is_there_while_the_server_is_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recording = Replay(carrying(tmp_path / "recording.jsonl", LEDGER))
    service = Service(recording, Rulebook(RULES_FOLDER), recorder=LedgerRecorder(LEDGER))
    monkeypatch.setattr(Replay, "latest", None)
    monkeypatch.setattr(Replay, "problem", ServerError("Connection refused"))
    async with asking_service(service) as client:
        answer = Receipt.model_validate_json((await client.get(PATH)).content)
    assert answer == receipt_of(LEDGER, FINGERPRINT)


async def test_a_finding_that_stands_and_was_not_followed_says_so() -> None:
    service = Service(
        Replay(capture(RECORDING)), Rulebook(RULES_FOLDER), recorder=LedgerRecorder(Ledger.of([remembered()]))
    )
    async with asking_service(service) as client:
        answer = (await client.get(PATH)).json()
    assert (answer["state"], answer["outcome"]) == ("not changed", None)
