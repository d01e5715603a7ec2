"""Index builds: completed builds, and the threads, stages and memory of parallel builds under way (MySQL 8.0.27+)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exporter.anonymisation import columns, unchanged
from exporter.collectors.base import Collector, counter, gauge, require_performance_schema
from exporter.exposition import LabelledValue
from exporter.rows import Rows, Value, count, count_or_none, seconds, text
from exporter.server import Server
from exporter.snapshot import Snapshot

THREADS_SQL = "SELECT COUNT(*) AS threads FROM performance_schema.threads WHERE NAME = 'thread/innodb/ddl_thread'"
MEMORY_SQL = (
    "SELECT SUM(CURRENT_NUMBER_OF_BYTES_USED) AS bytes"
    " FROM performance_schema.memory_summary_global_by_event_name WHERE EVENT_NAME LIKE 'memory/innodb/ddl%'"
)
CONSUMER_SQL = "SELECT ENABLED AS enabled FROM performance_schema.setup_consumers WHERE NAME = 'events_stages_current'"
STAGES_SQL = (
    "SELECT EVENT_NAME AS event_name, WORK_COMPLETED AS completed, WORK_ESTIMATED AS estimated"
    " FROM performance_schema.events_stages_current WHERE EVENT_NAME LIKE 'stage/innodb/alter table%'"
)
# No row if the server does not count both statements: 0 would be wrong. 5.6 counts them too (seen).
BUILDS_SQL = (
    "SELECT SUM(e.COUNT_STAR - e.SUM_ERRORS) AS builds, SUM(e.SUM_TIMER_WAIT) AS picoseconds"
    " FROM performance_schema.events_statements_summary_global_by_event_name e"
    " JOIN performance_schema.setup_instruments i ON i.NAME = e.EVENT_NAME AND i.ENABLED = 'YES' AND i.TIMED = 'YES'"
    " WHERE e.EVENT_NAME IN ('statement/sql/alter_table', 'statement/sql/create_index') HAVING COUNT(*) = 2"
)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of an ALTER TABLE under way, in the server's own work units."""

    name: str
    completed: int
    estimated: int


@dataclass(frozen=True, slots=True)
class Ddl:
    """Index builds, under way and completed. None where the server does not report a value."""

    threads: int | None
    """At work now; None without parallel builds."""
    memory_bytes: int | None
    """Used by these threads now; None without parallel builds."""
    stages: tuple[Stage, ...] | None
    """Under way; None if the consumer events_stages_current is off (the default on every server)."""
    builds: int | None = None
    """ALTER TABLE and CREATE INDEX statements without an error, whether they built an index or not, since the server's
    start or since its statement statistics were emptied."""
    build_seconds: float | None = None
    """Time spent in these statements, including failed ones."""


def queries(server: Server) -> tuple[str, ...]:
    """Completed builds; also threads, memory and stages if the server builds in parallel."""
    require_performance_schema(server)
    return (BUILDS_SQL, THREADS_SQL, MEMORY_SQL, CONSUMER_SQL, STAGES_SQL) if server.parallel_ddl else (BUILDS_SQL,)


def parse(results: Sequence[Rows]) -> Ddl:
    """Builds under way, and completed builds."""
    by_column = {rows.columns[0]: rows for rows in results}
    threads, used, builds = (_first_count(by_column.get(name)) for name in ("threads", "bytes", "builds"))
    spent = _first(by_column["builds"], 1)
    watched = any(text(row["enabled"]).upper() == "YES" for row in by_column.get("enabled", ()))
    return Ddl(
        threads=threads,
        memory_bytes=used,
        stages=_stages(by_column["event_name"]) if watched else None,
        builds=builds,
        build_seconds=None if spent is None else seconds(spent),
    )


def _first(rows: Rows | None, column: int = 0) -> Value:
    """A value of the first row; None if there is no row."""
    return rows.rows[0][column] if rows is not None and rows.rows else None


def _first_count(rows: Rows | None) -> int | None:
    """The first value; None also for one below 0, which performance_schema's sums of memory may be."""
    value = _first(rows)
    return None if value is None else count_or_none(value)


def _stages(rows: Rows) -> tuple[Stage, ...]:
    """One Stage for each name: several threads, or several ALTERs at once, are summed."""
    work: dict[str, tuple[int, int]] = {}
    for row in rows:
        name = text(row["event_name"]).removeprefix("stage/innodb/")
        completed, estimated = work.get(name, (0, 0))
        work[name] = (completed + count(row["completed"] or 0), estimated + count(row["estimated"] or 0))
    return tuple(Stage(name, *units) for name, units in sorted(work.items()))


def _stage_work(snapshot: Snapshot) -> Iterator[LabelledValue]:
    ddl = snapshot[DDL]
    for stage in (ddl and ddl.stages) or ():
        yield (stage.name, "completed"), stage.completed
        yield (stage.name, "estimated"), stage.estimated


DDL = Collector(
    "ddl",
    queries,
    parse,
    privilege="SELECT ON performance_schema.*",
    anonymise=columns(enabled=unchanged, event_name=unchanged),
    metrics=(
        gauge("innodb_ddl_threads_active", "Threads building indexes.", "threads"),
        gauge(
            "innodb_ddl_stage_work",
            "Work units of the stages of ALTER TABLE under way.",
            labels=("stage", "kind"),
            values=_stage_work,
        ),
        gauge("innodb_ddl_memory_bytes", "Memory of index builds, outside the buffer pool.", "memory_bytes"),
        counter(
            "innodb_ddl_builds_total",
            "ALTER TABLE and CREATE INDEX statements without an error, whether they built an index or not.",
            "builds",
        ),
        counter(
            "innodb_ddl_build_seconds_total",
            "Time spent in ALTER TABLE and CREATE INDEX statements, failed ones included.",
            "build_seconds",
        ),
    ),
)
