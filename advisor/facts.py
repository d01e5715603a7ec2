"""What rules may speak of: named facts, drawn from a window. A fact that is None is not known.

The fields of these classes are the names in rule expressions: ``pool.free_pages``, ``scan.passes``. Numbers are
floats (CEL doubles); each field says its unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from advisor.settings import SETTINGS, SettingValue
from advisor.window import Window, total
from exporter.midpoint import old_target
from exporter.rows import number
from exporter.snapshot import IndexSize, IndexSizes, Snapshot, Table


@dataclass(frozen=True, slots=True)
class Pool:
    """The buffer pool, all instances together; pages, the last three over the window: read, made young, asked for."""

    pages: float | None = None
    list_pages: float | None = None
    old_pages: float | None = None
    old_target_pages: float | None = None
    free_pages: float | None = None
    instances: float | None = None
    page_bytes: float | None = None
    pages_read: float | None = None
    made_young: float | None = None
    gets: float | None = None


@dataclass(frozen=True, slots=True)
class ChangeBuffer:
    """The change buffer over the window; operations are inserts, delete marks and deletes."""

    merges: float | None = None
    merged_operations: float | None = None
    operations_per_merge: float | None = None
    merges_per_second: float | None = None
    size_pages: float | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """A table whose clustered index was scanned as a whole in the window.

    Attributes:
        pages, leaf_pages, bytes: Size of the clustered index, that of its leaf level, and on disk.
        passes: Scans in the window; a part of one counts as that part.
        serial_passes, parallel_passes: Of these by the row path, and by parallel readers.
        counts: Of these COUNT(*), which parallel readers do where the server has them and more than one is allowed.
        count_seconds: Time that one of them took.
        read_seconds: Time that a pass waited for reads of the table's data file.
        pages_read: Pages read from the table's data file in the window.
        pages_read_per_pass: Their quotient.
        pages_read_last_pass: The same over the newest part of the window that holds a whole pass.
        other_pages_read_per_pass: Pages read for anything else, a pass: they come into the old sublist beside the
            scan's own.
    """

    schema: str
    table: str
    pages: float | None = None
    leaf_pages: float | None = None
    bytes: float | None = None
    passes: float | None = None
    serial_passes: float | None = None
    parallel_passes: float | None = None
    counts: float | None = None
    count_seconds: float | None = None
    read_seconds: float | None = None
    passes_per_hour: float | None = None
    pages_read: float | None = None
    pages_read_per_pass: float | None = None
    pages_read_last_pass: float | None = None
    other_pages_read_per_pass: float | None = None


@dataclass(frozen=True, slots=True)
class Observed:
    """The window itself."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of a window; ``setting`` by name, the lists by the name that ``for_each`` takes."""

    window: Observed
    setting: dict[str, SettingValue | None]
    pool: Pool
    ibuf: ChangeBuffer
    lists: dict[str, Sequence[Any]] = field(default_factory=dict)


GROUPS: dict[str, type] = {"window": Observed, "pool": Pool, "ibuf": ChangeBuffer}
LISTS: dict[str, tuple[str, type]] = {"scans": ("scan", Scan)}
"""What ``for_each`` may name: the name of one item in expressions, and its class."""


def vocabulary(group: str, shape: type) -> dict[str, type]:
    """The names that a class of facts gives to expressions, each float or str."""
    return {f"{group}.{f.name}": str if f.type == "str" else float for f in fields(shape)}


def setting_vocabulary() -> dict[str, type]:
    """``setting.<name>`` for every known setting."""
    return {f"setting.{name}": float if setting.kind == "number" else str for name, setting in SETTINGS.items()}


def named(group: str, facts: Any) -> dict[str, float | str | None]:
    """The values under their names in expressions."""
    return {f"{group}.{f.name}": getattr(facts, f.name) for f in fields(facts)}


def facts(window: Window) -> Facts:
    """Everything rules may speak of."""
    latest = window.latest
    return Facts(
        window=Observed(window.seconds),
        setting={name: setting.read(latest.setting(name)) for name, setting in SETTINGS.items()},
        pool=_pool(window),
        ibuf=_change_buffer(window),
        lists={"scans": _scans(window)},
    )


def _pool(window: Window) -> Pool:
    latest = window.latest
    page_bytes = number(latest.setting("innodb_page_size"))
    if latest.pools is None:
        return Pool(page_bytes=page_bytes)
    pct = number(latest.setting("innodb_old_blocks_pct"))
    return Pool(
        pages=total(pool.size_pages for pool in latest.pools),
        list_pages=total(pool.database_pages for pool in latest.pools),
        old_pages=total(pool.old_pages for pool in latest.pools),
        old_target_pages=(
            None if pct is None else total(old_target(pool.database_pages, int(pct)) for pool in latest.pools)
        ),
        free_pages=total(pool.free_pages for pool in latest.pools),
        instances=float(len(latest.pools)),
        page_bytes=page_bytes,
        pages_read=window.delta(_summed("pages_read")),
        made_young=window.delta(_summed("made_young")),
        gets=window.delta(_summed("gets")),
    )


def _summed(counter: str) -> Callable[[Snapshot], float | None]:
    """A cumulative count of all instances together."""
    return lambda snapshot: None if snapshot.pools is None else total(getattr(p, counter) for p in snapshot.pools)


def _change_buffer(window: Window) -> ChangeBuffer:
    def counter(name: str) -> float | None:
        return window.delta(lambda snapshot: (snapshot.innodb_metrics or {}).get(name))

    merges = counter("ibuf_merges")
    parts = [counter(f"ibuf_merges_{operation}") for operation in ("insert", "delete_mark", "delete")]
    operations = None if None in parts else total(part or 0.0 for part in parts)
    size = (window.latest.innodb_metrics or {}).get("ibuf_size")
    return ChangeBuffer(
        merges=merges,
        merged_operations=operations,
        operations_per_merge=_ratio(operations, merges),
        merges_per_second=_ratio(merges, window.seconds),
        size_pages=None if size is None else float(size),
    )


def _scans(window: Window) -> list[Scan]:
    """Every table with a trace of a full scan in the window, the most scanned pages first."""
    sizes = window.latest.index_sizes
    if sizes is None:
        return []
    sized = {Table(index.schema, index.table): size for index, size in sizes.sizes.items() if index.clustered}
    found = [scan for table, size in sized.items() if (scan := _scan(window, table, size)) is not None]
    if not sizes.other_pages:  # else a table without a size may just be one of the small ones
        found += [
            Scan(table.schema, table.table)
            for table in window.latest.table_scans or {}
            if table not in sized and window.growth(lambda s: s.table_scans, table, float) != 0
        ]
    return sorted(found, key=lambda scan: -(scan.passes or 0.0) * (scan.pages or 0.0))


def _scan(window: Window, table: Table, size: IndexSize) -> Scan | None:
    """What is known of the scans of a table; None when there were none."""
    passes = _passes(window, table, size)
    if passes is None:
        return Scan(table.schema, table.table, pages=float(size.pages))
    fetched, counts = passes
    total_passes = fetched + counts
    if not total_passes:
        return None
    # InnoDB counts the rows itself from 8.0.14 on, with one thread too: rows_examined does not tell these apart.
    threads = number(window.latest.setting("innodb_parallel_read_threads"))
    parallel = counts if window.latest.server.parallel_read and threads != 1 else 0.0
    read = _pages_from_file(window, table)
    all_read = window.delta(_summed("pages_read"))
    return Scan(
        schema=table.schema,
        table=table.table,
        pages=float(size.pages),
        leaf_pages=float(size.leaf_pages),
        bytes=_bytes(window, table, size),
        passes=total_passes,
        serial_passes=total_passes - parallel,
        parallel_passes=parallel,
        counts=counts,
        count_seconds=_ratio(window.growth(lambda s: s.count_statements, table, lambda c: c.seconds), counts),
        read_seconds=_ratio(window.growth(lambda s: s.table_files, table, lambda f: f.seconds), total_passes),
        passes_per_hour=_ratio(total_passes * 3600.0, window.seconds),
        pages_read=read,
        pages_read_per_pass=_ratio(read, total_passes),
        pages_read_last_pass=_last_pass(window, table, size, total_passes),
        other_pages_read_per_pass=(
            None if read is None or all_read is None else max(0.0, all_read - read) / total_passes
        ),
    )


def _last_pass(window: Window, table: Table, size: IndexSize, passes: float) -> float | None:
    """Pages read a pass over the shortest part at the window's end that holds one."""

    def whole(part: Window) -> bool:
        found = _passes(part, table, size)
        return found is not None and sum(found) >= 1.0

    last = window if passes < 1.0 else window.tail(whole)
    return _ratio(_pages_from_file(last, table), sum(_passes(last, table, size) or ()))


def _passes(window: Window, table: Table, size: IndexSize) -> tuple[float, float] | None:
    """Scans of the clustered index that table I/O shows, and COUNT(*) of it beside them; None when not known."""
    fetched = window.growth(lambda s: s.table_scans, table, float)
    counts = window.growth(lambda s: s.count_statements, table, lambda c: c.executions)
    examined = window.growth(lambda s: s.count_statements, table, lambda c: c.rows_examined)
    if fetched is None or counts is None or examined is None or size.rows is None:
        return None
    if not size.rows:
        return 0.0, 0.0
    server = window.latest.server
    if server.at_least(mariadb=(11, 0, 0)):
        # Its optimiser takes COUNT(*) for a table scan, so that table I/O shows it too (seen on 11.8, not on 10.11).
        fetched = max(0.0, fetched - examined)
    if not _counts_clustered(window, table):
        counts = 0.0
    return fetched / size.rows, counts


def _counts_clustered(window: Window, table: Table) -> bool:
    """Whether COUNT(*) of the table reads the clustered index.

    With a secondary index the optimiser counts by that one, unless told otherwise or from MySQL 8.0.17 to 8.0.36
    (bugs 100597, 112767).
    """
    server, sizes = window.latest.server, window.latest.index_sizes
    if sizes is None:
        return False
    if not _has_secondary(sizes, table) or (not server.mariadb and (8, 0, 17) <= server.version < (8, 0, 37)):
        return True
    statement = (window.latest.count_statements or {}).get(table)
    return statement is not None and statement.forced_primary == statement.executions


def _has_secondary(sizes: IndexSizes, table: Table) -> bool:
    return any((i.schema, i.table) == (table.schema, table.table) and not i.clustered for i in sizes.sizes)


def _pages_from_file(window: Window, table: Table) -> float | None:
    """InnoDB reads data files page by page, compressed pages at their own size, so that reads are pages.

    None for a table without a file of its own, such as one in a general tablespace: which table was read there is
    not known.
    """
    if table not in (window.latest.table_files or {}):
        return None
    return window.growth(lambda s: s.table_files, table, lambda f: f.reads)


def _bytes(window: Window, table: Table, size: IndexSize) -> float | None:
    """Bytes of the clustered index on disk, by the size of the pages that were read of it."""
    files = (window.latest.table_files or {}).get(table)
    page_bytes = files.bytes / files.reads if files and files.reads else None
    page_bytes = page_bytes or number(window.latest.setting("innodb_page_size"))
    return None if page_bytes is None else size.pages * page_bytes


def _ratio(dividend: float | None, divisor: float | None) -> float | None:
    return None if dividend is None or not divisor else dividend / divisor
