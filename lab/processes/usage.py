"""A process's use of CPU, memory and disk, from the kernel."""

import re
import time
from pathlib import Path
from typing import Literal

MemoryField = Literal["VmRSS", "VmHWM", "RssAnon"]
"""All resident memory now, that at its peak, and that now without the pages of files."""


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, including ended threads, by the kernel's clock (nanoseconds).

    This is clock_getcpuclockid(3), which Python has for threads only.
    """
    return time.clock_gettime((~pid << 3) | 2)


def memory_mib(pid: int, field: MemoryField = "VmRSS") -> float | None:
    """Resident memory of a process (proc_pid_status(5)); None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    match = re.search(rf"^{field}:\s*(\d+) kB", status, re.MULTILINE)
    return int(match[1]) / 1024 if match else None


def bytes_read(pid: int) -> int:
    """Bytes that a process has read so far by system calls (rchar of proc_pid_io(5)).

    Raises:
        OSError: It has ended.
        ValueError: It is ending.
    """
    lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])
