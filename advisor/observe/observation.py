"""Observation of a server for a limited time, for the commands that end."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from advisor.observe.source import SnapshotSource
from exporter.connection.errors import ServerError
from exporter.connection.target import Target
from exporter.files import replacing
from exporter.recording.file import LedgerLines, Recorder
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot

Result = TypeVar("Result")
Progress = Callable[[float], None]
"""Takes the seconds since the start, now and then."""


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """asyncio.run, with SIGTERM meaning the same as Ctrl-C: KeyboardInterrupt."""

    async def interruptible() -> Result:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def single_snapshot(source: SnapshotSource) -> Snapshot:
    """One collection.

    Raises:
        ServerError: No server answers.
    """
    try:
        await source.collect()
        await asyncio.sleep(0.5)  # the light session needs a moment for its first look
        return await source.collect()
    finally:
        if isinstance(source, Sampler):
            await source.close()


async def observe(
    sampler: Sampler, seconds: float, progress: Progress, clock: Callable[[], float] = time.monotonic
) -> None:
    """Collect for a while.

    Args:
        sampler: Collects, and is closed at the end.
        seconds: How long.
        progress: Called now and then.
        clock: Seconds, monotonic.

    Raises:
        ServerError: No server answers at the start or at the end. In between it may come and go.
    """
    collection: asyncio.Task[None] | None = None
    try:
        first = await sampler.collect()
        start = clock()  # a slow first collection shortens nothing
        collection = asyncio.create_task(sampler.run())
        while (elapsed := clock() - start) < seconds:
            progress(elapsed)
            await asyncio.sleep(min(0.25, seconds - elapsed))
        last = await sampler.collect()  # includes what happened since the last collection
        if last.at < first.at + seconds:  # it was under way
            await sampler.collect()
    finally:
        if collection is not None:
            collection.cancel()
            await asyncio.gather(collection, return_exceptions=True)
        await sampler.close()


def record(
    target: Callable[[], Target],
    *,
    interval: float,
    seconds: float,
    output: Path,
    progress: Progress,
    recorder: Callable[[Path], Recorder] = Recorder,
    ledger: Callable[[], LedgerLines | None] = lambda: None,
) -> KeyboardInterrupt | ServerError | None:
    """Record for a while, into a file beside ``output`` that replaces it at the end.

    Args:
        target: The server.
        interval: Seconds between two collections.
        seconds: How long.
        output: The file.
        progress: Called now and then.
        recorder: Opens the file for writing: answers as they are, or without the owner's names.
        ledger: Called at the end: what became of advice until then, for the recording.

    Returns:
        What ended it early, after at least one collection; None when nothing did.

    Raises:
        KeyboardInterrupt, ServerError: The same, before anything was collected.
        OSError: The file cannot be written.
    """
    end: KeyboardInterrupt | ServerError | None = None
    with replacing(output) as part, recorder(part) as keep:
        sampler = Sampler(target, interval=interval, keep=keep)
        try:
            run(observe(sampler, seconds, progress))
        except (KeyboardInterrupt, ServerError) as error:
            if not sampler.history:
                raise
            end = error
        lines = ledger()
        if lines is not None:
            keep.ledger(lines)
    return end
