"""What reading a file may cost. The file may be anybody's: it may have no end, or grow in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from exporter.linux import limits

LINE_BYTES = 16 << 20
"""Bytes of a line: the largest answer takes one MiB, the ledger of a recording some MiB."""
TEXT_BYTES = 1 << 30
"""Bytes of a file's text, once decompressed."""
MEMORY_BYTES = 512 << 20
"""Memory that the content of a file may take; less where the process may not have four times as much."""
EARLIEST, LATEST = 0.0, 32_503_680_000.0
"""Unix seconds: 1970 and 3000. A clock may be wrong, but not so that a day before or after has no date."""
_PART = 4
LEAST_LINE = 256
"""Bytes that a line counts at least: many short ones take time, too."""
_VALUE_BYTES = 72
"""Memory of a JSON value: an empty object with its place in a list (measured with CPython 3.11)."""


class TooMuch(ValueError):
    """A file is not read further; the text says what is too much, and what to do."""


def moment(written: Any) -> float:
    """A time, Unix seconds.

    Raises:
        ValueError, TypeError, OverflowError: It is no number, or not from EARLIEST to LATEST.
    """
    at = float(written)
    if not EARLIEST <= at < LATEST:
        raise ValueError(f"the time {at:g} is not between the years 1970 and 3000")
    return at


def resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def affordable_bytes() -> int:
    """Memory that the content of files may take: MEMORY_BYTES, or a quarter of what the process may have."""
    mine = limits.memory(Path("/"), os.getpid())
    return MEMORY_BYTES if mine is None else min(MEMORY_BYTES, mine.bytes // _PART)


class ReadBudget:
    """What a file may still take.

    Each line is taken at its most before it is parsed. Only when that is used up the process's memory is looked at, so
    that a long recording costs no more than what is kept of it.
    """

    def __init__(self, memory: int | None = None, text: int = TEXT_BYTES, cure: str = "") -> None:
        """Begin to count.

        Args:
            memory: Bytes by which the process may grow; by default what it can afford.
            text: Bytes of text, decompressed.
            cure: What to do about a file that takes more, for the message.
        """
        self.memory = affordable_bytes() if memory is None else memory
        self._before = resident_bytes()
        self._text, self._most_text = 0, text
        self._left = self.memory
        self._cure = f"; {cure}" if cure else ""

    def taken(self, text: bytes) -> bytes:
        """The text, unless it is too much.

        Raises:
            TooMuch: The text, or parsing it, takes more than is left.
        """
        if len(text) > LINE_BYTES:
            raise TooMuch(f"a line of more than {LINE_BYTES >> 20} MiB, which innodb-advisor never writes")
        self._text += max(len(text), LEAST_LINE)
        if self._text > self._most_text:
            raise TooMuch(f"more than {self._most_text >> 20} MiB of text{self._cure}")
        needs = _most_memory(text)
        if needs > self._left:
            self._left = self.memory - (resident_bytes() - self._before)
            if needs > self._left:
                raise TooMuch(f"its content takes more than {self.memory >> 20} MiB of memory{self._cure}")
        self._left -= needs
        return text


def lines(file: BinaryIO, budget: ReadBudget) -> Iterator[bytes]:
    """The lines of a file with their ends. Raises TooMuch and what reading raises."""
    return map(budget.taken, iter(partial(file.readline, LINE_BYTES + 1), b""))


def _most_memory(text: bytes) -> int:
    """Bytes that JSON may take: its bytes, twice as characters of one byte or once of four, and its values."""
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return len(text) * (3 if text.isascii() else 6) + values * _VALUE_BYTES
