"""Loads on a server: programs of others, and point lookups. Each runs no faster than it is told, but for TPC-C."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from lab.curves.datasets import SYSBENCH, YCSB_RECORDS
from lab.curves.distributions import DISTRIBUTIONS
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA
from lab.programs import go_tpc, sysbench, ycsb
from lab.servers import Server

BATCH = 25
"""Lookups a statement: a client in Python is slower than the server."""
_BY_NAME = {each.name: each for each in DISTRIBUTIONS}


class CurveLoad(Protocol):
    """A load on a server."""

    @property
    def dataset(self) -> str:
        """The data that it runs on, of `datasets.DATASETS`."""

    @property
    def counter(self) -> str:
        """The server's counter of what is done."""

    @property
    def unit(self) -> str:
        """What it counts."""

    @property
    def per_second(self) -> float:
        """How much of it is to be done a second; 0 for as much as goes."""

    def running(self, server: Server, seconds: int) -> AbstractContextManager[None]:
        """Put it on the server while the context lasts, which must be less than so many seconds."""


@dataclass(frozen=True)
class TpcC:
    """go-tpc's TPC-C, with one thread."""

    warehouses: int
    counter = "Com_commit"
    unit = "commit"
    per_second = 0.0

    @property
    def dataset(self) -> str:
        """By warehouses."""
        return f"tpcc-{self.warehouses}"

    def running(self, server: Server, seconds: int) -> AbstractContextManager[None]:
        """See CurveLoad."""
        return go_tpc.running(server, self.warehouses, seconds=seconds)


@dataclass(frozen=True)
class Ycsb:
    """One of go-ycsb's mixes, with a distribution and operations a second."""

    mix: str
    distribution: str
    rate: int
    dataset = "ycsb"
    counter = "Com_stmt_execute"
    unit = "statement"

    @property
    def per_second(self) -> float:
        """As told."""
        return self.rate

    def running(self, server: Server, seconds: int) -> AbstractContextManager[None]:
        """See CurveLoad."""
        return ycsb.running(server, self.mix, self.distribution, records=YCSB_RECORDS, rate=self.rate, seconds=seconds)


@dataclass(frozen=True)
class Sysbench:
    """One of sysbench's tests, with a distribution and transactions a second."""

    test: str
    distribution: str
    rate: int
    dataset = "sysbench"
    counter = "Com_commit"
    unit = "transaction"

    @property
    def per_second(self) -> float:
        """As told."""
        return self.rate

    def running(self, server: Server, seconds: int) -> AbstractContextManager[None]:
        """See CurveLoad."""
        return sysbench.running(
            server,
            self.test,
            seconds=seconds,
            threads=2,
            rate=self.rate,
            rand_type=self.distribution,
            **SYSBENCH,
        )


@dataclass(frozen=True)
class Lookups:
    """Point lookups by primary key from one connection: a distribution over pages, and lookups a second."""

    distribution: str
    rate: int
    counter = "Com_commit"
    unit = f"batch of {BATCH} lookups"

    @property
    def per_second(self) -> float:
        """As told."""
        return self.rate / BATCH

    @property
    def dataset(self) -> str:
        """By the distribution's tables."""
        return "-and-".join(_BY_NAME[self.distribution].tables)

    @contextmanager
    def running(self, server: Server, seconds: int) -> Iterator[None]:
        """See CurveLoad."""
        stop = threading.Event()
        with ThreadPoolExecutor(1) as worker:
            working = worker.submit(self._work, server, stop, seconds)
            try:
                yield
            finally:
                stop.set()
            working.result()

    def _work(self, server: Server, stop: threading.Event, seconds: float) -> None:
        chooser, began, done = random.Random(7), time.monotonic(), 0
        choose = _BY_NAME[self.distribution].choose
        with server.connect(autocommit=False) as connection, connection.cursor() as cursor:
            while (now := time.monotonic() - began) < seconds and not stop.wait(max(0.0, done / self.rate - now)):
                look_up(cursor, choose(chooser, done, BATCH))
                connection.commit()
                done += BATCH


def look_up(cursor: Any, pages: Iterable[tuple[str, int]]) -> None:
    """Read a row of each of these pages by its primary key: a statement for each table."""
    by_table: dict[str, list[int]] = {}
    for table, page in pages:
        by_table.setdefault(table, []).append(max(1, page * ROWS_PER_PAGE))
    for table, ids in by_table.items():
        listed = ",".join(map(str, ids))
        cursor.execute(f"SELECT COUNT(filler) FROM {SCHEMA}.{table} WHERE id IN ({listed}) AND filler <> ''")
        cursor.fetchall()
