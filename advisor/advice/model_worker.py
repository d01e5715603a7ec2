"""Questions to the models, each in a process of its own, so that no scrape waits for one.

The process is a fork: it begins in milliseconds, inherits window and loads, and shares memory until one of the two
writes to it. It ends with its answer, so that nothing of it is resident while nobody asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any, TypeVar

from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads

Answer = TypeVar("Answer")

CORE_SECONDS = 60
"""Of a core, after which the kernel ends the process. Work that is bounded by steps or time ends long before."""
WALL_SECONDS = 300.0
"""After which it is ended although it takes no core: five times as long, as a container may have a part of a core."""
_FIRST_TO_GO = "1000"
"""Its score when memory runs out (proc_pid_oom_score_adj(5)): it goes, and the sidecar stays."""
_STANDARD_ERROR = 2

_FORK = multiprocessing.get_context("fork")


class ModelWorker:
    """Asks the models of one server, one question at a time for readers, and one for what the sidecar does by itself.

    A reader never waits for a curve that the sidecar computes by itself, and both fit into a container of 128 MiB.

    Attributes:
        loads: What the models were fitted to so far. Of two questions at once the later answer's stay: the other's are
            fitted again when they are needed.
    """

    def __init__(self, core_seconds: int = CORE_SECONDS, wall_seconds: float = WALL_SECONDS) -> None:
        """Begin with no loads.

        Args:
            core_seconds: Limit for a question, in seconds of a core.
            wall_seconds: Limit for a question, in seconds.
        """
        self.loads = Loads()
        self._core_seconds, self._wall_seconds = core_seconds, wall_seconds
        self._readers, self._background = asyncio.Lock(), asyncio.Lock()

    async def ask(self, question: Callable[[Loads], Answer], *, background: bool = False) -> Answer:
        """The answer to a question; whoever no longer waits for it ends it.

        Args:
            question: It is inherited by the process. Its answer and its errors are pickled; what else it changes is
                lost, but for the loads.
            background: Whether no reader waits for it.

        Raises:
            Unanswerable: The process was ended, because it took too long or there was no memory for it.
            Exception: What the question raises.
        """
        async with self._background if background else self._readers:
            answer: Answer | Exception = await self._answer(question)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _answer(self, question: Callable[[Loads], Answer]) -> Any:
        receiver, sender = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=_work, args=(question, self.loads, self._core_seconds, sender), daemon=True)
        process.start()
        sender.close()
        try:
            async with asyncio.timeout(self._wall_seconds):
                answer, self.loads = await asyncio.to_thread(_received, process, receiver)
        except EOFError:
            limit = f"it takes more than {self._core_seconds} s of a core, or too much memory"
            raise Unanswerable("time", f"it was ended: {limit}") from None
        except TimeoutError:
            raise Unanswerable("time", f"it was ended: it has no answer after {self._wall_seconds:g} s") from None
        finally:
            process.kill()
        return answer


def _received(process: ForkProcess, receiver: Connection) -> Any:
    """What a process sends, once it has ended. Raises EOFError where it ends without."""
    try:
        with receiver:
            return receiver.recv()
    finally:
        process.join()


def _work(question: Callable[[Loads], Any], loads: Loads, core_seconds: int, sender: Connection) -> None:
    """The process: it lets go of its parent's signals and connections, answers, and ends."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - numbers, no paths
        if descriptor > _STANDARD_ERROR and descriptor != sender.fileno():  # a socket that is held open is never closed
            with contextlib.suppress(OSError):
                os.close(descriptor)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="ascii")
    with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it
        resource.setrlimit(resource.RLIMIT_CPU, (core_seconds, core_seconds))
    try:
        answer = question(loads)
    except Exception as error:  # noqa: BLE001 - raised in the parent
        answer = error
    sender.send((answer, loads))
