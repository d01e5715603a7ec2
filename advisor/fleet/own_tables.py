"""Sections of tables from the series of innodb-advisor's own exporter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor.fleet import queries
from advisor.fleet.readings import Reading
from advisor.fleet.sections import UNKNOWN
from exporter.collectors.base import OTHER
from exporter.collectors.cached_indexes import CachedIndexes
from exporter.collectors.count_statements import CountStatement
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.indexes import TYPES, columns_of_text
from exporter.snapshot import Index, Snapshot, Table

COUNT = queries.OWN_COUNT
QUERIES = (queries.OWN_INDEXES, queries.OWN_INDEX_INFO, queries.OWN_ROWS, queries.OWN_TABLES)
_COUNTED = tuple(f"innodb_count_star_{name}total" for name in ("", "seconds_", "rows_examined_", "forced_primary_"))
_FILES = tuple(f"innodb_table_file_{name}_total" for name in ("reads", "read_bytes", "read_seconds"))


def still(reading: Reading, end: float, latest: Snapshot) -> dict[str, Any]:  # noqa: ARG001 - as of other sources
    """The sections that hardly move, as of the window's end; None for one that is not known."""
    info = {Index(*names): (kind, columns) for (*names, kind, columns), _ in reading.each("own-index-info", end)}
    pages = {Index(*labels): round(value) for labels, value in reading.each("innodb_index_pages", end)}
    others = pages.pop(OTHER, None)
    if others is None:
        return {}
    resident = {Index(*labels): round(value) for labels, value in reading.each("innodb_index_resident_pages", end)}
    of_others = resident.pop(OTHER, None)
    types = {index: TYPES[kind] for index, (kind, _) in info.items() if kind in TYPES}
    return {
        "index_sizes": IndexSizes(dict(_sizes(reading, end, pages, info)), others),
        "indexes": types or None,
        # With an index of unknown size a table would look larger in the pool than on disk.
        "cached_indexes": None
        if of_others is None
        else CachedIndexes({index: count for index, count in resident.items() if index in pages}, of_others),
    }


def moving(reading: Reading, points: Sequence[float], latest: Snapshot) -> Iterator[dict[str, Any]]:
    """The counters of tables, at each of the points of a window; None for a section that is not known."""
    shut = {name for name, outcome in latest.outcomes.items() if outcome.failure is not None}
    for point in points:
        scans = {Table(*names): round(rows) for names, rows in reading.each("innodb_table_scan_rows_total", point)}
        sections = {
            "table_scans": scans,
            "count_statements": dict(_counted(reading, point)),
            "table_files": dict(_files(reading, point)),
        }
        yield {name: None if name in shut else section for name, section in sections.items()}


def _sizes(
    reading: Reading, end: float, pages: Mapping[Index, int], info: Mapping[Index, tuple[str, str]]
) -> Iterator[tuple[Index, IndexSize]]:
    for index, size in pages.items():
        leaf = reading.value("innodb_index_leaf_pages", end, index.schema, index.table, index.index)
        rows = reading.value("own-table-rows", end, index.schema, index.table) if index.clustered else None
        columns = info[index][1] if index in info else ""
        yield (
            index,
            IndexSize(
                size,
                UNKNOWN if leaf is None else round(leaf),
                None if rows is None else round(rows),
                columns_of_text(columns) or None,
            ),
        )


def _counted(reading: Reading, point: float) -> Iterator[tuple[Table, CountStatement]]:
    for names, executions in reading.each(_COUNTED[0], point):
        seconds, examined, forced = (reading.value(name, point, *names) for name in _COUNTED[1:])
        yield (
            Table(*names),
            CountStatement(
                round(executions),
                UNKNOWN if seconds is None else seconds,
                UNKNOWN if examined is None else round(examined),
                UNKNOWN if forced is None else round(forced),
            ),
        )


def _files(reading: Reading, point: float) -> Iterator[tuple[Table, FileReads]]:
    for names, reads in reading.each(_FILES[0], point):
        size, seconds = (reading.value(name, point, *names) for name in _FILES[1:])
        yield (
            Table(*names),
            FileReads(round(reads), UNKNOWN if size is None else round(size), UNKNOWN if seconds is None else seconds),
        )
