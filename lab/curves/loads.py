"""Loads on a server: programs of others, and point lookups. Each runs no faster than it is told, but for TPC-C."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Self

from lab.curves.datasets import SYSBENCH, YCSB_RECORDS
from lab.curves.distributions import DISTRIBUTIONS, Distribution
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA
from lab.programs import go_tpc, sysbench, ycsb
from lab.servers import PrivateServer

BATCH = 25
"""Lookups a statement: a client in Python is slower than the server."""
_BY_NAME = {distribution.name: distribution for distribution in DISTRIBUTIONS}


class CurveLoad:
    """A load on a server. The representations of its kinds are part of the digests of measurements.

    Attributes:
        dataset: The data that it runs on, of `datasets.DATASETS`.
        counter: The server's counter of its work.
        unit: What this counts.
        rate: Units a second; 0 for as many as possible.
    """

    counter: str
    unit: str
    rate: int = 0

    @property
    def dataset(self) -> str:
        """See the attributes."""
        raise NotImplementedError

    @property
    def per_second(self) -> float:
        """Growth of the counter in a second, at its rate."""
        return self.rate

    def running(self, server: PrivateServer, seconds: int) -> AbstractContextManager[None]:
        """Put it on the server while the context lasts, which must be less than so many seconds."""
        raise NotImplementedError


@dataclass(frozen=True)
class TpcC(CurveLoad):
    """go-tpc's TPC-C, with one thread."""

    warehouses: int
    counter = "Com_commit"
    unit = "commit"

    @property
    def dataset(self) -> str:
        """By warehouses."""
        return f"tpcc-{self.warehouses}"

    def running(self, server: PrivateServer, seconds: int) -> AbstractContextManager[None]:
        """See CurveLoad."""
        return go_tpc.running(server, self.warehouses, seconds=seconds)


@dataclass(frozen=True)
class Ycsb(CurveLoad):
    """One of go-ycsb's mixes, with a distribution and operations a second."""

    mix: str
    distribution: str
    rate: int
    dataset = "ycsb"
    counter = "Com_stmt_execute"
    unit = "statement"

    def running(self, server: PrivateServer, seconds: int) -> AbstractContextManager[None]:
        """See CurveLoad."""
        return ycsb.running(server, self.mix, self.distribution, records=YCSB_RECORDS, rate=self.rate, seconds=seconds)


@dataclass(frozen=True)
class Sysbench(CurveLoad):
    """One of sysbench's tests, with a distribution and transactions a second."""

    test: str
    distribution: str
    rate: int
    dataset = "sysbench"
    counter = "Com_commit"
    unit = "transaction"

    def running(self, server: PrivateServer, seconds: int) -> AbstractContextManager[None]:
        """See CurveLoad."""
        options = {"rate": self.rate, "rand_type": self.distribution, **SYSBENCH}
        return sysbench.running(server, self.test, seconds=seconds, threads=2, **options)


@dataclass(frozen=True)
class Lookups(CurveLoad):
    """Point lookups by primary key from one connection: a distribution over pages, and lookups a second."""

    distribution: str
    rate: int
    counter = "Com_commit"
    unit = f"batch of {BATCH} lookups"

    @property
    def per_second(self) -> float:
        """Batches."""
        return self.rate / BATCH

    @property
    def dataset(self) -> str:
        """By the distribution's tables."""
        return "-and-".join(_BY_NAME[self.distribution].tables)

    @contextmanager
    def running(self, server: PrivateServer, seconds: int) -> Iterator[None]:
        """See CurveLoad."""
        stop = threading.Event()
        with LookupClient(server, _BY_NAME[self.distribution]) as client, ThreadPoolExecutor(1) as worker:
            working = worker.submit(client.run, seconds, self.rate, stop)
            try:
                yield
            finally:
                stop.set()
            working.result()


class LookupClient:
    """One connection's point lookups by primary key, no faster than a rate; a context manager.

    Attributes:
        done: Lookups so far.
    """

    def __init__(self, server: PrivateServer, distribution: Distribution) -> None:
        """Connect."""
        self.done = 0
        self._choose, self._chooser = distribution.choose, random.Random(7)
        self._connection = server.connect(autocommit=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(self, seconds: float, rate: float, stop: threading.Event | None = None) -> None:
        """Look up for so long, or until the event; a commit after each batch."""
        stop = stop or threading.Event()
        began, before = time.monotonic(), self.done
        with self._connection.cursor() as cursor:
            while (now := time.monotonic() - began) < seconds:
                if stop.wait(max(0.0, (self.done - before) / rate - now)):
                    return
                _look_up(cursor, self._choose(self._chooser, self.done, BATCH))
                self._connection.commit()
                self.done += BATCH


def _look_up(cursor: Any, pages: Iterable[tuple[str, int]]) -> None:
    """Read a row of each of these pages by its primary key: a statement for each table."""
    by_table: dict[str, list[int]] = {}
    for table, page in pages:
        by_table.setdefault(table, []).append(max(1, page * ROWS_PER_PAGE))
    for table, ids in by_table.items():
        listed = ",".join(map(str, ids))
        cursor.execute(f"SELECT COUNT(filler) FROM {SCHEMA}.{table} WHERE id IN ({listed}) AND filler <> ''")
        cursor.fetchall()
