"""An application on a port of this process, as `serve` has uvicorn listen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from uvicorn.server import ServerState

from advisor.http.server import Connection, configured, listen
from advisor.http.web_settings import WebSettings
from lab.processes.background_server import stop_accepting

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Listener:
    """A port, by its number."""

    port: int
    _state: ServerState

    @property
    def connections(self) -> list[Connection]:
        """The open ones."""
        return cast(list[Connection], list(self._state.connections))

    async def connect(self, sent: bytes = b"", own: str = "127.0.0.1") -> Streams:
        """A connection from an address of this machine, over which this is sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(own, 0), limit=1024)
        writer.write(sent)
        return reader, writer


@asynccontextmanager
async def listening(app: Any, web: WebSettings | None = None) -> AsyncIterator[Listener]:
    """Serve an application until the end."""
    config = configured(app, web)
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: cast(Any, config.http_protocol_class)(config=config, server_state=state, app_state={}),
        sock=listen("127.0.0.1", 0),
        ssl=config.ssl,
    )
    try:
        yield Listener(server.sockets[0].getsockname()[1], state)
    finally:
        await stop_accepting(server)
        for connection in list(state.connections):
            connection.transport.abort()
        for task in state.tasks:
            task.cancel()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        await asyncio.sleep(0)  # aborted transports close their sockets


async def answered(streams: Streams) -> bytes:
    """What comes until the other side closes the connection."""
    reader, writer = streams
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
