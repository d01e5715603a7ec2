"""Index builds under way (MySQL 8.0.27+ in parallel): threads, stages and memory."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.collectors.base import PERFORMANCE_SCHEMA_OFF, Collector, Unavailable
from exporter.rows import Rows, count, text
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


def queries(server: Server) -> tuple[str, ...] | Unavailable:
    """Threads and memory where the build is parallel; stages with work units since MySQL 5.7."""
    if not server.parallel_ddl:
        return Unavailable("absent", "parallel index builds came with MySQL 8.0.27; MariaDB has none")
    if not server.performance_schema:
        return PERFORMANCE_SCHEMA_OFF
    return THREADS_SQL, MEMORY_SQL, CONSUMER_SQL, STAGES_SQL


def parse(results: Sequence[Rows]) -> Ddl:
    """What is being built now."""
    threads, memory, consumer, stages = results
    watched = any(text(row["enabled"]).upper() == "YES" for row in consumer)
    used = memory.rows[0][0]
    return Ddl(
        threads=count(threads.rows[0][0]),
        memory_bytes=None if used is None else count(used),
        stages=_stages(stages) if watched else None,
    )


def _stages(rows: Rows) -> tuple[Stage, ...]:
    """One Stage a name: several threads, or several ALTERs at once, are summed."""
    work: dict[str, tuple[int, int]] = {}
    for row in rows:
        name = text(row["event_name"]).removeprefix("stage/innodb/")
        completed, estimated = work.get(name, (0, 0))
        work[name] = (completed + count(row["completed"] or 0), estimated + count(row["estimated"] or 0))
    return tuple(Stage(name, *units) for name, units in sorted(work.items()))


COLLECTOR = Collector("ddl", queries, parse, privilege="SELECT ON performance_schema.*")
