from collections.abc import Callable, Iterator
from typing import Any

import pytest

from exporter.collectors import index_sizes
from exporter.collectors.base import TOP
from exporter.collectors.index_sizes import IndexSizes
from exporter.rows import Rows, Value
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Index, Snapshot
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.exposition import exposed

Ask = Callable[..., list[tuple[Any, ...]]]
Fetch = Callable[[PrivateServer, str], Rows]

SCHEMA = "sized"
STATEMENTS = (index_sizes.SQL, index_sizes.ALL_SQL, index_sizes.COLUMNS_SQL)
COLUMNS = (
    "database_name",
    "table_name",
    "index_name",
    "pages",
    "leaf_pages",
    "distinct_keys",
    "sampled_pages",
    "longest_prefix",
)


def sizes_of(server: PrivateServer, fetch: Fetch) -> IndexSizes:
    return index_sizes.parse([fetch(server, sql) for sql in STATEMENTS])


def parsed(*rows: tuple[Value, ...]) -> IndexSizes:
    pages = sum(int(row[3] or 0) for row in rows)
    tables = len({row[:2] for row in rows})
    whole = Rows.of(["pages", "tables"], [[pages or None, tables]])
    return index_sizes.parse([Rows.of(COLUMNS, [(*row, None) for row in rows]), whole])


def of(sizes: IndexSizes) -> Snapshot:
    return Snapshot(1.0, identify({"version": "9.7.4"}), "a@b").with_section(index_sizes.INDEX_SIZES, sizes)


SAMPLING = 0.06
"""InnoDB takes the mean of 20 leaf pages (innodb_stats_persistent_sample_pages); the last may be among them, and is
not full. Were a row a page missing, which is what the correction is for, 8 rows a page would be wrong by 0.125.
"""


@pytest.mark.parametrize(("pages", "error"), [(1, 0.0), (4, 0.0), (15, 0.0), (40, SAMPLING), (400, SAMPLING)])
def test_the_rows_of_a_table_are_known(server: PrivateServer, fetch: Fetch, pages: int, error: float) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "rows_of", pages, indexes=1)
    sizes = sizes_of(server, fetch).sizes
    clustered = sizes[Index(workloads.SCHEMA, "rows_of", "PRIMARY")]
    assert clustered.rows == pytest.approx(pages * workloads.ROWS_PER_PAGE, rel=error)
    assert clustered.pages >= pages
    if pages >= 20 or server.name.startswith("mysql"):  # MariaDB says 1 for an index of which it has read all
        assert clustered.leaf_pages == pytest.approx(pages, abs=2)
    assert sizes[Index(workloads.SCHEMA, "rows_of", "k1")].rows is None


TABLES = {
    "narrow": ("id INT PRIMARY KEY, v INT", "n, n"),
    "two_columns": ("a INT, b INT, v CHAR(200), PRIMARY KEY (a, b)", "n DIV 100, n MOD 100, 'x'"),
    "three_columns": ("a INT, b INT, c INT, v CHAR(200), PRIMARY KEY (a, b, c)", "n DIV 1000, n DIV 10, n, 'x'"),
    "text_key": ("id VARCHAR(250) PRIMARY KEY", "CONCAT(REPEAT('x', 200), n + 100000)"),
    "without_a_key": ("v CHAR(200)", "'x'"),
}


@pytest.fixture(scope="module")
def numbered(server: PrivateServer, ask: Ask) -> Iterator[PrivateServer]:
    """A server with 20,000 rows (n) in `numbers`."""
    ask(
        server,
        f"DROP DATABASE IF EXISTS {SCHEMA}",
        f"CREATE DATABASE {SCHEMA}",
        f"USE {SCHEMA}",
        "CREATE TABLE numbers (n INT PRIMARY KEY) ENGINE=InnoDB",
        "INSERT INTO numbers VALUES " + ",".join(f"({n})" for n in range(20000)),
    )
    yield server
    ask(server, f"DROP DATABASE {SCHEMA}")


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_tables_of_other_shapes_are_known_too(
    numbered: PrivateServer, ask: Ask, fetch: Fetch, table: str
) -> None:
    columns, values = TABLES[table]
    ask(
        numbered,
        f"USE {SCHEMA}",
        f"CREATE TABLE {table} ({columns}) ENGINE=InnoDB",
        f"INSERT INTO {table} SELECT {values} FROM numbers ORDER BY 1",
        f"ANALYZE TABLE {table}",
    )
    [size] = [size for index, size in sizes_of(numbered, fetch).sizes.items() if index.table == table]
    assert size.rows == pytest.approx(20000, rel=SAMPLING)


def test_partitions_are_summed_under_the_tables_name(numbered: PrivateServer, ask: Ask, fetch: Fetch) -> None:
    ask(
        numbered,
        f"USE {SCHEMA}",
        "CREATE TABLE parts (id INT PRIMARY KEY, v CHAR(200) NOT NULL, KEY (v)) ENGINE=InnoDB"
        " PARTITION BY HASH (id) PARTITIONS 5",
        "INSERT INTO parts SELECT n, n FROM numbers",
        "ANALYZE TABLE parts",
    )
    sizes = {
        index.index: size
        for index, size in sizes_of(numbered, fetch).sizes.items()
        if (index.schema, index.table) == (SCHEMA, "parts")
    }
    [(pages,)] = ask(
        numbered,
        "SELECT SUM(stat_value) FROM mysql.innodb_index_stats WHERE stat_name = 'size' AND index_name = 'PRIMARY'"
        f" AND database_name = '{SCHEMA}' AND table_name LIKE 'parts#%'",
    )
    assert sizes.keys() == {"PRIMARY", "v"}
    assert sizes["PRIMARY"].rows == pytest.approx(20000, rel=SAMPLING)
    assert sizes["PRIMARY"].pages == pages > 5
    assert sizes["v"].rows is None
    assert not [index for index in sizes_of(numbered, fetch).sizes if index.schema == SCHEMA and "#" in index.table]


def test_commas_in_columns_names_and_long_names_keep_their_columns(
    server: PrivateServer, ask: Ask, fetch: Fetch
) -> None:
    long = tuple(f"{n:x}" + "m" * 63 for n in range(10))
    cut = tuple(f"{n:x}" + "é" * 63 for n in range(10))
    schema = "comma"
    columns = ("id", "plain", "a,b", ",", *long, *cut)
    keys = {
        "PRIMARY": ("id",),
        "one": ("a,b",),
        "two": ("plain", "a,b", ","),
        "long": long,
        "cut": None,
        "unique": ("plain", ","),
    }
    ask(
        server,
        f"DROP DATABASE IF EXISTS {schema}",
        f"CREATE DATABASE {schema}",
        f"CREATE TABLE {schema}.t ({', '.join(f'`{column}` INT NOT NULL' for column in columns)}, PRIMARY KEY (id),"
        f" KEY one (`a,b`), KEY two (plain, `a,b`, `,`), KEY `long` (`{'`, `'.join(long)}`),"
        f" KEY cut (`{'`, `'.join(cut)}`), UNIQUE KEY `unique` (plain, `,`)) ENGINE=InnoDB",
        f"ANALYZE TABLE {schema}.t",
    )
    sizes = sizes_of(server, fetch).sizes
    ask(server, f"DROP DATABASE {schema}")
    assert {index.index: size.columns for index, size in sizes.items() if index.schema == schema} == keys


def test_a_recording_without_the_descriptions_does_not_split_a_name() -> None:
    rows = [("s", "t", "k", 2, 1, None, None, longest) for longest in ("n_diff_pfx02 a,b,c", "n_diff_pfx02 a,b")]
    columns = [
        index_sizes.parse([Rows.of(COLUMNS, [row]), Rows.of(["pages", "tables"], [[2, 1]])])
        .sizes[Index("s", "t", "k")]
        .columns
        for row in rows
    ]
    assert columns == [None, ("a", "b")]


def test_an_sql_mode_of_the_server_changes_nothing(numbered: PrivateServer, fetch: Fetch) -> None:
    before = sizes_of(numbered, fetch)
    with numbered.connect(sql_mode="ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT") as connection:
        cursor = connection.cursor()
        cursor.execute(index_sizes.SQL)
        columns = [column[0] for column in cursor.description or ()]
        rows = Rows.of(columns, cursor.fetchall())
        others = [fetch(numbered, sql) for sql in STATEMENTS[1:]]
        assert index_sizes.parse([rows, *others]).sizes == before.sizes
    assert any(size.rows for size in before.sizes.values())


def test_an_empty_table_has_no_rows_and_one_page(numbered: PrivateServer, ask: Ask, fetch: Fetch) -> None:
    ask(numbered, f"CREATE TABLE {SCHEMA}.empty (id INT PRIMARY KEY) ENGINE=InnoDB")
    ask(numbered, f"ANALYZE TABLE {SCHEMA}.empty")
    size = sizes_of(numbered, fetch).sizes[Index(SCHEMA, "empty", "PRIMARY")]
    assert (size.rows, size.pages) == (0, 1)


def test_statistics_that_are_incomplete_are_left_out() -> None:
    section = parsed(
        ("s", "no_size", "PRIMARY", None, None, None, None),
        ("s", "no_leaves", "PRIMARY", 7, None, 100, 5),
        ("s", "no_keys", "PRIMARY", 7, 6, None, None),
    )
    assert {index.table: (size.pages, size.leaf_pages, size.rows) for index, size in section.sizes.items()} == {
        "no_leaves": (7, 0, None),
        "no_keys": (7, 6, None),
    }


def test_a_partition_without_rows_known_makes_the_tables_unknown() -> None:
    section = parsed(("s", "t#P#a", "PRIMARY", 7, 6, 100, 6), ("s", "t#P#b", "PRIMARY", 7, 6, None, None))
    assert section.sizes[Index("s", "t", "PRIMARY")].rows is None


def test_the_smallest_of_many_are_summed() -> None:
    section = parsed(
        *(("s", f"t{n}", "PRIMARY", 1000 - n, 900 - n, 100, 1) for n in range(TOP + 20)),
        ("s", "t0", "tiny", 1, 1, 5, 1),
    )
    tables = {index.table for index in section.sizes}
    assert tables == {f"t{n}" for n in range(TOP)}
    assert Index("s", "t0", "tiny") in section.sizes  # with the table's own large index
    assert section.other_pages == sum(1000 - n for n in range(TOP, TOP + 20))


def test_leaf_pages_and_rows_that_are_not_known_have_no_series() -> None:
    metrics = exposed(
        of(parsed(("s", "no_leaves", "PRIMARY", 7, None, 100, 5), ("s", "no_keys", "PRIMARY", 7, 6, None, None)))
    )
    assert metrics["innodb_index_leaf_pages"] == {("s", "no_keys", "PRIMARY"): 6}
    assert "innodb_table_rows" not in metrics


def test_of_many_tables_the_largest_have_series() -> None:
    """Two thousand tables with two indexes each."""
    large = parsed(
        *(("s", f"t{n}", "PRIMARY", 9000 - n, 8000 - n, 9000, 1) for n in range(2000)),
        *(("s", f"t{n}", "k", 5000 - n, 4000 - n, None, None) for n in range(2000)),
    )
    metrics = exposed(of(large))
    indexes = {labels for labels in metrics["innodb_index_pages"] if labels[0]}
    assert len(indexes) == TOP
    assert set(metrics["innodb_index_leaf_pages"]) == {labels[:3] for labels in metrics["innodb_index_info"]} == indexes
    assert set(metrics["innodb_table_rows"]) == {("s", f"t{n}") for n in range(TOP)}


def test_an_empty_result_has_no_indexes() -> None:
    assert parsed() == IndexSizes({}, 0, 0)


async def test_the_exposed_sizes_are_those_of_the_statistics(
    server: PrivateServer, ask: Ask, watch: Callable[..., Sampler]
) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "measured", 400, indexes=2)
    sizes = exposed(await watch(server).collect())["innodb_index_pages"]
    rows = ask(
        server,
        "SELECT database_name, table_name, index_name, stat_value FROM mysql.innodb_index_stats"
        f" WHERE stat_name = 'size' AND database_name = '{workloads.SCHEMA}' AND table_name = 'measured'",
    )
    ask(server, f"DROP TABLE {workloads.SCHEMA}.measured")
    assert {tuple(name): pages for *name, pages in rows} == {
        name: pages for name, pages in sizes.items() if name[:2] == (workloads.SCHEMA, "measured")
    }
    assert len(rows) == 3
    assert sizes["", "", "__other__"] >= 0
