"""Index builds in the window, and the work of sorting the largest index."""

from __future__ import annotations

from dataclasses import dataclass, replace

from advisor.facts.base import NO_SIZES, maybe
from advisor.models.ddl import IndexBuild, key_bytes, sort_buffer_bytes, subtrees
from advisor.observe.window import Window
from exporter.collectors.ddl import DDL
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize
from exporter.collectors.machine import MACHINE, Machine
from exporter.rows import number
from exporter.snapshot import Index

# With a tenth of the free memory as the setting, a build takes a quarter of it (advisor.models.ddl.BUILD_PEAK).
_SHARE_OF_MEMORY = 0.1
_COLUMNS = 2.0  # where not known: one, and the primary key's


@dataclass(frozen=True, slots=True)
class DdlFacts:
    """Index builds over the window, and the work of building an index with today's settings and with others.

    The index is the largest that was built in the window, or else the largest secondary index of the server. The
    work is predicted for a build of it alone.
    """

    builds: float | None = maybe(
        "ALTER TABLE and CREATE INDEX statements of any kind that ended in the window.", unit="statements"
    )
    build_seconds: float | None = maybe("Time spent in these statements.", unit="seconds")
    seen: bool | None = maybe("Whether an index build was in progress at any collection, or such a statement ended.")
    threads: float | None = maybe("Index build threads at work at the newest collection.", unit="threads")
    memory_bytes: float | None = maybe("Memory that index builds used at the newest collection.", unit="bytes")
    schema: str | None = maybe("Schema of the index that work is predicted for.")
    table: str | None = maybe("Table of that index.")
    index: str | None = maybe("Name of that index.")
    built: bool | None = maybe("Whether it was built in the window.")
    entries: float | None = maybe("Entries of that index.", unit="entries")
    index_bytes: float | None = maybe(
        "Size of all its entries, without the overhead of pages; 0 where there is no secondary index.", unit="bytes"
    )
    sort_buffer_bytes: float | None = maybe("Sort buffer of each reader thread.", unit="bytes")
    merge_passes: float | None = maybe(
        "How often an entry is merged, for the thread with the most entries.", unit="passes"
    )
    written_bytes: float | None = maybe("What a build writes to temporary files; it reads as much.", unit="bytes")
    enough_buffer_bytes: float | None = maybe(
        "Smallest innodb_ddl_buffer_size that leaves one merge pass, or what a tenth of the free memory allows.",
        unit="bytes",
    )
    enough_passes: float | None = maybe("Merge passes with enough_buffer_bytes.", unit="passes")
    enough_written_bytes: float | None = maybe(
        "What a build writes to temporary files with enough_buffer_bytes.", unit="bytes"
    )
    reader_threads: float | None = maybe("Threads that sort, by innodb_parallel_read_threads.", unit="threads")
    fed_reader_threads: float | None = maybe("The same, limited to the number of cores.", unit="threads")
    fed_written_bytes: float | None = maybe(
        "What a build writes to temporary files with fed_reader_threads.", unit="bytes"
    )


@dataclass(frozen=True, slots=True)
class LargestBuild:
    """The build of the largest index that was built in the window, or else of the largest of all.

    Attributes:
        index: Its name.
        built: Whether it was built in the window.
        build: For the model.
        memory_bytes: That a build may take; None where the available memory is not known.
    """

    index: Index
    built: bool
    build: IndexBuild
    memory_bytes: float | None

    def enough_buffer(self, threads: float) -> float | None:
        """The smallest innodb_ddl_buffer_size that leaves one merge pass, or what the memory allows."""
        return None if self.memory_bytes is None else self.build.enough_buffer(threads, self.memory_bytes)


def ddl(window: Window) -> DdlFacts:
    """From performance_schema, mysql.innodb_index_stats and the settings."""
    latest = window.latest[DDL]
    builds = window.delta(lambda s: None if (now := s[DDL]) is None or now.builds is None else float(now.builds))
    return replace(
        _work(window),
        builds=builds,
        build_seconds=window.delta(lambda s: None if (now := s[DDL]) is None else now.build_seconds),
        seen=_seen(window, builds),
        threads=None if latest is None or latest.threads is None else float(latest.threads),
        memory_bytes=None if latest is None or latest.memory_bytes is None else float(latest.memory_bytes),
    )


def _seen(window: Window, builds: float | None) -> bool | None:
    known = [threads_and_stages for snapshot in window.snapshots if (threads_and_stages := snapshot[DDL]) is not None]
    if any(ddl_now.threads or ddl_now.stages for ddl_now in known) or builds:
        return True
    return None if not known or builds is None else False


def _work(window: Window) -> DdlFacts:
    """The work of building the largest index, as far as its inputs are known."""
    buffer, threads = (
        number(window.latest.setting(name)) for name in ("innodb_ddl_buffer_size", "innodb_parallel_read_threads")
    )
    if indexless(window):
        return DdlFacts(reader_threads=threads, index_bytes=0.0, merge_passes=0.0, written_bytes=0.0)
    largest = largest_build(window)
    if largest is None or buffer is None or threads is None:
        return DdlFacts(reader_threads=threads)
    index, build = largest.index, largest.build
    cores, enough = (window.latest[MACHINE] or Machine()).cores, largest.enough_buffer(threads)
    fed = None if cores is None else min(threads, max(1.0, float(round(cores))))
    return DdlFacts(
        schema=index.schema,
        table=index.table,
        index=index.index,
        built=largest.built,
        entries=build.entries,
        index_bytes=build.file_bytes,
        sort_buffer_bytes=sort_buffer_bytes(buffer, threads, build.page),
        merge_passes=float(build.merge_passes(buffer, threads)),
        written_bytes=build.written_bytes(buffer, threads),
        enough_buffer_bytes=enough,
        enough_passes=None if enough is None else float(build.merge_passes(enough, threads)),
        enough_written_bytes=None if enough is None else build.written_bytes(enough, threads),
        reader_threads=threads,
        fed_reader_threads=fed,
        fed_written_bytes=None if fed is None else build.written_bytes(buffer, fed),
    )


def indexless(window: Window) -> bool:
    """Whether there is no secondary index, for certain."""
    return _sized(window) and _largest(window) is None


def largest_build(window: Window) -> LargestBuild | None:
    """None where there is no secondary index, or the sizes are not all known: which one is the largest, then is not."""
    largest, page = _largest(window) if _sized(window) else None, number(window.latest.setting("innodb_page_size"))
    if largest is None or page is None:
        return None
    index, size, rows, built = largest
    clustered = _clustered(window, index)
    available = (window.latest[MACHINE] or Machine()).memory_available_bytes
    build = IndexBuild(
        rows,
        key_bytes(rows, size.leaf_pages, page),
        _columns(clustered, size),
        subtrees(clustered.leaf_pages, max(1, len(clustered.columns or ())), page),
        page,
    )
    return LargestBuild(index, built, build, None if available is None else _SHARE_OF_MEMORY * available)


def _sized(window: Window) -> bool:
    """Whether the sizes of all indexes are known."""
    latest = window.latest[INDEX_SIZES]
    return latest is not None and all(size.leaf_pages is not None for size in latest.sizes.values())


def _largest(window: Window) -> tuple[Index, IndexSize, float, bool] | None:
    """The largest index that was built in the window, or else the largest of all; with its rows."""
    known = [sizes for snapshot in window.snapshots if (sizes := snapshot[INDEX_SIZES]) is not None]
    if not known:
        return None
    first, last = known[0].sizes, known[-1].sizes
    rows = known[-1].rows
    secondary = [
        (index not in first, size.leaf_pages, index, size)
        for index, size in last.items()
        if not index.clustered and rows.get(index.of_table) and size.leaf_pages
    ]
    if not secondary:
        return None
    built, _, index, size = max(
        secondary, key=lambda candidate: (candidate[0], candidate[1], candidate[2].schema, candidate[2].table)
    )
    return index, size, float(rows[index.of_table] or 0), built


def _clustered(window: Window, index: Index) -> IndexSize:
    """The clustered index of an index's table."""
    sizes = window.latest[INDEX_SIZES] or NO_SIZES
    return next(size for other, size in sizes.of(index.of_table).items() if other.clustered)


def _columns(clustered: IndexSize, size: IndexSize) -> float:
    """Columns of an entry, with the columns of the primary key at its end."""
    if size.columns is None or clustered.columns is None:
        return _COLUMNS
    return float(len({*size.columns, *(clustered.columns or ("DB_ROW_ID",))}))
