"""Watching a server for a while, for the commands that end."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from advisor.observe.source import Source
from exporter.connection.errors import ServerError
from exporter.connection.target import Target
from exporter.recording.file import Recorder
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot

Returned = TypeVar("Returned")


def run(work: Coroutine[Any, Any, Returned]) -> Returned:
    """asyncio.run, with SIGTERM meaning the same as Ctrl-C: KeyboardInterrupt."""

    async def interruptible() -> Returned:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in one
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(interruptible())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def once(source: Source) -> Snapshot:
    """One collection.

    Raises:
        ServerError: There is no server to ask.
    """
    try:
        await source.collect()
        await asyncio.sleep(0.5)  # the light session needs a moment for its first look
        return await source.collect()
    finally:
        if isinstance(source, Sampler):
            await source.close()


async def watch(sampler: Sampler, seconds: float, word: str) -> None:
    """Collect for a while; on a terminal with a progress bar that begins with ``word``.

    Raises:
        ServerError: There is no server at the start or at the end. In between it may come and go.
    """
    from rich.console import Console  # noqa: PLC0415 - only for people
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn(word), BarColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with progress:
        bar = progress.add_task(word, total=seconds)
        began = time.monotonic()
        running: asyncio.Task[None] | None = None
        try:
            await sampler.collect()
            running = asyncio.create_task(sampler.run())
            while (elapsed := time.monotonic() - began) < seconds:
                progress.update(bar, completed=elapsed)
                await asyncio.sleep(min(0.25, seconds - elapsed))
            await sampler.collect()  # what happened since the last one counts
        finally:
            if running is not None:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            await sampler.close()


def record(
    target: Callable[[], Target],
    *,
    interval: float,
    seconds: float,
    output: Path,
    recorder: Callable[[Path], Recorder] = Recorder,
) -> KeyboardInterrupt | ServerError | None:
    """Record for a while, into a file beside ``output`` that takes its place at the end.

    Args:
        target: The server.
        interval: Seconds between two collections.
        seconds: How long.
        output: The file.
        recorder: Opens what writes it: all as it comes, or without the owner's names.

    Returns:
        What ended it early, after at least one collection; None when nothing did.

    Raises:
        KeyboardInterrupt, ServerError: The same, before anything was collected.
        OSError: The file cannot be written.
    """
    whole = output.is_file() or not output.exists()  # else a device or a pipe
    part = output.with_name(f".part-{output.name}") if whole else output
    ended: KeyboardInterrupt | ServerError | None = None
    try:
        with recorder(part) as keep:
            sampler = Sampler(target, interval=interval, keep=keep)
            try:
                run(watch(sampler, seconds, "recording"))
            except (KeyboardInterrupt, ServerError) as end:
                if not sampler.history:
                    raise
                ended = end
        if whole:
            part.replace(output)
    except BaseException:
        if whole:
            part.unlink(missing_ok=True)
        raise
    return ended
