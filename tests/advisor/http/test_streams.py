"""Responses without an end, at their connection: what is slow is closed, what goes on is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Receive, Scope, Send

from advisor.http.connections import PROLONG, SECONDS
from tests.advisor.http.listening import Listener, Streams, answered, listening
from tests.advisor.http.standing import happens, passes

REQUEST = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIMIT = SECONDS["streaming"]


class Streaming:
    """An application that sends a part when it is told to, until its client is gone."""

    def __init__(self) -> None:
        self.part = b"a"
        self.go = asyncio.Semaphore(0)

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        scope["state"][PROLONG]()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": self.part, "more_body": True})
            scope["state"][PROLONG]()
            await self.go.acquire()


@pytest.fixture
def app() -> Streaming:
    return Streaming()


@pytest.fixture
async def listener(app: Streaming) -> AsyncIterator[Listener]:
    async with listening(app) as listener:
        yield listener


async def begun(listener: Listener) -> Streams:
    """A stream whose first part has arrived."""
    reader, writer = await listener.connect(REQUEST)
    assert (await reader.readuntil(b"\r\na\r\n")).startswith(b"HTTP/1.1 200")
    return reader, writer


async def test_a_stream_that_goes_on_outlives_the_limit_of_an_answer(app: Streaming, listener: Listener) -> None:
    reader, writer = await begun(listener)
    for _ in range(20):
        await passes(0.9 * LIMIT)
        app.go.release()
        await reader.readuntil(b"\r\na\r\n")
    writer.close()


async def test_a_client_that_does_not_read_is_closed_after_the_limit(app: Streaming, listener: Listener) -> None:
    app.part = b"a" * 10_000_000
    _, writer = await listener.connect(REQUEST)
    await happens(lambda: listener.connections)
    [connection] = listener.connections
    await happens(lambda: connection.flow.write_paused)
    await passes(0.9 * LIMIT)
    assert listener.connections
    await passes(0.1 * LIMIT)
    await happens(lambda: not listener.connections)
    writer.close()


async def test_a_stream_that_falls_silent_is_closed_after_the_limit(listener: Listener) -> None:
    streams = await begun(listener)
    await passes(0.9 * LIMIT)
    assert listener.connections
    await passes(0.1 * LIMIT)
    assert await answered(streams) == b""


async def test_the_servers_end_closes_a_stream_without_waiting(listener: Listener) -> None:
    streams = await begun(listener)
    [connection] = listener.connections
    connection.shutdown()
    assert await answered(streams) == b""
    await happens(lambda: not listener.connections)


async def test_a_client_that_goes_leaves_no_connection(listener: Listener) -> None:
    _, writer = await begun(listener)
    writer.close()
    await happens(lambda: not listener.connections)
