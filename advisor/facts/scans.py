"""Tables of which an index was scanned as a whole, mostly the clustered one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from advisor.facts.base import TableFacts, fact, maybe, over_pools, ratio
from advisor.facts.key_order import may_be_in_order, read_in_order, rows_in_order
from advisor.observe.window import Window, known_total
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.rows import number
from exporter.snapshot import Index, Table

_AS_OFTEN = 0.5
"""Share of the passes over an index: other indexes of its table with so many are one scan with it. One file holds them
all, and nobody tells whose pages were read from it."""
_ALONE = 0.75
"""Share of a table: a scan that reads no less of it reads for itself."""
_OWN_READS = 1.5
"""Reads of a table's file for a page that its scans go through: more are of something else, to the rules too."""
_MOST_SHARED = 10.0
"""Scans that share a reading at most. Fewer reads are of a table that the pool holds but for a few pages."""


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
        "Pages read from the table's data file per scan, over the newest part of the window that holds a whole "
        "scan; at most `pages`, which a scan reads once. Effects start from it.",
        unit="pages",
    )
    sharers: float = fact(
        "Scans that share one reading of the table, because sessions scan it side by side: the later ones find the "
        "pages that the first one reads. 1 where each scan reads for itself.",
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
    """Whether it is here only because nobody tells which indexes were read in the order of their keys."""


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
class _Scanned:
    """An index with its size, the rows of its table, and whether it was read in the order of its key."""

    index: Index
    size: IndexSize
    rows: int | None
    in_order: bool


@dataclass(frozen=True, slots=True)
class _Together:
    """Indexes of a table that are one scan."""

    parts: tuple[_Scanned, ...]

    @property
    def table(self) -> Table:
        return _table(self.parts[0].index)

    @property
    def pages(self) -> float:
        return float(sum(part.size.pages for part in self.parts))

    @property
    def what(self) -> str:
        """The table's name for its clustered index, and the names of the others."""
        secondary = " and ".join(part.index.index for part in self.parts if not part.index.clustered)
        of_table = f"{self.table.schema}.{self.table.table}"
        if not secondary:
            return of_table
        clustered = any(part.index.clustered for part in self.parts)
        return f"{of_table} with its index {secondary}" if clustered else f"{secondary} of {of_table}"

    def passes(self, window: Window) -> _Passes:
        """Scans of all of them: those of each index count by its share of the pages."""
        passes_of_all = _Passes()
        for part in self.parts:
            passes, share = _passes(window, part) or _Passes(), part.size.pages / max(self.pages, 1.0)
            passes_of_all = _Passes(
                passes_of_all.full + share * passes.full,
                passes_of_all.ordered + share * passes.ordered,
                passes_of_all.counts + share * passes.counts,
            )
        return passes_of_all


def scans(window: Window) -> list[ScanFacts]:
    """Each table with a trace of a full scan in the window, by scanned pages in falling order."""
    sizes = window.latest[INDEX_SIZES]
    if sizes is None:
        return []
    in_order = read_in_order(window)
    rows = {_table(index): size.rows for index, size in sizes.sizes.items() if index.clustered}
    indexes: dict[Table, list[_Scanned]] = {}
    for index, size in sizes.sizes.items():
        if index.clustered or index in in_order:
            scanned = _Scanned(index, size, rows.get(_table(index)), index in in_order)
            indexes.setdefault(_table(index), []).append(scanned)
    scans_by_table = {table: scan for table, known in indexes.items() if (scan := _scan(window, known)) is not None}
    for table, index in may_be_in_order(window, rows).items():
        if table not in scans_by_table or not _is_explained(scans_by_table[table]):
            doubtful = _Scanned(index, sizes.sizes[index], rows.get(table), in_order=True)
            scans_by_table[table] = replace(_not_known(_Together((doubtful,))), in_doubt=True)
    if not sizes.other_pages:  # otherwise a table without a size may be a small one
        for table in window.latest[TABLE_SCANS] or {}:
            if table not in rows and window.growth(lambda s: s[TABLE_SCANS], table, float) != 0:
                scans_by_table[table] = ScanFacts(table.schema, table.table)
    return sorted(scans_by_table.values(), key=lambda scan: -_scanned_pages(scan.passes, scan.pages))


def _table(index: Index) -> Table:
    return Table(index.schema, index.table)


def _scanned_pages(passes: float | None, pages: float | None) -> float:
    return (passes or 0.0) * (pages or 0.0)


def _scan(window: Window, indexes: Sequence[_Scanned]) -> ScanFacts | None:
    """The scans of a table's indexes, as far as known; None without scans."""
    passes = [(index, _passes(window, index)) for index in indexes]
    scanned = [(index, known.all) for index, known in passes if known is not None and known.all]
    if not scanned:
        unknown = [_Together((index,)) for index, known in passes if known is None]
        return _not_known(unknown[0]) if unknown else None
    _, often = max(scanned, key=lambda candidate: _scanned_pages(candidate[1], candidate[0].size.pages))
    return _known(
        window, _Together(tuple(index for index, of in scanned if _AS_OFTEN * often <= of <= often / _AS_OFTEN))
    )


def _is_explained(scan: ScanFacts) -> bool:
    """Whether its passes explain what was read of the table: rules find no fault with scans that read less."""
    if scan.pages_read is None or not scan.passes or not scan.pages:
        return False
    return scan.pages_read <= _OWN_READS * scan.passes * scan.pages


def _not_known(scanned: _Together) -> ScanFacts:
    return ScanFacts(scanned.table.schema, scanned.table.table, scanned.what, pages=scanned.pages)


def _known(window: Window, scanned: _Together) -> ScanFacts:
    table, passes = scanned.table, scanned.passes(window)
    # From 8.0.14 on InnoDB counts the rows itself, even with one thread; rows_examined does not tell these apart.
    threads = number(window.latest.setting("innodb_parallel_read_threads"))
    parallel = passes.counts if window.latest.server.parallel_read and threads != 1 else 0.0
    # Nobody counts what parallel readers read that performance_schema does not know.
    counted = not parallel or window.latest.server.has("parallel_readers_instrumented")
    read, last = (_pages_from_file(window, table), _last_pass(window, scanned, passes.all)) if counted else (None, None)
    waited = window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.seconds) if counted else None
    all_read = window.delta(over_pools("pages_read"))
    return ScanFacts(
        schema=table.schema,
        table=table.table,
        what=scanned.what,
        pages=scanned.pages,
        leaf_pages=known_total(part.size.leaf_pages for part in scanned.parts),
        bytes=_bytes(window, scanned),
        passes=passes.all,
        serial_passes=passes.all - parallel,
        ordered_passes=passes.ordered,
        parallel_passes=parallel,
        counts=passes.counts,
        count_seconds=_count_seconds(window, table) if passes.counts else None,
        read_seconds=ratio(waited, passes.all),
        passes_per_hour=ratio(passes.all * 3600.0, window.seconds),
        pages_read=read,
        pages_read_per_pass=ratio(read, passes.all),
        pages_read_last_pass=last,
        sharers=_sharers(last, scanned.pages),
        other_pages_read_per_pass=(
            None if read is None or all_read is None else max(0.0, all_read - read) / passes.all
        ),
        pages_created_per_pass=ratio(window.delta(over_pools("pages_created")), passes.all),
    )


def _sharers(pages_read: float | None, pages: float) -> float:
    """Scans that share one reading of a table of so many pages, of which a scan reads these on average.

    A single scan of a table that exceeds the old sublist reads nearly all of it, or nothing once the table is cached:
    by the time it returns to a page, it has evicted it. Reads of a part show scans that run side by side. Where it was
    one scan after all, and a part of the table is cached, the advice holds too: it makes room for the whole table.
    """
    if pages_read is None or not _MOST_SHARED * pages_read >= pages > pages_read / _ALONE:
        return 1.0
    return pages / pages_read


def _last_pass(window: Window, scanned: _Together, passes: float) -> float | None:
    """Pages read per pass over the shortest part at the window's end that holds a pass of each scan in a reading."""

    def passes_in(part: Window) -> float:
        return scanned.passes(part).all

    def newest(least: float) -> Window:
        return window.tail(lambda part: passes_in(part) >= least)

    def per_pass(part: Window) -> float | None:
        # A scan reads a page once. More is read by lookups, or by a scan that ends after the part.
        read = ratio(_pages_from_file(part, scanned.table), passes_in(part))
        return None if read is None else min(read, scanned.pages)

    # The half, because the scans may have read the table at first and found it cached later.
    sharers = _sharers(per_pass(newest(passes / 2)), scanned.pages)
    return per_pass(newest(min(sharers, passes)))


def _passes(window: Window, scanned: _Scanned) -> _Passes | None:
    """Scans of an index, from table I/O and from COUNT(*); None where not known."""
    if scanned.rows is None:
        return None
    ordered = rows_in_order(window, scanned.index) if scanned.in_order else None
    in_order = (ratio(ordered, scanned.rows) or 0.0) if ordered else 0.0
    if not scanned.index.clustered:
        return _Passes(ordered=in_order)
    table = _table(scanned.index)
    fetched = window.growth(lambda s: s[TABLE_SCANS], table, float)
    counts = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.executions)
    examined = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.rows_examined)
    by_counts = _counts_clustered(window, table) if counts else False
    # Its optimiser treats COUNT(*) as a table scan, so that table I/O counts it, too (seen on 11.8, not on 10.11).
    in_table_io = window.latest.server.has("count_star_in_table_io")
    if fetched is None or counts is None or by_counts is None or (in_table_io and examined is None):
        return None
    if hidden(window.latest[COUNT_STATEMENTS] or {}, table):
        return None
    if not scanned.rows:
        return _Passes()
    if in_table_io:
        fetched = max(0.0, fetched - (examined or 0.0))
    return _Passes(fetched / scanned.rows, in_order, counts if by_counts else 0.0)


def _counts_clustered(window: Window, table: Table) -> bool | None:
    """Whether COUNT(*) of the table reads the clustered index; None where that is not known.

    With a secondary index the optimiser counts by that one, unless told otherwise, or where it cannot.
    """
    server, sizes = window.latest.server, window.latest[INDEX_SIZES]
    if sizes is None:
        return False
    if not _has_secondary(sizes, table) or server.has("count_star_takes_clustered_index"):
        return True
    if window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.forced_primary) is None:
        return None
    statement = (window.latest[COUNT_STATEMENTS] or {}).get(table)
    return statement is not None and statement.forced_primary == statement.executions


def _has_secondary(sizes: IndexSizes, table: Table) -> bool:
    return any((i.schema, i.table) == (table.schema, table.table) and not i.clustered for i in sizes.sizes)


def _pages_from_file(window: Window, table: Table) -> float | None:
    """Pages read from a table's file: InnoDB reads data files page by page, compressed pages at their own size.

    None for a table without its own file, as in a general tablespace: its reads are not known.
    """
    if table not in (window.latest[TABLE_FILES] or {}):
        return None
    return window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.reads)


def _count_seconds(window: Window, table: Table) -> float | None:
    seconds = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.seconds)
    return ratio(seconds, window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.executions))


def _bytes(window: Window, scanned: _Together) -> float | None:
    """Bytes of indexes on disk, by the size of their pages."""
    files = (window.latest[TABLE_FILES] or {}).get(scanned.table)
    page_bytes = None if files is None else ratio(files.bytes, files.reads)
    page_bytes = page_bytes or number(window.latest.setting("innodb_page_size"))
    sizes = [part.size.pages * (part.size.page_bytes or page_bytes or 0.0) for part in scanned.parts]
    return sum(sizes) if all(sizes) else None
