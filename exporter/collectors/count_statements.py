"""Digests of SELECT COUNT(*) of a whole table: the only trace that tells which table parallel readers read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector, with_performance_schema
from exporter.rows import Rows, count, text
from exporter.snapshot import CountStatement, Table

SQL = (
    "SELECT SCHEMA_NAME AS schema_name, DIGEST_TEXT AS digest_text, COUNT_STAR AS executions,"
    " SUM_TIMER_WAIT AS picoseconds, SUM_ROWS_EXAMINED AS rows_examined"
    " FROM performance_schema.events_statements_summary_by_digest"
    " WHERE DIGEST_TEXT LIKE 'SELECT COUNT (%'"
)
PICOSECONDS = 1e12

_NAME = r"(?:`((?:[^`]|``)+)`|([\w$]+))"
_COUNT = re.compile(
    rf"SELECT COUNT \( (?:\*|\?) \)(?: (?:AS )?{_NAME})? FROM {_NAME}(?: \. {_NAME})?"
    r"(?: (?:FORCE|USE) INDEX \( (?P<index>[^)]+?) \))?",
    re.IGNORECASE,
)


def parse(results: Sequence[Rows]) -> Mapping[Table, CountStatement]:
    """Counts of whole tables by table; a WHERE, a join or a GROUP BY makes it another statement."""
    found: dict[Table, CountStatement] = {}
    for row in results[0]:
        match = _COUNT.fullmatch(text(row["digest_text"]).strip())
        if match is None:
            continue
        _, _, *names = match.groups()
        first, second = (_name(names[0], names[1]), _name(names[2], names[3]))
        schema, table = (first, second) if second else (text(row["schema_name"]), first)
        forced = (match["index"] or "").strip("` ").upper() == "PRIMARY"
        executions = count(row["executions"])
        key = Table(schema, table)
        before = found.get(key, CountStatement(0, 0.0, 0, 0))
        found[key] = CountStatement(
            executions=before.executions + executions,
            seconds=before.seconds + count(row["picoseconds"]) / PICOSECONDS,
            rows_examined=before.rows_examined + count(row["rows_examined"]),
            forced_primary=before.forced_primary + (executions if forced else 0),
        )
    return found


def _name(quoted: str | None, bare: str | None) -> str:
    return quoted.replace("``", "`") if quoted else bare or ""


COLLECTOR = Collector(
    "count_statements", with_performance_schema(SQL), parse, privilege="SELECT ON performance_schema.*"
)
