"""Recordings cut down to what a Prometheus would have of the server, by the exporter that it scrapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from advisor.contract.settings import SETTINGS
from advisor.facts.base import SECONDARY
from advisor.fleet.sections import UNKNOWN
from advisor.observe.window import Window
from exporter.collectors import COLLECTORS
from exporter.collectors.base import TOP
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.data_files import DATA_FILES, FileReads
from exporter.collectors.ddl import DDL
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.machine import MACHINE, Machine
from exporter.collectors.pools import POOLS, BufferPool
from exporter.collectors.status import STATUS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Index, ReadOutcome, Snapshot, Table

FLAGS = (
    "innodb_metrics",
    "tables",
    "indexiowaits",
    "eventsstatements",
    "file_instances",
    "file_events",
    "tablelocks",
    "innodb_tablespaces",
    "limits",
)
"""The collectors of mysqld_exporter that are off by default, and the limits that kube-state-metrics tells."""
_OF_FLAGS = {
    "indexiowaits": ("table_scans", "table_io"),
    "tablelocks": ("table_statements",),
    "innodb_tablespaces": ("file_sizes",),
}
"""Sections that series tell as they are."""
_SIDECAR_SECTIONS = (
    "pools",
    "table_scans",
    "count_statements",
    "table_files",
    "indexes",
    "cached_indexes",
    "key_bytes",
    "parallel_readers",
    "machine",
)
_STATUS = ("uptime", "innodb_buffer_pool_read_ahead_rnd", "innodb_checkpoint_age", "innodb_checkpoint_max_age")
_REDO = ("innodb_redo_log_current_lsn", "innodb_redo_log_checkpoint_lsn", "innodb_redo_log_capacity_resized")
_ROWS = tuple(f"innodb_rows_{operation}" for operation in ("read", "inserted", "updated", "deleted"))
_IBUF = ("ibuf_size", "ibuf_merges", "ibuf_merges_insert", "ibuf_merges_delete", "ibuf_merges_delete_mark")


def sidecar(window: Window) -> Window:
    """What innodb-advisor's exporter tells."""
    return Window(tuple(_with_outcomes(_sidecar(snapshot), snapshot) for snapshot in window.snapshots))


def mysqld_exporter(window: Window, flags: Collection[str] = FLAGS) -> Window:
    """What mysqld_exporter tells with these flags."""
    opened = {name for flag in flags for name in _OF_FLAGS.get(flag, ())}
    return Window(
        tuple(_with_outcomes(_mysqld_exporter(snapshot, flags), snapshot, opened) for snapshot in window.snapshots)
    )


def _with_outcomes(snapshot: Snapshot, recorded: Snapshot, opened: Collection[str] = ()) -> Snapshot:
    """The snapshot with the reason why sections are not known.

    A section that series tell, and that nobody read yet when the recording was made, is no failure: facts take it as
    they do in the recording.
    """
    known = ReadOutcome(snapshot.at, 0.0)
    shut = ReadOutcome(snapshot.at, 0.0, "absent", "no series have it", "run the sidecar")
    known_names = {*snapshot.sections, *(name for name in opened if name not in recorded.outcomes)}
    return replace(
        snapshot,
        outcomes={collector.name: known if collector.name in known_names else shut for collector in COLLECTORS},
    )


def _sidecar(snapshot: Snapshot) -> Snapshot:
    sections = {name: snapshot.sections[name] for name in _SIDECAR_SECTIONS if name in snapshot.sections}
    sections |= _some(snapshot, "status", (*_STATUS, *_REDO, *_ROWS)) | _some(snapshot, "innodb_metrics", _IBUF)
    sections |= _some(snapshot, "variables", SETTINGS)
    if (files := snapshot[DATA_FILES]) is not None:
        sections["data_files"] = replace(files, bytes=UNKNOWN)
    if (ddl := snapshot[DDL]) is not None:
        sections["ddl"] = replace(ddl, stages=None)
    if (sizes := snapshot[INDEX_SIZES]) is not None:
        largest = sorted(sizes.sizes, key=lambda index: -sizes.sizes[index].pages)[:TOP]
        rest = sum(size.pages for index, size in sizes.sizes.items() if index not in largest)
        sections["index_sizes"] = IndexSizes({index: sizes.sizes[index] for index in largest}, sizes.other_pages + rest)
    return replace(snapshot, sections=sections)


def _mysqld_exporter(snapshot: Snapshot, flags: Collection[str]) -> Snapshot:
    known = snapshot.sections
    sections: dict[str, Any] = _some(snapshot, "status", (*_STATUS, *_REDO, *_ROWS))
    if (variables := snapshot[VARIABLES]) is not None:
        sections["variables"] = {name: value for name, value in variables.items() if _exported(value)}
    if (pools := snapshot[POOLS]) is not None and snapshot[STATUS] is not None:
        sections["pools"] = tuple(_pool(pool, mariadb=snapshot.server.mariadb) for pool in pools)
    if "innodb_metrics" in flags:
        sections |= _some(snapshot, "innodb_metrics", _IBUF)
    if "tables" in flags and (sizes := snapshot[INDEX_SIZES]) is not None:
        sections["index_sizes"] = IndexSizes(_by_table(sizes.sizes, named="indexiowaits" in flags), sizes.other_pages)
    for flag, names in _OF_FLAGS.items():
        sections |= {name: known[name] for name in names if flag in flags and name in known}
    if "eventsstatements" in flags and (counts := snapshot[COUNT_STATEMENTS]) is not None:
        sections["count_statements"] = counts
    if "file_instances" in flags and (files := snapshot[TABLE_FILES]) is not None:
        sections["table_files"] = {table: FileReads(file.reads, UNKNOWN, UNKNOWN) for table, file in files.items()}
    if "file_events" in flags and (reads := snapshot[DATA_FILES]) is not None:
        sections["data_files"] = replace(reads, bytes=UNKNOWN)
    if "limits" in flags and (machine := snapshot[MACHINE]) is not None:
        limits = ("cores", "memory_bytes", "memory_available_bytes")
        sections["machine"] = Machine(**{name: getattr(machine, name) for name in limits})
    return replace(snapshot, sections=sections)


def _some(snapshot: Snapshot, section: str, names: Collection[str]) -> dict[str, Any]:
    known = snapshot.sections.get(section)
    return {} if known is None else {section: {name: known[name] for name in names if name in known}}


def _exported(value: str) -> bool:
    """Whether mysqld_exporter makes a number of a variable's value."""
    try:
        float(value)
    except ValueError:
        return value in ("ON", "OFF")
    return True


def _pool(pool: BufferPool, *, mariadb: bool) -> BufferPool:
    """Only MariaDB's status tells old pages and pages made young."""
    return pool if mariadb else replace(pool, old_pages=UNKNOWN, made_young=UNKNOWN, not_made_young=UNKNOWN)


def _by_table(sizes: Mapping[Index, IndexSize], *, named: bool) -> dict[Index, IndexSize]:
    """What information_schema.TABLES tells: a table's rows, its clustered index and all others together.

    Args:
        sizes: Of each index.
        named: Whether the names of the indexes are known. Then a single other one has its own.
    """
    summed: dict[Index, IndexSize] = {}
    rows = {Table(index.schema, index.table): size.rows for index, size in sizes.items() if index.clustered}
    others = Counter(Table(index.schema, index.table) for index in sizes if not index.clustered)
    for index, size in sizes.items():
        table = Table(index.schema, index.table)
        own = index.index if named and others[table] == 1 else SECONDARY
        name = Index(table.schema, table.table, "PRIMARY" if index.clustered else own)
        before = summed.get(name, IndexSize(0, UNKNOWN, rows.get(table) if index.clustered else None))
        summed[name] = replace(before, pages=before.pages + size.pages)
    return summed
