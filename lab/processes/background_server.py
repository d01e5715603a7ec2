"""A TCP server in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

from lab.processes.ports import HOST, free_port


async def stop_accepting(server: asyncio.Server) -> None:
    """Close a server's listeners. asyncio would leave a connection open that it took before and makes afterwards."""
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener)
    await asyncio.sleep(0)  # what was taken is made
    server.close()


class BackgroundServer(ABC):
    """Serves connections by an event loop in its own thread; a context manager.

    Attributes:
        port: Its port on the loopback address.
        opened: The number of accepted connections.
    """

    def __init__(self) -> None:
        """It listens once it is entered."""
        self.port = free_port()
        self.opened = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=type(self).__name__, daemon=True)
        self._listener: asyncio.Server | None = None
        self._calls: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self.accept()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refuse()
        self._run(_end_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def accept(self) -> None:
        """Listen, again on the same port after ``refuse``."""

        async def listen() -> None:
            self._listener = await asyncio.start_server(self._accepted, HOST, self.port)

        self._run(listen())

    def refuse(self) -> None:
        """Stop listening: new connections are refused, open ones continue."""

        async def close() -> None:
            if self._listener is not None:
                await stop_accepting(self._listener)
                self._listener = None

        self._run(close())

    def drop(self) -> None:
        """Cut all connections now."""

        async def cancel() -> None:
            for call in self._calls:
                call.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)

        self._run(cancel())

    @abstractmethod
    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection, which is cut afterwards. An OSError ends it."""

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        call = asyncio.ensure_future(self._call(reader, writer))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        # Not by the call itself: one that is cancelled before it begins never runs.
        call.add_done_callback(lambda _: writer.transport.abort())

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # the other side has gone
            await self.serve(reader, writer)


async def _end_others() -> None:
    """Cancel all else that the event loop does, a connection that is being accepted included."""
    while others := asyncio.all_tasks() - {asyncio.current_task()}:
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    await asyncio.sleep(0)  # aborted transports close their sockets
