"""Snapshots from the series of innodb-advisor's own exporter (innodb_*).

A series becomes the field again that its metric shows (exporter/collectors).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, get_args

from advisor.fleet.queries import WORDS, FleetQuery, exposed, last, named, present, shown
from advisor.fleet.reader import ServerSeries
from advisor.fleet.sections import CHECKPOINT_AGE, SeriesSource, newest, only, partial, pools, printed
from advisor.fleet.series import Grid
from advisor.observe.window import Window
from exporter.collectors import BY_NAME
from exporter.collectors.base import OF_INDEX, OF_TABLE, OTHER, Collector
from exporter.collectors.cached_indexes import CACHED_INDEXES, CachedIndexes
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.collectors.data_files import DATA_FILES, FileReads
from exporter.collectors.ddl import DDL, Ddl
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.indexes import INDEXES, TYPES, columns_of_text
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.key_bytes import KEY_BYTES
from exporter.collectors.machine import CONFIGURATION, MACHINE, Machine
from exporter.collectors.parallel_readers import PARALLEL_READERS, ParallelReaders
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.knowledge import Managed
from exporter.server import Server, identify
from exporter.snapshot import Index, ReadOutcome, Snapshot, Table

Item = TypeVar("Item")

_LIMIT = "innodb_checkpoint_age_limit_bytes"
_DIRTY = "innodb_buffer_pool_modified_pages"
_OF_POOLS = tuple(name for name in exposed(POOLS, labels=("pool",)) if name != _DIRTY)
_SERVER = ("flavour", "version_text", "version_comment", "managed")

AT = FleetQuery("sidecar-at", "max by ($I) (timestamp(innodb_server_uptime_seconds{$S}))")
SCRAPES = FleetQuery("sidecar-scrapes", "max by ($I) (count_over_time(innodb_server_uptime_seconds{$S}[$G]))")
WINDOW = (
    present("sidecar-server", "innodb_server_info{$S}", *_SERVER),
    AT,
    FleetQuery(
        "sidecar-pools",
        f"sum by ($I, __name__) (max by ($I, pool, __name__) (last_over_time({named(_OF_POOLS)}[5m])))",
    ),
    FleetQuery(
        "sidecar-pool-pages",
        "sum by ($I, __name__, sublist) (max by ($I, pool, __name__, sublist)"
        f" (last_over_time({named(exposed(POOLS, labels=('pool', 'sublist')))}[5m])))",
        ("sublist",),
    ),
    FleetQuery(
        "sidecar-pool-instances",
        f"count by ($I) (max by ($I, pool) (last_over_time({_DIRTY}{{$S}}[5m])))",
        at_end=True,
    ),
    FleetQuery("sidecar-dirty-pages", f"sum by ($I) (max by ($I, pool) (avg_over_time({_DIRTY}{{$S}}[$D])))"),
    FleetQuery("sidecar-checkpoint", "max by ($I) (avg_over_time(innodb_checkpoint_age_bytes{$S}[$D]))"),
    last(
        "sidecar-numbers",
        named((*exposed(STATUS, INNODB_METRICS, DATA_FILES, PARALLEL_READERS, DDL, MACHINE), _LIMIT)),
        by_name=True,
    ),
    shown("sidecar-operations", STATUS, INNODB_METRICS, labels=("operation",)),
    last("sidecar-settings", "innodb_setting{$S}", "name"),
    FleetQuery(
        "sidecar-settings-text",
        f'group by ($I, name, value) (last_over_time(innodb_setting_info{{name=~"{"|".join(WORDS)}",$S}}[5m]))',
        ("name", "value"),
    ),
    shown("sidecar-machine", MACHINE, labels=("source",), at_end=True),
    present(
        "sidecar-storage", "innodb_server_storage_info{$S}", "storage", "filesystem", "device", "rotational", "source"
    ),
    FleetQuery(
        "sidecar-health",
        "min by ($I, collector) (last_over_time(innodb_exporter_collector_success{$S}[5m]))",
        ("collector",),
        at_end=True,
    ),
)
COUNT = FleetQuery(
    "sidecar-tables-count",
    "count by ($I) ({"
    '__name__=~"innodb_(index_pages|table_scan_rows_total|count_star_total|table_file_reads_total)",$S})',
    at_end=True,
)
TABLES = (
    shown("sidecar-index-pages", INDEX_SIZES, CACHED_INDEXES, labels=OF_INDEX, at_end=True),
    present("sidecar-index-info", "innodb_index_info{$S}", *OF_INDEX, "kind", "columns"),
    shown("sidecar-table-rows", INDEX_SIZES, KEY_BYTES, labels=OF_TABLE, at_end=True),
    shown("sidecar-tables", TABLE_SCANS, COUNT_STATEMENTS, TABLE_FILES, labels=OF_TABLE),
)
_LATER = frozenset(
    collector.name
    for collector in (INDEX_SIZES, INDEXES, CACHED_INDEXES, KEY_BYTES, TABLE_SCANS, COUNT_STATEMENTS, TABLE_FILES)
)
"""Collectors whose sections come later, for single servers."""


def _window(series: ServerSeries, grid: Grid) -> Window:
    server = _server(only(series, "sidecar-server", grid.end))
    without = Snapshot(grid.end, server, "", dict(_outcomes(series, grid.end)))
    return newest(series, AT, grid.points, without, lambda point: _sections(series, point, grid.end))


def _server(labels: Sequence[str]) -> Server:
    flavour, version, comment, managed = labels
    variables = {"version": version, "version_comment": comment, "performance_schema": "ON"}
    server = identify(variables | ({"aurora_version": ""} if flavour == "aurora" else {}))
    return replace(server, managed=next((service for service in get_args(Managed) if service == managed), None))


def _outcomes(series: ServerSeries, end: float) -> Iterator[tuple[str, ReadOutcome]]:
    """Each collector's last run, as far as it has series: what it reads is known, or why it is not."""
    failed = ReadOutcome(end, 0.0, "failed", "the sidecar cannot read it", "`innodb-advisor check` says why")
    absent = ReadOutcome(end, 0.0, "absent", "the sidecar's series do not have it", "let the sidecar judge")
    succeeded = {collector: value for (collector,), value in series.values("sidecar-health", end)}
    for name in BY_NAME:
        if name in succeeded and not succeeded[name]:
            yield name, failed
        else:
            yield name, ReadOutcome(end, 0.0) if name in succeeded and name in _LATER else absent


def _sections(series: ServerSeries, point: float, end: float) -> dict[str, Any]:
    return {
        "status": _status(series, point),
        "variables": _variables(series, point),
        "pools": _pools(series, point, end),
        "innodb_metrics": {name: round(value) for name, value in series.fields(INNODB_METRICS, point).items()},
        "data_files": _item(series, DATA_FILES, FileReads, point, "reads"),
        "parallel_readers": _item(series, PARALLEL_READERS, ParallelReaders, point, "threads"),
        "ddl": _item(series, DDL, Ddl, point, "threads", "builds"),
        "machine": _machine(series, point, end),
    }


def _item(series: ServerSeries, collector: Collector[Any], kind: type[Item], point: float, *one_of: str) -> Item | None:
    """The only item of a section; None where none of these fields is known."""
    fields = series.fields(collector, point)
    return partial(kind, fields) if any(name in fields for name in one_of) else None


def _status(series: ServerSeries, point: float) -> Mapping[str, float] | None:
    """What facts take from SHOW GLOBAL STATUS: also the checkpoint's age, as a mean since the point before."""
    beside = {
        CHECKPOINT_AGE: series.value("sidecar-checkpoint", point),
        "innodb_checkpoint_max_age": series.value(_LIMIT, point),
    }
    status = {**series.fields(STATUS, point), **{name: age for name, age in beside.items() if age is not None}}
    return status if "uptime" in status else None


def _variables(series: ServerSeries, point: float) -> dict[str, str]:
    """Settings as the server prints them, without one that has two words just after a change."""
    settings = {name: printed(name, value) for (name,), value in series.values("sidecar-settings", point)}
    words: dict[str, set[str]] = {}
    for (name, value), _ in series.values("sidecar-settings-text", point):
        words.setdefault(name, set()).add(value)
    return settings | {name: value for name, values in words.items() for value in values if len(values) == 1}


def _pools(series: ServerSeries, point: float, end: float) -> Any:
    fields: Mapping[str, Any] = series.fields(POOLS, point)
    instances = series.value("sidecar-pool-instances", end)
    if instances is None or not {"young_pages", "old_pages", "free_pages", "size_pages"} <= fields.keys():
        return None
    dirty = series.value("sidecar-dirty-pages", point)
    whole = {**fields, "database_pages": fields["young_pages"] + fields["old_pages"], "modified_pages": dirty}
    return pools(whole, round(instances))


def _machine(series: ServerSeries, point: float, end: float) -> Machine | None:
    sourced: dict[str, Any] = {}
    items = series.items(MACHINE, end)
    for name in ("cores", "memory_bytes"):
        known = [(labels, fields[name]) for labels, fields in items.items() if name in fields]
        if len(known) == 1:  # just after a change there are two sources
            [((source,), sourced[name])] = known
            sourced[f"{name.removesuffix('_bytes')}_source"] = source or None
    storage = [labels for labels, _ in series.values("sidecar-storage", end)]
    kind, filesystem, device, rotational, source = storage[0] if len(storage) == 1 else ("",) * 5
    configured = source == CONFIGURATION
    machine = partial(
        Machine,
        {
            **series.fields(MACHINE, point),
            **sourced,
            "filesystem": filesystem or None,
            "device": device or None,
            "device_source": None if configured else source or None,
            "rotational": {"true": True, "false": False}.get(rotational),
            "storage_configured": kind or None if configured else None,
        },
    )
    return None if machine == Machine() else machine


def _tables(series: ServerSeries, points: Sequence[float], latest: Snapshot) -> Iterator[dict[str, Any]]:
    shut = {name for name, outcome in latest.outcomes.items() if outcome.failure is not None}
    keys = {Table(*names): round(fields[""]) for names, fields in series.items(KEY_BYTES, points[-1]).items()}
    indexes = _indexes(series, points[-1])
    for point in points:
        scans = series.items(TABLE_SCANS, point).items()
        sections: dict[str, Any] = {
            "key_bytes": keys,
            "table_scans": {Table(*names): round(fields[""]) for names, fields in scans},
            "count_statements": dict(_of_tables(series, COUNT_STATEMENTS, CountStatement, point, "executions")),
            "table_files": dict(_of_tables(series, TABLE_FILES, FileReads, point, "reads")),
        }
        yield indexes | {name: section for name, section in sections.items() if name not in shut}


def _of_tables(
    series: ServerSeries, collector: Collector[Any], kind: type[Item], point: float, least: str
) -> Iterator[tuple[Table, Item]]:
    for names, fields in series.items(collector, point).items():
        if least in fields:
            yield Table(*names), partial(kind, fields)


def _indexes(series: ServerSeries, end: float) -> dict[str, Any]:
    """The sections that hardly move, as of the window's end; nothing without the sum over other indexes."""
    info = {Index(*names): (kind, columns) for (*names, kind, columns), _ in series.values("sidecar-index-info", end)}
    sizes = series.items(INDEX_SIZES, end)
    others = sizes.pop((OTHER.schema, OTHER.table, OTHER.index), None)
    if others is None:
        return {}
    rows = {labels: fields["rows"] for labels, fields in sizes.items() if "rows" in fields}
    indexes = {Index(*labels): fields for labels, fields in sizes.items() if "pages" in fields}
    resident = {Index(*labels): round(fields[""]) for labels, fields in series.items(CACHED_INDEXES, end).items()}
    of_others = resident.pop(OTHER, None)
    types = {index: TYPES[kind] for index, (kind, _) in info.items() if kind in TYPES}
    return {
        "index_sizes": IndexSizes(
            {index: _index_size(index, fields, rows, info) for index, fields in indexes.items()}, round(others["pages"])
        ),
        "indexes": types or None,
        # With an index of unknown size a table would look larger in the pool than on disk.
        "cached_indexes": None
        if of_others is None
        else CachedIndexes({index: count for index, count in resident.items() if index in indexes}, of_others),
    }


def _index_size(
    index: Index,
    fields: Mapping[str, float],
    rows: Mapping[tuple[str, ...], float],
    info: Mapping[Index, tuple[str, str]],
) -> IndexSize:
    of_table = rows.get((index.schema, index.table)) if index.clustered else None
    columns = columns_of_text(info[index][1] if index in info else "")
    return partial(IndexSize, {**fields, "rows": of_table, "columns": columns or None})


SIDECAR = SeriesSource(AT, SCRAPES, WINDOW, _window, COUNT, TABLES, _tables)
QUERIES = (*WINDOW, SCRAPES, COUNT, *TABLES)
