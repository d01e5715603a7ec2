"""Index builds: those done, and of parallel ones under way (MySQL 8.0.27+) the threads, stages and memory."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.collectors.base import Collector, Unavailable, performance_schema_off
from exporter.rows import Rows, Value, count, count_or_none, seconds, text
from exporter.server import Server
from exporter.snapshot import Ddl, Stage

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


# No row where the server does not count both: 0 would not be true. Counted for 5.6 as well (seen).
BUILDS_SQL = (
    "SELECT SUM(e.COUNT_STAR - e.SUM_ERRORS) AS builds, SUM(e.SUM_TIMER_WAIT) AS picoseconds"
    " FROM performance_schema.events_statements_summary_global_by_event_name e"
    " JOIN performance_schema.setup_instruments i ON i.NAME = e.EVENT_NAME AND i.ENABLED = 'YES' AND i.TIMED = 'YES'"
    " WHERE e.EVENT_NAME IN ('statement/sql/alter_table', 'statement/sql/create_index') HAVING COUNT(*) = 2"
)


def queries(server: Server) -> tuple[str, ...] | Unavailable:
    """The builds that were done; threads, memory and stages where the build is parallel."""
    if not server.performance_schema:
        return performance_schema_off(server)
    return (BUILDS_SQL, THREADS_SQL, MEMORY_SQL, CONSUMER_SQL, STAGES_SQL) if server.parallel_ddl else (BUILDS_SQL,)


def parse(results: Sequence[Rows]) -> Ddl:
    """What is being built now, and what was."""
    by_column = {rows.columns[0]: rows for rows in results}
    if not by_column.keys() & {"builds", "threads"}:  # recordings of before have no builds
        raise ValueError(f"neither builds nor threads in {sorted(by_column)}")
    threads, used, builds = (_first_count(by_column.get(name)) for name in ("threads", "bytes", "builds"))
    spent = _first(by_column.get("builds"), 1)
    watched = any(text(row["enabled"]).upper() == "YES" for row in by_column.get("enabled", ()))
    return Ddl(
        threads=threads,
        memory_bytes=used,
        stages=_stages(by_column["event_name"]) if watched else None,
        builds=builds,
        build_seconds=None if spent is None else seconds(spent),
    )


def _first(rows: Rows | None, column: int = 0) -> Value:
    """A value of the first row; None where there is no row."""
    return rows.rows[0][column] if rows is not None and rows.rows else None


def _first_count(rows: Rows | None) -> int | None:
    """None, too, for one below 0, as performance_schema's sums of memory may be."""
    value = _first(rows)
    return None if value is None else count_or_none(value)


def _stages(rows: Rows) -> tuple[Stage, ...]:
    """One Stage a name: several threads, or several ALTERs at once, are summed."""
    work: dict[str, tuple[int, int]] = {}
    for row in rows:
        name = text(row["event_name"]).removeprefix("stage/innodb/")
        completed, estimated = work.get(name, (0, 0))
        work[name] = (completed + count(row["completed"] or 0), estimated + count(row["estimated"] or 0))
    return tuple(Stage(name, *units) for name, units in sorted(work.items()))


COLLECTOR = Collector("ddl", queries, parse, privilege="SELECT ON performance_schema.*")
