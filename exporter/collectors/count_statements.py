"""Digests of SELECT COUNT(*) of a whole table: the only trace that tells which table parallel readers read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from exporter.collectors.base import KEPT, SYSTEM_SCHEMAS, Collector, with_performance_schema
from exporter.rows import Rows, count, seconds, text
from exporter.snapshot import CountStatement, Table

SQL = (
    "SELECT SCHEMA_NAME AS schema_name, DIGEST_TEXT AS digest_text, COUNT_STAR AS executions,"
    " SUM_TIMER_WAIT AS picoseconds, SUM_ROWS_EXAMINED AS rows_examined"
    " FROM performance_schema.events_statements_summary_by_digest"
    f" WHERE DIGEST_TEXT LIKE 'SELECT COUNT (%' ORDER BY SUM_TIMER_WAIT DESC LIMIT {KEPT}"
)

# Names come in backticks, but for unquoted ones that are keywords somewhere: those are printed as the keyword, in
# capitals or even as another (`user` as SYSTEM_USER), so that the table is not known. A backtick in a name is
# printed as it is by MySQL and doubled by MariaDB; one with a space beside it ends the name.
_NAME = r"`(?:[^`]|(?<! )`(?! |$))+`"
_ALIAS = rf"(?: (?:AS )?(?:{_NAME}|[\w$]+|\?))?"
_COUNT = re.compile(
    rf"SELECT COUNT \( ?(?:\*|\?) ?\){_ALIAS} FROM (?:(?P<schema>{_NAME}) \. )?(?P<table>{_NAME}){_ALIAS}"
    r"(?: (?:FORCE|USE) (?:INDEX|KEY) \( (?P<index>[^)]+?) \))?",
    re.IGNORECASE,
)


def parse(results: Sequence[Rows]) -> Mapping[Table, CountStatement]:
    """Counts of whole tables by table; a WHERE, a join or a GROUP BY makes it another statement."""
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


COLLECTOR = Collector(
    "count_statements",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", "statements_digest", "statement/sql/select"),
)
