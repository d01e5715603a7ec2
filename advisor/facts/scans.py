"""Tables of which an index was scanned as a whole, mostly the clustered one."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from advisor.facts.base import TableFacts, count_seconds, counts_of, fact, file_reads, maybe, over_pools, ratio
from advisor.facts.key_order import may_be_in_order, read_in_order, rows_in_order
from advisor.observe.window import Window, known_total
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import TABLE_IO
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.collectors.table_statements import TABLE_STATEMENTS
from exporter.rows import number
from exporter.snapshot import Index, SectionKey, Snapshot, Table

_SOURCES: tuple[SectionKey[Any], ...] = (TABLE_SCANS, TABLE_FILES, COUNT_STATEMENTS, TABLE_IO, TABLE_STATEMENTS)
"""Of passes and of what they read."""

_AS_OFTEN = 0.5
"""Share of the passes over an index: other indexes of its table with so many are one scan with it. One file holds them
all, and reads of a file do not show the index."""
_ALONE = 0.75
"""Share of a table: a scan that reads at least this much of it shares its reading with no other."""
_BY_TWO = 0.6
"""Share of a table: two scans side by side read half of it each, of rows that statistics may overstate by a tenth. A
scan that reads more may find the rest in the young sublists."""
_OWN_READS = 1.5
"""Reads of a table's file for each page that its scans go through: beyond it, something else reads. Rules agree."""
_LAG = 1.1
"""Times the rows by the statistics, which lag behind by a tenth, that a table may have."""
_MOST_SHARED = 10.0
"""Most scans that share a reading. With even fewer reads, the pool holds all but a few pages of the table."""


@dataclass(frozen=True, slots=True)
class ScanFacts(TableFacts):
    """A table of which indexes were scanned as a whole in the window.

    Indexes that are scanned about as often as the one with the most scanned pages are one scan with it, as large as
    all of them. Others do not count.
    """

    what: str = fact(
        "What was scanned, in words: the table's name, or secondary indexes and the table's name.", default=""
    )
    pages: float | None = maybe("Size of the scanned indexes.", unit="pages")
    leaf_pages: float | None = maybe("Size of the scanned indexes' leaf levels.", unit="pages")
    bytes: float | None = maybe("Size of the scanned indexes on disk.", unit="bytes")
    passes: float | None = maybe("Scans in the window; a part of one counts as that part.", unit="scans")
    serial_passes: float | None = maybe("Scans in the window by the row path.", unit="scans")
    ordered_passes: float | None = maybe(
        "Scans in the window in the order of the index's key, as by ORDER BY or in batches: its fetched rows, "
        "less one for each statement, over all rows. Ranges of a large index count as parts of a scan.",
        unit="scans",
    )
    parallel_passes: float | None = maybe("Scans in the window by parallel readers.", unit="scans")
    counts: float | None = maybe(
        "Scans in the window by COUNT(*). Parallel readers do these where the server has them and more than one "
        "is allowed.",
        unit="scans",
    )
    count_seconds: float | None = maybe("Time of one COUNT(*).", unit="seconds")
    read_seconds: float | None = maybe("Time that a scan waited for reads of the table's data file.", unit="seconds")
    passes_per_hour: float | None = maybe("Scans in an hour.", unit="scans/h")
    pages_read: float | None = maybe("Pages read from the table's data file in the window.", unit="pages")
    pages_read_per_pass: float | None = maybe(
        "Pages read from the table's data file in the window, per scan.", unit="pages"
    )
    pages_read_last_pass: float | None = maybe(
        "Pages read from the table's data file by the newest whole scan, without those of a scan under way; at most "
        "`pages`, which a scan reads once. Effects start from it.",
        unit="pages",
    )
    sharers: float = fact(
        "Scans that share one reading of the table, because sessions scan it side by side: the later ones find the "
        "pages that the first one reads. 1 where each scan reads for itself, even if the pool keeps a part of it.",
        unit="scans",
        default=1.0,
    )
    other_pages_read_per_pass: float | None = maybe(
        "Pages read for anything else, per scan: they enter the old sublist beside the scan's own.", unit="pages"
    )
    pages_created_per_pass: float | None = maybe(
        "Pages created for anything, per scan: undo logs and new rows. They take their place in the pool without a "
        "read, and the LRU model does not know them.",
        unit="pages",
    )

    in_doubt: bool = field(default=False)
    """Whether it is listed only because no source shows which indexes were read in the order of their keys."""


@dataclass(frozen=True, slots=True)
class _Passes:
    """Scans of an index, or of several that are one scan.

    Attributes:
        full: Of the clustered index without a key.
        ordered: In the order of its key.
        counts: By COUNT(*), where these are not among the full ones.
    """

    full: float = 0.0
    ordered: float = 0.0
    counts: float = 0.0

    @property
    def all(self) -> float:
        return self.full + self.ordered + self.counts


@dataclass(frozen=True, slots=True)
class _Scan:
    """Indexes of a table that are one scan.

    Attributes:
        indexes: Those of the scan.
        sizes: The sizes of all indexes of the table.
        in_order: The indexes, of all tables, that were read in the order of their keys.
    """

    indexes: tuple[Index, ...]
    sizes: Mapping[Index, IndexSize]
    in_order: AbstractSet[Index]

    @property
    def table(self) -> Table:
        return self.indexes[0].of_table

    @property
    def pages(self) -> float:
        return float(sum(self.sizes[index].pages for index in self.indexes))

    @property
    def what(self) -> str:
        """The table's name for its clustered index, and the names of the others."""
        secondary = " and ".join(index.index for index in self.indexes if not index.clustered)
        of_table = f"{self.table.schema}.{self.table.table}"
        if not secondary:
            return of_table
        clustered = any(index.clustered for index in self.indexes)
        return f"{of_table} with its index {secondary}" if clustered else f"{secondary} of {of_table}"

    def passes(self, window: Window) -> _Passes:
        """Scans of all of them in a window."""
        return self.together({index: _passes(window, index, self.sizes, self.in_order) for index in self.indexes})

    def together(self, passes_by_index: Mapping[Index, _Passes | None]) -> _Passes:
        """Scans of all of them: those of each index count by its share of the pages."""
        passes_of_all = _Passes()
        for index in self.indexes:
            passes = passes_by_index[index] or _Passes()
            share = self.sizes[index].pages / max(self.pages, 1.0)
            passes_of_all = _Passes(
                passes_of_all.full + share * passes.full,
                passes_of_all.ordered + share * passes.ordered,
                passes_of_all.counts + share * passes.counts,
            )
        return passes_of_all

    def bytes(self, window: Window) -> float | None:
        """Bytes of the indexes on disk, by the size of their pages."""
        file = (window.latest[TABLE_FILES] or {}).get(self.table)
        page_bytes = None if file is None else ratio(file.bytes, file.reads)
        page_bytes = page_bytes or number(window.latest.setting("innodb_page_size"))
        sizes = [self.sizes[index] for index in self.indexes]
        in_bytes = [size.pages * (size.page_bytes or page_bytes or 0.0) for size in sizes]
        return sum(in_bytes) if all(in_bytes) else None


@dataclass(frozen=True, slots=True)
class _Watched:
    """A window, as far as all scans share it.

    Attributes:
        complete: The snapshots with every source of passes and reads that the newest one has.
        read: Pages read into all pools.
        created: Pages created in all pools.
        young: Pages in the young sublists; 0 where that is not known.
    """

    complete: Sequence[Snapshot]
    read: float | None
    created: float | None
    young: float

    @classmethod
    def over(cls, window: Window) -> _Watched:
        sources = [source for source in _SOURCES if window.latest[source] is not None]
        complete = [s for s in window.snapshots if all(s[source] is not None for source in sources)]
        read, created = (window.delta(over_pools(counter)) for counter in ("pages_read", "pages_created"))
        data, old = (over_pools(count)(window.latest) for count in ("database_pages", "old_pages"))
        return cls(complete, read, created, 0.0 if data is None or old is None else data - old)


def scans(window: Window) -> list[ScanFacts]:
    """Each table with a trace of a full scan in the window, by scanned pages in falling order."""
    sizes = window.latest[INDEX_SIZES]
    if sizes is None:
        return []
    in_order, rows, watched = read_in_order(window), sizes.rows, _Watched.over(window)
    sizes_by_table: dict[Table, dict[Index, IndexSize]] = {}
    for index, size in sizes.sizes.items():
        sizes_by_table.setdefault(index.of_table, {})[index] = size
    scans_by_table = {
        table: scan
        for table, of_table in sizes_by_table.items()
        if (scan := _scan(window, of_table, in_order, watched))
    }
    for table, index in may_be_in_order(window, rows).items():
        if table not in scans_by_table or not _is_explained(scans_by_table[table]):
            uncounted = _uncounted(_Scan((index,), sizes_by_table[table], {index}))
            scans_by_table[table] = replace(uncounted, in_doubt=True)
    if not sizes.other_pages:  # otherwise a table without a size may be a small one
        for table in window.latest[TABLE_SCANS] or {}:
            if table not in rows and window.growth(lambda s: s[TABLE_SCANS], table, float) != 0:
                scans_by_table[table] = ScanFacts(table.schema, table.table)
    return sorted(scans_by_table.values(), key=lambda scan: -_scanned_pages(scan.passes, scan.pages))


def _scanned_pages(passes: float | None, pages: float | None) -> float:
    return (passes or 0.0) * (pages or 0.0)


def _scan(
    window: Window, sizes: Mapping[Index, IndexSize], in_order: AbstractSet[Index], watched: _Watched
) -> ScanFacts | None:
    """The scans of a table's indexes, as far as known; None without scans."""
    passes = {index: _passes(window, index, sizes, in_order) for index in sizes if index.clustered or index in in_order}
    scanned = {index: known.all for index, known in passes.items() if known is not None and known.all}
    if not scanned:
        unknown = [index for index, known in passes.items() if known is None]
        return _uncounted(_Scan((unknown[0],), sizes, in_order)) if unknown else None
    often = scanned[max(scanned, key=lambda index: _scanned_pages(scanned[index], sizes[index].pages))]
    together = tuple(index for index, times in scanned.items() if _AS_OFTEN * often <= times <= often / _AS_OFTEN)
    scan = _Scan(together, sizes, in_order)
    return _counted(window, scan, scan.together(passes), watched)


def _is_explained(scan: ScanFacts) -> bool:
    """Whether its passes explain what was read of the table: rules find no fault with scans that read less."""
    if scan.pages_read is None or not scan.passes or not scan.pages:
        return False
    return scan.pages_read <= _OWN_READS * scan.passes * scan.pages


def _uncounted(scanned: _Scan) -> ScanFacts:
    """A scan of which only the size is known."""
    return ScanFacts(scanned.table.schema, scanned.table.table, scanned.what, pages=scanned.pages)


def _counted(window: Window, scanned: _Scan, passes: _Passes, watched: _Watched) -> ScanFacts:
    """A scan whose passes are known, with what they read."""
    table = scanned.table
    # From 8.0.14 on InnoDB counts the rows itself, even with one thread; rows_examined does not tell these apart.
    threads = number(window.latest.setting("innodb_parallel_read_threads"))
    parallel = passes.counts if window.latest.server.parallel_read and threads != 1 else 0.0
    # Without instruments, no source counts the pages that parallel readers read.
    counted = not parallel or window.latest.server.has("parallel_readers_instrumented")
    read = _pages_from_file(window, table) if counted else None
    last = _last_pass(_Progress(scanned, watched.complete), watched.young) if read else read
    waited = window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.seconds) if counted else None
    return ScanFacts(
        schema=table.schema,
        table=table.table,
        what=scanned.what,
        pages=scanned.pages,
        leaf_pages=known_total(scanned.sizes[index].leaf_pages for index in scanned.indexes),
        bytes=scanned.bytes(window),
        passes=passes.all,
        serial_passes=passes.all - parallel,
        ordered_passes=passes.ordered,
        parallel_passes=parallel,
        counts=passes.counts,
        count_seconds=count_seconds(window, table) if passes.counts else None,
        read_seconds=ratio(waited, passes.all),
        passes_per_hour=ratio(passes.all * 3600.0, window.seconds),
        pages_read=read,
        pages_read_per_pass=ratio(read, passes.all),
        pages_read_last_pass=last,
        sharers=_sharers(last, scanned.pages, watched.young),
        other_pages_read_per_pass=(
            None if read is None or watched.read is None else max(0.0, watched.read - read) / passes.all
        ),
        pages_created_per_pass=ratio(watched.created, passes.all),
    )


def _sharers(pages_read: float | None, pages: float, young: float) -> float:
    """Scans that share one reading of a table.

    A single scan of a table that exceeds the old sublist evicts a page before it returns to it. It finds only what the
    young sublists keep since the pool filled: a third of TPC-H's lineitem, read by one session (MySQL 9.7.4). Reads of
    a smaller part show scans that run side by side. Where it was one scan after all, the advice holds too: it makes
    room for the whole table.

    Args:
        pages_read: By a scan, on average.
        pages: Of the table.
        young: Pages in the young sublists.
    """
    if pages_read is None or not _MOST_SHARED * pages_read >= pages > pages_read / _ALONE:
        return 1.0
    kept = pages_read >= _BY_TWO * pages and pages - pages_read <= young
    return 1.0 if kept else pages / pages_read


def _last_pass(progress: _Progress, young: float) -> float | None:
    """Pages read per pass by the newest passes: by one of each scan in a reading."""
    passes, pages = progress.passes(-1), progress.scanned.pages
    if not passes:
        return None
    pages_read = progress.read_by(passes)

    def per_pass(newest: float) -> float:
        # A scan reads a page once. More is read by lookups.
        return min((pages_read - progress.read_by(passes - newest)) / newest, pages)

    # The half, because the scans may have read the table at first and found it cached later.
    sharers = _sharers(per_pass(passes / 2), pages, young)
    # Whole passes, because a part of the table may be cached: a part of a pass reads more or less than its share.
    return per_pass(min(math.ceil(sharers), passes))


@dataclass(frozen=True, slots=True)
class _Progress:
    """Passes and pages read since the first of some snapshots.

    The server counts the rows of some scans as they are read, and of others when the scan ends, in one batch (MySQL
    9.7.4, TPC-H). What was read since the last count is of a pass under way, which is none yet.
    """

    scanned: _Scan
    snapshots: Sequence[Snapshot]

    def passes(self, number: int) -> float:
        """Passes until a snapshot."""
        return self.scanned.passes(self._until(number)).all

    def read_by(self, passes: float) -> float:
        """Pages that had been read after so many passes."""
        numbers = range(len(self.snapshots))
        after = bisect_right(numbers, passes, key=self.passes)
        counted = self.passes(after - 1)
        before = bisect_left(numbers, counted, hi=after - 1, key=self.passes)
        read = self._read(before)
        if passes == counted:
            return read
        return read + (passes - counted) / (self.passes(after) - counted) * (self._read(after) - read)

    def _read(self, number: int) -> float:
        return _pages_from_file(self._until(number), self.scanned.table) or 0.0

    def _until(self, number: int) -> Window:
        return Window((self.snapshots[0], self.snapshots[number]))


def _passes(
    window: Window, index: Index, sizes: Mapping[Index, IndexSize], in_order: AbstractSet[Index]
) -> _Passes | None:
    """Scans of an index, from table I/O and from COUNT(*); None where not known."""
    table = index.of_table
    rows = next((size.rows for other, size in sizes.items() if other.clustered), None)
    if rows is None:
        return None
    ordered = ratio(rows_in_order(window, index), rows) or 0.0 if index in in_order else 0.0
    if not index.clustered:
        return _Passes(ordered=ordered)
    fetched = window.growth(lambda s: s[TABLE_SCANS], table, float)
    counts = counts_of(window, table)
    examined = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.rows_examined)
    has_secondary = any(not other.clustered for other in sizes)
    by_counts = _counts_clustered(window, table, has_secondary=has_secondary) if counts else False
    # Its optimiser treats COUNT(*) as a table scan, so that table I/O counts it, too (seen on 11.8, not on 10.11).
    in_table_io = window.latest.server.has("count_star_in_table_io")
    if fetched is None or counts is None or by_counts is None or (in_table_io and examined is None):
        return None
    if hidden(window.latest[COUNT_STATEMENTS] or {}, table):
        return None
    if not rows:
        return _Passes()
    if in_table_io:
        fetched = max(0.0, fetched - (examined or 0.0))
    counts = counts if by_counts else 0.0
    if not window.latest.server.parallel_read:  # then the rows of counts are among those fetched in order
        ordered = ordered - counts if ordered > _LAG * counts else 0.0
    return _Passes(fetched / rows, ordered, counts)


def _counts_clustered(window: Window, table: Table, *, has_secondary: bool) -> bool | None:
    """Whether COUNT(*) of the table reads the clustered index; None where that is not known.

    With a secondary index the optimiser counts by that one, unless told otherwise, or where it cannot.
    """
    if not has_secondary or window.latest.server.has("count_star_takes_clustered_index"):
        return True
    if window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.forced_primary) is None:
        return None
    statement = (window.latest[COUNT_STATEMENTS] or {}).get(table)
    return statement is not None and statement.forced_primary == statement.executions


def _pages_from_file(window: Window, table: Table) -> float | None:
    """Pages read from a table's file: InnoDB reads data files page by page, compressed pages at their own size.

    None for a table without its own file, as in a general tablespace: its reads are not known.
    """
    if table not in (window.latest[TABLE_FILES] or {}):
        return None
    return file_reads(window, table)
