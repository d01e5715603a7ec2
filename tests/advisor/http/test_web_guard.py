"""What every answer carries, and what a request may not do: bring too much, come too often."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from advisor.advice.service import Service
from advisor.http.browsers import SECURITY_HEADERS
from advisor.http.guard import LONGEST_BODY, Guard
from advisor.http.limits import ALLOWANCE, costly
from advisor.http.web_settings import WebSettings
from advisor.observe.source import Replay
from advisor.rules.rulebook import Rulebook
from tests.advisor.advice.watching import rulebook
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.http.asking import asking, limited
from tests.advisor.http.secured import write
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem

QUESTION = {"set": {"innodb_old_blocks_pct": 80}}
JSON = {"Content-Type": "application/json"}
OWN_POLICY = ("/", "/docs", "/page/app.js")
KINDS = {
    *("application/json", "application/problem+json", "application/openmetrics-text", "image/svg+xml"),
    *("text/plain", "text/html", "text/javascript", "text/css", "text/markdown"),
}


def secure(response: httpx.Response, *, own_policy: bool = False) -> bool:
    """Whether an answer has the headers that every answer has."""
    for name, value in SECURITY_HEADERS.items():
        if name == "content-security-policy":
            policy = response.headers[name]
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert own_policy or policy == value
        elif name == "cache-control" and own_policy:
            assert response.headers[name] == "no-cache"
        else:
            assert response.headers[name] == value
    return "server" not in response.headers


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *[("GET", path, 200) for path in (*OWN_POLICY, "/metrics", "/advise", "/rules", "/snapshot", "/healthz")],
        ("GET", "/openapi.json", 200),
        ("GET", "/nope", 404),
        ("POST", "/metrics", 405),
        ("GET", "/advise?window=x", 422),
        ("POST", "/whatif", 422),
        ("BREW", "/", 405),
    ],
)
def test_every_answer_has_the_security_headers(replaying: InProcess, method: str, path: str, status: int) -> None:
    response = replaying.request(method, path, headers={"Accept-Encoding": "identity"})
    assert response.status_code == status
    assert secure(response, own_policy=status == 200 and path in OWN_POLICY)
    kind, _, charset = response.headers["content-type"].partition(";")
    assert kind in KINDS
    assert not kind.startswith("text/") or "charset=utf-8" in charset
    assert int(response.headers["content-length"]) == len(response.content)
    assert not {"x-powered-by", "via"} & set(response.headers)
    assert not [name for name in response.headers if name.startswith("access-control")]
    if status != 200:
        problem(response)
        assert not re.search(r"uvicorn|h11|starlette|fastapi|pydantic|python", response.text, re.IGNORECASE)


async def in_parts(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def padded(length: int) -> bytes:
    return b'{"set": {"innodb_old_blocks_pct": 80}}'.ljust(length)


@pytest.mark.parametrize("has_length", [True, False], ids=["its length is said", "in chunks"])
def test_a_body_is_64_kib_at_most_whether_or_not_it_says_its_length(replaying: InProcess, *, has_length: bool) -> None:
    def sent(length: int) -> httpx.Response:
        body = padded(length)
        parts = body if has_length else in_parts(body[:1000], body[1000:])
        return replaying.post("/whatif", content=parts, headers=JSON)

    assert sent(LONGEST_BODY).status_code == 200
    response = sent(LONGEST_BODY + 1)
    assert problem(response) == (413, "a request brings 65,536 bytes at most")
    assert secure(response)


def test_a_body_that_never_ends_is_refused_under_way(replaying: InProcess) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100 * LONGEST_BODY:
            sent += 8192
            yield b" " * 8192

    assert replaying.post("/whatif", content=endless(), headers=JSON).status_code == 413
    assert sent < 2 * LONGEST_BODY
    assert replaying.get("/healthz").status_code == 200


# Limits, by a clock that stands still.

CHEAP = ("/metrics", "/healthz", "/readyz", "/advise", "/overview", "/history", "/")


@pytest.mark.parametrize(
    ("method", "path", "body", "tokens"),
    [
        ("POST", "/whatif", QUESTION, 2),
        ("GET", "/advise?window=5", None, 2),
        ("POST", "/-/reload", None, 4),
        ("GET", "/whatif/settings", None, 1),
        ("GET", "/series?points=1", None, 1),
        ("GET", "/overview?window=9", None, 2),
        ("GET", "/statements?schema=shop&table=orders", None, 2),
        ("GET", "/history?limit=1000", None, 2),
        ("GET", "/curve", None, 2),
    ],
)
async def test_what_costs_is_limited_for_each_client_and_nothing_else_is(
    breaking: FastAPI, method: str, path: str, body: object, tokens: int
) -> None:
    guard, burst = Guard(breaking), round(ALLOWANCE.burst / tokens)
    async with asking(guard, "192.0.2.2") as greedy, asking(guard, "192.0.2.3") as other:
        assert {(await greedy.request(method, path, json=body)).status_code for _ in range(burst)} == {200}
        refused = await greedy.request(method, path, json=body)
        assert refused.status_code == 429
        assert problem(refused)[1] == "this takes a while to work out, and was asked for very often; try again later"
        assert int(refused.headers["retry-after"]) >= 1
        assert secure(refused)
        assert (await other.request(method, path, json=body)).status_code == 200
        assert {(await greedy.get(cheap)).status_code for cheap in CHEAP for _ in range(20)} == {200}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/whatif", {"set": {"innodb_old_blocks_pct": 96}}, 422),
        ("GET", "/advise/0123456789abcdef?window=5", None, 404),
    ],
)
async def test_what_is_refused_was_work_too_and_is_counted(
    breaking: FastAPI, method: str, path: str, body: object, status: int
) -> None:
    async with asking(Guard(breaking)) as client:
        answers = [(await client.request(method, path, json=body)).status_code for _ in range(21)]
    assert answers == [status] * 20 + [429]


async def test_reloads_of_a_broken_rule_are_counted(tmp_path: Path) -> None:
    rules = Rulebook(RULES_FOLDER, tmp_path)
    app = limited(Service(Replay(capture(RECORDING)), rules))
    (tmp_path / "broken.yaml").write_text("rule: [")
    async with asking(Guard(app)) as client:
        assert [(await client.post("/-/reload")).status_code for _ in range(11)] == [400] * 10 + [429]


async def test_all_clients_together_are_limited_too(breaking: FastAPI) -> None:
    guard, answers = Guard(breaking), []
    for number in range(3):
        async with asking(guard, f"192.0.2.{number}") as client:
            answers += [(await client.get("/advise?window=5")).status_code for _ in range(19)]
    assert answers == [200] * 40 + [429] * 17


def scope(method: str, path: str) -> dict[str, Any]:
    name, _, query = path.partition("?")
    asked = {"type": "http", "method": method, "path": name, "query_string": query.encode(), "headers": []}
    return {**asked, "scheme": "http", "client": None, "server": None}


# In this process: what no endpoint of the sidecar does.


@pytest.fixture
def breaking() -> FastAPI:
    """The application, with endpoints that break."""
    app = limited(Service(Replay(capture(RECORDING)), rulebook()))

    @app.get("/breaks")
    async def breaks() -> None:
        raise RuntimeError("a-secret-of-the-code")

    @app.get("/breaks-under-way")
    async def breaks_under_way() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"the first part"
            raise RuntimeError("a-secret-of-the-code")

        return StreamingResponse(parts())

    return app


async def test_an_error_in_the_code_is_in_the_log_and_not_in_the_answer(
    breaking: FastAPI, caplog: pytest.LogCaptureFixture
) -> None:
    async with asking(Guard(breaking)) as client:
        response = await client.get("/breaks")
        assert problem(response) == (500, "an unexpected error; the log has the details")
        assert secure(response)
        assert caplog.text.count("RuntimeError: a-secret-of-the-code") == 1


async def test_an_answer_that_breaks_under_way_just_ends(breaking: FastAPI, caplog: pytest.LogCaptureFixture) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        await asyncio.Event().wait()

    await Guard(breaking)(scope("GET", "/breaks-under-way"), receive, send)
    start, *bodies = sent
    assert start["status"] == 200
    assert (b"x-content-type-options", b"nosniff") in start["headers"]
    assert [body["body"] for body in bodies] == [b"the first part"]
    assert bodies[-1]["more_body"]  # so that uvicorn closes the connection
    assert "RuntimeError: a-secret-of-the-code" in caplog.text


async def test_an_error_that_no_endpoint_made_is_a_problem_too(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a-secret-of-the-code")

    async with asking(Guard(broken)) as client:
        response = await client.get("/")
        assert problem(response) == (500, "an unexpected error; the log has the details")
        assert secure(response)
    assert "a-secret-of-the-code" in caplog.text


async def test_few_questions_to_the_model_wait_and_all_else_is_answered(breaking: FastAPI) -> None:
    begun, go = asyncio.Semaphore(0), asyncio.Event()

    @breaking.get("/slow", dependencies=[costly(0, model=True)])
    async def slow() -> None:
        begun.release()
        await go.wait()

    async with asking(Guard(breaking)) as client:
        waiting = [asyncio.create_task(client.get("/slow")) for _ in range(ALLOWANCE.models)]
        for _ in waiting:
            await begun.acquire()
        refused = await client.get("/advise?window=7")
        assert problem(refused) == (503, "too many questions to the model at once; try again")
        assert refused.headers["retry-after"] == "1"
        assert {(await client.get(path)).status_code for path in CHEAP} == {200}
        go.set()
        assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}
        assert (await client.get("/slow")).status_code == 200


async def test_the_limit_of_the_web_configuration_spares_scrapes_and_probes_alone(
    tmp_path: Path, breaking: FastAPI
) -> None:
    web = WebSettings(write(tmp_path / "web.yml", {"rate_limit": {"interval": "10s", "burst": 3}}))
    now = 0.0
    async with asking(Guard(breaking, web, clock=lambda: now)) as client:
        assert [(await client.get("/state")).status_code for _ in range(4)] == [200, 200, 200, 429]
        response = await client.get("/state")
        assert problem(response)[1].startswith("there is a limit on requests (rate_limit of the web configuration)")
        assert response.headers["retry-after"] == "10"
        assert [(await client.get("/healthz")).status_code for _ in range(5)] == [200] * 5
        now = 10.0
        assert [(await client.get("/state")).status_code for _ in range(2)] == [200, 429]


async def test_headers_of_the_web_configuration_win(tmp_path: Path, breaking: FastAPI) -> None:
    configured = {
        "X-Frame-Options": "sameorigin",
        "Content-Security-Policy": "frame-ancestors https://grafana.example.com",
        "Strict-Transport-Security": "max-age=31536000",
        "X-Content-Type-Options": "",
    }
    web = WebSettings(write(tmp_path / "web.yml", {"http_server_config": {"headers": configured}}))
    async with asking(Guard(breaking, web)) as client:
        for path in ("/", "/healthz", "/nope", "/breaks"):
            headers = (await client.get(path)).headers
            assert headers["x-frame-options"] == "sameorigin"
            assert headers["content-security-policy"] == configured["Content-Security-Policy"]
            assert headers["strict-transport-security"] == "max-age=31536000"
            assert headers["x-content-type-options"] == "nosniff"
