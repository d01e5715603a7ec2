"""A TCP proxy that injects faults: it stalls, delays, refuses connections, or cuts an answer."""

from __future__ import annotations

import asyncio
import contextlib

from lab.processes.background_server import BackgroundServer

_CHUNK = 65536


class FaultyProxy(BackgroundServer):
    """Forwards connections to a server.

    A change of an attribute takes effect at once, also for open connections. ``cut`` needs unencrypted connections.

    Attributes:
        upstream: The server's host and port.
        delay_seconds: The delay of each piece of an answer.
        cut: A text. The connection that sends it is cut once, ``cut_after`` bytes into the answer.
        cut_after: 0 cuts before the statement reaches the server.
        cuts: The number of connections that ``cut`` has cut.
    """

    def __init__(self, upstream: tuple[str, int]) -> None:
        super().__init__()
        self.upstream = upstream
        self.delay_seconds = 0.0
        self.cut: bytes | None = None
        self.cut_after = 0
        self.cuts = 0
        self._flowing = asyncio.Event()
        self._flowing.set()

    def stall(self) -> None:
        """Forward nothing in either direction until ``flow``. Connections stay open, and new ones are accepted."""
        self._loop.call_soon_threadsafe(self._flowing.clear)

    def flow(self) -> None:
        """Forward again, starting with the bytes held back."""
        self._loop.call_soon_threadsafe(self._flowing.set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward a connection until either side ends it."""
        await self._flowing.wait()
        from_server, to_server = await asyncio.open_connection(*self.upstream)
        cutting = _Cut()
        directions = (self._upward(reader, to_server, cutting), self._downward(from_server, writer, cutting))
        tasks = [asyncio.create_task(direction) for direction in directions]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            to_server.transport.abort()

    async def _upward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cutting: _Cut) -> None:
        with contextlib.suppress(OSError):
            while sent := await reader.read(_CHUNK):
                await self._flowing.wait()
                if self.cut is not None and self.cut in sent:
                    self.cut, cutting.left = None, self.cut_after
                    if not cutting.left:
                        self.cuts += 1
                        return
                writer.write(sent)
                await writer.drain()

    async def _downward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, cutting: _Cut) -> None:
        with contextlib.suppress(OSError):
            while received := await reader.read(_CHUNK):
                await self._flowing.wait()
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                writer.write(received if cutting.left is None else received[: cutting.left])
                await writer.drain()
                if cutting.left is not None:
                    cutting.left -= len(received)
                    if cutting.left <= 0:
                        self.cuts += 1
                        await asyncio.sleep(0.05)  # lets the written bytes leave before the cut
                        return


class _Cut:
    """The bytes of the answer left until its connection's cut; None for no cut."""

    left: int | None = None
