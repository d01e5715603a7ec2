"""Memory that the process needed once and no longer needs, returned to the system."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import mmap
import re
from collections.abc import Iterator
from pathlib import Path

_ARENA_MAX, _ARENAS = -8, 2
"""M_ARENA_MAX, mallopt(3). By default each of some forty threads may have a heap of its own, with its own rest."""
_SMAPS = Path("/proc/self/smaps")
_LIBRARY = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ [1-9]\d* +\S+\.so(?:\.\S+)?$")
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ ")


def release() -> None:
    """Collect garbage, trim, and let later threads share two heaps.

    Call it after loading, and after the first run of all rules.

    What is alive then lives on: later garbage collections skip it. The first call must come before another thread
    loads libraries.
    """
    gc.collect()
    gc.freeze()
    with contextlib.suppress(OSError, AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)
    trim()


def trim() -> None:
    """Return the free part of the heap, and pages of libraries. Call it after each evaluation, which touches both.

    The start maps 30 MiB of library pages, of which 6 are used from then on (measured: RssFile). The kernel would take
    them back only under pressure; until then they count as the sidecar's resident memory. A page that is used again is
    read again from the page cache.

    Needs Linux; without glibc the heap is left as it is.
    """
    with contextlib.suppress(OSError, AttributeError):  # not Linux, or no malloc_trim
        system = ctypes.CDLL(None)
        for begin, end in _libraries():
            system.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED)
        system.malloc_trim(0)


@functools.cache
def _libraries() -> tuple[tuple[int, int], ...]:
    """Found once: a library that another thread is just loading may still be written to."""
    return tuple(unchanged(_SMAPS.read_text()))


def unchanged(smaps: str) -> Iterator[tuple[int, int]]:
    """Begin and end of the read-only mappings of libraries of which no page differs from the file (proc(5)).

    Relocated pages are read-only too, but differ from the file: dropping them would lose what the loader wrote.
    """
    found: tuple[int, int] | None = None
    for line in smaps.splitlines():
        if _MAPPING.match(line):
            library = _LIBRARY.match(line)
            found = (int(library[1], 16), int(library[2], 16)) if library else None
        elif found and line.split() == ["Anonymous:", "0", "kB"]:
            yield found
