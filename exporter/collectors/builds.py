"""ALTER TABLE, CREATE INDEX and OPTIMIZE TABLE under way: the table, the stage, and how far InnoDB has come.

The table comes from the locks of metadata, whose instrument is off by default on MySQL 5.7 and on MariaDB. The text of
the statement would tell it, too, but may hold anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.anonymisation import Row, columns, kept
from exporter.collectors.base import Collector, Unavailable, performance_schema_off
from exporter.collectors.pools import POOLS
from exporter.pseudonyms import Pseudonyms
from exporter.rows import Rows, Value, count, count_or_none, number, text
from exporter.server import Server
from exporter.snapshot import Snapshot, Table

_EVENTS = tuple(f"statement/sql/{each}" for each in ("alter_table", "create_index", "optimize"))
_ADDED = ("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "PRIMARY")
_INDEXES = " + ".join(
    f"(CHAR_LENGTH(s.DIGEST_TEXT) - CHAR_LENGTH(REPLACE(s.DIGEST_TEXT, ' ADD {each} ', ''))) DIV {len(each) + 6}"
    for each in _ADDED
)
# A build holds a lock of its own kind on its table all the time. With no statement, no lock is looked at.
_UNDER_WAY = (
    "SELECT s.THREAD_ID AS thread, t.PROCESSLIST_STATE AS state, t.PROCESSLIST_TIME AS seconds,"
    " {schema} AS object_schema, {name} AS object_name,"
    f" IF(s.EVENT_NAME = 'statement/sql/create_index', 1, {_INDEXES}) AS indexes"
    " FROM performance_schema.events_statements_current s"
    " STRAIGHT_JOIN performance_schema.threads t ON t.THREAD_ID = s.THREAD_ID"
    "{locks}"
    f" WHERE s.EVENT_NAME IN {_EVENTS} AND s.END_EVENT_ID IS NULL"
)
_LOCKS = (
    " LEFT JOIN performance_schema.metadata_locks m ON m.OWNER_THREAD_ID = s.THREAD_ID AND m.OBJECT_TYPE = 'TABLE'"
    " AND m.LOCK_DURATION = 'TRANSACTION' AND m.LOCK_STATUS = 'GRANTED'"
    " AND m.LOCK_TYPE IN ('SHARED_UPGRADABLE', 'SHARED_NO_WRITE', 'SHARED_NO_READ_WRITE', 'EXCLUSIVE')"
)
MYSQL_SQL = _UNDER_WAY.format(schema="m.OBJECT_SCHEMA", name="m.OBJECT_NAME", locks=_LOCKS)
OLD_MYSQL_SQL = _UNDER_WAY.format(schema="NULL", name="NULL", locks="")
# A stage is there even while its consumer is off (seen on 9.7 and MariaDB). The threads of a build count on from where
# the one before was: the one with the most work is the furthest.
STAGE_SQL = (
    "SELECT EVENT_NAME AS event_name, WORK_COMPLETED AS completed FROM performance_schema.events_stages_current"
    " WHERE EVENT_NAME LIKE 'stage/innodb/alter table%' ORDER BY WORK_COMPLETED DESC LIMIT 1"
)
# The states of ALTER TABLE; InnoDB's own stages are among them where performance_schema is on (seen on 10.5 and 11.8).
_PROCESSES = (
    "SELECT p.ID AS thread, p.STATE AS state, p.TIME_MS / 1000 AS seconds, {schema} AS object_schema,"
    " {name} AS object_name, NULL AS indexes, p.STAGE AS stage, p.MAX_STAGE AS stages, p.PROGRESS AS progress"
    " FROM information_schema.PROCESSLIST p{locks}"
    " WHERE p.COMMAND = 'Query'"
    " AND (p.STATE LIKE '%alter% table%' OR p.STATE IN ('copy to tmp table', 'Enabling keys'))"
)
_THREADS = " LEFT JOIN performance_schema.threads s ON s.PROCESSLIST_ID = p.ID"
MARIADB_SQL = _PROCESSES.format(schema="NULL", name="NULL", locks="")
NAMING_MARIADB_SQL = _PROCESSES.format(schema="m.OBJECT_SCHEMA", name="m.OBJECT_NAME", locks=_THREADS + _LOCKS)
_TEMPORARY = "#sql"
_STAGES_OF_COPY = 2
"""Rows are copied, then the other indexes are built: about as long (seen on 11.8)."""


@dataclass(frozen=True, slots=True)
class Building:
    """A statement that builds an index or a table anew."""

    table: Table | None
    """None where the server does not tell."""
    state: str
    """In the server's words; of InnoDB's stage, where it has one."""
    seconds: float
    """Since its start."""
    indexes: int | None
    """Indexes that it adds; 0 where it builds the whole table anew; None where not known."""
    done: float | None = None
    """Share of a copy of the table that is done, 0 to 1 (MariaDB); None for InnoDB's own builds."""


@dataclass(frozen=True, slots=True)
class Builds:
    """Index builds under way."""

    under_way: tuple[Building, ...]
    stage: str | None
    """InnoDB's stage that is the furthest, such as ``alter table (insert)``; None without one, or if not known."""
    completed: int | None
    """Its work and the work of the stages before: InnoDB's own units, about a page each."""


def queries(server: Server) -> tuple[str, ...] | Unavailable:
    """MariaDB's list of processes needs no performance_schema, which is off there by default, but for the tables."""
    if server.mariadb:
        names = server.performance_schema and server.at_least(mariadb=(10, 5, 2))
        return (NAMING_MARIADB_SQL if names else MARIADB_SQL, *((STAGE_SQL,) if names else ()))
    if not server.performance_schema:
        return performance_schema_off(server)
    return (MYSQL_SQL, STAGE_SQL) if server.at_least(mysql=(5, 7, 0)) else (OLD_MYSQL_SQL,)


def parse(results: Sequence[Rows]) -> Builds:
    """The statements under way; a statement that locks several tables has the first, which is its own."""
    found: dict[Value, Building] = {}
    for row in results[0]:
        building = _building(row)
        before = found.get(row["thread"])
        if before is None or before.table is None:
            found[row["thread"]] = building
    furthest = next(iter(results[1]), None) if len(results) > 1 else None
    return Builds(
        tuple(found.values()),
        None if furthest is None else text(furthest["event_name"]).removeprefix("stage/innodb/"),
        None if furthest is None else count_or_none(furthest["completed"] or 0),
    )


def _building(row: Row) -> Building:
    table = _table(row)
    indexes, stages, done = row.get("indexes"), number(row.get("stages")), None
    if stages:  # of 2, or of 4 on 11.8, where the last two take no time; MariaDB counts them from 1
        done = ((number(row["stage"]) or 1.0) - 1.0 + (number(row["progress"]) or 0.0) / 100.0) / _STAGES_OF_COPY
    return Building(
        table=None if table is None or table.table.startswith(_TEMPORARY) else table,
        state=text(row["state"]),
        seconds=max(0.0, number(row["seconds"]) or 0.0),
        indexes=None if indexes is None else count(indexes),
        done=None if done is None else min(1.0, max(0.0, done)),
    )


def _table(row: Row) -> Table | None:
    return None if row["object_name"] is None else Table(text(row["object_schema"]), text(row["object_name"]))


def _sees_others(known: Snapshot) -> Unavailable | None:
    """MariaDB's list shows an account without PROCESS its own processes only, and says nothing."""
    pools = known.outcomes.get(POOLS.name)
    if not known.server.mariadb or pools is None or pools.failure != "privilege":
        return None
    return Unavailable("privilege", "the processes of others are not shown without the privilege PROCESS", pools.cure)


BUILDS = Collector(
    "builds",
    queries,
    parse,
    privilege="SELECT ON performance_schema.*",
    allowed=_sees_others,
    anonymise=columns(object_schema=Pseudonyms.schema, object_name=Pseudonyms.table, state=kept, event_name=kept),
)
