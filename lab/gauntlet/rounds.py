"""Rounds of a workload's clients, and the sidecar that watches them."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import threading
import time
import zlib
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self, TypeVar

import pymysql

from advisor.observe.window import Window
from exporter.connection.errors import ServerError
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot
from lab.gauntlet.counters import Counters
from lab.gauntlet.workload import Workload
from lab.servers import Server

Result = TypeVar("Result")
LONGEST = 3600.0
"""Seconds of a window, as the service takes by default."""
_INTERVAL = 0.1
"""Seconds; shorter than a round, so that the history keeps the collection of each round."""
_RECONNECTIONS = 20


class Sidecar:
    """The sidecar's own sampler beside the load; a context manager.

    Its loop runs in a thread, so that it samples the parallel readers while the clients work.
    """

    def __init__(self, server: Server) -> None:
        self._sampler = Sampler(from_dsn(server.dsn), interval=_INTERVAL)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._sampler.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def collect(self) -> None:
        """One collection. After a restart of the server it connects again."""
        for _ in range(_RECONNECTIONS):
            with contextlib.suppress(ServerError):
                self._run(self._sampler.collect())
                return
            time.sleep(0.2)
        self._run(self._sampler.collect())

    def window(self, snapshots: int) -> Window:
        """The newest snapshots, as far as they make a window."""
        history: Sequence[Snapshot] = list(self._sampler.history)[-snapshots:]
        return Window.of(history, longest=LONGEST)

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class Rounds:
    """A workload's clients, which work in rounds; a context manager.

    Attributes:
        cycle: Rounds until the load repeats itself.
        seconds: The duration of each round, its rest included.
    """

    def __init__(self, server: Server, workload: Workload, sidecar: Sidecar) -> None:
        self._server, self._sidecar, self._period = server, sidecar, workload.period
        self.cycle = workload.cycle
        self._clients = {**workload.clients, **{name: make(server) for name, make in workload.programs.items()}}
        self._random = {name: random.Random(zlib.crc32(name.encode())) for name in self._clients}
        self._connections: dict[str, pymysql.Connection[Any]] = {}
        self._pool = ThreadPoolExecutor(len(self._clients))
        self._number = 0
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self.disconnect()

    def disconnect(self) -> None:
        """Close the clients' connections: the server restarts, or new sessions shall have its new settings."""
        for connection in self._connections.values():
            with contextlib.suppress(pymysql.Error):
                connection.close()
        self._connections.clear()

    def run(self, times: int) -> list[Counters]:
        """Play rounds, with a collection of the sidecar after each.

        Args:
            times: How many; they are made up to whole cycles.

        Returns:
            What the server did in a round: the mean of each cycle.
        """
        found: list[Counters] = []
        times = math.ceil(times / self.cycle) * self.cycle
        before = Counters.of(self._server)
        for _ in range(times):
            began = time.monotonic()
            self._play()
            busy = time.monotonic() - began
            self._sidecar.collect()
            time.sleep(max(0.05, self._period - (time.monotonic() - began)))
            after = Counters.of(self._server)
            found.append(replace(after.since(before), busy=busy))
            before = after
            self.seconds.append(time.monotonic() - began)
        return [Counters.averaged(found[at : at + self.cycle]) for at in range(0, times, self.cycle)]

    def _play(self) -> None:
        for name in self._clients:
            if name not in self._connections:
                self._connections[name] = self._server.connect()
        running = [
            self._pool.submit(work, self._connections[name], self._random[name], self._number)
            for name, work in self._clients.items()
        ]
        self._number += 1
        for each in running:
            each.result()
