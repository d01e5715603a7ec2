"""The content of a gzip file of one member, as recordings are, that nothing follows.

gzip.GzipFile skips zeros after a member one by one: a sparse file of 10 GB kept a sidecar from starting for hours.
"""

from __future__ import annotations

import io
import zlib
from gzip import BadGzipFile
from typing import BinaryIO

_GZIP = 16 + zlib.MAX_WBITS
_CHUNK = 64 << 10


def gunzip(file: BinaryIO) -> BinaryIO:
    """What a file holds, decompressed while it is read.

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
