"""Work in a process of its own, so that it takes neither this one's interpreter lock nor its time.

The process is a fork: it begins in milliseconds, sees what is in memory, and shares its pages until one of the two
writes to them. It hands back its result, and is gone. So nothing of it is resident while nobody asks.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import pickle
import resource
import signal
import warnings
from collections.abc import Callable
from typing import NoReturn, Protocol, TypeVar

from advisor.pool.errors import Unanswerable

Result = TypeVar("Result")

CORE_SECONDS = 60
"""Of a core, after which the kernel ends the process. Work that is bounded by steps or time ends long before."""
WALL_SECONDS = 300
"""After which it is ended although it takes no core: five times as long, as a container may have a part of a core."""
_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG, prctl(2)
_FIRST_TO_GO = "1000"
"""Its score when memory runs out (proc_pid_oom_score_adj(5)): it goes, and the sidecar stays."""
_LOOK_SECONDS = 0.05
_NICE = 5
"""Its priority: where cores are short it gets a third of what a scrape gets, and not half (sched(7))."""

_MOST = 2
"""Processes at a time: in 128 MiB they fit beside a sidecar of 64."""

log = logging.getLogger(__name__)
_ended: set[asyncio.Task[None]] = set()


class Apart(Protocol):
    """Does work beside the event loop. Whoever no longer waits for it cancels it."""

    async def __call__(self, work: Callable[[], Result]) -> Result:
        """The result of the work; raises what it raises."""
        ...


async def in_thread(work: Callable[[], Result]) -> Result:
    """The result of some work in a thread of this process; it goes on when nobody waits any more."""
    return await asyncio.to_thread(work)


async def in_process(work: Callable[[], Result]) -> Result:
    """The result of some work in a process of its own, which is killed when nobody waits for it any more.

    Call it in the thread of the event loop, the main one: the kernel kills the process when that thread ends. Result
    and errors are pickled. What else the work changes is lost.

    Raises:
        Unanswerable: The process was ended, because it took too long or there was no memory for it.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # The threads of this process are not in the fork. The work takes none of their locks; if it ever did, it would
        # hang, and be killed after WALL_SECONDS.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _work(work, writing)
    os.close(writing)
    try:
        async with asyncio.timeout(WALL_SECONDS):
            said = await _all_of(reading)
    except TimeoutError:
        raise Unanswerable("time", f"it was ended: it has no answer after {WALL_SECONDS} s") from None
    finally:
        os.kill(child, signal.SIGKILL)  # it is not waited for yet, so the number is still its own
        task = asyncio.create_task(_wait_for(child))
        _ended.add(task)
        task.add_done_callback(_ended.discard)
    if not said:
        raise Unanswerable("time", f"it was ended: it takes more than {CORE_SECONDS} s of a core, or too much memory")
    done, found = pickle.loads(said)  # noqa: S301 - our own child's
    if not done:
        raise found
    return found  # type: ignore[no-any-return]


class ModelProcesses:
    """As ``in_process``, so many at a time: a further one begins when one of them has ended."""

    def __init__(self, most: int = _MOST) -> None:
        """None has been asked for yet.

        Args:
            most: Processes at a time.
        """
        self._room = asyncio.Semaphore(most)

    async def __call__(self, work: Callable[[], Result]) -> Result:
        """The result of the work; raises what it raises, and Unanswerable as ``in_process``."""
        async with self._room:
            return await in_process(work)


async def _all_of(reading: int) -> bytes:
    """All that comes through a pipe until the other end is closed."""
    reader = asyncio.StreamReader(limit=1 << 20)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(reading, "rb"))
    try:
        return await reader.read()
    finally:
        transport.close()


async def _wait_for(child: int) -> None:
    """Take note of the end of a process; a killed one may wait a while for a core to end on."""
    with contextlib.suppress(ChildProcessError):
        while not os.waitpid(child, os.WNOHANG)[0]:  # noqa: ASYNC110, ASYNC222 - it does not block, and has no event
            await asyncio.sleep(_LOOK_SECONDS)


def _work(work: Callable[[], object], writing: int) -> NoReturn:
    """The forked process: it keeps nothing of its parent's connections, works, and ends."""
    try:
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:  # noqa: PTH123
            score.write(_FIRST_TO_GO)
        signal.set_wakeup_fd(-1)
        with contextlib.suppress(OSError):  # a sandbox may forbid it
            os.nice(_NICE)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0)
        for each in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - numbers, no paths
            if each > 2 and each != writing:  # a socket that this process held open would never be closed
                with contextlib.suppress(OSError):
                    os.close(each)
        resource.setrlimit(resource.RLIMIT_CPU, (CORE_SECONDS, CORE_SECONDS))
        said = _outcome(work)
        while said:
            said = said[os.write(writing, said) :]
    finally:
        os._exit(0)


def _outcome(work: Callable[[], object]) -> bytes:
    try:
        return pickle.dumps((True, work()))
    except Exception as error:  # noqa: BLE001 - raised in the parent
        try:
            return pickle.dumps((False, error))
        except Exception:  # noqa: BLE001
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
