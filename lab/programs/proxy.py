"""A way to a server on which things go wrong when told: it stalls, is slow, refuses, or breaks off in an answer."""

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
    """Passes connections on to a server, in a thread of its own; a context manager.

    What is set counts from then on, for connections that are open, too. Text is recognised in plain connections only.

    Attributes:
        port: Where it listens on the loopback address.
        delay_seconds: How long each piece of an answer is held back.
        cut: A text: the connection that sends it is cut, once, ``cut_after`` bytes into the answer.
        cut_after: 0 cuts before the statement reaches the server.
        cuts: How many connections ``cut`` has cut.
        opened: Connections that were taken so far.
    """

    def __init__(self, upstream: tuple[str, int]) -> None:
        """Pass on to the host and port ``upstream``, which may be set to another at any time."""
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
        """Listen no more: new connections are refused, open ones go on."""

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
        """Pass nothing on, in neither direction, until ``flow``; connections stay open and are taken."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self) -> None:
        """Pass on again, with what was held back."""
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
            ways = (self._upward(reader, to_server, call), self._downward(from_server, writer, call))
            tasks = [asyncio.create_task(way) for way in ways]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except OSError:
            pass  # the server is not there: neither is this way
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
                        await asyncio.sleep(0.05)  # what was written is on its way before the cut
                        return
                    continue
                writer.write(got)
                await writer.drain()


class _Call:
    """A connection that is passed on: how many bytes of the answer are left until it is cut; None where it is not."""

    left: int | None = None
