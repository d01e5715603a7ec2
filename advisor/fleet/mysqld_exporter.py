"""Snapshots from the series of mysqld_exporter (mysql_*), as of versions 0.19 and 0.20.

Tables and counts of statements are read in advisor.fleet.mysqld_exporter_tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from advisor.fleet import mysqld_exporter_tables as tables
from advisor.fleet.queries import NUMBERS, FleetQuery, last, named, present
from advisor.fleet.reader import ServerSeries
from advisor.fleet.sections import CHECKPOINT_AGE, SeriesSource, newest, only, partial, pools, printed
from advisor.fleet.series import Grid
from advisor.observe.window import Window
from exporter.collectors import BY_NAME
from exporter.collectors.base import SourceUnavailable, require_performance_schema
from exporter.collectors.data_files import INSTRUMENT, FileReads
from exporter.collectors.machine import MACHINE, Machine
from exporter.collectors.pools import BufferPool
from exporter.mysqld_exporter_names import METRICS_PREFIX, STATUS_PREFIX, VARIABLES_PREFIX
from exporter.rows import credible, lower_half
from exporter.server import Server, identify
from exporter.snapshot import Failure, ReadOutcome, Snapshot

_STATUS = (
    "uptime",
    "innodb_buffer_pool_read_ahead_rnd",
    "innodb_redo_log_capacity_resized",
    "innodb_checkpoint_max_age",
)
"""What facts take from SHOW GLOBAL STATUS, by the names of the status section."""
_POOLS = {
    "pages_read": "innodb_pages_read",
    "pages_created": "innodb_pages_created",
    "pages_written": "innodb_pages_written",
    "gets": "innodb_buffer_pool_read_requests",
    "read_ahead": "innodb_buffer_pool_read_ahead",
    "read_ahead_evicted": "innodb_buffer_pool_read_ahead_evicted",
}
"""By field of BufferPool, the status variable."""
_MOVED = {"made_young": "made_young", "not_made_young": "made_not_young"}
"""By field of BufferPool, the operation of buffer_pool_page_changes_total."""
_IBUF = ("ibuf_size", "ibuf_merges", "ibuf_merges_insert", "ibuf_merges_delete", "ibuf_merges_delete_mark")
"""Counters of the section innodb_metrics."""
_SERVICES = ("aad_auth_only", "cloudsql_iam_authentication")
"""Variables that reveal a cloud service."""
FLAGS = {
    "innodb_metrics": "--collect.info_schema.innodb_metrics",
    "data_files": "--collect.perf_schema.file_events",
    "index_sizes": "--collect.info_schema.tables",
    "table_scans": "--collect.perf_schema.indexiowaits",
    "count_statements": "--collect.perf_schema.eventsstatements",
    "table_files": "--collect.perf_schema.file_instances",
    "table_io": "--collect.perf_schema.indexiowaits",
    "table_statements": "--collect.perf_schema.tablelocks",
    "file_sizes": "--collect.info_schema.innodb_tablespaces",
}
"""By section, the flag of mysqld_exporter that opens its series."""
_FLAGGED = "|".join(dict.fromkeys(flag.removeprefix("--").replace(".", "[.]") for flag in FLAGS.values()))
RUN_SIDECAR = "run innodb-advisor as the server's sidecar"
_NAME_POD = "name the pod in --identity, and scrape kube-state-metrics and cAdvisor; or run the sidecar"


def _mean(name: str, variable: str) -> FleetQuery:
    return FleetQuery(name, f"max by ($I) (avg_over_time({STATUS_PREFIX}{variable}{{$S}}[$D]))")


AT = FleetQuery("mysqld-exporter-at", "max by ($I) (timestamp(mysql_global_status_uptime{$S}))")
SCRAPES = FleetQuery("mysqld-exporter-scrapes", "max by ($I) (count_over_time(mysql_global_status_uptime{$S}[$G]))")
WINDOW = (
    present("mysqld-exporter-server", "mysql_version_info{$S}", "version", "version_comment"),
    last(  # a flag may be on and have no series
        "mysqld-exporter-collectors",
        f'mysql_exporter_collector_success{{collector=~"{_FLAGGED}",$S}}',
        "collector",
        at_end=True,
    ),
    AT,
    last(
        "mysqld-exporter-status", named(f"{STATUS_PREFIX}{name}" for name in (*_STATUS, *_POOLS.values())), by_name=True
    ),
    last("mysqld-exporter-pages", "mysql_global_status_buffer_pool_pages{$S}", "state"),
    last("mysqld-exporter-changes", "mysql_global_status_buffer_pool_page_changes_total{$S}", "operation"),
    last("mysqld-exporter-rows", "mysql_global_status_innodb_row_ops_total{$S}", "operation"),
    _mean("mysqld-exporter-dirty-pages", "buffer_pool_dirty_pages"),
    # Three queries, as a shard's matchers are in each of them once: with more VictoriaMetrics finds it too long.
    _mean("mysqld-exporter-current-lsn", "innodb_redo_log_current_lsn"),
    _mean("mysqld-exporter-checkpoint-lsn", "innodb_redo_log_checkpoint_lsn"),
    _mean("mysqld-exporter-checkpoint-age", "innodb_checkpoint_age"),
    last("mysqld-exporter-ibuf", named(f"{METRICS_PREFIX}change_buffer_{name}_total" for name in _IBUF), by_name=True),
    last(
        "mysqld-exporter-settings",
        named(f"{VARIABLES_PREFIX}{name}" for name in (*NUMBERS, *_SERVICES, tables.LOWER_CASE)),
        by_name=True,
    ),
    last(
        "mysqld-exporter-file-events",
        named(
            ("mysql_perf_schema_file_events_total", "mysql_perf_schema_file_events_seconds_total"),
            f'event_name="{INSTRUMENT}",mode="read",',
        ),
        by_name=True,
    ),
    *tables.STATEMENTS,
)

_CONTAINERS = 'container=~"mysql|mysqld|mariadb|database"'
_LIMITS = "kube_pod_container_resource_limits"
_PODS = (  # the machines of servers without a sidecar
    replace(
        last("kube-limits", f'{_LIMITS}{{resource=~"memory|cpu",{_CONTAINERS},$S}}', "resource", at_end=True),
        of_pod=True,
    ),
    FleetQuery(
        "kube-memory",
        f"max by ($I) (max_over_time(container_memory_working_set_bytes{{{_CONTAINERS},$S}}[$W]))",
        at_end=True,
        of_pod=True,
    ),
)


def _window(series: ServerSeries, grid: Grid) -> Window:
    server = _server(series, grid.end)
    failures = {section: _failure(series, server, grid.end, section) for section in BY_NAME}
    machine = _machine(series, grid.end)
    settings = dict(zip(grid.points, _variables(series, grid), strict=True))

    def sections(point: float) -> dict[str, Any]:
        return {
            "status": _status(series, point),
            "variables": settings[point],
            "pools": _pools(series, point),
            "innodb_metrics": _ibuf(series, point),
            "data_files": _data_files(series, point),
            "count_statements": tables.counted(series, point),
            "machine": machine,
        }

    without = Snapshot(grid.end, server, "", failures)
    return tables.since_its_begin(newest(series, AT, grid.points, without, sections))


def _machine(series: ServerSeries, end: float) -> Machine | None:
    """The limits of the server's container, and the most memory that it used over the window."""
    cores, memory = (series.value("kube-limits", end, resource) for resource in ("cpu", "memory"))
    used = series.value("kube-memory", end)
    if cores is None and memory is None:
        return None
    limits = {
        "cores": cores,
        "cores_source": None if cores is None else _LIMITS,
        "memory_bytes": memory,
        "memory_source": None if memory is None else _LIMITS,
        "memory_available_bytes": None if memory is None or used is None else max(0.0, memory - used),
    }
    return partial(Machine, limits)


def _server(series: ServerSeries, end: float) -> Server:
    version, comment = only(series, "mysqld-exporter-server", end)
    services = {name: "" for name in _SERVICES if series.value(f"{VARIABLES_PREFIX}{name}", end) is not None}
    on = series.value(f"{VARIABLES_PREFIX}performance_schema", end) == 1.0
    known = {"version": version, "version_comment": comment, "performance_schema": "ON" if on else "OFF"}
    return identify(known | services)


def _failure(series: ServerSeries, server: Server, at: float, section: str) -> ReadOutcome:
    """Why a section is not known, where it is not, and what would open it."""
    flag = FLAGS.get(section)
    if section == MACHINE.name:
        return ReadOutcome(at, 0.0, "absent", "no series tell the limits of the server's container", _NAME_POD)
    if flag is None:
        return ReadOutcome(at, 0.0, "absent", "no series of mysqld_exporter have it", RUN_SIDECAR)
    if "perf_schema" in flag:
        try:
            require_performance_schema(server)
        except SourceUnavailable as error:
            return ReadOutcome(at, 0.0, error.failure, error.reason, error.cure)
    succeeded = series.value("mysqld-exporter-collectors", at, flag.removeprefix("--"))
    if succeeded is None:
        reason = f"no series of mysqld_exporter's {flag} tell it"
        # Relabelling may have dropped the series of all collectors: then this one may be on.
        failure: Failure = "disabled" if series.series("mysqld-exporter-collectors") else "absent"
        return ReadOutcome(at, 0.0, failure, reason, f"start mysqld_exporter with {flag}")
    if not succeeded:
        return ReadOutcome(at, 0.0, "failed", f"mysqld_exporter's {flag} fails", "mysqld_exporter's log says why")
    lack = tables.lack(series, at) if section == "count_statements" else None
    reason, cure = lack or (f"mysqld_exporter's {flag} does not tell it here", None)
    return ReadOutcome(at, 0.0, "absent", reason, cure or RUN_SIDECAR)


def _number(series: ServerSeries, point: float, name: str) -> float | None:
    """A status variable; None where it has wrapped below 0."""
    value = series.value(STATUS_PREFIX + name, point)
    return value if value is not None and credible(value) else None


def _status(series: ServerSeries, point: float) -> dict[str, float] | None:
    """What facts take from SHOW GLOBAL STATUS: the checkpoint's age as a mean since the point before."""
    status = {
        **{name: _number(series, point, name) for name in _STATUS},
        CHECKPOINT_AGE: _checkpoint_age(series, point),
        **{f"innodb_rows_{operation}": rows for (operation,), rows in series.values("mysqld-exporter-rows", point)},
    }
    known = {name: value for name, value in status.items() if value is not None}
    return known if "uptime" in known else None


def _checkpoint_age(series: ServerSeries, point: float) -> float | None:
    """The mean since the point before, bytes: MariaDB's own, or the difference of MySQL's two positions in the log."""
    current, checkpoint, age = (
        series.value(f"mysqld-exporter-{name}", point) for name in ("current-lsn", "checkpoint-lsn", "checkpoint-age")
    )
    return current - checkpoint if current is not None and checkpoint is not None and current >= checkpoint else age


def _variables(series: ServerSeries, grid: Grid) -> Iterator[Mapping[str, str] | None]:
    """Settings at each point, as the server prints them. mysqld_exporter has no words but ON and OFF."""
    settings = {
        name: points
        for name in (*NUMBERS, tables.LOWER_CASE)
        if (points := series.series(f"{VARIABLES_PREFIX}{name}").get(()))
    }
    known: dict[tuple[float | None, ...], Mapping[str, str]] = {}  # settings hardly ever change
    for point in grid.points:
        values = tuple([points.get(point) for points in settings.values()])
        if values not in known:
            known[values] = {
                name: printed(name, value) for name, value in zip(settings, values, strict=True) if value is not None
            }
        yield known[values] or None


def _pools(series: ServerSeries, point: float) -> tuple[BufferPool, ...] | None:
    """All instances. Pages that are neither data nor free may have wrapped below 0: then the size is not known."""
    data, free, misc = (series.value("mysqld-exporter-pages", point, state) for state in ("data", "free", "misc"))
    if data is None or free is None or misc is None or not all(map(credible, (data, free, misc))):
        return None
    instances = series.value(f"{VARIABLES_PREFIX}innodb_buffer_pool_instances", point) or 1.0
    values = {
        "size_pages": data + free + misc,
        "free_pages": free,
        "database_pages": data,
        "old_pages": series.value("mysqld-exporter-pages", point, "old"),
        "modified_pages": series.value("mysqld-exporter-dirty-pages", point),
        **{field: series.value("mysqld-exporter-changes", point, of) for field, of in _MOVED.items()},
        **{field: _number(series, point, name) for field, name in _POOLS.items()},
    }
    return pools(values, round(instances))


def _ibuf(series: ServerSeries, point: float) -> dict[str, int] | None:
    counters: dict[str, int | None] = {}
    for name in _IBUF:
        value = series.value(f"{METRICS_PREFIX}change_buffer_{name}_total", point)
        if value is not None and credible(value):
            counters[name] = lower_half(value) if name == "ibuf_size" else round(value)
    return {name: value for name, value in counters.items() if value is not None} or None


def _data_files(series: ServerSeries, point: float) -> FileReads | None:
    reads, seconds = (series.value(f"mysql_perf_schema_file_events_{unit}total", point) for unit in ("", "seconds_"))
    return None if reads is None else partial(FileReads, {"reads": reads, "seconds": seconds})


MYSQLD_EXPORTER = SeriesSource(AT, SCRAPES, (*WINDOW, *_PODS), _window, tables.COUNT, tables.QUERIES, tables.sections)
QUERIES = (*WINDOW, SCRAPES, tables.COUNT, *tables.QUERIES, *_PODS)
