"""INNODB_COLUMNS (INNODB_SYS_COLUMNS before MySQL 8.0, and on MariaDB): the size of primary keys of counted tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import OF_TABLE, Collector, exact, gauge, of_dictionary
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, require_room_for_tables
from exporter.collectors.indexes import named_tables
from exporter.exposition import LabelledValue
from exporter.rows import LARGE, Rows, count, text
from exporter.snapshot import Snapshot, Table
from exporter.table_names import SYSTEM_SCHEMAS, from_filename, logical_table

_ALL = f"LIMIT {2**64 - 1}"
"""Keeps a derived table from being merged into the statement: see named_tables."""
_FIXED = "MTYPE IN (2, 3, 6, 9, 10)"
"""DATA_CHAR, which is of latin1, DATA_FIXBINARY, DATA_INT, DATA_FLOAT and DATA_DOUBLE (data0type.h). A CHAR of another
character set is DATA_MYSQL, and of variable length where characters differ in theirs."""
SQL = (
    "SELECT t.NAME AS table_name, COUNT(*) AS key_columns, SUM(c.fixed) AS fixed_columns, SUM(c.LEN) AS bytes"
    " FROM (SELECT TABLE_ID, MIN(INDEX_ID) AS INDEX_ID FROM information_schema.{prefix}INDEXES"
    " GROUP BY TABLE_ID HAVING COUNT(*) = 1 AND MIN(TYPE) = 3) i"
    f" STRAIGHT_JOIN (SELECT INDEX_ID, {exact('NAME', 64)} AS name FROM information_schema.{{prefix}}FIELDS {_ALL}) f"
    " ON f.INDEX_ID = i.INDEX_ID"
    f" STRAIGHT_JOIN (SELECT TABLE_ID, {exact('NAME', 64)} AS name, LEN, {_FIXED} AS fixed"
    f" FROM information_schema.{{prefix}}COLUMNS {_ALL}) c ON c.TABLE_ID = i.TABLE_ID AND c.name = f.name"
    f" STRAIGHT_JOIN {named_tables('{prefix}')} t ON t.TABLE_ID = i.TABLE_ID"
    " GROUP BY t.NAME HAVING SUM(c.fixed) = COUNT(*)"
)
LEAST_PAGES = 1000
"""Of a counted table: count-has-no-small-index judges no smaller one."""


def parse(results: Sequence[Rows]) -> Mapping[Table, int]:
    """Bytes of the primary key's columns, for tables whose only index it is.

    Tables with a key column of variable length are left out: the server does not tell how long its values are.
    """
    sizes: dict[Table, int] = {}
    for row in results[0]:
        schema, name = from_filename(text(row["table_name"]))
        if schema and schema not in SYSTEM_SCHEMAS:
            sizes[Table(schema, logical_table(name))] = count(row["bytes"])
    return sizes


def is_needed(known: Snapshot) -> bool:
    """Whether a large table without a secondary index is counted: the server reads its whole dictionary to answer."""
    return next(_counted(known), None) is not None


def _counted(known: Snapshot) -> Iterator[Table]:
    sizes, counted = known[INDEX_SIZES], known[COUNT_STATEMENTS] or {}
    if sizes is None:
        return
    large = [i.of_table for i, size in sizes.sizes.items() if i.clustered and size.pages >= LEAST_PAGES]
    for table in large:
        if (table in counted or hidden(counted, table)) and len(sizes.of(table)) == 1:
            yield table


def _key_bytes(snapshot: Snapshot) -> Iterator[LabelledValue]:
    sizes = snapshot[KEY_BYTES] or {}
    return (((table.schema, table.table), sizes[table]) for table in _counted(snapshot) if table in sizes)


KEY_BYTES = Collector(
    "key_bytes",
    of_dictionary(SQL),
    parse,
    bound=LARGE,
    privilege="PROCESS ON *.*",
    every=300.0,
    needed=is_needed,
    precondition=require_room_for_tables,
    anonymise=columns(table_name=Pseudonyms.dictionary),
    metrics=(
        gauge(
            "innodb_table_key_bytes",
            "Bytes of the primary key's columns in an index entry, for tables of 1,000 pages and more that COUNT(*) "
            "counts and that have no secondary index. No sample where a column has no fixed length.",
            "",
            OF_TABLE,
            values=_key_bytes,
        ),
    ),
)
