"""Connections that say nothing, too little, too slowly, or are too many; through real sockets."""

from __future__ import annotations

import asyncio
import json
import resource
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from advisor.advice.service import Service
from advisor.http import app as application
from advisor.http import server
from advisor.http.guard import Guard
from advisor.http.limits import costly
from advisor.http.server import BOUNDS
from advisor.observe.source import Replay
from tests.advisor.advice.watching import rulebook
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.listening import Listener, Streams, answered, listening
from tests.advisor.http.standing import happens, passes

ASK = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
HEAD = b"POST /whatif HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LIMIT = BOUNDS.exchange_seconds


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    guard = Guard(application.create(Service(Replay(capture(RECORDING)), rulebook())))
    async with listening(guard) as listener:
        yield listener


async def answer(streams: Streams) -> tuple[bytes, bytes]:
    """Head and body of what comes until the connection is closed."""
    head, _, body = (await answered(streams)).partition(b"\r\n\r\n")
    return head.lower(), body


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000]
)
async def test_what_is_no_http_is_a_problem_and_not_worth_a_line_in_the_log(
    listener: Listener, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    head, body = await answer(await listener.connect(sent + b"\r\n\r\n"))
    assert head.startswith(b"http/1.1 400 bad request\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"x-content-type-options: nosniff" in head
    assert b"this is no HTTP request, or its header is longer than 16 KiB" in body
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


async def test_a_request_that_does_not_come_in_time_is_not_waited_for(listener: Listener) -> None:
    late = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\n"
    sent = {
        b"": b"",
        b"GET /metrics HTTP/1.1\r\nHost: loc": b"",
        b"GET /metrics HTTP/1.1\r\n": b"X-A: b\r\n",
        HEAD + b"Content-Length: 1000\r\n\r\n{": b" ",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n": b"1\r\n \r\n",
        late: b"X-A: b\r\n",
    }
    slow = [(await listener.connect(beginning), part) for beginning, part in sent.items()]
    await happens(lambda: len(listener.connections) == len(slow))
    assert await slow[-1][0][0].readuntil(b"ok\n")  # the first of its two requests
    await passes(0.9 * LIMIT)
    assert len(listener.connections) == len(slow)
    for (_, writer), part in slow:
        writer.write(part)
    await passes(0.1 * LIMIT)
    await happens(lambda: not listener.connections)
    for (_, writer), _ in slow:
        writer.close()
    assert (await answer(await listener.connect(ASK)))[1] == b"ok\n"


async def test_a_slow_but_honest_client_is_answered(listener: Listener) -> None:
    reader, writer = await listener.connect()
    for part in (b"GET /healthz HTTP/1.1\r\n", b"Host: local", b"host\r\nConnection: close\r\n", b"\r\n"):
        await passes(LIMIT / 5)
        writer.write(part)
    assert (await answer((reader, writer)))[1] == b"ok\n"


async def test_requests_that_come_at_once_over_one_connection_are_answered_in_order(listener: Listener) -> None:
    ask = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    last = b"GET /nope HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    head, rest = await answer(await listener.connect(ask % b"healthz" + ask % b"readyz" + last))
    assert head.startswith(b"http/1.1 200")
    assert rest.count(b"ok\n") == 2
    assert rest.index(b"HTTP/1.1 404") > rest.rindex(b"ok\n")


def test_a_handshake_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def create_server(*_: Any, **options: Any) -> dict[str, Any]:
        return options

    monkeypatch.setattr(asyncio.SelectorEventLoop, "create_server", create_server)
    loop = server._Loop()  # noqa: SLF001 - uvicorn has no option for it
    plain, secured = loop.create_server(), loop.create_server(ssl=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
    loop.close()
    assert "ssl_handshake_timeout" not in plain
    assert secured["ssl_handshake_timeout"] == secured["ssl_shutdown_timeout"] == BOUNDS.handshake_seconds


@pytest.fixture
def many_files() -> None:
    """Both ends of a crowd's connections are open here."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 32 * BOUNDS.connections), most))


GREEDY, PEOPLE = "127.0.0.2", "127.0.0.3"


@pytest.mark.usefixtures("many_files")
@pytest.mark.parametrize("path", [b"/metrics", b"/healthz", b"/readyz"])
@pytest.mark.parametrize("own", [GREEDY, PEOPLE])
async def test_no_crowd_keeps_a_scrape_or_a_probe_out(listener: Listener, own: str, path: bytes) -> None:
    crowd = [await listener.connect(own=GREEDY) for _ in range(BOUNDS.connections + 20)]
    head, _ = await answer(await listener.connect(ASK.replace(b"/healthz", path), own=own))
    assert head.startswith(b"http/1.1 200")
    assert len(listener.connections) <= BOUNDS.connections
    for _, writer in crowd:
        writer.close()


class Patient:
    """An application that answers when it may."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.given_up = False

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.given_up = True
            raise
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]})
        await send({"type": "http.response.body", "body": b"ok\n"})


async def test_a_question_without_an_answer_in_time_gets_a_problem_and_is_given_up() -> None:
    patient = Patient()
    async with listening(patient) as listener:
        streams = await listener.connect(HEAD + b"Content-Length: 2\r\n\r\n{}")
        await happens(lambda: any(connection.is_asked for connection in listener.connections))
        await passes(LIMIT)
        head, body = await answer(streams)
        await happens(lambda: not listener.connections)
    assert head.startswith(b"http/1.1 503")
    assert b"content-type: application/problem+json" in head
    assert b"retry-after: 60" in head
    assert json.loads(body)["detail"] == "there is no answer after 60 s: all cores are busy; try again later"
    assert patient.given_up


@pytest.mark.usefixtures("many_files")
async def test_the_address_with_the_most_connections_makes_room_and_of_these_who_waits_for_no_answer() -> None:
    patient = Patient()
    async with listening(patient) as listener:
        people = [await listener.connect(ASK, own=PEOPLE), await listener.connect(own=PEOPLE)]
        asking = [await listener.connect(ASK, own=GREEDY) for _ in range(10)]
        silent = [await listener.connect(own=GREEDY) for _ in range(BOUNDS.connections - 12)]
        await happens(lambda: len(listener.connections) == BOUNDS.connections)
        await happens(lambda: sum(connection.is_asked for connection in listener.connections) == 11)
        await passes(BOUNDS.grace_seconds)
        newest = [await listener.connect(own=GREEDY) for _ in range(100)]
        await happens(lambda: newest[-1][1].get_extra_info("sockname") in clients(listener))
        people[1][1].write(ASK)
        patient.go.set()
        for streams in (*people, *asking):
            assert (await answer(streams))[1] == b"ok\n"
        for _, writer in (*silent, *newest):
            writer.close()


@pytest.mark.usefixtures("many_files")
async def test_a_scrape_gets_in_where_all_others_wait_for_an_answer_and_a_crowd_comes_meanwhile() -> None:
    patient = Patient()
    ask = ASK.replace(b"/healthz", b"/snapshot")
    async with listening(patient) as listener:
        asking = [await listener.connect(ask) for _ in range(BOUNDS.connections)]
        await happens(lambda: sum(connection.is_asked for connection in listener.connections) == len(asking))
        await passes(BOUNDS.grace_seconds)
        scrape = await listener.connect(ASK)
        crowd = [await listener.connect(ask) for _ in range(2 * BOUNDS.connections)]
        await happens(lambda: crowd[-1][1].get_extra_info("sockname") in clients(listener))
        assert len(listener.connections) == BOUNDS.connections
        patient.go.set()
        assert (await answer(scrape))[1] == b"ok\n"
        for _, writer in (*asking, *crowd):
            writer.close()


def clients(listener: Listener) -> list[Any]:
    """Addresses of the open connections."""
    return [connection.client for connection in listener.connections]


@pytest.mark.parametrize(
    "request_",
    [
        HEAD.replace(b"whatif", b"endless") + b'Content-Length: 12\r\n\r\n{"some": {}}',
        b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
async def test_a_question_ends_with_its_asker(request_: bytes) -> None:
    begun, given_up = asyncio.Event(), asyncio.Event()
    app = application.create(Service(Replay(capture(RECORDING)), rulebook()))

    @app.api_route("/endless", methods=["GET", "POST"], dependencies=[costly(1, model=True)])
    async def endless(_: dict[str, Any] | None = None) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            given_up.set()

    async with listening(Guard(app)) as listener:
        _, writer = await listener.connect(request_)
        await happens(begun.is_set)
        writer.close()
        await happens(given_up.is_set)


async def test_an_answer_that_is_not_taken_is_given_up_after_its_limit() -> None:
    async def large(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(50_000_000)})

    async with listening(large) as listener:
        _, writer = await listener.connect(b"GET /snapshot HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await happens(lambda: listener.connections)
        [connection] = listener.connections
        await happens(lambda: connection.is_answered)
        await passes(0.9 * LIMIT)
        assert listener.connections
        await passes(0.1 * LIMIT)
        await happens(lambda: not listener.connections)
        writer.close()


async def test_connections_that_come_and_go_leave_no_file_open(listener: Listener) -> None:
    def files() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    assert (await answer(await listener.connect(ASK)))[1] == b"ok\n"
    await happens(lambda: not listener.connections)
    before = files()
    for _ in range(100):
        assert (await answer(await listener.connect(ASK)))[1] == b"ok\n"
    await happens(lambda: not listener.connections)
    await happens(lambda: files() <= before)
