"""The workloads of the miss curves: a load, with or without scans beside it, and the data that it runs on.

The data are made once for each server, and kept in the cache as data folders of servers that were shut down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lab.curves.loads import (
    DISTRIBUTIONS,
    PAGES,
    STOCK,
    STOCK_PAGES,
    SYSBENCH,
    YCSB_RECORDS,
    CurveLoad,
    Distribution,
    Lookups,
    Sysbench,
    TpcC,
    Ycsb,
)
from lab.harness.workloads import SCHEMA, make_table
from lab.packages import cache
from lab.programs import go_tpc, sysbench, ycsb
from lab.servers import PrivateServer, start
from lab.servers.sql import execute, query_column

OPTIONS = {
    "innodb-buffer-pool-size": "240M",
    "loose-innodb-buffer-pool-chunk-size": "1M",
    "innodb-flush-log-at-trx-commit": "2",
    "innodb-flush-method": "O_DIRECT",
    "innodb-lru-scan-depth": "100",
    "performance-schema": "ON",
}
"""The pool takes any whole number of MiB, and the page cleaner keeps few of its pages free. All else is at its default:
innodb_old_blocks_time too."""
SCANNED, SCANNED_PAGES = "report", 2_048
"""The table that is scanned beside a load."""
LONG_SCANNED, LONG_SCANNED_PAGES = "archive", 8_192
"""The one that is scanned beside lookups of the large table: no old sublist of its pool holds it."""
_MADE = 1
"""Raise it when the data change."""


@dataclass(frozen=True)
class Dataset:
    """Tables of a load, beside the table that is scanned.

    Attributes:
        schema: Has the load's tables.
        today: MiB of the watched pool, a multiple of 4.
        make: Fills an empty server.
    """

    schema: str
    today: int
    make: Callable[[PrivateServer], None]


def _make_pages(server: PrivateServer, pages: Mapping[str, int]) -> None:
    with server.connect() as connection:
        for table, count in pages.items():
            make_table(connection, table, count)


DATASETS: Mapping[str, Dataset] = {
    "tpcc-3": Dataset(go_tpc.SCHEMA, 64, partial(go_tpc.prepare, warehouses=3)),
    "tpcc-16": Dataset(go_tpc.SCHEMA, 320, partial(go_tpc.prepare, warehouses=16)),
    "ycsb": Dataset(ycsb.SCHEMA, 48, partial(ycsb.load, records=YCSB_RECORDS)),
    "sysbench": Dataset(
        sysbench.SCHEMA, 44, lambda server: sysbench.prepare(server, "oltp_read_write", threads=2, **SYSBENCH)
    ),
    "items": Dataset(SCHEMA, 60, partial(_make_pages, pages={"items": PAGES})),
    STOCK: Dataset(SCHEMA, 256, partial(_make_pages, pages={STOCK: STOCK_PAGES, LONG_SCANNED: LONG_SCANNED_PAGES})),
    "hot-and-cold": Dataset(SCHEMA, 60, partial(_make_pages, pages={"hot": PAGES // 4, "cold": PAGES - PAGES // 4})),
}


def prepared(server: str, name: str) -> Path:
    """The data folder of a server with a dataset; the first call makes it.

    Raises:
        UnavailableHere: The server or the program that makes the data is unavailable here.
    """
    return cache.entry(f"datasets/{_MADE}/{server}-{name}", partial(_make, server, name)) / "data"


def _make(server_name: str, name: str, folder: Path) -> None:
    with start(server_name, OPTIONS | {"innodb-buffer-pool-size": "1G"}, folder / "data") as server:
        DATASETS[name].make(server)
        _make_pages(server, {SCANNED: SCANNED_PAGES})
        analyses = query_column(
            server,
            "SELECT CONCAT('ANALYZE TABLE ', table_schema, '.', table_name) FROM information_schema.tables"
            f" WHERE table_schema = '{DATASETS[name].schema}'",
        )
        execute(server, *analyses, "SET GLOBAL innodb_fast_shutdown = 0", "SHUTDOWN")
        server.wait()
    for file in ("error.log", "auto.cnf"):
        (folder / "data" / file).unlink(missing_ok=True)


def read_all(server: PrivateServer, name: str, *, scanned: bool) -> None:
    """Read each index of a dataset's tables once, so that a pool that holds them all is full at once.

    Args:
        server: Has the dataset.
        name: Of the dataset.
        scanned: Whether to read the table that is scanned, too.
    """
    indexes = query_column(
        server,
        "SELECT CONCAT(t.table_schema, '.', t.table_name, COALESCE(CONCAT(' FORCE INDEX (', s.index_name, ')'), ''))"
        " FROM information_schema.tables t LEFT JOIN information_schema.statistics s"
        " ON s.table_schema = t.table_schema AND s.table_name = t.table_name AND s.seq_in_index = 1"
        f" WHERE t.table_schema = '{DATASETS[name].schema}' AND (t.table_name <> '{SCANNED}' OR {scanned})",
    )
    execute(server, *(f"SELECT COUNT(*) FROM {index}" for index in indexes))
    if scanned and DATASETS[name].schema != SCHEMA:
        execute(server, f"SELECT COUNT(*) FROM {SCHEMA}.{SCANNED} FORCE INDEX (PRIMARY)")


_LOOKUPS = {
    "uniform": (550, 60.0),
    "zipf-0.6": (700, 60.0),
    "zipf-0.9": (200, 200.0),
    "zipf-1.2": (3_000, 70.0),
    "hot-spot": (1_200, 50.0),
    "two-tables": (1_000, 50.0),
    "drifting": (2_500, 60.0),
}
"""Lookups a second, and seconds until the pools count as come to rest."""
_REST = 70.0
PATIENCE = 4.0
"""On a busy machine the load may take so many times as long."""
_SCANNED = ("ycsb-a-zipfian", "sysbench-read-write-gaussian", "zipf-0.6", "hot-spot", "drifting")
"""Workloads that are measured beside scans, too."""


@dataclass(frozen=True)
class CurveWorkload:
    """A load whose reads are measured in pools of several sizes.

    Attributes:
        name: In kebab case.
        about: For the reader.
        load: What is asked for.
        rest: Seconds of the load, at its rate, after which the pools count as come to rest in any case.
        scans: Whether scans run beside it.
    """

    name: str
    about: str
    load: CurveLoad
    rest: float
    scans: bool = False

    @property
    def seconds(self) -> int:
        """That the load lasts at most."""
        return round(PATIENCE * self.rest) + 120

    def mebibytes(self, times: float = 1.0) -> int:
        """Size of a pool of a multiple of today's size."""
        return round(times * DATASETS[self.load.dataset].today)


def _tpcc(warehouses: int, rest: float) -> CurveWorkload:
    return CurveWorkload(f"tpcc-{warehouses}", f"go-tpc's TPC-C, {warehouses} warehouses", TpcC(warehouses), rest)


def _ycsb(mix: str, distribution: str, rate: int, rest: float = _REST) -> CurveWorkload:
    name, about = f"ycsb-{mix.lower()}-{distribution}", f"go-ycsb's workload {mix}, {distribution}"
    return CurveWorkload(name, about, Ycsb(mix, distribution, rate), rest)


def _sysbench(test: str, distribution: str, rate: int, rest: float = _REST) -> CurveWorkload:
    name, about = f"sysbench-{test}-{distribution}", f"sysbench's {test} test, {distribution}"
    return CurveWorkload(name, about, Sysbench(f"oltp_{test.replace('-', '_')}", distribution, rate), rest)


def _lookups(distribution: Distribution, rate: int, rest: float) -> CurveWorkload:
    name = distribution.name
    return CurveWorkload(name, f"point lookups: {distribution.about}", Lookups(name, rate), rest)


_ALONE = (
    _tpcc(3, 90.0),
    _ycsb("A", "zipfian", 400),
    _ycsb("A", "uniform", 250),
    _ycsb("B", "zipfian", 600, 50.0),
    _ycsb("C", "zipfian", 1_200, 40.0),
    _ycsb("C", "uniform", 1_300, 40.0),
    _ycsb("D", "latest", 1_500, 60.0),
    _ycsb("E", "zipfian", 60),
    _ycsb("F", "zipfian", 60, 200.0),
    _sysbench("read-only", "uniform", 80, 40.0),
    _sysbench("read-only", "pareto", 40),
    _sysbench("read-only", "special", 60, 240.0),
    _sysbench("read-only", "gaussian", 40, 120.0),
    _sysbench("read-write", "uniform", 20),
    _sysbench("read-write", "pareto", 40),
    _sysbench("read-write", "special", 15, 200.0),
    _sysbench("read-write", "gaussian", 50, 60.0),
    *(_lookups(distribution, *_LOOKUPS[distribution.name]) for distribution in DISTRIBUTIONS),
    _tpcc(16, 240.0),
)
WORKLOADS = (
    *_ALONE,
    *(
        replace(
            workload,
            name=f"{workload.name}-scans",
            about=f"{workload.about}, beside a scan of another table every ten seconds",
            scans=True,
        )
        for workload in _ALONE
        if workload.name in _SCANNED
    ),
)
