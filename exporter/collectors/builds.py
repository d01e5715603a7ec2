"""ALTER TABLE, CREATE INDEX and OPTIMIZE TABLE under way: the table, the stage, and how far InnoDB has come.

The table comes from the locks of metadata, whose instrument is off by default on MySQL 5.7 and on MariaDB. The text of
the statement would tell it, too, but may hold anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.anonymisation import Pseudonyms, Row, columns, unchanged
from exporter.collectors.base import Collector, require_performance_schema
from exporter.rows import Rows, Value, count, count_or_none, number, text
from exporter.server import Server
from exporter.snapshot import Table

_EVENTS = tuple(f"statement/sql/{name}" for name in ("alter_table", "create_index", "optimize"))
_ADDED = ("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "PRIMARY")
_INDEXES = " + ".join(
    f"(CHAR_LENGTH(s.DIGEST_TEXT) - CHAR_LENGTH(REPLACE(s.DIGEST_TEXT, ' ADD {word} ', ''))) DIV {len(word) + 6}"
    for word in _ADDED
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
# MariaDB has the consumer of statements off, and no PROCESSLIST without a temporary table on disk: the states tell.
MARIADB_SQL = (
    "SELECT s.THREAD_ID AS thread, s.PROCESSLIST_STATE AS state, s.PROCESSLIST_TIME AS seconds,"
    " m.OBJECT_SCHEMA AS object_schema, m.OBJECT_NAME AS object_name, NULL AS indexes"
    f" FROM performance_schema.threads s{_LOCKS} WHERE s.PROCESSLIST_COMMAND = 'Query'"
    " AND (s.PROCESSLIST_STATE LIKE '%alter% table%'"
    " OR s.PROCESSLIST_STATE IN ('copy to tmp table', 'Enabling keys'))"
)
_TEMPORARY = "#sql"


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


@dataclass(frozen=True, slots=True)
class Builds:
    """Index builds under way."""

    under_way: tuple[Building, ...]
    stage: str | None
    """InnoDB's stage that is the furthest, such as ``alter table (insert)``; None without one, or if not known."""
    completed: int | None
    """Its work and the work of the stages before: InnoDB's own units, about a page each."""


def queries(server: Server) -> tuple[str, ...]:
    """What builds; and the stage where the server counts its work (MySQL 5.7 and later, MariaDB 10.5.2 and later)."""
    require_performance_schema(server)
    if not server.at_least(mysql=(5, 7, 0), mariadb=(10, 5, 2)):
        return (OLD_MYSQL_SQL,)
    return (MARIADB_SQL if server.mariadb else MYSQL_SQL, STAGE_SQL)


def parse(results: Sequence[Rows]) -> Builds:
    """The statements under way; a statement that locks several tables has the first, which is its own."""
    buildings: dict[Value, Building] = {}
    for row in results[0]:
        building = _building(row)
        before = buildings.get(row["thread"])
        if before is None or before.table is None:
            buildings[row["thread"]] = building
    furthest = next(iter(results[1]), None) if len(results) > 1 else None
    return Builds(
        tuple(buildings.values()),
        None if furthest is None else text(furthest["event_name"]).removeprefix("stage/innodb/"),
        None if furthest is None else count_or_none(furthest["completed"] or 0),
    )


def _building(row: Row) -> Building:
    table = _table(row)
    indexes = row["indexes"]
    return Building(
        table=None if table is None or table.table.startswith(_TEMPORARY) else table,
        state=text(row["state"]),
        seconds=max(0.0, number(row["seconds"]) or 0.0),
        indexes=None if indexes is None else count(indexes),
    )


def _table(row: Row) -> Table | None:
    return None if row["object_name"] is None else Table(text(row["object_schema"]), text(row["object_name"]))


BUILDS = Collector(
    "builds",
    queries,
    parse,
    privilege="SELECT ON performance_schema.*",
    anonymise=columns(
        object_schema=Pseudonyms.schema, object_name=Pseudonyms.table, state=unchanged, event_name=unchanged
    ),
)
