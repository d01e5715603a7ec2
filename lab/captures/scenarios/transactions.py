"""Transactions of others' programs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from exporter.collectors.cached_indexes import CACHED_INDEXES
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from lab.captures.scenarios.base import Numbers, Snapshots, Step, in_pools, nothing, pages_read, require, scenario
from lab.harness.records import NotShown
from lab.harness.workloads import ask
from lab.programs import go_tpc
from lab.servers import PrivateServer

WAREHOUSES = 3
PAGE_BYTES = 16_384
WARM_UP_SECONDS, MOST_SECONDS = 75.0, 600


def steadily_read(snapshots: Snapshots) -> Numbers:
    """Pages are read throughout, at a rate that hardly changes, in a pool that is full."""
    read = pages_read(snapshots)
    half = len(read) // 2
    change = sum(read[half : 2 * half]) / sum(read[:half])
    require(0.8 < change < 1.25, f"the second half of the reads is {change:.2f} of the first")
    free = in_pools(snapshots[-1], lambda pool: pool.free_pages)
    pages = in_pools(snapshots[-1], lambda pool: pool.size_pages)
    require(free < pages / 4, f"{free} of {pages} pages are free")
    seconds = snapshots[-1].at - snapshots[0].at
    return {"pool_pages": pages, "pages_read": sum(read), "pages_read_per_second": round(sum(read) / seconds)}


@scenario(
    "tpcc-little-pool",
    {"mysql-9.7": {"innodb-buffer-pool-size": "64M", "innodb-flush-log-at-trx-commit": "2"}},
    steadily_read,
    collections=25,
    period=5.0,
)
@contextmanager
def tpcc_little_pool(server: PrivateServer) -> Iterator[Step]:
    """TPC-C by go-tpc with 3 warehouses, some 220 MiB, on four threads, from over a minute after its start on."""
    with _transactions(server, WAREHOUSES):
        yield nothing


def freed(snapshots: Snapshots) -> Numbers:
    """INNODB_CACHED_INDEXES counts more pages of the new orders than their file has."""
    last = snapshots[-1]
    cached, sizes, files = last[CACHED_INDEXES], last[INDEX_SIZES], last[FILE_SIZES]
    if cached is None or sizes is None or files is None:
        raise NotShown("a source is missing")
    [index] = [index for index in cached.pages if index.table == "new_order"]
    counted, in_file = cached.pages[index], files[index.of_table] // PAGE_BYTES
    require(counted > in_file, f"{counted} pages are counted, of {in_file} in the file")
    return {"counted_pages": counted, "file_pages": in_file, "statistics_pages": sizes.pages[index.of_table]}


@scenario(
    "tpcc-transactions",
    {"mysql-9.7": {"innodb-buffer-pool-size": "512M", "innodb-flush-log-at-trx-commit": "2"}},
    freed,
    collections=25,
    period=5.0,
)
@contextmanager
def tpcc_transactions(server: PrivateServer) -> Iterator[Step]:
    """As tpcc-little-pool, with 16 warehouses, some 1.6 GiB."""
    with _transactions(server, 16):
        yield nothing


@contextmanager
def _transactions(server: PrivateServer, warehouses: int) -> Iterator[None]:
    go_tpc.prepare(server, warehouses)
    with server.connect() as connection:
        tables = ask(connection, f"SHOW TABLES FROM {go_tpc.SCHEMA}")
        ask(connection, *(f"ANALYZE TABLE {go_tpc.SCHEMA}.{table}" for (table,) in tables))
    with go_tpc.running(server, warehouses, seconds=MOST_SECONDS, threads=4):
        time.sleep(WARM_UP_SECONDS)
        yield
