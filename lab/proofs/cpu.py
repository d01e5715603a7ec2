"""CPU time of a server's work, and how busy the machine is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.processes.usage import cpu_seconds
from lab.servers import Server


def cpu_milliseconds(server: Server, work: Callable[[], None], times: int) -> float:
    """CPU milliseconds of the server for one run of the work: the mean of several."""
    before = cpu_seconds(server.pid)
    for _ in range(times):
        work()
    return (cpu_seconds(server.pid) - before) / times * 1000.0


@dataclass
class MachineLoad:
    """The load of the machine over a stretch of time.

    Attributes:
        busy: The used share of its cores' time.
    """

    busy: float = 0.0


@contextmanager
def machine_load() -> Iterator[MachineLoad]:
    """Measure the load of the machine; the value is valid after the context ends."""
    found, (busy, idle) = MachineLoad(), _machine()
    yield found
    busy, idle = (after - before for before, after in zip((busy, idle), _machine(), strict=True))
    found.busy = busy / (busy + idle)


def _machine() -> tuple[float, float]:
    """Ticks of all cores since the boot: busy and idle."""
    _, *fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()
    idle = float(fields[3]) + float(fields[4])
    return sum(map(float, fields[:8])) - idle, idle
