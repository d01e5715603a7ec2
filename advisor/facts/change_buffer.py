"""The change buffer over the window, and its prediction by the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from advisor.facts.base import file_reads, maybe, metric, ratio
from advisor.facts.machine import machine
from advisor.facts.write_reads import NON_UNIQUE, write_reads
from advisor.models.change_buffer import Buffer, Changes, Steady, operations_per_page, pages_with_changes, steady
from advisor.observe.window import Window, known_total, total
from exporter.collectors.cached_indexes import bounded
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize
from exporter.collectors.indexes import INDEXES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import TABLE_IO
from exporter.rows import number
from exporter.snapshot import Index, Snapshot, Table

_FULL = 0.8
"""Share of a leaf page that entries fill: between 0.69 after random inserts and 1.0 in a fresh index."""
MAX_SIZES = (5.0, 10.0, 15.0, 20.0, 25.0)
"""Values of innodb_change_buffer_max_size: above a quarter of the pool the buffer evicts what it saves (measured)."""
_SHARE_OF_POOL = 0.5
"""Of the pool, for leaf pages of the written indexes. INNODB_CACHED_INDEXES counts too much or too little: its counts
drift where pages are evicted or indexes built (9.7.4: 95 to 601 of 1,828 leaf pages, where about 350 were there)."""
_HARDLY = 0.02
"""Share of the pages read: a table with fewer reads does not count as written."""
_HDD_SECONDS = 0.005
"""Time of a random read. The page cache, where reads go through it, does not hold what a shutdown reads."""
_NEARLY = 1.15
"""A smaller buffer is preferred unless its reads exceed the least by this factor."""


@dataclass(frozen=True, slots=True)
class ChangeBufferFacts:
    """The change buffer over the window."""

    merges: float | None = maybe("Pages over the window whose waiting changes were applied.", unit="pages")
    merged_operations: float | None = maybe(
        "Changes that merges applied over the window: inserts, delete marks and deletes.", unit="changes"
    )
    operations_per_merge: float | None = maybe("Changes that a merge applied over the window.", unit="changes")
    merges_per_second: float | None = maybe("Merges over the window.", unit="merges/s")
    size_pages: float | None = maybe("Size of its tree; an empty one has one page.", unit="pages")
    max_pages: float | None = maybe("Largest size that innodb_change_buffer_max_size allows.", unit="pages")
    grown_pages: float | None = maybe("Growth over the window; negative when it shrank.", unit="pages")
    buffered_per_second: float | None = maybe(
        "Changes that went into it over the window: those that merges applied, and those by which it grew.",
        unit="changes/s",
    )
    buffered_operations: float | None = maybe(
        "Changes that wait in it, by the size of the entries of the indexes.", unit="changes"
    )
    drain_reads: float | None = maybe(
        "Pages to read until it is empty, by the model: from operations_per_merge, and at most all leaf pages of "
        "the indexes. Not known where nothing was merged.",
        unit="pages",
    )
    drain_seconds: float | None = maybe(
        "Time of drain_reads one after the other, each as long as a read took over the window, and at least 5 ms "
        "on a hard disk, whatever the page cache did. A lower bound: pages are written too.",
        unit="seconds",
    )
    written_leaf_pages: float | None = maybe(
        "Leaf pages of the non-unique secondary indexes of the tables that were read from disk.", unit="pages"
    )
    resident_share: float | None = maybe(
        "Share of written_leaf_pages that is in the pool, by INNODB_CACHED_INDEXES, whose counts drift: 0.05 to "
        "0.33 where 0.2 was resident (9.7.4). Not known before MySQL 8.0 and on MariaDB.",
        unit="0 to 1",
    )
    index_changes_per_second: float | None = maybe(
        "Rows inserted and updated, times the non-unique secondary indexes of their table. At most: an update may "
        "change none of the indexed columns.",
        unit="changes/s",
    )
    least_write_reads_per_second: float | None = maybe(
        "Pages of these indexes that new entries read, at least: the reads of the tables that rows fetched, range "
        "estimates, deletes and the other indexes do not explain.",
        unit="pages/s",
    )
    most_write_reads_per_second: float | None = maybe(
        "The same at most: one for each entry, and as many as fit into the time that statements spent on writes.",
        unit="pages/s",
    )
    write_reads_per_second: float | None = maybe("The middle of the two.", unit="pages/s")
    most_entry_reads_per_second: float | None = maybe(
        "Pages of these indexes that inserts and updates read, at most: for new entries, and for the old ones of "
        "updated rows.",
        unit="pages/s",
    )
    entry_reads_per_second: float | None = maybe("The middle of the least and the most of these.", unit="pages/s")
    expected_operations_per_merge: float | None = maybe(
        "Changes that a merge applies by the model at today's settings of the buffer: of the merged changes, or "
        "of write_reads_per_second where none are buffered. MySQL only.",
        unit="changes",
    )
    expected_reads_per_second: float | None = maybe(
        "Pages read for these changes by the model at today's settings. MySQL only.", unit="pages/s"
    )
    best_max_size: float | None = maybe(
        "The innodb_change_buffer_max_size, from today's to 25, that is worth its pages by the model. MySQL only.",
        unit="percent of the pool",
    )
    best_operations_per_merge: float | None = maybe(
        "Changes that a merge applies by the model at best_max_size.", unit="changes"
    )
    best_reads_per_second: float | None = maybe(
        "Pages read for these changes by the model at best_max_size.", unit="pages/s"
    )
    best_pages: float | None = maybe("Size of the buffer by the model at best_max_size.", unit="pages")


@dataclass(frozen=True, slots=True)
class BufferedWork:
    """The changes of a window, for which the model answers under any settings of the buffer.

    Attributes:
        changes: Those to pages that are not in the pool.
        leaf_pages: All pages that they are spread over.
        size_pages: Pages that the buffer has now.
    """

    changes: Changes
    leaf_pages: float
    size_pages: float

    def under(self, buffer: Buffer) -> Steady:
        """The steady state.

        Pages that the buffer takes from the pool are lost to the indexes, so that more changes find their page absent
        (measured: 2,300 of 10,000 leaf pages were resident beside a buffer of 1,023 pages, 1,200 beside one of 2,047).
        """
        taken = max(0.0, steady(buffer, self.changes).pages - self.size_pages)
        absent = min(self.changes.leaf_pages + taken, max(self.leaf_pages, self.changes.leaf_pages))
        grown = ratio(absent, self.changes.leaf_pages) or 1.0
        return steady(buffer, replace(self.changes, per_second=self.changes.per_second * grown, leaf_pages=absent))

    def best(self, buffer: Buffer) -> tuple[float, Steady]:
        """The maximum from the buffer's own to a quarter of the pool that is worth its pages, and its steady state."""
        sizes = (buffer.max_size_pct, *(size for size in MAX_SIZES if size > buffer.max_size_pct))
        tried = {size: self.under(replace(buffer, max_size_pct=size)) for size in sizes}
        least = min(steady.reads_per_second for steady in tried.values())
        return next((size, steady) for size, steady in tried.items() if steady.reads_per_second <= _NEARLY * least)


@dataclass(frozen=True, slots=True)
class _Indexes:
    """Non-unique secondary indexes.

    Attributes:
        leaf_pages, resident: All of them, and what share of them is in the pool.
        entry_bytes: Of an entry, as a mean over the leaf pages.
    """

    leaf_pages: float
    resident: float | None
    entry_bytes: float | None


def change_buffer(window: Window) -> ChangeBufferFacts:
    """From INNODB_METRICS, the settings, and the sizes and reads of tables and indexes."""
    return _expected(window, _written(window, _waiting(window, counted(window))))


def counted(window: Window) -> ChangeBufferFacts:
    """Only what the server counts and the settings allow."""
    merges = metric(window, "ibuf_merges")
    parts = [metric(window, f"ibuf_merges_{operation}") for operation in ("insert", "delete_mark", "delete")]
    operations = None if None in parts else total(part or 0.0 for part in parts)
    buffer, grown = buffer_settings(window), _grown(window)
    return ChangeBufferFacts(
        merges=merges,
        merged_operations=operations,
        operations_per_merge=ratio(operations, merges),
        merges_per_second=ratio(merges, window.seconds),
        size_pages=_size(window.latest),
        max_pages=None if buffer is None else buffer.max_pages,
        grown_pages=grown,
        buffered_per_second=ratio(operations, window.seconds) if grown == 0.0 else None,
    )


def _waiting(window: Window, counted: ChangeBufferFacts) -> ChangeBufferFacts:
    """Add the changes that wait in the buffer."""
    indexes, page_bytes = _indexes(window, None), number(window.latest.setting("innodb_page_size"))
    if counted.size_pages is None or indexes is None or indexes.entry_bytes is None or page_bytes is None:
        return counted
    page_holds = operations_per_page(page_bytes, indexes.entry_bytes)
    waiting = (counted.size_pages - 1.0) * page_holds
    per_merge = counted.operations_per_merge
    reads = None if per_merge is None else min(pages_with_changes(waiting, per_merge), indexes.leaf_pages)
    storage = machine(window)
    seconds = storage.read_seconds_per_read
    if storage.storage == "hdd" and seconds is not None:
        seconds = max(seconds, _HDD_SECONDS)
    return replace(
        counted,
        buffered_per_second=_buffered(window, counted, page_holds),
        buffered_operations=waiting,
        drain_reads=reads,
        drain_seconds=None if reads is None or seconds is None else reads * seconds,
    )


def _buffered(window: Window, counted: ChangeBufferFacts, page_holds: float) -> float | None:
    """Changes a second that went into the buffer."""
    merged, grown = counted.merged_operations, counted.grown_pages
    return None if merged is None or grown is None else ratio(max(0.0, merged + grown * page_holds), window.seconds)


def _written(window: Window, counted: ChangeBufferFacts) -> ChangeBufferFacts:
    """Add the written indexes, and the reads that their changes explain."""
    reads = _reads(window)
    indexes = None if reads is None else _indexes(window, reads)
    if reads is None or indexes is None:
        return counted
    counted = replace(counted, written_leaf_pages=indexes.leaf_pages, resident_share=indexes.resident)
    bounds = [write_reads(window, table) for table in reads]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return counted
    least, most = total(bound.least for bound in known), total(bound.most for bound in known)
    least_in_all, most_in_all = (
        total(bound.least_in_all for bound in known),
        total(bound.most_in_all for bound in known),
    )
    return replace(
        counted,
        index_changes_per_second=ratio(total(bound.entries for bound in known), window.seconds),
        least_write_reads_per_second=ratio(least, window.seconds),
        most_write_reads_per_second=ratio(most, window.seconds),
        write_reads_per_second=ratio((least + most) / 2.0, window.seconds),
        most_entry_reads_per_second=ratio(most_in_all, window.seconds),
        entry_reads_per_second=ratio((least_in_all + most_in_all) / 2.0, window.seconds),
    )


def _expected(window: Window, counted: ChangeBufferFacts) -> ChangeBufferFacts:
    """Add the prediction of the model."""
    buffer, work = buffer_settings(window), buffered_work(window, counted)
    if buffer is None or work is None:
        return counted
    now, (size, best) = work.under(buffer), work.best(buffer)
    return replace(
        counted,
        expected_operations_per_merge=now.operations_per_merge,
        expected_reads_per_second=now.reads_per_second,
        best_max_size=size,
        best_operations_per_merge=best.operations_per_merge,
        best_reads_per_second=best.reads_per_second,
        best_pages=best.pages,
    )


def buffered_work(window: Window, counted: ChangeBufferFacts) -> BufferedWork | None:
    """The changes that are buffered, or that would be; None where they are not known, and on MariaDB (no model)."""
    indexes, buffer = _indexes(window, _reads(window) or {}), buffer_settings(window)
    buffering = window.latest.setting("innodb_change_buffering")
    merged = ratio(counted.merged_operations, window.seconds)
    per_second = None if buffering is None else counted.write_reads_per_second if buffering == "none" else merged
    if window.latest.server.mariadb or buffer is None or per_second is None:
        return None
    if indexes is None or indexes.entry_bytes is None:
        return None
    absent = max(0.0, indexes.leaf_pages - _SHARE_OF_POOL * buffer.pool_pages)
    return BufferedWork(Changes(per_second, absent, indexes.entry_bytes), indexes.leaf_pages, counted.size_pages or 0.0)


def buffer_settings(window: Window) -> Buffer | None:
    """The settings of the buffer; None where one is not known, as on a server without a change buffer."""
    latest, pools = window.latest, window.latest[POOLS]
    pct, io_capacity, page_bytes = (
        number(latest.setting(f"innodb_{name}")) for name in ("change_buffer_max_size", "io_capacity", "page_size")
    )
    if pools is None or pct is None or io_capacity is None or page_bytes is None:
        return None
    return Buffer(total(pool.size_pages for pool in pools), page_bytes, pct, io_capacity)


def _size(snapshot: Snapshot) -> float | None:
    size = (snapshot[INNODB_METRICS] or {}).get("ibuf_size")
    return None if size is None else float(size)


def _grown(window: Window) -> float | None:
    sizes = [size for snapshot in window.snapshots if (size := _size(snapshot)) is not None]
    return sizes[-1] - sizes[0] if len(sizes) > 1 else None


def _reads(window: Window) -> dict[Table, float] | None:
    """Pages read over the window, by table: only tables that were written and have a non-unique secondary index."""
    indexes, files, rows = window.latest[INDEXES], window.latest[TABLE_FILES], window.latest[TABLE_IO]
    if indexes is None or files is None:
        return None
    indexed = {index.of_table for index, kind in indexes.items() if kind == NON_UNIQUE}
    written = indexed if rows is None else indexed & {index.of_table for index in rows if _wrote(window, index)}
    tables = [table for table in files if table in written]
    reads = {table: file_reads(window, table) for table in tables}
    least = _HARDLY * sum(read or 0.0 for read in reads.values())
    return {table: read for table, read in reads.items() if read and read >= least}


def _wrote(window: Window, index: Index) -> bool:
    """Whether rows were written over the window, or may have been."""
    grown = window.growth(lambda s: s[TABLE_IO], index, lambda io: io.written)
    return grown is None or grown > 0.0


def _indexes(window: Window, reads: Mapping[Table, float] | None) -> _Indexes | None:
    """The non-unique secondary indexes of the tables in ``reads``, or of all tables; None without sizes."""
    latest = window.latest
    indexes, all_sizes, cached = latest[INDEXES], latest[INDEX_SIZES], bounded(latest)
    if indexes is None or all_sizes is None:
        return None
    sizes = {
        index: size
        for index, size in all_sizes.sizes.items()
        if indexes.get(index) == NON_UNIQUE and (reads is None or index.of_table in reads)
    }
    leaf_pages = known_total(size.leaf_pages for size in sizes.values())
    if leaf_pages is None:
        return None
    resident = None
    if cached is not None:
        resident = min(1.0, total(cached.pages.get(index, 0) for index in sizes) / max(leaf_pages, 1.0))
    return _Indexes(
        leaf_pages=leaf_pages,
        resident=resident,
        entry_bytes=_entry_bytes(window, sizes),
    )


def _entry_bytes(window: Window, sizes: Mapping[Index, IndexSize]) -> float | None:
    """Mean size of an entry, from the leaf pages; None where the rows are not known."""
    page_bytes, all_sizes = number(window.latest.setting("innodb_page_size")), window.latest[INDEX_SIZES]
    if page_bytes is None or all_sizes is None:
        return None
    rows = all_sizes.rows
    counted = [(size, rows.get(index.of_table)) for index, size in sizes.items()]
    entries = total(entries_of for _, entries_of in counted if entries_of)
    pages = total(size.leaf_pages for size, entries_of in counted if entries_of)
    return ratio(_FULL * page_bytes * pages, entries) or None
