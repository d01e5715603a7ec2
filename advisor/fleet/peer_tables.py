"""Sections of tables from the series of mysqld_exporter.

Sizes and rows are of INFORMATION_SCHEMA.TABLES: estimates that MySQL 8.0 and later keep for a day
(information_schema_stats_expiry). They are marked, for the rules to be less sure.
"""

from __future__ import annotations

import functools
import heapq
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from advisor.fleet import queries
from advisor.fleet.readings import Points, Reading
from advisor.fleet.sections import UNKNOWN
from exporter.collectors.base import KEPT
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import SECONDARY, IndexSize, IndexSizes
from exporter.collectors.table_io import NO_INDEX, IndexIo
from exporter.rows import number
from exporter.snapshot import Index, Snapshot, Table
from exporter.table_names import SYSTEM_SCHEMAS, from_filename

Key = TypeVar("Key")

COUNT = queries.PEER_COUNT
QUERIES = (
    queries.PEER_ROWS_OF_TABLES,
    queries.PEER_SIZES,
    queries.PEER_ENGINES,
    queries.PEER_FILE_SIZES,
    queries.PEER_INDEX_IO,
    queries.PEER_INDEXES,
    queries.PEER_INDEXES_LOST,
    queries.PEER_LOCKS,
    queries.PEER_FILES,
)
_NO_INDEX = "NONE"


def still(reading: Reading, end: float, latest: Snapshot) -> dict[str, Any]:
    """The sections that hardly move, as of the window's end; None for one that is not known."""
    return {"index_sizes": _index_sizes(reading, end, latest), "file_sizes": _file_sizes(reading, end)}


def moving(reading: Reading, points: Sequence[float], latest: Snapshot) -> Iterator[dict[str, Any]]:  # noqa: ARG001 - as of other sources
    """The counters of tables, at each of the points of a window; None for a section that is not known.

    Instruments that are off leave zeros, which nothing tells from real ones. So a section without a count that grew
    since the server's start is not known.
    """
    rows, statements, files = _rows(reading), _statements(reading), _files(reading)
    resting = {index: _index_io(of, points[-1]) for index, of in rows.items() if _rests(of, points)}
    for point in points:
        io = {
            index: resting.get(index) or _index_io(of, point)
            for index, of in rows.items()
            if index in resting or any(point in each for each in of.values())
        }
        scans = {_table(index): each.fetched for index, each in io.items() if index.index == NO_INDEX and each.fetched}
        read = _largest(_at(files, point), float)
        yield {
            "table_io": _largest(io, lambda each: each.fetched) or None,
            "table_scans": scans if io else None,
            "table_statements": _largest(_at(statements, point), float) or None,
            "table_files": {table: FileReads(count, UNKNOWN, UNKNOWN) for table, count in read.items()} or None,
        }


def _index_sizes(reading: Reading, end: float, latest: Snapshot) -> IndexSizes | None:
    """InnoDB's tables: the clustered index, and all others together, by its name where there is only one.

    Tables with compressed pages are left out: nothing tells the size of these.
    """
    page_bytes = number(latest.setting("innodb_page_size"))
    formats = {Table(schema, table): row_format for (schema, table, row_format), _ in reading.each("peer-engines", end)}
    if page_bytes is None or not formats:
        return None
    secondary = _secondary(reading, end)
    sizes: dict[Index, IndexSize] = {}
    for table, row_format in formats.items():
        names = table.schema, table.table
        rows = reading.value("peer-table-rows", end, *names)
        own, others = (reading.value("peer-sizes", end, *names, part) for part in ("data_length", "index_length"))
        if row_format == "Compressed" or table.schema in SYSTEM_SCHEMAS or None in (rows, own, others):
            continue
        sizes[Index(*names, "PRIMARY")] = IndexSize(round((own or 0.0) / page_bytes), UNKNOWN, round(rows or 0.0))
        if others:
            of_table = secondary.get(table, ())
            name = of_table[0] if len(of_table) == 1 else SECONDARY
            sizes[Index(*names, name)] = IndexSize(round(others / page_bytes), UNKNOWN, None)
    return IndexSizes(sizes, 0, estimated=True)


def _secondary(reading: Reading, end: float) -> dict[Table, list[str]]:
    """The names of the secondary indexes of each table that was opened; nothing where some may be missing."""
    found: dict[Table, list[str]] = {}
    if reading.value("peer-indexes-lost", end) is not None:
        return found
    for (schema, table, index), _ in reading.each("peer-indexes", end):
        found.setdefault(Table(schema, table), []).append(index)
    return found


def _file_sizes(reading: Reading, end: float) -> dict[Table, int] | None:
    found: dict[Table, int] = {}
    for (name,), size in reading.each("peer-file-sizes", end):
        table = Table(*from_filename(name))
        if table.schema not in SYSTEM_SCHEMAS:
            found[table] = found.get(table, 0) + round(size)
    return found or None


def _rows(reading: Reading) -> Mapping[Index, Mapping[str, Points]]:
    """Rows by index and operation, without the time that statements spent on them."""
    found: dict[Index, dict[str, Points]] = {}
    for (schema, table, index, operation), counts in reading.series("peer-index-io").items():
        if schema not in SYSTEM_SCHEMAS:
            name = NO_INDEX if index == _NO_INDEX else index
            found.setdefault(Index(schema, table, name), {})[operation] = counts
    return found


def _rests(of: Mapping[str, Points], points: Sequence[float]) -> bool:
    """Whether its counts are the same at all points, as those of most indexes of a server."""
    return all(
        points[-1] in each and {each.get(point) for point in points} == {each[points[-1]]} for each in of.values()
    )


def _index_io(of: Mapping[str, Points], point: float) -> IndexIo:
    fetched, inserted, updated, deleted = (
        round(of[operation].get(point, 0.0)) if operation in of else 0
        for operation in ("fetch", "insert", "update", "delete")
    )
    return IndexIo(fetched, inserted, updated, deleted, UNKNOWN, UNKNOWN)


def _statements(reading: Reading) -> Mapping[Table, Sequence[Points]]:
    """Each statement locks each of its tables once."""
    found: dict[Table, list[Points]] = {}
    for (schema, name, _), counts in reading.series("peer-locks").items():
        if schema not in SYSTEM_SCHEMAS:
            found.setdefault(Table(schema, name), []).append(counts)
    return found


def _files(reading: Reading) -> Mapping[Table, Sequence[Points]]:
    """Reads of tables' own files, of each partition; their bytes and time are not known."""
    found: dict[Table, list[Points]] = {}
    for (name,), counts in reading.series("peer-files").items():
        table = _table_of(name)
        if table.schema:  # else a general tablespace
            found.setdefault(table, []).append(counts)
    return found


def _at(counts: Mapping[Table, Sequence[Points]], point: float) -> dict[Table, int]:
    """The sum of each table's counts at a point, as far as they are known there."""
    return {
        table: sum(round(each[point]) for each in some if point in each)
        for table, some in counts.items()
        if any(point in each for each in some)
    }


@functools.lru_cache(10_000)
def _table_of(file_name: str) -> Table:
    """The table of a data file. A window has nine points, and fleets have many like servers."""
    path = PurePath(file_name)
    return Table(*from_filename(f"{path.parent.name}/{path.stem}"))


def _table(index: Index) -> Table:
    return Table(index.schema, index.table)


def _largest(found: Mapping[Key, Any], size: Any) -> dict[Key, Any]:
    """The KEPT largest entries, as a sidecar keeps them."""
    if len(found) <= KEPT:
        return dict(found)
    return dict(heapq.nlargest(KEPT, found.items(), key=lambda each: size(each[1])))
