"""The statements that name a table, from performance_schema's digests: asked for on demand, and kept nowhere.

The texts have no literals, but they are the owner's: no collection asks for them, so that no recording has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.anonymisation import each_row
from exporter.collectors.base import Collector, with_performance_schema
from exporter.collectors.count_statements import counts_table
from exporter.digest_text import LONGEST, tables_read
from exporter.rows import LARGE, Rows, Value, count, number, seconds, text
from exporter.snapshot import Table

MOST_DIGESTS = 100
"""The ones that took the most time: a table may have thousands of statements."""
MOST_CHARACTERS = 2048
"""Of a digest's text."""
_LAST_CHARACTER = "\uffff"
"""The last one that names of tables may have."""
# LOCATE finds the name anywhere in the text, in any case: quoted, with doubled backticks or without, or printed as a
# keyword. What is no table is left out below.
SQL = (
    f"SELECT SCHEMA_NAME AS schema_name, DIGEST AS digest, LEFT(DIGEST_TEXT, {MOST_CHARACTERS}) AS digest_text,"
    " COUNT_STAR AS executions, SUM_TIMER_WAIT AS picoseconds, SUM_ROWS_EXAMINED AS rows_examined,"
    " SUM_NO_INDEX_USED AS without_index, UNIX_TIMESTAMP(FIRST_SEEN) AS first_seen,"
    " UNIX_TIMESTAMP(LAST_SEEN) AS last_seen, UNIX_TIMESTAMP(NOW(6)) AS now,"
    " @@GLOBAL.lower_case_table_names AS lower_case"
    " FROM performance_schema.events_statements_summary_by_digest"
    " WHERE LOCATE(%s, DIGEST_TEXT) > 0 OR LOCATE(%s, DIGEST_TEXT) > 0 OR LOCATE(%s, CONCAT(DIGEST_TEXT, ' ')) > 0"
    f" ORDER BY SUM_TIMER_WAIT DESC LIMIT {MOST_DIGESTS}"
)


@dataclass(frozen=True, slots=True)
class Digest:
    """A normalised statement. Counts and times are sums since ``first_seen``."""

    schema: str | None
    """The default schema of the sessions that ran it."""
    digest: str
    text: str
    executions: int
    seconds: float
    rows_examined: int
    """0 for rows that parallel readers count."""
    without_index: bool
    """Whether a table was read without an index, or all of it was counted."""
    first_seen: float
    """Unix seconds, by the server's clock. Another time means that the counts began anew."""
    last_seen: float


@dataclass(frozen=True, slots=True)
class TableDigests:
    """The statements that name a table."""

    digests: tuple[Digest, ...]
    """The ones that took the most time first."""
    now: float
    """Unix seconds, by the server's clock."""


def table_digests(table: Table) -> Collector[TableDigests | None]:
    """The collector for a table. Its section is None where no statement names the table."""
    name = table.table

    def parse(results: Sequence[Rows]) -> TableDigests | None:
        rows = list(results[0])
        digests = tuple(_digest(row) for row in rows if _names(row, table))
        return TableDigests(digests, _time(rows[0]["now"])) if digests else None

    return Collector(
        "table_digests",
        with_performance_schema(SQL),
        parse,
        values=(f"`{name}`", f"`{name.replace('`', '``')}`", f" {name} "),
        bound=LARGE,
        privilege="SELECT ON performance_schema.*",
        instruments=("global_instrumentation", "statements_digest"),
        anonymise=each_row(lambda _, __: None),
    )


def not_in_digests(table: Table) -> str | None:
    """Why no digest can name the table; None where one can."""
    if len(table.table.encode()) > LONGEST:
        return f"digests cut names that are longer than {LONGEST} bytes"
    if max(table.table) > _LAST_CHARACTER:
        return "no server has a table of this name: it has a character beyond U+FFFF"
    return None


def _names(row: dict[str, Value], table: Table) -> bool:
    """Whether the statement reads or writes the table."""
    own = text(row["schema_name"])
    lower = bool(row["lower_case"])  # a digest has names as the client wrote them
    name_in_digests = (table.schema.lower(), table.table.lower()) if lower else (table.schema, table.table)
    for schema, name in tables_read(text(row["digest_text"])):
        in_schema = own if schema is None else schema
        if name_in_digests == ((in_schema.lower(), name.lower()) if lower else (in_schema, name)):
            return True
    return False


def _digest(row: dict[str, Value]) -> Digest:
    return Digest(
        schema=None if row["schema_name"] is None else text(row["schema_name"]),
        digest=text(row["digest"]),
        text=text(row["digest_text"]).strip(),
        executions=count(row["executions"]),
        seconds=seconds(row["picoseconds"]),
        rows_examined=count(row["rows_examined"]),
        without_index=bool(count(row["without_index"])) or counts_table(text(row["digest_text"])),
        first_seen=_time(row["first_seen"]),
        last_seen=_time(row["last_seen"]),
    )


def _time(value: Value) -> float:
    seconds = number(value)
    if seconds is None:
        raise ValueError(f"{value!r} where a time was expected")
    return seconds
