"""How much an index build sorts and merges: runs, passes, and what it writes to temporary files. Pure.

MySQL 8.0.27 and later: each reader thread sorts its share of the entries in a buffer of its own, writes every full one
as a run, and merges its runs two by two until one is left (ddl0builder.cc, ddl0merge.cc).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_IO_BYTES = ((2 << 20, 1 << 20), (1 << 20, 512 << 10), (512 << 10, 128 << 10), (256 << 10, 64 << 10))
_LEAST_IO_BYTES = 32 << 10
_BLOCK_BYTES = 5120  # an I/O block of 4 KiB and a quarter more
_FIELD_BYTES = 32
_RECORD_BYTES = 1.0
_LARGEST_BUFFER = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """What is to be sorted.

    Attributes:
        entries: Rows of the table.
        key_bytes: Of an entry's columns, those of the primary key that it ends with among them.
        fields: How many columns these are.
        subtrees: Of the root of the clustered index: the reader threads share them out. More threads than subtrees
            leave some with hardly anything to do, though the buffer is divided by all.
    """

    entries: float
    key_bytes: float
    fields: float
    subtrees: float = math.inf

    @property
    def buffered_bytes(self) -> float:
        """What all entries take in sort buffers: each field has a descriptor there.

        Measured on MySQL 9.7.4: 400,000 entries of one INT and the primary key's took 63 to 73 bytes each, of CHAR(60)
        126 to 147, of three INTs 126 to 147, by the numbers of runs at seven buffer sizes.
        """
        return self.entries * (self.key_bytes + _FIELD_BYTES * self.fields)

    @property
    def file_bytes(self) -> float:
        """What one writing of all entries takes (measured: 9, 65 and 17 bytes each for those above)."""
        return self.entries * (self.key_bytes + _RECORD_BYTES)


def sort_buffer_bytes(buffer: float, threads: float, *, indexes: float = 1.0, page: float = 16384.0) -> float:
    """What a reader thread has for sorting the entries of one index.

    Args:
        buffer: innodb_ddl_buffer_size, bytes.
        threads: Reader threads granted: innodb_parallel_read_threads, unless all sessions together have too many.
        indexes: Built by one statement.
        page: innodb_page_size, bytes.

    Source: Context::scan_buffer_size in ddl0ctx.cc. What is subtracted buffers the writing.
    """
    share = buffer / (threads * indexes)
    if share <= 65536.0:
        writing = max(page / 2.0, _BLOCK_BYTES)
        return page if share < page else share - writing if share >= 2.0 * writing else share
    return share - next((io for least, io in _IO_BYTES if share >= least), _LEAST_IO_BYTES)


def subtrees(leaf_pages: float, key_columns: float, page: float = 16384.0) -> float:
    """Subtrees of the root of a clustered index, each key column taken for 8 bytes; 1 for the smallest.

    An entry above the leaf level has the key, 5.5 bytes of its own and a page number. Where there are more levels,
    the root has fewer children, and each of them more: then there are enough for every thread all the same.
    """
    return max(1.0, math.ceil(leaf_pages * (8.0 * key_columns + 9.5) / (page - 128.0)))


def merge_passes(
    build: IndexBuild, buffer: float, threads: float, *, indexes: float = 1.0, page: float = 16384.0
) -> int:
    """How often each entry is merged; 0 where each thread's share fits its buffer. Arguments as in sort_buffer_bytes.

    The threads that have something to do are taken to have equal shares.
    """
    runs = math.ceil(
        build.buffered_bytes
        / min(threads, build.subtrees)
        / sort_buffer_bytes(buffer, threads, indexes=indexes, page=page)
    )
    return math.ceil(math.log2(runs)) if runs > 1 else 0


def written_bytes(
    build: IndexBuild, buffer: float, threads: float, *, indexes: float = 1.0, page: float = 16384.0
) -> float:
    """Bytes that the build of one index writes to temporary files: its runs, and each pass all of them again.

    A pass reads as much as it writes. Measured on MySQL 9.7.4 with 1 MiB, 200,000 entries of 258 bytes below four
    subtrees, and 400,000 below eight: 398 MB with two and with four threads, 505 with 16 and 613 with 32; 934, 935,
    1,027 and 1,243. This says 414, 414, 518 and 570; 932, 932, 1,036 and 1,140. Arguments as in sort_buffer_bytes.
    """
    return build.file_bytes * (1.0 + merge_passes(build, buffer, threads, indexes=indexes, page=page))


def enough_buffer(
    build: IndexBuild, threads: float, at_most: float, *, indexes: float = 1.0, passes: int = 1, page: float = 16384.0
) -> float | None:
    """The smallest innodb_ddl_buffer_size, a power of two, that leaves so many merge passes.

    Args:
        build: What is to be sorted.
        threads: Reader threads.
        at_most: Bytes; where not even the largest value within them is enough, it is that one.
        indexes: Built by one statement.
        passes: Wanted.
        page: innodb_page_size, bytes.

    Returns:
        None where ``at_most`` is below the least that the setting takes.
    """
    sizes = [float(min(1 << power, _LARGEST_BUFFER)) for power in range(16, 33) if 1 << power <= at_most]
    enough = (size for size in sizes if merge_passes(build, size, threads, indexes=indexes, page=page) <= passes)
    return next(enough, sizes[-1] if sizes else None)
