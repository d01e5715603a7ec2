"""Sizes of indexes, and the work of building one: runs, merge passes, and bytes written to temporary files. Pure.

MySQL 8.0.27 and later: each reader thread sorts its share of the entries in a buffer of its own, writes every full one
as a run, and merges its runs two by two until one is left (ddl0builder.cc, ddl0merge.cc). Before, one thread does so
with innodb_sort_buffer_size (row0merge.cc).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_IO_BYTES = ((2 << 20, 1 << 20), (1 << 20, 512 << 10), (512 << 10, 128 << 10), (256 << 10, 64 << 10))
_LEAST_IO_BYTES = 32 << 10
_BLOCK_BYTES = 4096
_FIELD_BYTES = 32
_RECORD_BYTES = 1.0
_ENTRY_BYTES = 5.5
"""Of an index entry beside its columns: a header of 5 bytes and its part of the page directory (rem0rec.h)."""
_PAGE_BYTES = 128.0
"""Of a page itself (page0page.h)."""
_LARGEST_BUFFER = (1 << 32) - 1
BUILD_PEAK = 2.4
"""Memory of a build of one index at its peak, in times of innodb_ddl_buffer_size: 2.2 to 2.4 times as much
(memory/innodb/ddl% on MySQL 9.7.4, 64 MiB)."""


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """The index to build.

    Attributes:
        entries: Rows of the table.
        key_bytes: Size of an entry's columns, with the columns of the primary key at its end.
        fields: Number of these columns.
        subtrees: Subtrees of the root of the clustered index, counted in full ones. The reader threads share them. With
            more threads than subtrees some threads have nothing to do, although all of them divide the buffer.
        page: innodb_page_size, bytes.
    """

    entries: float
    key_bytes: float
    fields: float
    subtrees: float = math.inf
    page: float = 16384.0

    @property
    def file_bytes(self) -> float:
        """Bytes of one write of all entries (measured: 9, 65 and 17 bytes for each entry of `_passes`)."""
        return self.entries * (self.key_bytes + _RECORD_BYTES)

    def merge_passes(self, buffer: float, threads: float) -> int:
        """How often an entry of the busiest thread is merged; 0 where each thread's share fits its buffer.

        Args:
            buffer: innodb_ddl_buffer_size, bytes.
            threads: Reader threads that are granted: innodb_parallel_read_threads, or fewer if all sessions together
                have too many.
        """
        sort_buffer = sort_buffer_bytes(buffer, threads, self.page)
        return max(self._passes(share, sort_buffer) for share in self.shares(threads))

    def written_bytes(self, buffer: float, threads: float) -> float:
        """Bytes that the build writes to temporary files: its runs, and all of them again in each pass.

        A pass reads as much as it writes. Measured on MySQL 9.7.4 with 1 MiB, 200,000 entries of 258 bytes below the
        four subtrees of an INT key: 467 MB with one thread, 415 with two, 398 with four, 450 with eight, 505 with 16
        and 613 with 32; 64 MiB: 104, 104, 86, 138, 190 and 294. With the sizes of the subtrees this gives 466, 414,
        397, 449, 500 and 604; 104, 104, 86, 138, 190 and 293. Arguments as in merge_passes.
        """
        sort_buffer = sort_buffer_bytes(buffer, threads, self.page)
        merged = sum(share * self._passes(share, sort_buffer) for share in self.shares(threads))
        return self.file_bytes * (1.0 + merged)

    def sorted_bytes(self, sort_buffer: float) -> float:
        """Bytes that a build before MySQL 8.0.27 writes to its temporary file: runs of whole buffers, and their merges.

        Measured on MySQL 5.6.24 with 400,000 entries of an INT, of CHAR(120) and of VARCHAR(200) with 64 characters,
        and buffers of 64 KiB to 64 MiB: as many buffers are written as this says, or up to 0.2 % more. MySQL 5.7 and
        later write nothing where all entries fit one buffer.

        Args:
            sort_buffer: innodb_sort_buffer_size, bytes.
        """
        runs = math.ceil(self.file_bytes / sort_buffer)
        return runs * sort_buffer * (1.0 + math.ceil(math.log2(runs)) if runs > 1 else 1.0)

    def enough_buffer(self, threads: float, at_most: float) -> float | None:
        """The smallest innodb_ddl_buffer_size, a power of two, that leaves one merge pass.

        Where even the largest value of ``at_most`` bytes does not, that value; None where ``at_most`` is below the
        least that the setting takes.
        """
        sizes = [float(min(1 << power, _LARGEST_BUFFER)) for power in range(16, 33) if 1 << power <= at_most]
        enough = (size for size in sizes if self.merge_passes(size, threads) <= 1)
        return next(enough, sizes[-1] if sizes else None)

    def _passes(self, share: float, sort_buffer: float) -> int:
        """Merge passes of a thread with this share of the entries: it merges its runs two by two until one is left.

        Each field of an entry has a descriptor in the sort buffer. Measured on MySQL 9.7.4: 400,000 entries of one INT
        and the primary key's took 63 to 73 bytes each, of CHAR(60) 126 to 147, of three INTs 126 to 147, by the
        numbers of runs at seven buffer sizes.
        """
        buffered_bytes = self.entries * (self.key_bytes + _FIELD_BYTES * self.fields)
        runs = math.ceil(buffered_bytes * share / sort_buffer)
        return math.ceil(math.log2(runs)) if runs > 1 else 0

    def shares(self, threads: float) -> list[float]:
        """The share of the entries that each thread sorts; threads without entries are left out.

        A table that grew in the order of its key has a first subtree that is half full, as the root was split when it
        had one, a last one with the rest, and full ones in between (seen on MySQL 9.7.4: 601, 1,203, 1,203 and 630
        leaf pages). Each thread takes one after the other; those that do not go round are split among all
        (Scan_ctx::create_contexts in row0pread.cc).
        """
        threads = max(1, math.floor(threads))
        if math.isinf(self.subtrees):
            return [1.0 / threads] * threads
        full = max(0, math.ceil(self.subtrees - 0.5) - 1)
        sizes = [0.5, *[1.0] * full, self.subtrees - 0.5 - full]
        whole = len(sizes) // threads * threads if len(sizes) > threads else threads
        loads = [0.0] * threads
        for size in sizes[:whole]:
            loads[loads.index(min(loads))] += size
        split = sum(sizes[whole:]) / threads
        return [(load + split) / self.subtrees for load in loads if load + split > 0.0]


def sort_buffer_bytes(buffer: float, threads: float, page: float = 16384.0) -> float:
    """Bytes of a reader thread's sort buffer, in a statement that builds one index. Arguments as in IndexBuild.

    Source: Context::scan_buffer_size in ddl0ctx.cc. What is subtracted buffers the writing; for the smallest shares it
    was half a page in 8.0.27, and is a block more in later releases (9.7.4: of 32 KiB 20 are left, as are of 20).
    """
    share = buffer / threads
    if share <= 65536.0:
        writing = page / 2.0 + _BLOCK_BYTES
        return page if share < page else share - writing if share >= 2.0 * writing else share
    return share - next((io for least, io in _IO_BYTES if share >= least), _LEAST_IO_BYTES)


def subtrees(leaf_pages: float, key_columns: float, page: float = 16384.0) -> float:
    """Subtrees of the root of a clustered index, counted in full ones, with 8 bytes for each key column.

    An entry above the leaf level has the key, 5.5 bytes of its own and a page number. Where one page holds them all,
    it is the root, and each leaf page a subtree. Where there are more levels, the root has fewer children, and each of
    them more: these are split, so that there are enough for every thread all the same.
    """
    full = leaf_pages * (8.0 * key_columns + 9.5) / (page - 128.0)
    return full if full > 1.0 else max(1.0, leaf_pages)


def index_pages(rows: float, key_bytes: float, page: float = 16384.0) -> float:
    """Leaf pages of a fresh secondary index on columns of ``key_bytes``, which include the primary key.

    Measured on MySQL 9.7.4 and 5.6.24: 15 pages for 24,000 rows of 4 bytes, 32 and 33 of 16 bytes, 62 of 36; this
    gives 15, 32 and 62.
    """
    return math.ceil(rows * (key_bytes + _ENTRY_BYTES) / (page - _PAGE_BYTES))


def key_bytes(rows: float, leaf_pages: float, page: float = 16384.0) -> float:
    """Bytes of an entry's columns in an index of ``leaf_pages`` full pages: the inverse of ``index_pages``."""
    return max(1.0, leaf_pages * (page - _PAGE_BYTES) / rows - _ENTRY_BYTES)
