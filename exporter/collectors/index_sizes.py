"""mysql.innodb_index_stats: pages and columns of each index, rows of each table, from persistent statistics."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from exporter.anonymisation import Pseudonyms, columns, unchanged
from exporter.collectors.base import (
    OF_INDEX,
    OF_TABLE,
    OTHER,
    TOP,
    Collector,
    SourceUnavailable,
    fixed,
    gauge,
    index_labels,
)
from exporter.exposition import LabelledValue
from exporter.rows import Rows, Value, count, number, text
from exporter.snapshot import Index, Snapshot, Table
from exporter.table_names import PARTITION, logical_table

_PARTITIONED = "SUBSTRING_INDEX(SUBSTRING_INDEX(table_name, '#p#', 1), '#P#', 1)"
_SIZES = " FROM mysql.innodb_index_stats WHERE stat_name = 'size' AND database_name <> 'mysql'"
_LARGEST = (
    "SELECT DISTINCT in_schema, in_table FROM ("
    f"SELECT database_name AS in_schema, {_PARTITIONED} AS in_table, SUM(stat_value) AS pages{_SIZES}"
    f" GROUP BY database_name, in_table, index_name ORDER BY pages DESC LIMIT {TOP}) ranked"
)
SQL = (
    "SELECT database_name, table_name, index_name,"
    " MAX(CASE WHEN stat_name = 'size' THEN stat_value END) AS pages,"
    " MAX(CASE WHEN stat_name = 'n_leaf_pages' THEN stat_value END) AS leaf_pages,"
    " MAX(CASE WHEN stat_name LIKE 'n_diff_pfx%' THEN stat_value END) AS distinct_keys,"
    " MAX(CASE WHEN stat_name LIKE 'n_diff_pfx%' THEN sample_size END) AS sampled_pages,"
    " MAX(CASE WHEN stat_name LIKE 'n_diff_pfx%' THEN LEFT(CONCAT(stat_name, ' ', stat_description), 512) END)"
    " AS longest_prefix"
    f" FROM mysql.innodb_index_stats JOIN ({_LARGEST}) largest"
    f" ON database_name = in_schema AND {_PARTITIONED} = in_table"
    " GROUP BY database_name, table_name, index_name"
)
# Descriptions that longest_prefix cuts (LEFT keeps the temporary table in memory), or that have more commas than a list
# of their columns: a column's name may hold commas.
COLUMNS_SQL = (
    "SELECT database_name, table_name, index_name, stat_name, stat_description FROM mysql.innodb_index_stats"
    " WHERE stat_name LIKE 'n_diff_pfx%' AND (CHAR_LENGTH(stat_description) >= 500"
    " OR CHAR_LENGTH(stat_description) - CHAR_LENGTH(REPLACE(stat_description, ',', ''))"
    " >= CAST(SUBSTRING(stat_name, 11) AS UNSIGNED))"
)
ALL_SQL = f"SELECT SUM(stat_value) AS pages, COUNT(DISTINCT database_name, table_name) AS tables{_SIZES}"
_ROW_ID = "DB_ROW_ID"
_LONGEST_DESCRIPTION = 1023
"""Bytes: the server cuts a longer stat_description (seen on all)."""
_CLUSTERED = ("PRIMARY", "GEN_CLUST_INDEX")


@dataclass(frozen=True, slots=True)
class IndexSize:
    """One index, partitions summed."""

    pages: int
    leaf_pages: int
    rows: int | None
    """The last estimate, for a clustered index only."""
    columns: tuple[str, ...] | None = None
    """The index's own columns in order, without the clustered key's columns that InnoDB adds to a non-unique secondary
    index. None if the statistics name none; empty for GEN_CLUST_INDEX."""
    page_bytes: int | None = None
    """Size of a page on disk, if compressed (ROW_FORMAT=COMPRESSED); None if it has innodb_page_size."""


@dataclass(frozen=True, slots=True)
class IndexSizes:
    """The size of every index."""

    sizes: Mapping[Index, IndexSize]
    """The largest indexes."""
    other_pages: int
    """Pages of all others."""
    tables: int | None = None
    """Tables with statistics, each partition counted."""

    @property
    def rows(self) -> dict[Table, int | None]:
        """Rows of each table, as last estimated."""
        return {index.of_table: size.rows for index, size in self.sizes.items() if index.clustered}

    @property
    def pages(self) -> dict[Table, int]:
        """Pages of all indexes of each table."""
        pages: dict[Table, int] = {}
        for index, size in self.sizes.items():
            pages[index.of_table] = pages.get(index.of_table, 0) + size.pages
        return pages

    def of(self, table: Table) -> dict[Index, IndexSize]:
        """The indexes of a table."""
        return {i: size for i, size in self.sizes.items() if i.table == table.table and i.schema == table.schema}


@dataclass(frozen=True, slots=True)
class TableFormats:
    """Tables whose pages or names are not as most."""

    page_bytes: Mapping[Table, int]
    """Size of a compressed page on disk (KEY_BLOCK_SIZE), for tables with ROW_FORMAT=COMPRESSED."""
    like_partitions: tuple[Table, ...]
    """Tables with ``#p#`` in their own name, partitioned or not."""


def parse(results: Sequence[Rows], formats: TableFormats | None = None) -> IndexSizes:
    """The largest indexes, and all other indexes of their tables; partitions summed."""
    descriptions = results[2] if len(results) > 2 else ()  # most captures were recorded without them
    keys = _keys(results[0], descriptions, formats)
    sizes: dict[Index, IndexSize] = {}
    for row in results[0]:
        if row["pages"] is None:
            continue
        index = _index(row, formats)
        rows = _rows(row) if index.clustered else None
        before = sizes.get(index, IndexSize(0, 0, 0))
        sizes[index] = IndexSize(
            pages=before.pages + count(row["pages"]),
            leaf_pages=before.leaf_pages + count(row["leaf_pages"] or 0),
            rows=None if before.rows is None or rows is None else before.rows + rows,
            columns=_columns(index, keys),
            page_bytes=None if formats is None else formats.page_bytes.get(Table(index.schema, index.table)),
        )
    ranked = sorted(sizes, key=lambda index: -sizes[index].pages)
    tables = {(index.schema, index.table) for index in ranked[:TOP]}
    largest = {index: sizes[index] for index in ranked if (index.schema, index.table) in tables}
    shown, in_all = (sum(size.pages for size in some.values()) for some in (largest, sizes))
    [whole] = results[1]
    return IndexSizes(largest, max(in_all, count(whole["pages"] or 0)) - shown, count(whole["tables"]))


def _keys(
    sizes: Rows, descriptions: Iterable[dict[str, Value]], formats: TableFormats | None
) -> dict[Index, tuple[str, ...]]:
    """The columns that InnoDB orders each index by, from the description of its longest n_diff_pfx."""
    prefixes: dict[Index, dict[int, str]] = {}
    for row in descriptions:
        prefixes.setdefault(_index(row, formats), {})[_length(text(row["stat_name"]))] = text(row["stat_description"])
    keys = {}
    for row in sizes:
        index = _index(row, formats)
        longest, _, plain = text(row["longest_prefix"]).partition(" ")
        key = _key(plain, prefixes.get(index, {})) if plain else ()
        if key and len(key) == _length(longest):
            keys[index] = key
    return keys


def _key(plain: str, prefixes: Mapping[int, str]) -> tuple[str, ...]:
    """The columns of an index; none if the server cut their names.

    Args:
        plain: Their names, separated by commas.
        prefixes: The same of the first columns, by their number, from the first name with a comma on: each has one name
            more than the one before.
    """
    if not prefixes:
        return tuple(plain.split(","))
    if any(len(names.encode()) >= _LONGEST_DESCRIPTION for names in prefixes.values()):
        return ()
    first = min(prefixes)
    columns = prefixes[first].split(",", first - 1)
    before = prefixes[first]
    for length in sorted(prefixes)[1:]:
        columns.append(prefixes[length].removeprefix(f"{before},"))
        before = prefixes[length]
    return tuple(columns)


def _length(stat_name: str) -> int:
    """The columns of an ``n_diff_pfx02``."""
    return int(stat_name.removeprefix("n_diff_pfx") or 0)


def _index(row: dict[str, Value], formats: TableFormats | None) -> Index:
    schema, name = text(row["database_name"]), text(row["table_name"])
    return Index(schema, _logical_name(schema, name, formats), text(row["index_name"]))


def _logical_name(schema: str, name: str, formats: TableFormats | None) -> str:
    """The table of a name in innodb_index_stats, which may be a partition's.

    Without ``formats`` each ``#p#`` is taken for a partition's.
    """
    own = [
        table.table
        for table in (() if formats is None else formats.like_partitions)
        if table.schema == schema
        and name.startswith(table.table)
        and f"{name[len(table.table) :]}{PARTITION}".lower().startswith(PARTITION)
    ]
    return max(own, key=len) if own else logical_table(name)


def _columns(index: Index, keys: Mapping[Index, tuple[str, ...]]) -> tuple[str, ...] | None:
    """The index's own columns, without the clustered key's columns that InnoDB adds."""
    key = keys.get(index)
    if key is None:
        return None
    if index.clustered:
        return tuple(column for column in key if column != _ROW_ID)
    clustered = next((keys[other] for name in _CLUSTERED if (other := replace(index, index=name)) in keys), ())
    for length in range(1, len(key)):
        own = key[:length]
        if key[length:] == tuple(column for column in clustered if column not in own):
            return own
    return key


def _rows(row: dict[str, Value]) -> int | None:
    """Rows of a table from the statistics of its clustered index, whose full key is unique.

    If InnoDB samples only some leaf pages, it subtracts one from the distinct keys of each page, because a key at a
    page's end may be counted twice (dict0stats.cc, dict_stats_analyze_index_for_n_prefix). Unique keys are never
    counted twice, so one key a leaf page is missing: seen, 79,807 for 91,200 rows in 11,401 pages. With more leaf
    pages than keys, most of these pages hold parts of long columns and no keys.
    """
    if row["distinct_keys"] is None or row["leaf_pages"] is None:
        return None
    keys, leaf_pages = count(row["distinct_keys"]), count(row["leaf_pages"])
    sampled = row["sampled_pages"]
    return keys + leaf_pages if sampled is not None and count(sampled) < leaf_pages <= keys else keys


def require_room_for_tables(known: Snapshot) -> None:
    """Raises SourceUnavailable if a table that lists InnoDB's tables or indexes must not be read.

    The server would open each of them.

    MySQL's data dictionary keeps at most table_definition_cache tables open (9.7.4, 10,000 tables in a cache of 2,000:
    4 s of its CPU each time, which no limit cuts short).
    """
    sizes = known[INDEX_SIZES]
    tables = None if sizes is None else sizes.tables
    cache = number(known.setting("table_definition_cache"))
    if tables is None or cache is None or tables <= cache or not known.server.data_dictionary:
        return
    raise SourceUnavailable(
        "disabled",
        f"{tables:,} tables, and room for {cache:,.0f} in table_definition_cache: the server would open them all",
        f"SET GLOBAL table_definition_cache = {tables + tables // 10}",
    )


def largest_indexes(snapshot: Snapshot) -> list[tuple[Index, IndexSize]]:
    """The indexes that have series of their own, the same for every metric: up to TOP, of the largest tables.

    A table has a series for each of its indexes, or for none: who reads the series may take it for whole.
    """
    section = snapshot[INDEX_SIZES]
    tables: dict[Table, list[tuple[Index, IndexSize]]] = {}
    for index, size in sorted(section.sizes.items() if section else (), key=lambda item: -item[1].pages):
        tables.setdefault(Table(index.schema, index.table), []).append((index, size))
    shown: list[tuple[Index, IndexSize]] = []
    for indexes in tables.values():
        if len(shown) + len(indexes) <= TOP:
            shown += indexes
    return sorted(shown, key=lambda item: -item[1].pages)


def _pages(snapshot: Snapshot) -> Iterator[LabelledValue]:
    if (section := snapshot[INDEX_SIZES]) is not None:
        largest = largest_indexes(snapshot)
        for index, size in largest:
            yield index_labels(index), size.pages
        total = section.other_pages + sum(size.pages for size in section.sizes.values())
        yield index_labels(OTHER), total - sum(size.pages for _, size in largest)


def _leaf_pages(snapshot: Snapshot) -> Iterator[LabelledValue]:
    sizes = largest_indexes(snapshot)
    return ((index_labels(index), size.leaf_pages) for index, size in sizes if size.leaf_pages)  # 0 is not known


def _table_rows(snapshot: Snapshot) -> Iterator[LabelledValue]:
    section = snapshot[INDEX_SIZES]
    known = [
        (size.pages, (index.schema, index.table), size.rows)
        for index, size in (section.sizes.items() if section else ())
        if size.rows is not None
    ]
    return ((table, rows) for _, table, rows in heapq.nlargest(TOP, known))


def _longest_prefix(pseudonyms: Pseudonyms, prefix: str) -> str:
    statistic, space, names = prefix.partition(" ")
    return f"{statistic}{space}{pseudonyms.columns(names)}"


INDEX_SIZES = Collector(
    "index_sizes",
    fixed(SQL, ALL_SQL, COLUMNS_SQL),
    parse,
    privilege="SELECT ON mysql.innodb_index_stats",
    every=30.0,
    completed_by="table_formats",
    anonymise=columns(
        database_name=Pseudonyms.schema,
        table_name=Pseudonyms.table,
        index_name=Pseudonyms.index,
        longest_prefix=_longest_prefix,
        stat_name=unchanged,
        stat_description=Pseudonyms.columns,
    ),
    metrics=(
        gauge(
            "innodb_index_pages",
            "Size of an index by the persistent statistics, for the largest indexes; index __other__ sums the others.",
            "pages",
            OF_INDEX,
            values=_pages,
        ),
        gauge(
            "innodb_index_leaf_pages",
            "Leaf pages of an index by the persistent statistics, for the indexes of innodb_index_pages.",
            "leaf_pages",
            OF_INDEX,
            values=_leaf_pages,
        ),
        gauge(
            "innodb_table_rows",
            "Rows of a table by the persistent statistics, for the largest tables: as old as the last ANALYZE "
            "TABLE, which InnoDB does by itself after a tenth of the rows changed.",
            "rows",
            OF_TABLE,
            values=_table_rows,
        ),
    ),
)
