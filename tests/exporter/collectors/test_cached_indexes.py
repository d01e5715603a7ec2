from collections.abc import Callable
from typing import Any

import pytest

from exporter.collectors import cached_indexes
from exporter.collectors.base import TOP
from exporter.collectors.cached_indexes import CACHED_INDEXES, CachedIndexes
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Index
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.collectors.refusal import refusal
from tests.exporter.exposition import exposed
from tests.waiting import until

COUNTED = (
    "SELECT SUM(N_CACHED_PAGES), MAX(FILE_SIZE) DIV 16384 FROM information_schema.INNODB_CACHED_INDEXES"
    " JOIN information_schema.INNODB_INDEXES USING (INDEX_ID)"
    " JOIN information_schema.INNODB_TABLES t USING (TABLE_ID)"
    f" JOIN information_schema.INNODB_TABLESPACES f ON f.SPACE = t.SPACE WHERE t.NAME = '{workloads.SCHEMA}/queue'"
)
"""Pages of the queue, as the server counts them, and the pages of its file."""
IN_POOL = (
    "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE WHERE PAGE_TYPE = 'INDEX'"
    f" AND TABLE_NAME = '`{workloads.SCHEMA}`.`queue`'"
)


def parsed(*rows: tuple[str, str, int]) -> CachedIndexes:
    named = Rows.of(["TABLE_NAME", "INDEX_NAME", "PAGES"], rows[:TOP])
    return cached_indexes.parse([named, Rows.of(["PAGES"], [[sum(pages for *_, pages in rows) or None]])])


@pytest.mark.parametrize(
    ("version", "failure"),
    [("5.7.44", "absent"), ("8.0.11", None), ("26.7.0", None), ("11.8.6-MariaDB", "absent")],
)
def test_only_servers_with_the_table_are_asked(version: str, failure: str | None) -> None:
    assert refusal(CACHED_INDEXES, version=version) == failure


def test_indexes_are_told_apart_by_case_and_partitions_are_not() -> None:
    cached = parsed(
        ("shop/t", "PRIMARY", 5), ("shop/T", "PRIMARY", 7), ("shop/p#p#p0", "k", 1), ("shop/p#p#p1", "k", 2)
    )
    assert cached == CachedIndexes(
        {Index("shop", "T", "PRIMARY"): 7, Index("shop", "t", "PRIMARY"): 5, Index("shop", "p", "k"): 3}, 0
    )


def test_the_smallest_of_many_are_summed() -> None:
    cached = parsed(*((f"shop/t{n}", "PRIMARY", n) for n in reversed(range(TOP + 20))))
    assert set(cached.pages.values()) == set(range(20, TOP + 20))
    assert cached.other_pages == sum(range(20))


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_the_exposed_pages_are_those_in_the_pool(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], watch: Callable[..., Sampler]
) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "measured", 400, indexes=2)
        workloads.scan(connection, "measured")
    resident = exposed(await watch(server).collect())["innodb_index_resident_pages"]
    for index in ("PRIMARY", "k1"):
        [(pages,)] = ask(
            server,
            "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE"
            f" WHERE TABLE_NAME = '`{workloads.SCHEMA}`.`measured`' AND INDEX_NAME = '{index}'",
        )
        # The server counts leaf pages only; the index has a root page and a page or two between.
        assert 0 <= pages - resident[workloads.SCHEMA, "measured", index] <= 3, index
    ask(server, f"DROP TABLE {workloads.SCHEMA}.measured")
    assert resident["", "", "__other__"] >= 0


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
async def test_pages_that_were_freed_stay_counted_and_are_cut_to_the_file(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], watch: Callable[..., Sampler]
) -> None:
    """The pages of a queue, from which rows go and to which others come, are freed and made anew all the time."""
    with server.connect() as connection:
        workloads.make_table(connection, "queue", 100)

    def counted_beyond_the_file() -> bool:
        ask(
            server,
            f"SET @newest = (SELECT MAX(id) FROM {workloads.SCHEMA}.queue)",
            f"INSERT INTO {workloads.SCHEMA}.queue (filler) SELECT filler FROM {workloads.SCHEMA}.queue LIMIT 800",
            f"DELETE FROM {workloads.SCHEMA}.queue WHERE id <= @newest",
        )
        [(pages, in_file)] = ask(server, COUNTED)
        return bool(pages > in_file)

    await until(counted_beyond_the_file)
    snapshot = await watch(server).collect()
    [(counted, in_file)], [(in_pool,)] = ask(server, COUNTED), ask(server, IN_POOL)
    assert counted > in_file >= in_pool
    assert exposed(snapshot)["innodb_index_resident_pages"][workloads.SCHEMA, "queue", "PRIMARY"] <= in_file
    ask(server, f"DROP TABLE {workloads.SCHEMA}.queue")


@pytest.mark.parametrize("server", ["mysql-5.6", "mariadb-10.11"], indirect=True)
async def test_servers_without_the_table_expose_none(server: PrivateServer, watch: Callable[..., Sampler]) -> None:
    assert "innodb_index_resident_pages" not in exposed(await watch(server).collect())
