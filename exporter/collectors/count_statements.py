"""Digests of SELECT COUNT(*) of a whole table: the only trace of the table that parallel readers read."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.anonymisation import Pseudonyms, Row, each_row
from exporter.collectors.base import (
    MOST_ROWS,
    OF_TABLE,
    TOP,
    Collector,
    counter,
    require_performance_schema,
    summed,
)
from exporter.digest_text import CUT, LONGEST, NAME, unquoted
from exporter.rows import LARGE, Rows, count, seconds, text
from exporter.server import Server
from exporter.snapshot import Table
from exporter.table_names import SYSTEM_SCHEMAS

# Only a sample of the statement names such a table. One with a literal text is not read.
_SAMPLE = f"IF(DIGEST_TEXT LIKE '%FROM %{CUT}%' AND QUERY_SAMPLE_TEXT NOT REGEXP '[''\"]', QUERY_SAMPLE_TEXT, NULL)"
SQL = (
    "SELECT SCHEMA_NAME AS schema_name, DIGEST_TEXT AS digest_text, COUNT_STAR AS executions,"
    " SUM_TIMER_WAIT AS picoseconds, SUM_ROWS_EXAMINED AS rows_examined,"
    " @@GLOBAL.lower_case_table_names AS lower_case, {sample} AS sample_text"
    " FROM performance_schema.events_statements_summary_by_digest"
    " WHERE DIGEST_TEXT LIKE 'SELECT COUNT (%' ORDER BY SUM_TIMER_WAIT DESC LIMIT {most}"
)

# A name that is printed as a keyword is not known.
_TABLE = rf"(?:{NAME}|{re.escape(CUT)})"
_ALIAS = rf"(?: (?:AS )?(?:{NAME}|[\w$]+|\?))?"
_COUNT = re.compile(
    rf"SELECT COUNT \( ?(?:\*|\?) ?\){_ALIAS} FROM (?:(?P<schema>{_TABLE}) \. )?(?P<table>{_TABLE}){_ALIAS}"
    r"(?: (?:FORCE|USE) (?:INDEX|KEY) \( (?P<index>[^)]+?) \))?",
    re.IGNORECASE,
)
_PLAIN_NAME = r"(?:`(?:[^`]|``)+`|[\w$]+)"
_CUT = re.compile(rf"(?:(?<= FROM )|(?<= \. )){re.escape(CUT)}")
_COMMENT = re.compile(r"/\*(?:.*?\*/|.*)|(?:--|#).*?$", re.DOTALL | re.MULTILINE)
_FROM = re.compile(rf"\bFROM\s+(?:(?P<schema>{_PLAIN_NAME})\s*\.\s*)?(?P<table>{_PLAIN_NAME})", re.IGNORECASE)
"""The table in the text of a statement without comments, whose digest is that of a count."""


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


def queries(server: Server) -> tuple[str, ...]:
    """One statement. Only MySQL 8.0 and later keep samples."""
    require_performance_schema(server)
    return (SQL.format(sample=_SAMPLE if server.data_dictionary else "NULL", most=MOST_ROWS),)


def parse(results: Sequence[Rows]) -> Mapping[Table, CountStatement]:
    """Counts of whole tables, by table: without a WHERE, a join or a GROUP BY."""
    counted: dict[Table, CountStatement] = {}
    for row in results[0]:
        table, forced = _counted(row)
        if table is None or table.schema.lower() in SYSTEM_SCHEMAS:
            continue
        executions = count(row["executions"])
        statement = CountStatement(
            executions, seconds(row["picoseconds"]), count(row["rows_examined"]), executions if forced else 0
        )
        counted[table] = summed(counted[table], statement) if table in counted else statement
    return counted


def hidden(counted: Mapping[Table, CountStatement], table: Table) -> bool:
    """Whether digests that name no table may be counts of this one."""
    longest = max(len(name.encode()) for name in (table.schema, table.table))
    return longest > LONGEST and any(other.table == CUT for other in counted)


def counts_table(digest_text: str) -> bool:
    """Whether the statement counts all rows of a table."""
    return _match(digest_text) is not None


def _match(digest_text: str) -> re.Match[str] | None:
    # No space follows a name that is cut.
    return _COUNT.fullmatch(_CUT.sub(f"{CUT} ", digest_text).strip())


def _counted(row: Row) -> tuple[Table | None, bool]:
    """The table that a statement counts, if any, and whether it names the clustered index in a hint."""
    match = named = _match(text(row["digest_text"]))
    if match is not None and CUT in (match["schema"], match["table"]):
        named = _FROM.search(_COMMENT.sub(" ", text(row.get("sample_text"))))
        if named is None:
            return Table(text(row["schema_name"]), CUT), False
    if match is None or named is None:
        return None, False
    table = Table(unquoted(named["schema"]) if named["schema"] else text(row["schema_name"]), unquoted(named["table"]))
    if row.get("lower_case"):  # a digest has a name as the client wrote it, all other sources as the server keeps it
        table = Table(table.schema.lower(), table.table.lower())
    return table, (match["index"] or "").strip("`").upper() == "PRIMARY"


def _most_counted(counted: Mapping[Table, CountStatement]) -> Iterator[tuple[tuple[str, str], CountStatement]]:
    for table, statement in heapq.nlargest(TOP, counted.items(), key=lambda item: item[1].executions):
        yield (table.schema, table.table), statement


def _anonymous(pseudonyms: Pseudonyms, row: Row) -> Row | None:
    """A digest written anew from what is parsed of it."""
    for table, counted in parse([Rows(tuple(row), (tuple(row.values()),))]).items():
        schema = pseudonyms.schema(table.schema)
        hint = " FORCE INDEX ( PRIMARY )" if counted.forced_primary else ""
        name = CUT if table.table == CUT else f"`{schema}` . `{pseudonyms.table(table.table)}`"
        digest = f"SELECT COUNT ( * ) FROM {name}{hint}"
        return {**row, "schema_name": schema, "digest_text": digest, "sample_text": None}
    return None


COUNT_STATEMENTS = Collector(
    "count_statements",
    queries,
    parse,
    bound=LARGE,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", "statements_digest", "statement/sql/select"),
    anonymise=each_row(_anonymous),
    items=_most_counted,
    metrics=(
        counter("innodb_count_star_total", "Executions of SELECT COUNT(*) of a whole table.", "executions", OF_TABLE),
        counter(
            "innodb_count_star_seconds_total", "Time spent in SELECT COUNT(*) of a whole table.", "seconds", OF_TABLE
        ),
        counter(
            "innodb_count_star_rows_examined_total",
            "Rows that serial SELECT COUNT(*) of a whole table examined. The server counts 0 for a parallel one, so "
            "that growth tells the two apart.",
            "rows_examined",
            OF_TABLE,
        ),
        counter(
            "innodb_count_star_forced_primary_total",
            "Executions of SELECT COUNT(*) of a whole table that named the clustered index in an index hint.",
            "forced_primary",
            OF_TABLE,
        ),
    ),
)
