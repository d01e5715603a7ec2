from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors import COLLECTORS, lru_pages, pools
from exporter.collectors.base import TOP, SourceUnavailable
from exporter.collectors.lru_pages import LRU_PAGES, LRU_PAGES_OF_ANY_POOL, LruPages, SublistPages
from exporter.collectors.pools import BufferPool
from exporter.recording.file import Recorder, replay
from exporter.rows import Rows, Value
from exporter.sampling.metrics import families
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Index, Snapshot
from exporter.table_names import from_quoted
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.waiting import wait_for

Ask = Callable[..., list[tuple[Any, ...]]]
StartServer = Callable[..., PrivateServer]
Watch = Callable[..., Sampler]

SCHEMA = 'é`"d.b'
NAMES = ["orders", "a.b", "q`uo\"te'", "日本", "x#p#y", "a/b", "a\\b", "x /* Partition `p0` */", "é" * 64]
WITH_IT = (*COLLECTORS, LRU_PAGES)


def parsed(*rows: tuple[Value, ...]) -> LruPages:
    return lru_pages.parse([Rows.of(["TABLE_NAME", "INDEX_NAME", "PAGES", "OLD_PAGES"], rows)])


def statement(server: PrivateServer, ask: Ask) -> str:
    [sql] = lru_pages.queries(identify({name.lower(): value for name, value in ask(server, "SHOW GLOBAL VARIABLES")}))
    return sql


def of_one_moment(server: PrivateServer, ask: Ask) -> tuple[tuple[BufferPool, ...], LruPages]:
    """Both sources while nothing changes, in one session: a statement's own result takes pages of the pool on MySQL."""
    sql = statement(server, ask)
    with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:

        def fetch(sql: str) -> list[Rows]:
            cursor.execute(sql)
            return [Rows.of([column[0] for column in cursor.description or ()], cursor.fetchall())]

        def looks() -> tuple[tuple[BufferPool, ...], LruPages] | None:
            before = pools.parse(fetch(pools.SQL))
            lru = lru_pages.parse(fetch(sql))
            after = pools.parse(fetch(pools.SQL))
            same = [(p.database_pages, p.old_pages) for p in before] == [(p.database_pages, p.old_pages) for p in after]
            return (after, lru) if same else None

        return wait_for(looks)


def sums(lru: LruPages) -> tuple[int, int]:
    sublists = (*lru.pages.values(), lru.other)
    return sum(pages.young for pages in sublists), sum(pages.old for pages in sublists)


def assert_all_pages_are_there(seen: tuple[BufferPool, ...], lru: LruPages) -> None:
    young, old = sums(lru)
    assert old == sum(pool.old_pages for pool in seen) > 0
    assert young == sum(pool.database_pages - pool.old_pages for pool in seen) > 0


def test_old_and_young_pages_are_those_of_the_pool(server: PrivateServer, ask: Ask) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "made", 1300)
    seen, lru = of_one_moment(server, ask)
    assert_all_pages_are_there(seen, lru)
    made = lru.pages[Index("shop", "made", "PRIMARY")]
    assert 0 < made.old + made.young <= 1400
    assert lru.other.young + lru.other.old > 0


@pytest.fixture(scope="module")
def named(server: PrivateServer, ask: Ask) -> Iterator[PrivateServer]:
    """A server with a table for each of NAMES, and a partitioned table."""
    schema = "`" + SCHEMA.replace("`", "``") + "`"
    ask(
        server,
        f"DROP DATABASE IF EXISTS {schema}",
        f"CREATE DATABASE {schema}",
        *(
            template.format(f"{schema}.`{name.replace('`', '``')}`")
            for name in NAMES
            for template in (
                "CREATE TABLE {} (id INT PRIMARY KEY, v INT, KEY `k``\"'.é` (v)) ENGINE=InnoDB",
                "INSERT INTO {} VALUES (1, 1)",
            )
        ),
        f"CREATE TABLE {schema}.`parts-é` (id INT PRIMARY KEY, v INT) ENGINE=InnoDB"
        " PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2"
        " (PARTITION `P-0` VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE)",
        f"INSERT INTO {schema}.`parts-é` VALUES (1, 1), (2, 2), (101, 1), (102, 2)",
    )
    yield server
    ask(server, f"DROP DATABASE {schema}")


def all_of_them(server: PrivateServer, sql: str, *before: str) -> dict[Index, int]:
    """Pages by index; small tables would not be among the first hundred."""
    pages: dict[Index, int] = {}
    with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
        for statement_ in (*before, sql):
            cursor.execute(statement_)
        for row in Rows.of([column[0] for column in cursor.description or ()], cursor.fetchall()):
            index = Index(*from_quoted(str(row["table_name"])), str(row["index_name"]))
            pages[index] = pages.get(index, 0) + int(row["pages"] or 0)
    return pages


@pytest.mark.parametrize("mode", ["SET sql_mode = ''", "SET sql_mode = 'ANSI_QUOTES'"])
def test_tables_and_indexes_have_their_own_names(named: PrivateServer, ask: Ask, mode: str) -> None:
    pages = all_of_them(named, statement(named, ask), mode)
    assert {(index.table, index.index) for index in pages if index.schema == SCHEMA} == {
        *((name, index) for name in NAMES for index in ("PRIMARY", "k`\"'.é")),
        ("parts-é", "PRIMARY"),
    }
    assert pages[Index(SCHEMA, "parts-é", "PRIMARY")] == 4


def test_names_are_read_where_the_server_quotes_none(named: PrivateServer, ask: Ask) -> None:
    ask(
        named,
        "CREATE DATABASE IF NOT EXISTS shop",
        "DROP TABLE IF EXISTS shop.plain",
        "CREATE TABLE shop.plain (id INT PRIMARY KEY, v INT) ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 2",
        "INSERT INTO shop.plain VALUES (1, 1), (2, 2)",
    )
    pages = all_of_them(named, statement(named, ask), "SET sql_quote_show_create = 0")
    assert pages[Index("shop", "plain", "PRIMARY")] == 2


@pytest.mark.parametrize(
    ("name", "schema_and_table"),
    [
        ("`shop`.`orders`", ("shop", "orders")),
        ("`shop`.`orders` /* Partition `p0`, Subpartition `p0sp0` */", ("shop", "orders")),
        ("`a``b`.`c.d`", ("a`b", "c.d")),
        ('"a""b`"."c"', ('a"b`', "c")),
        ("shop.orders /* Partition p0 */", ("shop", "orders")),
        ("`SYS_TABLES`", ("", "SYS_TABLES")),
        ("SYS_TABLES", ("", "SYS_TABLES")),
        ("`shop`.orders", ("", "shop")),
        ("`shop", ("", "`shop")),
        ("", ("", "")),
    ],
)
def test_a_quoted_name_is_taken_apart(name: str, schema_and_table: tuple[str, str]) -> None:
    assert from_quoted(name) == schema_and_table


def test_the_smallest_of_many_and_pages_without_an_index_are_summed() -> None:
    lru = parsed(
        *((f"`shop`.`t{n}`", "PRIMARY", n, n // 2) for n in range(TOP + 20)),
        (None, None, 500, 100),
        ("`tmp`.`#sql1_2_0`", "PRIMARY", 900, 50),
    )
    assert set(lru.pages.values()) == {SublistPages(n - n // 2, n // 2) for n in range(20, TOP + 20)}
    small = sum(range(20))
    small_old = sum(n // 2 for n in range(20))
    assert lru.other == SublistPages(small - small_old + 400 + 850, small_old + 100 + 50)


@pytest.mark.parametrize("old", [None, -1, 11, 2**64 - 1])
def test_old_pages_that_cannot_be_are_refused(old: int | None) -> None:
    """MariaDB's IS_OLD is always NULL."""
    with pytest.raises(ValueError, match=r"expected|old pages"):
        parsed(("`shop`.`t`", "PRIMARY", 10, old))


def known(variables: Mapping[str, str] | None, size_pages: int | None = None) -> Snapshot:
    pool = None if size_pages is None else (BufferPool(0, size_pages, *[0] * 12),)
    sections = {"variables": variables, "pools": pool}
    return Snapshot(0.0, identify({"version": "9.7.0"}), "", sections=sections)


@pytest.mark.parametrize(
    ("size", "pages", "allowed"),
    [
        (10 << 30, 655_360, True),
        ((10 << 30) + 1, 655_360, False),
        (1 << 30, 655_361, False),  # pages of 4 KiB, or a pool that has just been made smaller
        (None, 655_360, True),
        (None, 655_361, False),
        (1 << 30, None, True),
        (None, None, False),
    ],
)
def test_the_pages_of_a_large_pool_are_not_read_unless_forced(
    size: int | None, pages: int | None, *, allowed: bool
) -> None:
    variables = None if size is None else {"innodb_buffer_pool_size": str(size)}
    cure = None
    try:
        lru_pages.require_small_pool(known(variables, pages))
    except SourceUnavailable as error:
        cure = error.cure
    assert cure == (None if allowed else "restart the sidecar with --collect-lru-pages-anyway")
    assert LRU_PAGES_OF_ANY_POOL.precondition is None
    assert LRU_PAGES_OF_ANY_POOL.name == LRU_PAGES.name


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_with_the_option_pages_are_read_every_ten_minutes(server: PrivateServer, watch: Watch) -> None:
    now = [1_000_000.0]
    sampler = watch(server, collectors=WITH_IT, clock=lambda: now[0])
    first = await sampler.collect()
    now[0] += 60
    second = await sampler.collect()
    assert first.outcomes["lru_pages"].failure is None
    assert first.outcomes["lru_pages"].at == second.outcomes["lru_pages"].at < second.outcomes["pools"].at
    assert LRU_PAGES.every == LRU_PAGES_OF_ANY_POOL.every == 600
    exported = {family.name: family.samples for family in families(second)}
    pages = exported["innodb_index_lru_pages"]
    assert {sample.labels["sublist"] for sample in pages} == {"young", "old"}
    assert {sample.labels["index"] for sample in pages} > {"PRIMARY", "__other__"}
    assert len(pages) <= 2 * (TOP + 1)
    [took] = [
        sample.value
        for sample in exported["innodb_exporter_collector_duration_seconds"]
        if sample.labels["collector"] == "lru_pages"
    ]
    assert took > 0


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_without_the_option_no_pages_are_read(server: PrivateServer, watch: Watch) -> None:
    snapshot = await watch(server).collect()
    assert "lru_pages" not in snapshot.outcomes
    assert snapshot[LRU_PAGES] is None
    assert "innodb_index_lru_pages" not in {family.name for family in families(snapshot)}


async def test_a_server_whose_pool_is_large_is_not_asked(start_server: StartServer, watch: Watch) -> None:
    server = start_server("mariadb-11.8", innodb_buffer_pool_size="11G", performance_schema="ON")
    snapshot = await watch(server, collectors=WITH_IT).collect()
    outcome = snapshot.outcomes["lru_pages"]
    assert (outcome.failure, snapshot[LRU_PAGES]) == ("disabled", None)
    assert "11.0 GiB" in outcome.reason
    asked = "SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE '%LRU%'"
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(asked)
        assert cursor.fetchall() == ((0,),)


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"], indirect=True)
async def test_a_recording_with_pages_replays(server: PrivateServer, watch: Watch, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl.gz"
    with Recorder(path) as recorder:
        sampler = watch(server, collectors=WITH_IT, keep=recorder)
        seen = await sampler.collect()
        await sampler.close()
    [replayed] = replay(path)
    assert replayed[LRU_PAGES] == seen[LRU_PAGES]
    assert replayed[LRU_PAGES] is not None
