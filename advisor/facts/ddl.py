"""Index builds: those seen in the window, and what the sorting of the largest index takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from advisor.models import ddl as model
from advisor.models.index_size import key_bytes
from advisor.observe.window import Window
from exporter.rows import number
from exporter.snapshot import Index, IndexSize, Machine

# At its peak a build took 2.2 to 2.4 times innodb_ddl_buffer_size (memory/innodb/ddl% on MySQL 9.7.4, 64 MiB): with a
# tenth of what is free as the setting, a quarter of it is taken.
_SHARE_OF_MEMORY = 0.1
_COLUMNS = 2.0  # where they are not known: one, and the primary key's


@dataclass(frozen=True, slots=True)
class Ddl:
    """Index builds over the window, and the work of building an index with today's settings and with others.

    The index is the largest of those that were built in the window, or the largest secondary index of the server where
    none is known to have been; work is foretold for a build of it alone.

    Attributes:
        builds: ALTER TABLE and CREATE INDEX statements that ended in the window, whatever they did.
        build_seconds: Time spent in these statements.
        seen: Whether an index build was at work at any collection, or such a statement ended.
        threads: Index build threads at work at the newest collection.
        memory_bytes: Memory that index builds used at the newest collection.
        schema: Of the index that work is foretold for.
        table: Of that index.
        index: Its name.
        built: Whether it was built in the window.
        entries: Of that index.
        index_bytes: Of all its entries, without what pages add to them; 0 where there is no secondary index.
        sort_buffer_bytes: What each reader thread has for sorting its entries.
        merge_passes: How often an entry is merged, of the thread that has most of them.
        written_bytes: What a build of it writes to temporary files; it reads as much.
        enough_buffer_bytes: The smallest innodb_ddl_buffer_size that leaves one merge pass, or what a tenth of the
            memory that is free allows.
        enough_passes: The same with that.
        enough_written_bytes: What a build writes to temporary files with that.
        reader_threads: Threads that sort, by innodb_parallel_read_threads.
        fed_reader_threads: As many of them as there are cores, at most.
        fed_written_bytes: What a build writes to temporary files with so many.
    """

    builds: float | None = None
    build_seconds: float | None = None
    seen: bool | None = None
    threads: float | None = None
    memory_bytes: float | None = None
    schema: str | None = None
    table: str | None = None
    index: str | None = None
    built: bool | None = None
    entries: float | None = None
    index_bytes: float | None = None
    sort_buffer_bytes: float | None = None
    merge_passes: float | None = None
    written_bytes: float | None = None
    enough_buffer_bytes: float | None = None
    enough_passes: float | None = None
    enough_written_bytes: float | None = None
    reader_threads: float | None = None
    fed_reader_threads: float | None = None
    fed_written_bytes: float | None = None


def ddl(window: Window) -> Ddl:
    """From performance_schema, mysql.innodb_index_stats and the settings."""
    latest = window.latest.ddl
    builds = window.delta(lambda s: None if s.ddl is None or s.ddl.builds is None else float(s.ddl.builds))
    return replace(
        _work(window),
        builds=builds,
        build_seconds=window.delta(lambda s: None if s.ddl is None else s.ddl.build_seconds),
        seen=_seen(window, builds),
        threads=None if latest is None or latest.threads is None else float(latest.threads),
        memory_bytes=None if latest is None or latest.memory_bytes is None else float(latest.memory_bytes),
    )


def _seen(window: Window, builds: float | None) -> bool | None:
    known = [snapshot.ddl for snapshot in window.snapshots if snapshot.ddl is not None]
    if any(each.threads or each.stages for each in known) or builds:
        return True
    return None if not known or builds is None else False


def _work(window: Window) -> Ddl:
    """The work of the one index, as far as what it depends on is known."""
    found = _largest(window)
    buffer, threads, page = (
        number(window.latest.setting(name))
        for name in ("innodb_ddl_buffer_size", "innodb_parallel_read_threads", "innodb_page_size")
    )
    if found is None and window.latest.index_sizes is not None:
        return Ddl(reader_threads=threads, index_bytes=0.0, merge_passes=0.0, written_bytes=0.0)
    if found is None or buffer is None or threads is None or page is None:
        return Ddl(reader_threads=threads)
    index, size, rows, built = found
    clustered = _clustered(window, index)
    build = model.IndexBuild(
        rows,
        key_bytes(rows, size.leaf_pages, page),
        _columns(clustered, size),
        model.subtrees(clustered.leaf_pages, max(1, len(clustered.columns or ())), page),
    )
    machine = window.latest.machine or Machine()
    available, cores = machine.memory_available_bytes, machine.cores
    enough = None if available is None else model.enough_buffer(build, threads, _SHARE_OF_MEMORY * available, page=page)
    fed = None if cores is None else min(threads, max(1.0, float(round(cores))))
    return Ddl(
        schema=index.schema,
        table=index.table,
        index=index.index,
        built=built,
        entries=rows,
        index_bytes=build.file_bytes,
        sort_buffer_bytes=model.sort_buffer_bytes(buffer, threads, page=page),
        merge_passes=float(model.merge_passes(build, buffer, threads, page=page)),
        written_bytes=model.written_bytes(build, buffer, threads, page=page),
        enough_buffer_bytes=enough,
        enough_passes=None if enough is None else float(model.merge_passes(build, enough, threads, page=page)),
        enough_written_bytes=None if enough is None else model.written_bytes(build, enough, threads, page=page),
        reader_threads=threads,
        fed_reader_threads=fed,
        fed_written_bytes=None if fed is None else model.written_bytes(build, buffer, fed, page=page),
    )


def _largest(window: Window) -> tuple[Index, IndexSize, float, bool] | None:
    """The index with the most leaf pages, among those built in the window where there are any; with its rows."""
    known = [snapshot.index_sizes for snapshot in window.snapshots if snapshot.index_sizes is not None]
    if not known:
        return None
    first, last = known[0].sizes, known[-1].sizes
    rows = {(index.schema, index.table): size.rows for index, size in last.items() if index.clustered}
    secondary = [
        (index not in first, size.leaf_pages, index, size)
        for index, size in last.items()
        if not index.clustered and rows.get((index.schema, index.table)) and size.leaf_pages
    ]
    if not secondary:
        return None
    built, _, index, size = max(secondary, key=lambda each: (each[0], each[1], each[2].schema, each[2].table))
    return index, size, float(rows[index.schema, index.table] or 0), built


def _clustered(window: Window, index: Index) -> IndexSize:
    """The clustered index of the table that an index is of."""
    sizes = window.latest.index_sizes
    of_table = (index.schema, index.table)
    return next(
        size
        for other, size in (sizes.sizes if sizes else {}).items()
        if other.clustered and (other.schema, other.table) == of_table
    )


def _columns(clustered: IndexSize, size: IndexSize) -> float:
    """Columns of an entry, those of the primary key that it ends with among them."""
    if size.columns is None or clustered.columns is None:
        return _COLUMNS
    return float(len({*size.columns, *(clustered.columns or ("DB_ROW_ID",))}))
