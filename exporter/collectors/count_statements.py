"""Digests of SELECT COUNT(*) of a whole table: the only trace of the table that parallel readers read."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.anonymisation import Row, each_row
from exporter.collectors.base import KEPT, TOP, Collector, LabelledValue, SnapshotMetric, with_performance_schema
from exporter.pseudonyms import Pseudonyms
from exporter.rows import Rows, count, seconds, text
from exporter.snapshot import Snapshot, Table
from exporter.table_names import SYSTEM_SCHEMAS

SQL = (
    "SELECT SCHEMA_NAME AS schema_name, DIGEST_TEXT AS digest_text, COUNT_STAR AS executions,"
    " SUM_TIMER_WAIT AS picoseconds, SUM_ROWS_EXAMINED AS rows_examined"
    " FROM performance_schema.events_statements_summary_by_digest"
    f" WHERE DIGEST_TEXT LIKE 'SELECT COUNT (%' ORDER BY SUM_TIMER_WAIT DESC LIMIT {KEPT}"
)

# Names come in backticks, except for unquoted names that are keywords somewhere. These are printed as the keyword, in
# capitals or even as another keyword (`user` as SYSTEM_USER), so that the table is not known. In a name, MySQL prints a
# backtick unchanged and MariaDB doubles it. A backtick with a space beside it ends the name.
_NAME = r"`(?:[^`]|(?<! )`(?! |$))+`"
_ALIAS = rf"(?: (?:AS )?(?:{_NAME}|[\w$]+|\?))?"
_COUNT = re.compile(
    rf"SELECT COUNT \( ?(?:\*|\?) ?\){_ALIAS} FROM (?:(?P<schema>{_NAME}) \. )?(?P<table>{_NAME}){_ALIAS}"
    r"(?: (?:FORCE|USE) (?:INDEX|KEY) \( (?P<index>[^)]+?) \))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CountStatement:
    """SELECT COUNT(*) of a whole table, since the digest table was last emptied."""

    executions: int
    seconds: float
    """Time spent in all executions."""
    rows_examined: int
    """The rows that serial reads examined. The server counts 0 for parallel reads."""
    forced_primary: int
    """Executions that named the clustered index in an index hint."""


def parse(results: Sequence[Rows]) -> Mapping[Table, CountStatement]:
    """Counts of whole tables, by table: without a WHERE, a join or a GROUP BY."""
    found: dict[Table, CountStatement] = {}
    for row in results[0]:
        match = _COUNT.fullmatch(text(row["digest_text"]).strip())
        if match is None:
            continue
        schema = _name(match["schema"]) if match["schema"] else text(row["schema_name"])
        if schema.lower() in SYSTEM_SCHEMAS:
            continue
        forced = (match["index"] or "").strip("`").upper() == "PRIMARY"
        executions = count(row["executions"])
        key = Table(schema, _name(match["table"]))
        before = found.get(key, CountStatement(0, 0.0, 0, 0))
        found[key] = CountStatement(
            executions=before.executions + executions,
            seconds=before.seconds + seconds(row["picoseconds"]),
            rows_examined=before.rows_examined + count(row["rows_examined"]),
            forced_primary=before.forced_primary + (executions if forced else 0),
        )
    return found


def _name(quoted: str) -> str:
    return quoted[1:-1].replace("``", "`")


def _executions(snapshot: Snapshot) -> Iterator[LabelledValue]:
    counted = (snapshot[COUNT_STATEMENTS] or {}).items()
    for table, statement in heapq.nlargest(TOP, counted, key=lambda item: item[1].executions):
        yield (table.schema, table.table), statement.executions


def _anonymous(pseudonyms: Pseudonyms, row: Row) -> Row | None:
    """A digest written anew from what is parsed of it."""
    for table, counted in parse([Rows(tuple(row), (tuple(row.values()),))]).items():
        schema = pseudonyms.schema(table.schema)
        hint = " FORCE INDEX ( PRIMARY )" if counted.forced_primary else ""
        digest = f"SELECT COUNT ( * ) FROM `{schema}` . `{pseudonyms.table(table.table)}`{hint}"
        return {**row, "schema_name": schema, "digest_text": digest}
    return None


COUNT_STATEMENTS = Collector(
    "count_statements",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", "statements_digest", "statement/sql/select"),
    anonymise=each_row(_anonymous),
    metrics=(
        SnapshotMetric(
            "innodb_count_star_total",
            "counter",
            "Executions of SELECT COUNT(*) of a whole table.",
            ("schema", "table"),
            values=_executions,
        ),
    ),
)
