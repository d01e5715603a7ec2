"""Snapshots from the series of mysqld_exporter (mysql_*), as of versions 0.19 and 0.20."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from advisor.fleet import peer_counts, queries
from advisor.fleet.readings import Reading
from advisor.fleet.sections import CHECKPOINT_AGE, UNKNOWN, pools, printed, snapshot
from advisor.fleet.series import Grid
from advisor.observe.window import Window
from exporter.collectors import BY_NAME
from exporter.collectors.base import performance_schema_off
from exporter.collectors.data_files import FileReads
from exporter.collectors.machine import MACHINE, Machine
from exporter.collectors.pools import BufferPool
from exporter.rows import credible, lower_half
from exporter.server import Server, identify
from exporter.snapshot import Outcome, Snapshot

AT = queries.PEER_AT
QUERIES = (
    queries.PEER_SERVER,
    queries.PEER_COLLECTORS,
    queries.PEER_AT,
    queries.PEER_STATUS,
    queries.PEER_PAGES,
    queries.PEER_CHANGES,
    queries.PEER_ROWS,
    queries.PEER_DIRTY,
    queries.PEER_CURRENT_LSN,
    queries.PEER_CHECKPOINT_LSN,
    queries.PEER_CHECKPOINT_AGE,
    queries.PEER_IBUF,
    queries.PEER_SETTINGS,
    queries.PEER_FILE_EVENTS,
    *peer_counts.QUERIES,
)
_STATUS, _VARIABLE, _METRIC = (
    "mysql_global_status_",
    "mysql_global_variables_",
    "mysql_info_schema_innodb_metrics_change_buffer_",
)
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
_SIDECAR = "run innodb-advisor as the server's sidecar"
_POD = "name the pod in --identity, and scrape kube-state-metrics and cAdvisor; or run the sidecar"


def snapshots(reading: Reading, grid: Grid) -> list[Snapshot | None]:
    """A snapshot for each point of the grid; None where the server has no sample. One None if the end has none.

    Raises:
        ValueError: No series, or more than one, says what server it is.
    """
    if reading.value("peer-at", grid.end) is None:
        return [None]
    server = _server(reading, grid.end)
    lacking = dict(_failures(reading, server, grid.end))
    lower_case = reading.value(f"{_VARIABLE}{queries.LOWER_CASE}", grid.end)
    sampled = [*_sampled(reading, grid)]
    counts = dict(zip(sampled, peer_counts.counted(reading, sampled, lower_case), strict=True))
    return [
        _snapshot(reading, point, server, lacking, {"variables": settings, "count_statements": counts.get(point)})
        for point, settings in zip(grid.points, _variables(reading, grid), strict=True)
    ]


def _sampled(reading: Reading, grid: Grid) -> Iterator[float]:
    """The points at which the server has a sample."""
    return (point for point in grid.points if reading.value("peer-at", point) is not None)


def _failures(reading: Reading, server: Server, at: float) -> Iterator[tuple[str, Outcome]]:
    """Why a section is not known, where it is not, and what would open it."""
    collectors = {collector: value for (collector,), value in reading.each("peer-collectors", at)}
    for section in BY_NAME:
        flag = FLAGS.get(section)
        if section == "machine":
            yield section, Outcome(at, 0.0, "absent", "no series tell the limits of the server's container", _POD)
        elif flag is None:
            yield (
                section,
                Outcome(at, 0.0, "absent", "no series of mysqld_exporter have it", _SIDECAR),
            )
        elif "perf_schema" in flag and not server.performance_schema:
            unavailable = performance_schema_off(server)
            yield section, Outcome(at, 0.0, unavailable.failure, unavailable.reason, unavailable.cure)
        elif (succeeded := collectors.get(flag.removeprefix("--"))) is None:
            reason = f"no series of mysqld_exporter's {flag} tell it"
            # Relabelling may have dropped the series of all collectors: then this one may be on.
            yield (
                section,
                Outcome(at, 0.0, "disabled" if collectors else "absent", reason, f"start mysqld_exporter with {flag}"),
            )
        elif not succeeded:
            yield (
                section,
                Outcome(at, 0.0, "failed", f"mysqld_exporter's {flag} fails", "mysqld_exporter's log says why"),
            )
        else:
            lack = peer_counts.lack(reading, at) if section == "count_statements" else None
            reason, cure = lack or (f"mysqld_exporter's {flag} does not tell it here", None)
            yield section, Outcome(at, 0.0, "absent", reason, cure or _SIDECAR)


def with_machine(window: Window, machine: Machine | None) -> Window:
    """The window with what is known of its server's machine."""
    if machine is None:
        return window
    seen = Outcome(window.latest.at, 0.0)
    return Window(
        tuple(
            replace(each.with_section(MACHINE, machine), outcomes={**each.outcomes, MACHINE.name: seen})
            for each in window.snapshots
        )
    )


def _server(reading: Reading, end: float) -> Server:
    told = [labels for labels, _ in reading.each("peer-server", end)]
    if len(told) != 1:
        raise ValueError("no series tells its version" if not told else "its series tell of several versions")
    [(version, comment)] = told
    services = {
        name: ""
        for name in ("aad_auth_only", "cloudsql_iam_authentication")
        if reading.value(f"{_VARIABLE}{name}", end) is not None
    }
    on = reading.value(f"{_VARIABLE}performance_schema", end) == 1.0
    known = {"version": version, "version_comment": comment, "performance_schema": "ON" if on else "OFF"}
    return identify(known | services)


def _snapshot(
    reading: Reading, point: float, server: Server, lacking: Mapping[str, Outcome], known: Mapping[str, Any]
) -> Snapshot | None:
    at = reading.value("peer-at", point)
    if at is None:
        return None
    sections: dict[str, Any] = {
        "status": _status(reading, point),
        "pools": _pools(reading, point),
        "innodb_metrics": _ibuf(reading, point),
        "data_files": _data_files(reading, point),
    }
    return snapshot(at, server, {**sections, **known}, lacking)


def _number(reading: Reading, point: float, name: str) -> float | None:
    """A status variable; None where it has wrapped below 0."""
    value = reading.value(_STATUS + name, point)
    return value if value is not None and credible(value) else None


def _status(reading: Reading, point: float) -> dict[str, float] | None:
    """What facts take from SHOW GLOBAL STATUS: the checkpoint's age as a mean since the point before."""
    names = (
        "uptime",
        "innodb_buffer_pool_read_ahead_rnd",
        "innodb_redo_log_capacity_resized",
        "innodb_checkpoint_max_age",
    )
    values = {name: _number(reading, point, name) for name in names}
    values |= {
        CHECKPOINT_AGE: _checkpoint_age(reading, point),
        **{f"innodb_rows_{operation}": rows for (operation,), rows in reading.each("peer-rows", point)},
    }
    known = {name: value for name, value in values.items() if value is not None}
    return known if "uptime" in known else None


def _checkpoint_age(reading: Reading, point: float) -> float | None:
    """The mean since the point before, bytes: MariaDB's own, or the difference of MySQL's two positions in the log."""
    current, checkpoint, age = (
        reading.value(f"peer-{name}", point) for name in ("current-lsn", "checkpoint-lsn", "checkpoint-age")
    )
    return current - checkpoint if current is not None and checkpoint is not None and current >= checkpoint else age


def _variables(reading: Reading, grid: Grid) -> Iterator[Mapping[str, str] | None]:
    """Settings at each point, as the server prints them. mysqld_exporter has no words but ON and OFF."""
    told = {
        name: points
        for name in (*queries.NUMBERS, queries.LOWER_CASE)
        if (points := reading.series(f"{_VARIABLE}{name}").get(()))
    }
    known: dict[tuple[float | None, ...], Mapping[str, str]] = {}  # settings hardly ever change
    for point in grid.points:
        values = tuple([points.get(point) for points in told.values()])
        if values not in known:
            known[values] = {
                name: printed(name, value) for name, value in zip(told, values, strict=True) if value is not None
            }
        yield known[values] or None


def _pools(reading: Reading, point: float) -> tuple[BufferPool, ...] | None:
    """All instances. Pages that are neither data nor free may have wrapped below 0: then the size is not known."""
    data, free, misc = (
        None if (pages := reading.value("peer-pages", point, state)) is None or not credible(pages) else pages
        for state in ("data", "free", "misc")
    )
    if data is None or free is None or misc is None:
        return None
    instances = reading.value(f"{_VARIABLE}innodb_buffer_pool_instances", point) or 1.0
    values = {
        "size_pages": data + free + misc,
        "free_pages": free,
        "database_pages": data,
        "old_pages": reading.value("peer-pages", point, "old"),
        "modified_pages": reading.value("peer-dirty", point),
        "made_young": reading.value("peer-changes", point, "made_young"),
        "not_made_young": reading.value("peer-changes", point, "made_not_young"),
        "pages_read": _number(reading, point, "innodb_pages_read"),
        "pages_created": _number(reading, point, "innodb_pages_created"),
        "pages_written": _number(reading, point, "innodb_pages_written"),
        "gets": _number(reading, point, "innodb_buffer_pool_read_requests"),
        "read_ahead": _number(reading, point, "innodb_buffer_pool_read_ahead"),
        "read_ahead_evicted": _number(reading, point, "innodb_buffer_pool_read_ahead_evicted"),
    }
    return pools(values, round(instances))


def _ibuf(reading: Reading, point: float) -> dict[str, int] | None:
    values: dict[str, int | None] = {}
    for name in ("ibuf_size", "ibuf_merges", "ibuf_merges_insert", "ibuf_merges_delete", "ibuf_merges_delete_mark"):
        value = reading.value(f"{_METRIC}{name}_total", point)
        if value is not None and credible(value):
            values[name] = lower_half(value) if name == "ibuf_size" else round(value)
    return {name: value for name, value in values.items() if value is not None} or None


def _data_files(reading: Reading, point: float) -> FileReads | None:
    reads = reading.value("mysql_perf_schema_file_events_total", point)
    if reads is None:
        return None
    seconds: Any = reading.value("mysql_perf_schema_file_events_seconds_total", point)
    return FileReads(round(reads), UNKNOWN, seconds)
