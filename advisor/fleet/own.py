"""Snapshots from the series of innodb-advisor's own exporter (innodb_*)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

from advisor.fleet import machine, queries
from advisor.fleet.readings import Reading
from advisor.fleet.sections import CHECKPOINT_AGE, UNKNOWN, pools, printed, snapshot
from advisor.fleet.series import Grid
from exporter.collectors import BY_NAME
from exporter.collectors.data_files import FileReads
from exporter.collectors.ddl import Ddl
from exporter.collectors.parallel_readers import ParallelReaders
from exporter.collectors.pools import BufferPool
from exporter.knowledge import Managed
from exporter.server import Server, identify
from exporter.snapshot import Outcome, Snapshot

AT = queries.OWN_AT
QUERIES = (
    queries.OWN_SERVER,
    queries.OWN_AT,
    queries.OWN_POOL_COUNTERS,
    queries.OWN_POOL_PAGES,
    queries.OWN_POOL_SIZE,
    queries.OWN_POOL_INSTANCES,
    queries.OWN_MEANS,
    queries.OWN_CHECKPOINT,
    queries.OWN_NUMBERS,
    queries.OWN_OPERATIONS,
    queries.OWN_SETTINGS,
    queries.OWN_WORDS,
    queries.OWN_MACHINE,
    queries.OWN_STORAGE,
    queries.OWN_HEALTH,
)
TABLES = ("index_sizes", "indexes", "cached_indexes", "table_scans", "count_statements", "table_files")
"""Collectors whose sections come later, for single servers (advisor.fleet.own_tables)."""
_COUNTERS = (
    "made_young",
    "not_made_young",
    "pages_read",
    "pages_created",
    "pages_written",
    "gets",
    "read_ahead",
    "read_ahead_evicted",
)


def snapshots(reading: Reading, grid: Grid) -> list[Snapshot | None]:
    """A snapshot for each point of the grid; None where the server has no sample. One None if the end has none.

    Raises:
        ValueError: No series, or more than one, says what server it is.
    """
    if reading.value("own-at", grid.end) is None:
        return [None]
    server = _server(reading, grid.end)
    outcomes = dict(_outcomes(reading, grid.end))
    return [_snapshot(reading, point, grid.end, server, outcomes) for point in grid.points]


def _server(reading: Reading, end: float) -> Server:
    told = [labels for labels, _ in reading.each("own-server", end)]
    if len(told) != 1:
        raise ValueError("no series tells its version" if not told else "its series tell of several versions")
    [(flavour, version, comment, managed)] = told
    variables = {"version": version, "version_comment": comment, "performance_schema": "ON"}
    server = identify(variables | ({"aurora_version": ""} if flavour == "aurora" else {}))
    return replace(server, managed=next((each for each in get_args(Managed) if each == managed), None))


def _outcomes(reading: Reading, end: float) -> Iterator[tuple[str, Outcome]]:
    """Each collector's last run, as far as it has series: what it reads is known, or why it is not."""
    succeeded = {collector: value for (collector,), value in reading.each("own-health", end)}
    for name in BY_NAME:
        if name in succeeded and not succeeded[name]:
            yield name, Outcome(end, 0.0, "failed", "the sidecar cannot read it", "`innodb-advisor check` says why")
        elif name in succeeded and name in TABLES:
            yield name, Outcome(end, 0.0)
        else:
            yield name, Outcome(end, 0.0, "absent", "the sidecar's series do not have it", "let the sidecar judge")


def _snapshot(
    reading: Reading, point: float, end: float, server: Server, outcomes: Mapping[str, Outcome]
) -> Snapshot | None:
    at = reading.value("own-at", point)
    if at is None:
        return None
    known: dict[str, Any] = {
        "status": _status(reading, point),
        "variables": _variables(reading, point),
        "pools": _pools(reading, point, end),
        "innodb_metrics": _ibuf(reading, point),
        "data_files": _data_files(reading, point),
        "parallel_readers": _parallel_readers(reading, point),
        "ddl": _ddl(reading, point),
        "machine": machine.own(reading, point, end),
    }
    return snapshot(at, server, known, outcomes)


def _number(reading: Reading, point: float, name: str) -> Any:
    return reading.value(f"innodb_{name}", point)


def _whole(reading: Reading, point: float, name: str) -> int | None:
    value = _number(reading, point, name)
    return None if value is None else round(value)


def _status(reading: Reading, point: float) -> dict[str, float] | None:
    """What facts take from SHOW GLOBAL STATUS: also the checkpoint's age, as a mean since the point before."""
    values = {
        "uptime": _number(reading, point, "server_uptime_seconds"),
        "innodb_buffer_pool_read_ahead_rnd": _number(reading, point, "buffer_pool_read_ahead_random_total"),
        CHECKPOINT_AGE: reading.value("own-checkpoint", point),
        "innodb_checkpoint_max_age": _number(reading, point, "checkpoint_age_limit_bytes"),
        **{f"innodb_rows_{of}": rows for (of,), rows in reading.each("innodb_rows_total", point)},
    }
    known = {name: value for name, value in values.items() if value is not None}
    return known if "uptime" in known else None


def _variables(reading: Reading, point: float) -> dict[str, str]:
    """Settings as the server prints them. Two words for one setting, just after a change, are none."""
    found = {name: printed(name, value) for (name,), value in reading.each("own-settings", point)}
    words: dict[str, set[str]] = {}
    for (name, value), _ in reading.each("own-settings-text", point):
        words.setdefault(name, set()).add(value)
    return found | {name: value for name, values in words.items() for value in values if len(values) == 1}


def _pools(reading: Reading, point: float, end: float) -> tuple[BufferPool, ...] | None:
    young, old, free = (reading.value("own-pool-pages", point, each) for each in ("young", "old", "free"))
    size, instances = reading.value("own-pool-size", point), reading.value("own-pool-instances", end)
    if young is None or old is None or free is None or size is None or instances is None:
        return None
    values = {
        "size_pages": size,
        "free_pages": free,
        "database_pages": young + old,
        "old_pages": old,
        "modified_pages": reading.value("own-means", point),
        **{name: _number(reading, point, f"buffer_pool_{name}_total") for name in _COUNTERS},
    }
    return pools(values, round(instances))


def _ibuf(reading: Reading, point: float) -> dict[str, int]:
    values = {
        "ibuf_size": _whole(reading, point, "ibuf_size_pages"),
        "ibuf_merges": _whole(reading, point, "ibuf_merges_total"),
        **{
            f"ibuf_merges_{operation}": round(count)
            for (operation,), count in reading.each("innodb_ibuf_merged_operations_total", point)
        },
    }
    return {name: value for name, value in values.items() if value is not None}


def _data_files(reading: Reading, point: float) -> FileReads | None:
    reads = _whole(reading, point, "data_file_reads_total")
    if reads is None:
        return None
    return FileReads(reads, UNKNOWN, _number(reading, point, "data_file_read_seconds_total"))


def _parallel_readers(reading: Reading, point: float) -> ParallelReaders | None:
    threads, seconds, observed = (
        _number(reading, point, f"parallel_{name}")
        for name in ("read_threads", "read_thread_seconds_total", "reads_observed_total")
    )
    if threads is None or seconds is None or observed is None:
        return None
    return ParallelReaders(round(threads), seconds, round(observed))


def _ddl(reading: Reading, point: float) -> Ddl | None:
    threads, memory, builds = (
        _whole(reading, point, f"ddl_{name}") for name in ("threads_active", "memory_bytes", "builds_total")
    )
    if threads is None and builds is None:
        return None
    return Ddl(threads, memory, None, builds, _number(reading, point, "ddl_build_seconds_total"))
