from __future__ import annotations

import asyncio

import httpx
import pytest

from advisor.advice.service import Service
from advisor.http import app as application
from advisor.observe.source import Replay
from advisor.rules.rulebook import Rulebook
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.http.standing import passes


async def test_what_fails_in_the_background_is_logged_and_ends_the_liveness(caplog: pytest.LogCaptureFixture) -> None:
    fails = asyncio.Event()

    async def background() -> None:
        await fails.wait()
        raise ValueError("a fault")

    service = Service(Replay(capture(RECORDING)), Rulebook(RULES_FOLDER))
    app = application.create(service, background=[background])
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://x") as client:
        assert (await client.get("/healthz")).status_code == 200
        fails.set()
        await passes()
        answer = await client.get("/healthz")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
        assert "the log says why" in answer.json()["detail"]
    [failure] = [record for record in caplog.records if record.levelname == "CRITICAL"]
    assert "has failed" in failure.message
    assert failure.exc_info is not None
    assert str(failure.exc_info[1]) == "a fault"
