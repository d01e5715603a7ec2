"""CPU time: what work costs a server, however busy the machine is with other things, and how busy that is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.servers import Server

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(server: Server) -> float:
    """Of all its threads since it started, in user and in system mode, to a hundredth of a second."""
    fields = Path(f"/proc/{server.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def cpu_milliseconds(server: Server, work: Callable[[], None], times: int) -> float:
    """Of one piece of work, done so many times."""
    before = cpu_seconds(server)
    for _ in range(times):
        work()
    return (cpu_seconds(server) - before) / times * 1000.0


@dataclass
class Busy:
    """A machine over some time.

    Attributes:
        busy: The share of its cores' time that is used.
    """

    busy: float = 0.0


@contextmanager
def machine_busy() -> Iterator[Busy]:
    """How busy the machine is meanwhile; known afterwards."""
    found, (busy, idle) = Busy(), _machine()
    yield found
    busy, idle = (after - before for before, after in zip((busy, idle), _machine(), strict=True))
    found.busy = busy / (busy + idle)


def _machine() -> tuple[float, float]:
    """Ticks of all cores since it started: busy and idle."""
    _, *fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()
    idle = float(fields[3]) + float(fields[4])
    return sum(map(float, fields[:8])) - idle, idle
