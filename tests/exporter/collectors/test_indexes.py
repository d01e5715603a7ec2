from collections.abc import Callable, Iterator
from typing import Any

import pytest

from exporter.collectors import index_sizes, indexes, variables
from exporter.collectors.base import SourceUnavailable
from exporter.collectors.index_sizes import IndexSize, IndexSizes, require_room_for_tables
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Index, Snapshot
from lab.servers import PrivateServer
from tests.exporter.exposition import exposed

Ask = Callable[..., list[tuple[Any, ...]]]
Fetch = Callable[[PrivateServer, str], Rows]

SCHEMA = "kinds of"  # a name that InnoDB's dictionary encodes
SIZES = (index_sizes.SQL, index_sizes.ALL_SQL)
NON_UNIQUE, UNIQUE, FULL_TEXT, SPATIAL = 0, 2, 32, 64
FULL_TEXT_TABLES = "FTS_"


@pytest.mark.parametrize(
    ("version", "table"),
    [
        ("5.6.24", "INNODB_SYS_INDEXES"),
        ("5.7.44", "INNODB_SYS_INDEXES"),
        ("8.0.11", "INNODB_INDEXES"),
        ("26.7.0", "INNODB_INDEXES"),
        ("11.8.6-MariaDB", "INNODB_SYS_INDEXES"),
    ],
)
def test_the_table_has_its_own_name_on_each_server(version: str, table: str) -> None:
    [sql] = indexes.queries(identify({"version": version}))
    assert f"information_schema.{table} " in sql


def test_partitions_are_one_table_and_the_servers_own_tables_are_left_out() -> None:
    rows = [
        ["shop/t#P#p0", "k", 0],
        ["shop/t#P#p1", "k", 0],
        ["shop/t#P#p1", "u", 2],
        ["mysql/innodb_index_stats", "k", 0],
        ["SYS_FOREIGN", "FOR_IND", 0],
    ]
    types = indexes.parse([Rows.of(["TABLE_NAME", "INDEX_NAME", "TYPE"], rows)])
    assert types == {Index("shop", "t", "k"): 0, Index("shop", "t", "u"): 2}


def test_a_part_of_the_indexes_is_not_taken_for_all() -> None:
    columns, rows = ["table_name", "index_name", "type"], [["shop/t", f"k{n}", 0] for n in range(indexes.MOST + 1)]
    assert len(indexes.parse([Rows.of(columns, rows[:-1])])) == indexes.MOST
    with pytest.raises(SourceUnavailable, match=r"more than 30,000 secondary indexes, the most that the sidecar reads"):
        indexes.parse([Rows.of(columns, rows)])


@pytest.fixture(scope="module")
def kinds(server: PrivateServer, ask: Ask) -> Iterator[PrivateServer]:
    """A server with tables that have every kind of index; dropped at the end."""
    ask(
        server,
        f"DROP DATABASE IF EXISTS `{SCHEMA}`",
        f"CREATE DATABASE `{SCHEMA}`",
        f"USE `{SCHEMA}`",
        "CREATE TABLE plain (id INT PRIMARY KEY, a INT, b INT, c TEXT, KEY a (a), UNIQUE KEY u (b, a), KEY ai (a, id),"
        " KEY first (c(10)), FULLTEXT f (c)) ENGINE=InnoDB",
        "CREATE TABLE wide (a INT, b INT, c INT, PRIMARY KEY (b, a), KEY c (c), KEY ca (c, a), KEY a (a))"
        " ENGINE=InnoDB",
        "CREATE TABLE bare (a INT, b INT, KEY b (b, a)) ENGINE=InnoDB",
        "CREATE TABLE parts (id INT, a INT, KEY a (a), UNIQUE KEY u (id, a)) ENGINE=InnoDB"
        " PARTITION BY HASH (id) PARTITIONS 2",
        "ANALYZE TABLE plain, wide, bare, parts",
    )
    yield server
    ask(server, f"DROP DATABASE `{SCHEMA}`")


def test_a_real_servers_indexes_are_of_the_kind_they_were_made(kinds: PrivateServer, fetch: Fetch) -> None:
    [sql] = indexes.queries(identify({"version": kinds.version}))
    types = {
        (index.table, index.index): kind
        for index, kind in indexes.parse([fetch(kinds, sql)]).items()
        if index.schema == SCHEMA and not index.table.upper().startswith(FULL_TEXT_TABLES)
    }
    expected = {
        ("plain", "a"): NON_UNIQUE,
        ("plain", "ai"): NON_UNIQUE,
        ("plain", "u"): UNIQUE,
        ("plain", "first"): NON_UNIQUE,
        ("plain", "f"): FULL_TEXT,
        ("plain", "FTS_DOC_ID_INDEX"): UNIQUE,  # InnoDB's own, for a full-text index
        ("wide", "c"): NON_UNIQUE,
        ("wide", "ca"): NON_UNIQUE,
        ("wide", "a"): NON_UNIQUE,
        ("bare", "b"): NON_UNIQUE,
        ("parts", "a"): NON_UNIQUE,
        ("parts", "u"): UNIQUE,
    }
    if kinds.name == "mysql-9.7":  # it names no index of a partitioned table
        expected = {name: kind for name, kind in expected.items() if name[0] != "parts"}
    assert types == expected


def test_the_columns_of_a_real_servers_indexes_are_known(kinds: PrivateServer, fetch: Fetch) -> None:
    kinds_by_type = {
        (index.table, index.index): size.columns
        for index, size in index_sizes.parse([fetch(kinds, sql) for sql in SIZES]).sizes.items()
        if index.schema == SCHEMA
    }
    assert kinds_by_type == {
        ("plain", "PRIMARY"): ("id",),
        ("plain", "a"): ("a",),
        ("plain", "ai"): ("a",),  # to InnoDB the same as KEY (a)
        ("plain", "u"): ("b", "a"),
        ("plain", "first"): ("c",),
        ("plain", "FTS_DOC_ID_INDEX"): ("FTS_DOC_ID",),
        ("wide", "PRIMARY"): ("b", "a"),
        ("wide", "c"): ("c",),
        ("wide", "ca"): ("c", "a"),
        ("wide", "a"): ("a",),
        ("bare", "GEN_CLUST_INDEX"): (),
        ("bare", "b"): ("b", "a"),
        ("parts", "GEN_CLUST_INDEX"): (),
        ("parts", "a"): ("a",),
        ("parts", "u"): ("id", "a"),
    }


def test_each_index_is_exposed_with_its_kind_and_columns(kinds: PrivateServer, fetch: Fetch) -> None:
    [sql] = indexes.queries(identify({"version": kinds.version}))
    sizes = index_sizes.parse([fetch(kinds, statement) for statement in SIZES])
    types = indexes.parse([fetch(kinds, sql)])
    sections = {"index_sizes": sizes, "indexes": types}
    series = exposed(Snapshot(0.0, identify({"version": kinds.version}), "", sections=sections))["innodb_index_info"]
    infos = {labels[1:3]: labels[3:] for labels in series if labels[0] == SCHEMA}
    assert infos["wide", "PRIMARY"] == ("clustered", "b,a")
    assert infos["wide", "ca"] == ("non-unique", "c,a")
    assert infos["plain", "u"] == ("unique", "b,a")
    assert infos["bare", "GEN_CLUST_INDEX"] == ("clustered", "")
    assert infos["parts", "a"] == ("" if kinds.name == "mysql-9.7" else "non-unique", "a")
    without = exposed(Snapshot(0.0, identify({"version": kinds.version}), "", sections={"index_sizes": sizes}))
    assert {labels[3] for labels in without["innodb_index_info"]} == {"clustered", ""}


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "non-unique"), (2, "unique"), (32, "full-text"), (64, "spatial"), (128, "virtual"), (130, "unique")],
)
def test_a_type_has_a_name(number: int, name: str) -> None:
    index = Index("s", "t", "k")
    assert indexes.kind(index, {index: number}) == name


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ((), ""),
        (("id",), "id"),
        (("a", "b c", "日"), "a,b c,日"),
        (("a,b", "c"), "`a,b`,c"),
        (("a`,`b", "`"), "`a``,``b`,````"),
    ],
)
def test_columns_are_read_back_from_their_label(names: tuple[str, ...], label: str) -> None:
    assert indexes.columns_text(names) == label
    assert indexes.columns_of_text(label) == names


def test_columns_that_statistics_do_not_name_are_not_known() -> None:
    names = ("database_name", "table_name", "index_name", "pages", "leaf_pages", "distinct_keys", "sampled_pages")
    largest = Rows.of([*names, "longest_prefix"], [["s", "t", "k", 3, 2, 1, 1, None]])
    [size] = index_sizes.parse([largest, Rows.of(["pages", "tables"], [[3, 1]])]).sizes.values()
    assert size == IndexSize(3, 2, None, None)


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_dictionary_that_does_not_fit_is_not_read(server: PrivateServer, fetch: Fetch) -> None:
    def known(tables: int, cache: int) -> Snapshot:
        identity = identify({"version": "9.7.4", "performance_schema": "ON"})
        sizes = IndexSizes({}, 0, tables)
        settings = {"table_definition_cache": str(cache)}
        return Snapshot(0.0, identity, "", sections={"variables": settings, "index_sizes": sizes})

    require_room_for_tables(known(2000, 2000))
    with pytest.raises(SourceUnavailable) as refused:
        require_room_for_tables(known(10_000, 2000))
    assert refused.value.failure == "disabled"
    assert refused.value.cure == "SET GLOBAL table_definition_cache = 11000"
    settings = variables.parse([fetch(server, variables.SQL)])
    assert int(settings["table_definition_cache"]) >= 400
    counted = index_sizes.parse([fetch(server, sql) for sql in SIZES])
    assert counted.tables is not None
    assert counted.tables >= len({(index.schema, index.table) for index in counted.sizes})
