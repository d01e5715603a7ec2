"""Odd names and page sizes: every source names the same table, on every server."""

from collections.abc import Callable
from typing import Any

import pytest

from exporter.anonymisation import Pseudonyms
from exporter.collectors.index_sizes import INDEX_SIZES, TableFormats
from exporter.collectors.table_formats import TABLE_FORMATS, parse
from exporter.digest_text import CUT
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot, Table
from lab.servers import PrivateServer

Ask = Callable[..., list[tuple[Any, ...]]]
StartServer = Callable[..., PrivateServer]
Watch = Callable[..., Sampler]

SCHEMA = "Odd#p#s"
CJK = "表" * 48
COLUMNS = "(id INT, d INT, v CHAR(20) NOT NULL, w INT, PRIMARY KEY (id, d), KEY k (v)) ENGINE=InnoDB"
PLAIN = ("x", "x#p#y", "x#P#z", "Orders", CJK)
PARTITIONED = {
    "Parts": "PARTITION BY HASH (id) (PARTITION `P#0`, PARTITION p1)",
    "sub#P#parts": (
        "PARTITION BY RANGE (id) SUBPARTITION BY HASH (d) (PARTITION Pa VALUES LESS THAN (3)"
        " (SUBPARTITION Sa, SUBPARTITION `s#p#`),"
        " PARTITION pb VALUES LESS THAN MAXVALUE (SUBPARTITION sc, SUBPARTITION sd))"
    ),
}


COMPRESSED = {"zip": 4096, "zips": 8192}
"""Size of a page. The second table has partitions."""


def fill(server: PrivateServer, ask: Ask) -> None:
    """Make the tables, with rows and statistics, scan each without an index, and count it."""
    ask(server, f"CREATE DATABASE `{SCHEMA}`")
    names = [*PLAIN, *PARTITIONED]
    rows = ", ".join(f"({n}, {n}, 'x', {n})" for n in range(7))
    for table, size in COMPRESSED.items():
        parts = "PARTITION BY HASH (id) PARTITIONS 3" if table == "zips" else ""
        ask(
            server,
            "CREATE DATABASE IF NOT EXISTS zipped",
            f"CREATE TABLE zipped.{table} {COLUMNS} ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE={size // 1024} {parts}",
            f"ANALYZE TABLE zipped.{table}",
        )
    for name in names:
        ask(
            server,
            f"USE `{SCHEMA}`",
            f"CREATE TABLE `{name}` {COLUMNS} {PARTITIONED.get(name, '')}",
            f"INSERT INTO `{name}` VALUES {rows}",
            f"ANALYZE TABLE `{name}`",
            f"SELECT MAX(w) FROM `{name}`",
            f"SELECT COUNT(*) FROM `{name}`",
        )


def named(snapshot: Snapshot, written: Callable[[str], str]) -> dict[str, set[str]]:
    """The tables of the schema, by source."""
    sections = {name: getattr(section, "sizes", section) for name, section in snapshot.sections.items()}
    schema = written(SCHEMA)
    return {
        name: {
            key.table for key in getattr(sections.get(name), "pages", sections.get(name)) or () if key.schema == schema
        }
        for name in ("index_sizes", "table_files", "table_scans", "count_statements", "indexes", "cached_indexes")
    }


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("mysql-9.7", 1),
        ("mariadb-11.8", 0),
        ("mariadb-10.11", 1),
        ("mariadb-10.5", 0),
        ("mysql-5.6", 1),
    ],
)
async def test_every_source_gives_a_table_the_same_name_and_pages_of_its_own_size(
    start_server: StartServer, watch: Watch, ask: Ask, name: str, lower: int
) -> None:
    barracuda = {"innodb_file_format": "Barracuda"} if name == "mysql-5.6" else {}
    server = start_server(name, performance_schema="ON", lower_case_table_names=lower, **barracuda)
    fill(server, ask)
    snapshot = await watch(server).collect()
    names = named(snapshot, str.lower if lower else str)
    tables = {table.lower() if lower else table for table in (*PLAIN, *PARTITIONED)}
    assert names.pop("index_sizes") == tables
    assert names.pop("table_files") == tables
    assert names.pop("table_scans") == tables
    if server.name == "mysql-9.7":  # a sample has the name of 144 bytes; INNODB_INDEXES lacks partitioned tables
        assert names.pop("count_statements") == tables
        tables -= {table.lower() if lower else table for table in PARTITIONED}
        assert names.pop("cached_indexes") == tables
    else:
        assert names.pop("count_statements") == tables - {CJK} | {CUT}
    assert names.pop("indexes") == tables
    sizes = snapshot[INDEX_SIZES]
    assert sizes is not None
    assert {size.rows for index, size in sizes.sizes.items() if index.clustered and index.table in tables} == {7}
    pages = {index.table: size.page_bytes for index, size in sizes.sizes.items() if index.table in COMPRESSED}
    assert pages == COMPRESSED
    assert all(size.page_bytes is None for index, size in sizes.sizes.items() if index.table not in COMPRESSED)


def test_a_name_is_kept_apart_from_a_partition_without_names_of_the_owner() -> None:
    rows = Rows.of(
        ["table_name", "zip_page_bytes"],
        [["s/x@0023P@0023y", 0], ["s/a@0023p@0023b#P#c", 0], ["s/z", 4096], ["s/#sql-1", 8192]],
    )
    formats = parse([rows])
    assert formats == TableFormats(
        {Table("s", "z"): 4096, Table("s", "#sql-1"): 8192}, (Table("s", "a#p#b"), Table("s", "x#P#y"))
    )
    pseudonyms = Pseudonyms()
    hidden = parse([TABLE_FORMATS.anonymise(pseudonyms, rows)])
    assert set(hidden.like_partitions) == {
        Table(pseudonyms.schema("s"), pseudonyms.table(name)) for name in ("a#p#b", "x#P#y")
    }
    assert "y" not in hidden.like_partitions[0].table.split("#")
