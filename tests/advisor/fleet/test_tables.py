"""Tables from series: of a server's candidates, in parts, with what is only estimated marked."""

from __future__ import annotations

import pytest

from advisor.contract.fleet import Source
from advisor.facts import facts
from advisor.facts.base import SECONDARY
from advisor.facts.scans import ScanFacts
from advisor.fleet import windows as stage
from advisor.fleet.sections import UNKNOWN
from advisor.fleet.windows import WindowReader
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize
from exporter.collectors.table_io import TABLE_IO
from exporter.snapshot import Index, Table
from tests.advisor.fleet.canned import GRID, CannedPrometheus, key, reader
from tests.advisor.fleet.test_windows import SeriesByQuery, growing, known, mysqld_exporter, sidecar

ORDERS = ("shop", "orders")
COUNT = "SELECT COUNT ( * ) FROM `orders`"
PERF = "mysql_perf_schema_events_statements{}_total"


def digests(schema: str, digest: str, executions: float, begin: float = 0.0) -> SeriesByQuery:
    values = {"": growing(executions, begin), "_seconds": growing(2 * executions), "_rows_examined": 0.0}
    return {
        "mysqld-exporter-counts": {(PERF.format(name), schema, "d", digest): value for name, value in values.items()}
    }


def with_tables() -> SeriesByQuery:
    return mysqld_exporter() | {
        "mysqld-exporter-tables-count": {(): 40.0},
        "mysqld-exporter-table-rows": {ORDERS: 91_200.0, ("shop", "packed"): 5.0, ("shop", "old"): 7.0},
        "mysqld-exporter-sizes": {
            (*ORDERS, "data_length"): 11_400.0 * 16_384,
            (*ORDERS, "index_length"): 300.0 * 16_384,
            ("shop", "packed", "data_length"): 1e9,
            ("shop", "packed", "index_length"): 0.0,
        },
        "mysqld-exporter-engines": {(*ORDERS, "Dynamic"): 1.0, ("shop", "packed", "Compressed"): 1.0},
        "mysqld-exporter-statements": {(): 1.0},
        "mysqld-exporter-index-io": {
            (*ORDERS, "NONE", "fetch"): growing(912.0),
            (*ORDERS, "k", "fetch"): growing(3.0),
            ("mysql", "user", "NONE", "fetch"): 9.0,
        },
        "mysqld-exporter-indexes": {(*ORDERS, "k"): 1.0, (*ORDERS, "j"): 1.0},
        "mysqld-exporter-locks": {(*ORDERS, "read"): growing(1.0), (*ORDERS, "write"): 5.0},
        "mysqld-exporter-files": {
            ("shop/orders#p#p0.ibd",): growing(50.0),
            ("shop/orders#p#p1.ibd",): growing(60.0),
            ("mysql.ibd",): 1.0,
        },
        **digests("shop", COUNT, 0.01),
    }


async def of(series: SeriesByQuery, source: Source) -> Window:
    windows = WindowReader(reader(CannedPrometheus(series)), source)
    window = known((await windows.windows([key()]))[key()])
    [whole] = [part async for part in windows.tables({key(): window})]
    return known(whole[key()])


def scan(window: Window) -> ScanFacts:
    [scanned] = facts(window).lists["scans"]
    assert isinstance(scanned, ScanFacts)
    return scanned


async def test_tables_of_mysqld_exporter_are_scanned_as_often_as_their_rows_tell() -> None:
    window = await of(with_tables(), Source.MYSQLD_EXPORTER)
    sizes = window.latest[INDEX_SIZES]
    assert sizes is not None
    assert sizes.sizes == {  # not the table with compressed pages, and none of another engine
        Index(*ORDERS, "PRIMARY"): IndexSize(11_400, UNKNOWN, 91_200),
        Index(*ORDERS, SECONDARY): IndexSize(300, UNKNOWN, None),
    }
    scanned = scan(window)
    assert (scanned.schema, scanned.table) == ORDERS
    assert scanned.serial_passes == pytest.approx(36.0)
    assert scanned.pages_read == pytest.approx(110 * 3600)
    assert scanned.read_seconds is None
    [counted] = facts(window).lists["counted"]
    assert counted.counts == pytest.approx(36.0, abs=1.0)
    assert counted.seconds == pytest.approx(2.0, rel=0.1)
    assert {index.index for index in window.latest[TABLE_IO] or ()} == {"", "k"}


async def test_the_only_secondary_index_of_a_table_has_its_name_and_its_size() -> None:
    series = with_tables()
    series["mysqld-exporter-indexes"] = {(*ORDERS, "k"): 1.0, ("shop", "other", "j"): 1.0}
    sizes = (await of(series, Source.MYSQLD_EXPORTER)).latest[INDEX_SIZES]
    assert sizes is not None
    assert sizes.sizes[Index(*ORDERS, "k")] == IndexSize(300, UNKNOWN, None)
    assert Index(*ORDERS, SECONDARY) not in sizes.sizes
    lost = series | {"mysqld-exporter-indexes-lost": {(): 1.0}}  # performance_schema had no room for all
    for other in (series | {"mysqld-exporter-indexes": {}}, lost):  # the flag is off
        sizes = (await of(other, Source.MYSQLD_EXPORTER)).latest[INDEX_SIZES]
        assert sizes is not None
        assert Index(*ORDERS, SECONDARY) in sizes.sizes


async def test_a_digest_that_comes_new_may_have_been_counted_before() -> None:
    series = with_tables()
    series["mysqld-exporter-counts"] = {
        (PERF.format(name), "shop", "d", COUNT): lambda at: None if at < GRID.points[3] else 300.0
        for name in ("", "_seconds", "_rows_examined")
    }
    window = await of(series, Source.MYSQLD_EXPORTER)
    [counted] = facts(window).lists["counted"]
    assert counted.counts is None
    assert scan(window).passes is None


async def test_counts_are_told_without_the_tables() -> None:
    async def counted(series: SeriesByQuery) -> tuple[object, list[float | None]]:
        window = known(
            (await WindowReader(reader(CannedPrometheus(series)), Source.MYSQLD_EXPORTER).windows([key()]))[key()]
        )
        section = window.latest.sections.get(COUNT_STATEMENTS.name)
        return section, [statement.counts for statement in facts(window).lists["counted"]]

    still: SeriesByQuery = {
        "mysqld-exporter-counts": {
            (PERF.format(name), "shop", "d", COUNT): 300.0 for name in ("", "_seconds", "_rows_examined")
        }
    }
    flag: SeriesByQuery = {"mysqld-exporter-statements": {(): 1.0}}
    assert await counted(mysqld_exporter() | flag) == ({}, [])
    assert await counted(mysqld_exporter() | flag | still) == ({Table(*ORDERS): CountStatement(300, 300.0, 300, 0)}, [])
    assert (await counted(mysqld_exporter() | flag | digests("shop", COUNT, 0.01)))[1] == [pytest.approx(36.0, abs=1.0)]
    assert await counted(mysqld_exporter() | still) == (None, [])
    del still["mysqld-exporter-counts"][PERF.format("_seconds"), "shop", "d", COUNT]
    assert await counted(mysqld_exporter() | flag | still) == (None, [])


async def test_a_digest_that_was_cut_hides_counts_and_a_longer_statement_does_not() -> None:
    cut = f"SELECT COUNT ( * ) FROM `{'a' * 64}` . `{'b' * 64}`"[:120]
    window = await of(with_tables() | digests("shop", cut, 1.0), Source.MYSQLD_EXPORTER)
    assert window.latest.sections.get("count_statements") is None
    longer = f"{COUNT} WHERE {'`k` = ? AND ' * 20}"[:120]
    window = await of(with_tables() | digests("shop", longer, 1.0), Source.MYSQLD_EXPORTER)
    assert window.latest.sections.get("count_statements") == {}


async def test_a_flag_that_is_on_is_no_cure() -> None:
    """Each lack of counts with its own cure: the flag, the sidecar, or a longer digest."""
    collector, flag = "collect.perf_schema.eventsstatements", "start mysqld_exporter with --collect.perf_schema"
    cut = f"SELECT COUNT ( * ) FROM `{'a' * 64}` . `{'b' * 64}`"

    async def why(more: SeriesByQuery) -> tuple[str, str]:
        window = await of(with_tables() | more, Source.MYSQLD_EXPORTER)
        assert COUNT_STATEMENTS.name not in window.latest.sections
        outcome = window.latest.outcomes[COUNT_STATEMENTS.name]
        return outcome.reason or "", outcome.cure or ""

    none: SeriesByQuery = {"mysqld-exporter-statements": {}, "mysqld-exporter-counts": {}}
    on: SeriesByQuery = {"mysqld-exporter-collectors": {(collector,): 1.0}}
    assert await why(none) == (f"no series of mysqld_exporter's --{collector} tell it", f"{flag}.eventsstatements")
    reason, cure = await why(none | on)
    assert "without a default schema" in reason
    assert "sidecar" in cure
    assert await why(none | {"mysqld-exporter-collectors": {(collector,): 0.0}}) == (
        f"mysqld_exporter's --{collector} fails",
        "mysqld_exporter's log says why",
    )
    _, cure = await why(on | digests("shop", cut[:120], 1.0))
    assert cure == f"{flag}.eventsstatements.digest_text_limit=1024"
    longer = await of(with_tables() | on | digests("shop", f"{cut} ", 1.0), Source.MYSQLD_EXPORTER)
    assert {*(longer.latest[COUNT_STATEMENTS] or {})} == {Table("a" * 64, "b" * 64)}


async def test_what_no_collector_of_mysqld_exporter_tells_is_unknown_and_not_empty() -> None:
    series = with_tables()
    for name in (
        "mysqld-exporter-engines",
        "mysqld-exporter-statements",
        "mysqld-exporter-index-io",
        "mysqld-exporter-locks",
        "mysqld-exporter-files",
        "mysqld-exporter-counts",
    ):
        series[name] = {}
    window = await of(series, Source.MYSQLD_EXPORTER)
    lacking = {"index_sizes", "table_scans", "table_io", "table_statements", "table_files", "count_statements"}
    assert lacking.isdisjoint(window.latest.sections)
    assert "--collect.perf_schema.indexiowaits" in (window.latest.outcomes["table_scans"].cure or "")


async def test_tables_of_the_sidecar_have_what_it_reads() -> None:
    series = sidecar() | {
        "sidecar-health": {(name,): 1.0 for name in ("index_sizes", "table_scans", "count_statements", "table_files")},
        "sidecar-index-pages": {
            ("innodb_index_pages", *ORDERS, "PRIMARY"): 11_400.0,
            ("innodb_index_pages", *ORDERS, "k"): 300.0,
            ("innodb_index_pages", "", "", "__other__"): 17.0,
            ("innodb_index_leaf_pages", *ORDERS, "PRIMARY"): 11_350.0,
            ("innodb_index_resident_pages", *ORDERS, "k"): 290.0,
            ("innodb_index_resident_pages", "shop", "small", "PRIMARY"): 2.0,
            ("innodb_index_resident_pages", "", "", "__other__"): 5.0,
        },
        "sidecar-index-info": {
            (*ORDERS, "PRIMARY", "clustered", "id"): 1.0,
            (*ORDERS, "k", "non-unique", "a,`b,c`"): 1.0,
        },
        "sidecar-table-rows": {("innodb_table_rows", *ORDERS): 91_200.0},
        "sidecar-tables": {
            ("innodb_table_scan_rows_total", *ORDERS): growing(912.0),
            ("innodb_table_file_reads_total", *ORDERS): growing(110.0),
            ("innodb_table_file_read_seconds_total", *ORDERS): growing(0.1),
        },
    }
    window = await of(series, Source.SIDECAR)
    sections = window.latest.sections
    assert sections["index_sizes"].sizes == {
        Index(*ORDERS, "PRIMARY"): IndexSize(11_400, 11_350, 91_200, ("id",)),
        Index(*ORDERS, "k"): IndexSize(300, UNKNOWN, None, ("a", "b,c")),
    }
    assert sections["index_sizes"].other_pages == 17
    assert sections["indexes"] == {Index(*ORDERS, "k"): 0}
    assert sections["cached_indexes"].pages == {Index(*ORDERS, "k"): 290}
    assert sections["count_statements"] == {}
    assert sections["table_files"][Table(*ORDERS)].bytes is None
    scanned = scan(window)
    assert scanned.passes == pytest.approx(36.0)
    assert scanned.read_seconds == pytest.approx(10.0)


async def test_servers_are_asked_in_parts_whose_series_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "TABLE_SERIES", 100)
    servers = tuple(key(f"db-{number}") for number in range(5))
    client = CannedPrometheus(with_tables(), servers=servers)
    window = await of(with_tables(), Source.MYSQLD_EXPORTER)
    windows = WindowReader(reader(client), Source.MYSQLD_EXPORTER)
    parts = [part async for part in windows.tables(dict.fromkeys(servers, window))]
    assert [len(part) for part in parts] == [2, 2, 1]
    client.partial = True
    [part] = [part async for part in windows.tables({key(): window})]
    assert part == {key(): "incomplete answer: store gateway is away"}
