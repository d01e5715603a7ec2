"""Sections of tables from the series of mysqld_exporter, and COUNT(*) by table from the digests that it exports.

Sizes and rows are of INFORMATION_SCHEMA.TABLES: estimates that MySQL 8.0 and later keep for a day
(information_schema_stats_expiry), so that rules are less sure of them (advisor.fleet.judging).
"""

from __future__ import annotations

import functools
import heapq
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from advisor.facts.base import SECONDARY
from advisor.fleet.queries import FleetQuery, last, named, present
from advisor.fleet.reader import Points, ServerSeries
from advisor.fleet.sections import UNKNOWN, partial
from advisor.observe.window import Window
from exporter.collectors import count_statements
from exporter.collectors.base import MOST_ROWS
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.table_io import NO_INDEX, IndexIo
from exporter.mysqld_exporter_names import VARIABLES_PREFIX
from exporter.rows import PICOSECONDS, Rows, number
from exporter.snapshot import Index, Snapshot, Table
from exporter.table_names import SYSTEM_SCHEMAS, from_filename

Key = TypeVar("Key")
Value = TypeVar("Value")
LOWER_CASE = "lower_case_table_names"

_STATEMENTS = "mysql_perf_schema_events_statements{}_total"
STATEMENTS = (
    present(  # a server may have statements, and none that counts
        "mysqld-exporter-statements", "mysql_perf_schema_events_statements_total{$S}"
    ),
    last(
        "mysqld-exporter-counts",
        named(
            (_STATEMENTS.format(of) for of in ("", "_seconds", "_rows_examined")),
            'digest_text=~"SELECT COUNT [(] ?[*?] ?[)] .*",',
        ),
        "schema",
        "digest",
        "digest_text",
        by_name=True,
    ),
)
COUNT = FleetQuery(
    "mysqld-exporter-tables-count",
    "count by ($I) ({"
    '__name__=~"mysql_info_schema_table_(rows|size|version)'
    '|mysql_perf_schema_(file_instances|index_io_waits|external_lock_waits)_total",$S})',
    at_end=True,
)
QUERIES = (
    last("mysqld-exporter-table-rows", "mysql_info_schema_table_rows{$S}", "schema", "table", at_end=True),
    last(
        "mysqld-exporter-sizes",
        'mysql_info_schema_table_size{component=~"data_length|index_length",$S}',
        *("schema", "table", "component"),
        at_end=True,
    ),
    present(
        "mysqld-exporter-engines",
        'mysql_info_schema_table_version{engine="InnoDB",$S}',
        "schema",
        "table",
        "row_format",
    ),
    last(
        "mysqld-exporter-file-sizes",
        'mysql_info_schema_innodb_tablespace_file_size_bytes{tablespace_name=~".+/.+",$S}',
        "tablespace_name",
        at_end=True,
    ),
    last(
        "mysqld-exporter-index-io",
        "mysql_perf_schema_index_io_waits_total{$S}",
        *("schema", "name", "index", "operation"),
        positive=True,
    ),
    present(  # also those that nobody used
        "mysqld-exporter-indexes",
        'mysql_perf_schema_index_io_waits_total{operation="fetch",index!~"NONE|PRIMARY",$S}',
        *("schema", "name", "index"),
    ),
    last(  # for want of room in performance_schema
        "mysqld-exporter-indexes-lost",
        'mysql_global_status_performance_schema_lost_total{instrumentation="index_stat_lost",$S}',
        at_end=True,
        positive=True,
    ),
    last(
        "mysqld-exporter-locks",
        "mysql_perf_schema_external_lock_waits_total{$S}",
        *("schema", "name", "operation"),
        positive=True,
    ),
    last(
        "mysqld-exporter-files",
        'mysql_perf_schema_file_instances_total{mode="read",file_name=~".+[.]ibd",$S}',
        "file_name",
        positive=True,
    ),
)
_NO_INDEX = "NONE"
_LONGER = "--collect.perf_schema.eventsstatements.digest_text_limit"
_LONGEST_DIGEST, _ENOUGH = 120, 1024
"""Characters of a digest that mysqld_exporter keeps without this flag, and what the server itself keeps of one."""
_MAY_COUNT = re.compile(r"SELECT COUNT \( ?[*?] ?\)(?: AS \S+)? FROM [^ ]*(?: \. ?[^ ]*)? ?")
"""A digest that was cut before it shows whether it counts a whole table."""


def sections(series: ServerSeries, points: Sequence[float], latest: Snapshot) -> Iterator[dict[str, Any]]:
    """The sections of tables at each of the points of a window; None for one that is not known.

    Sizes and rows hardly move: they are those of the end. Instruments that are off leave zeros, as idle tables
    do. So counters of which none grew since the server's start are not known.
    """
    end = points[-1]
    sizes = {"index_sizes": _index_sizes(series, end, latest), "file_sizes": _file_sizes(series, end)}
    rows, statements, files = _rows(series), _statements(series), _files(series)
    for point in points:
        io = {
            index: _index_io(of_index, point)
            for index, of_index in rows.items()
            if any(point in counts for counts in of_index.values())
        }
        scans = {
            Table(index.schema, index.table): of_index.fetched
            for index, of_index in io.items()
            if index.index == NO_INDEX and of_index.fetched
        }
        reads = _largest(_at(files, point), float)
        yield sizes | {
            "table_io": _largest(io, lambda of_index: of_index.fetched) or None,
            "table_scans": scans if io else None,
            "table_statements": _largest(_at(statements, point), float) or None,
            "table_files": {table: FileReads(count, UNKNOWN, UNKNOWN) for table, count in reads.items()} or None,
        }


def counted(series: ServerSeries, point: float) -> Mapping[Table, CountStatement] | None:
    """COUNT(*) by table up to a point.

    None without any statement, where a digest was cut that may count a table, and where its time or its rows examined
    are not told.
    """
    if not _has_statements(series):
        return None
    lower_case = next(iter(series.series(f"{VARIABLES_PREFIX}{LOWER_CASE}").get((), {}).values()), None)
    rows = []
    for labels, executions in series.values(_STATEMENTS.format(""), point):
        schema, _, digest = labels
        seconds, examined = (
            series.value(_STATEMENTS.format(of), point, *labels) for of in ("_seconds", "_rows_examined")
        )
        if _is_cut(digest) or seconds is None or examined is None:
            return None
        picoseconds = round(seconds * PICOSECONDS)
        rows.append((schema, digest, round(executions), picoseconds, round(examined), lower_case, None))
    columns = ("schema_name", "digest_text", "executions", "picoseconds", "rows_examined", "lower_case", "sample_text")
    return count_statements.parse([Rows(columns, tuple(rows))])


def since_its_begin(window: Window) -> Window:
    """The window, where the counts of a table that comes new in it are not known.

    mysqld_exporter leaves out a digest that nobody used for a day, and all but the 250 slowest. So a table that comes
    new may have been counted for long.
    """
    first, unknown = window.snapshots[0][COUNT_STATEMENTS] or {}, partial(CountStatement, {})

    def known(snapshot: Snapshot) -> Snapshot:
        counts = snapshot[COUNT_STATEMENTS]
        if counts is None or counts.keys() <= first.keys():
            return snapshot
        marked = {table: statement if table in first else unknown for table, statement in counts.items()}
        return snapshot.with_section(COUNT_STATEMENTS, marked)

    return Window(tuple(map(known, window.snapshots)))


def lack(series: ServerSeries, end: float) -> tuple[str, str | None] | None:
    """Why counts are not known although the collector is on: in words, and a cure other than the sidecar, if any.

    None where neither is so.
    """
    if not _has_statements(series):
        return "mysqld_exporter leaves out statements without a default schema, and tells no other", None
    if any(_is_cut(digest) for (_, _, digest), _ in series.values(_STATEMENTS.format(""), end)):
        return (
            "mysqld_exporter cuts the digest of what may be a count",
            f"start mysqld_exporter with {_LONGER}={_ENOUGH}",
        )
    return None


def _has_statements(series: ServerSeries) -> bool:
    """Whether there are series of any statement."""
    return bool(series.series("mysqld-exporter-statements"))


def _is_cut(digest: str) -> bool:
    """Whether the end of what may be a count lacks: at the usual limit, or at another one within a name."""
    beyond = len(digest) - _LONGEST_DIGEST
    if beyond < 0 or not _MAY_COUNT.fullmatch(digest):
        return False
    return not beyond or not count_statements.counts_table(digest)


def _index_sizes(series: ServerSeries, end: float, latest: Snapshot) -> IndexSizes | None:
    """InnoDB's tables: the clustered index, and all others together, by its name where there is only one.

    Tables with compressed pages are left out: no series has the size of these.
    """
    page_bytes = number(latest.setting("innodb_page_size"))
    formats = {
        Table(schema, table): row_format
        for (schema, table, row_format), _ in series.values("mysqld-exporter-engines", end)
    }
    if page_bytes is None or not formats:
        return None
    secondary = _secondary(series, end)
    sizes: dict[Index, IndexSize] = {}
    for table, row_format in formats.items():
        names = table.schema, table.table
        rows = series.value("mysqld-exporter-table-rows", end, *names)
        own, others = (
            series.value("mysqld-exporter-sizes", end, *names, part) for part in ("data_length", "index_length")
        )
        if (
            row_format == "Compressed"
            or table.schema in SYSTEM_SCHEMAS
            or rows is None
            or own is None
            or others is None
        ):
            continue
        sizes[Index(*names, "PRIMARY")] = partial(IndexSize, {"pages": own / page_bytes, "rows": rows})
        if others:
            of_table = secondary.get(table, ())
            name = of_table[0] if len(of_table) == 1 else SECONDARY
            sizes[Index(*names, name)] = partial(IndexSize, {"pages": others / page_bytes})
    return IndexSizes(sizes, 0)


def _secondary(series: ServerSeries, end: float) -> dict[Table, list[str]]:
    """The names of the secondary indexes of each table that was opened; nothing where some may be missing."""
    indexes: dict[Table, list[str]] = {}
    if series.value("mysqld-exporter-indexes-lost", end) is None:
        for (schema, table, index), _ in series.values("mysqld-exporter-indexes", end):
            indexes.setdefault(Table(schema, table), []).append(index)
    return indexes


def _file_sizes(series: ServerSeries, end: float) -> dict[Table, int] | None:
    sizes: dict[Table, int] = {}
    for (name,), size in series.values("mysqld-exporter-file-sizes", end):
        table = Table(*from_filename(name))
        if table.schema not in SYSTEM_SCHEMAS:
            sizes[table] = sizes.get(table, 0) + round(size)
    return sizes or None


def _rows(series: ServerSeries) -> Mapping[Index, Mapping[str, Points]]:
    """Rows by index and operation, without the time that statements spent on them."""
    rows: dict[Index, dict[str, Points]] = {}
    for (schema, table, index, operation), counts in series.series("mysqld-exporter-index-io").items():
        if schema not in SYSTEM_SCHEMAS:
            name = NO_INDEX if index == _NO_INDEX else index
            rows.setdefault(Index(schema, table, name), {})[operation] = counts
    return rows


def _index_io(of_index: Mapping[str, Points], point: float) -> IndexIo:
    fetched, inserted, updated, deleted = (
        round(of_index.get(operation, {}).get(point, 0.0)) for operation in ("fetch", "insert", "update", "delete")
    )
    return IndexIo(fetched, inserted, updated, deleted, UNKNOWN, UNKNOWN)


def _statements(series: ServerSeries) -> Mapping[Table, Sequence[Points]]:
    """Each statement locks each of its tables once."""
    statements: dict[Table, list[Points]] = {}
    for (schema, name, _), counts in series.series("mysqld-exporter-locks").items():
        if schema not in SYSTEM_SCHEMAS:
            statements.setdefault(Table(schema, name), []).append(counts)
    return statements


def _files(series: ServerSeries) -> Mapping[Table, Sequence[Points]]:
    """Reads of tables' own files, of each partition; their bytes and time are not known."""
    files: dict[Table, list[Points]] = {}
    for (name,), counts in series.series("mysqld-exporter-files").items():
        table = _table_of(name)
        if table.schema:  # else a general tablespace
            files.setdefault(table, []).append(counts)
    return files


def _at(counts: Mapping[Table, Sequence[Points]], point: float) -> dict[Table, int]:
    """The sum of each table's counts at a point, as far as they are known there."""
    return {
        table: sum(round(points[point]) for points in of_table if point in points)
        for table, of_table in counts.items()
        if any(point in points for points in of_table)
    }


@functools.lru_cache(10_000)
def _table_of(file_name: str) -> Table:
    """The table of a data file. A window has nine points, and fleets have many like servers."""
    path = PurePath(file_name)
    return Table(*from_filename(f"{path.parent.name}/{path.stem}"))


def _largest(items: Mapping[Key, Value], size: Callable[[Value], float]) -> dict[Key, Value]:
    """The MOST_ROWS largest entries, as a sidecar keeps them."""
    if len(items) <= MOST_ROWS:
        return dict(items)
    return dict(heapq.nlargest(MOST_ROWS, items.items(), key=lambda item: size(item[1])))
