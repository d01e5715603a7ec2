"""A TCP proxy that injects faults: it stalls, delays, refuses connections, or cuts an answer."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from lab.processes.ports import HOST, free_port

_CHUNK = 65536


class Proxy:
    """Forwards connections to a server, in its own thread; a context manager.

    A change of an attribute takes effect at once, also for open connections. ``cut`` needs unencrypted connections.

    Attributes:
        port: Its port on the loopback address.
        delay_seconds: The delay of each piece of an answer.
        cut: A text. The connection that sends it is cut once, ``cut_after`` bytes into the answer.
        cut_after: 0 cuts before the statement reaches the server.
        cuts: The number of connections that ``cut`` has cut.
        opened: The number of accepted connections.
    """

    def __init__(self, upstream: tuple[str, int]) -> None:
        """Forward to the host and port ``upstream``, which may change at any time."""
        self.upstream = upstream
        self.port = free_port()
        self.delay_seconds = 0.0
        self.cut: bytes | None = None
        self.cut_after = 0
        self.cuts = 0
        self.opened = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lab.programs.proxy", daemon=True)
        self._listener: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._calls: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self.accept()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.refuse()
        self.drop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def accept(self) -> None:
        """Listen, again on the same port after ``refuse``."""

        async def listen() -> None:
            self._listener = await asyncio.start_server(self._accepted, HOST, self.port)

        self._run(listen)

    def refuse(self) -> None:
        """Stop listening: new connections are refused, open ones continue."""

        async def close() -> None:
            if self._listener is not None:
                self._listener.close()
                self._listener = None

        self._run(close)

    def drop(self) -> None:
        """Cut all connections now."""

        async def cancel() -> None:
            for call in self._calls:
                call.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)

        self._run(cancel)

    def stall(self) -> None:
        """Forward nothing in either direction until ``flow``. Connections stay open, and new ones are accepted."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self) -> None:
        """Forward again, starting with the bytes held back."""
        self._loop.call_soon_threadsafe(self._flowing.set)

    def _run(self, what: Callable[[], Coroutine[Any, Any, None]]) -> None:
        asyncio.run_coroutine_threadsafe(what(), self._loop).result(10)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        call = asyncio.ensure_future(self._pass(reader, writer))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            await self._flowing.wait()
            from_server, to_server = await asyncio.open_connection(*self.upstream)
            ends.append(to_server)
            call = _Call()
            directions = (self._upward(reader, to_server, call), self._downward(from_server, writer, call))
            tasks = [asyncio.create_task(direction) for direction in directions]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except OSError:
            pass  # no server: the connection ends
        finally:
            for end in ends:
                end.transport.abort()

    async def _upward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, call: _Call) -> None:
        with contextlib.suppress(OSError):
            while sent := await reader.read(_CHUNK):
                await self._flowing.wait()
                if self.cut is not None and self.cut in sent:
                    self.cut, call.left = None, self.cut_after
                    if not call.left:
                        self.cuts += 1
                        return
                writer.write(sent)
                await writer.drain()

    async def _downward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, call: _Call) -> None:
        with contextlib.suppress(OSError):
            while got := await reader.read(_CHUNK):
                await self._flowing.wait()
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                if call.left is not None:
                    writer.write(got[: call.left])
                    await writer.drain()
                    call.left -= len(got)
                    if call.left <= 0:
                        self.cuts += 1
                        await asyncio.sleep(0.05)  # lets the written bytes leave before the cut
                        return
                    continue
                writer.write(got)
                await writer.drain()


class _Call:
    """A forwarded connection: the bytes of the answer left until its cut; None for no cut."""

    left: int | None = None
