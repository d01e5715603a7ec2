"""What reading a file may cost. The file may be anybody's: it may have no end, or grow in memory."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from functools import partial
from gzip import BadGzipFile
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
LEAST_TEXT = 256
"""Bytes of text that a line counts at least: many short ones take time, too."""
LEAST_MEMORY = 4096
"""Memory that a line counts at least: it may be the end of a collection, which leaves a snapshot."""
_VALUE_BYTES = 72
"""Memory of a JSON value: an empty object with its place in a list (measured with CPython 3.11)."""
_GZIP = 16 + zlib.MAX_WBITS
_CHUNK = 64 << 10


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
        self._text += max(len(text), LEAST_TEXT)
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
    """Bytes that a line may take: its bytes, twice as characters of one byte or once of four, and its values."""
    values = text.count(b",") + text.count(b"[") + text.count(b"{")
    return max(LEAST_MEMORY, len(text) * (3 if text.isascii() else 6) + values * _VALUE_BYTES)


def gunzip(file: BinaryIO) -> BinaryIO:
    """What a gzip file of one member holds, decompressed while it is read.

    gzip.GzipFile skips zeros after a member one by one: a sparse file of 10 GB kept a sidecar from starting for hours.

    Reading raises BadGzipFile where it is no gzip file or something follows its end, EOFError where it is cut, and
    zlib.error where it is damaged.
    """
    return io.BufferedReader(_Content(file), _CHUNK)


class _Content(io.RawIOBase):
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._engine = zlib.decompressobj(_GZIP)
        self._begun = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what io.BufferedReader passes
        while not self._engine.eof:
            packed = self._engine.unconsumed_tail or self._file.read(_CHUNK)
            try:
                text = self._engine.decompress(packed, len(buffer))
            except zlib.error as error:
                if self._begun:
                    raise
                raise BadGzipFile(str(error)) from error
            if text:
                self._begun = True
                buffer[: len(text)] = text
                return len(text)
            if not packed and not self._engine.eof:
                raise EOFError("it ends before its end mark")
        if self._engine.unused_data or self._file.read(1):
            raise BadGzipFile("something follows its end")
        return 0
