"""Responses without an end, at their connection: what is slow is closed, what goes on is left alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from advisor.http import connections
from advisor.http.connections import PROLONG, SECONDS, Connection
from advisor.http.crowd import Crowd

LIMITS = {**SECONDS, "answering": 0.4, "streaming": 0.4}
REQUEST = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Streaming:
    """An application that sends parts until its client is gone."""

    def __init__(self) -> None:
        self.part, self.pause, self.parts = b"a", 0.05, 1_000_000
        self.open = 0

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        self.open += 1
        try:
            scope["state"][PROLONG]()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _number in range(self.parts):
                await send({"type": "http.response.body", "body": self.part, "more_body": True})
                scope["state"][PROLONG]()
                await asyncio.sleep(self.pause)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.open -= 1


class Listening:
    """The application on a port."""

    def __init__(self, app: Streaming) -> None:
        self.app, self.state, self.port = app, ServerState(), 0

    def connection(self) -> Connection:
        config = uvicorn.Config(self.app, log_config=None)
        config.load()
        return Connection(config=config, server_state=self.state, app_state={}, crowd=Crowd(), admits=lambda _: True)

    async def ask(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1024)
        writer.write(REQUEST)
        return reader, writer


@pytest.fixture
async def listening(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Listening]:
    monkeypatch.setattr(connections, "SECONDS", LIMITS)
    made = Listening(Streaming())
    server = await asyncio.get_running_loop().create_server(made.connection, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    yield made
    server.close()
    for task in made.state.tasks:
        task.cancel()
    await asyncio.gather(*made.state.tasks, return_exceptions=True)


async def until(listening: Listening, connections_open: int) -> float:
    """Wait until so many connections are open; the seconds that it took."""
    began = time.monotonic()
    async with asyncio.timeout(20):
        while len(listening.state.connections) != connections_open:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
    return time.monotonic() - began


async def test_a_stream_that_goes_on_outlives_the_limit_of_an_answer(listening: Listening) -> None:
    listening.app.parts = 20
    reader, writer = await listening.ask()
    body = await reader.readuntil(b"0\r\n\r\n")
    assert body.count(b"\r\na\r\n") == 20
    writer.close()
    await until(listening, 0)


async def test_a_client_that_does_not_read_is_closed_after_the_limit(listening: Listening) -> None:
    listening.app.part = b"a" * 1_000_000
    _, writer = await listening.ask()
    await until(listening, 1)
    assert await until(listening, 0) < 10
    writer.close()


async def test_a_stream_that_falls_silent_is_closed_after_the_limit(listening: Listening) -> None:
    listening.app.pause = 3600.0
    reader, writer = await listening.ask()
    assert b"\r\na\r\n" in await reader.readuntil(b"\r\na\r\n")
    assert await reader.read() == b""
    writer.close()


async def test_the_servers_end_closes_a_stream_at_once_and_waits_for_other_answers(listening: Listening) -> None:
    reader, writer = await listening.ask()
    await reader.readuntil(b"\r\na\r\n")
    [connection] = listening.state.connections
    connection.shutdown()
    assert await until(listening, 0) < 0.3
    writer.close()


async def test_a_client_that_goes_leaves_no_connection(listening: Listening) -> None:
    reader, writer = await listening.ask()
    await reader.readuntil(b"\r\na\r\n")
    writer.close()
    assert await until(listening, 0) < 0.3
