"""The data of the workloads: made once for each server, kept in the cache as data folders of servers shut down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lab.curves.distributions import PAGES
from lab.harness.workloads import SCHEMA, make_table
from lab.packages import cache
from lab.programs import go_tpc, sysbench, ycsb
from lab.servers import PrivateServer, start
from lab.servers.sql import execute, query_column

SCANNED, SCANNED_PAGES = "report", 2_048
"""The table that is scanned beside a load."""
YCSB_RECORDS = 60_000
SYSBENCH: Mapping[str, Any] = {"tables": 4, "table_size": 150_000}
_MADE = 1
"""Raise it when what is made changes."""


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
    "hot-and-cold": Dataset(SCHEMA, 60, partial(_make_pages, pages={"hot": PAGES // 4, "cold": PAGES - PAGES // 4})),
}


def prepared(server: str, name: str, options: Mapping[str, str]) -> Path:
    """The data folder of a server with a dataset; the first call makes it.

    Raises:
        UnavailableHere: The server or the program that makes the data is unavailable here.
    """
    return cache.kept(f"datasets/{_MADE}/{server}-{name}", partial(_make, server, name, options)) / "data"


def _make(server_name: str, name: str, options: Mapping[str, str], folder: Path) -> None:
    own = {**options, "innodb-buffer-pool-size": "1G"}
    with start(server_name, own, folder / "data") as server:
        DATASETS[name].make(server)
        _make_pages(server, {SCANNED: SCANNED_PAGES})
        made = query_column(
            server,
            "SELECT CONCAT('ANALYZE TABLE ', table_schema, '.', table_name) FROM information_schema.tables"
            f" WHERE table_schema = '{DATASETS[name].schema}'",
        )
        execute(server, *made, "SET GLOBAL innodb_fast_shutdown = 0", "SHUTDOWN")
        server.wait()
    for left in ("error.log", "auto.cnf"):
        (folder / "data" / left).unlink(missing_ok=True)


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
