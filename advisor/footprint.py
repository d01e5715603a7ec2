"""What the process holds on to after its start: no more than it goes on needing."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import mmap
import re
from collections.abc import Iterator
from pathlib import Path

_SMAPS = Path("/proc/self/smaps")
_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ [1-9]\d* +\S+\.so(?:\.\S+)?$")
_ANY_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ ")


def give_back() -> None:
    """Give back to the system what was needed until now: when all is loaded, and when all has run once.

    That is garbage; the free part of the heap; and pages of shared libraries. Loading these, and checking rules,
    touches three times the pages that are used from then on (seen: 32 MiB, then 12). They hold what the files hold:
    one that is asked for again is there again. What lives on is left out of later garbage collections, which would
    only walk it.

    The first call is to come before any other thread loads libraries.
    """
    gc.collect()
    gc.freeze()
    trim()


def trim() -> None:
    """Give back the free part of the heap and pages of libraries: also after a judgement, which touches both.

    Does what the system offers: Linux has all of it with glibc, and all but the heap's part with musl.
    """
    with contextlib.suppress(OSError, AttributeError):  # no Linux
        system = ctypes.CDLL(None)
        for begin, end in _libraries():
            system.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED)
        system.malloc_trim(0)


@functools.cache
def _libraries() -> tuple[tuple[int, int], ...]:
    """Found once: a library that another thread is loading has pages that are about to differ from the file."""
    return tuple(unchanged(_SMAPS.read_text()))


def unchanged(smaps: str) -> Iterator[tuple[int, int]]:
    """Addresses of libraries' parts that cannot be written to, and of which no page differs from the file (proc(5)).

    Those that were relocated do differ, although they are protected by now: what the loader wrote would be lost.
    """
    found: tuple[int, int] | None = None
    for line in smaps.splitlines():
        if _ANY_MAPPING.match(line):
            mapping = _MAPPING.match(line)
            found = (int(mapping[1], 16), int(mapping[2], 16)) if mapping else None
        elif found and line.split() == ["Anonymous:", "0", "kB"]:
            yield found
