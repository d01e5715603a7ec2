"""Loads on a server: programs of others, and point lookups. All but TPC-C run at a given rate."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Self

from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, ask
from lab.programs import go_tpc, sysbench, ycsb
from lab.servers import PrivateServer

YCSB_RECORDS = 60_000
SYSBENCH: Mapping[str, Any] = {"tables": 4, "table_size": 150_000}
PAGES = 12_288
"""Leaf pages of all tables that are looked up: 192 MiB."""
BATCH = 25
"""Lookups a statement: a client in Python is slower than the server."""
_HOT_AFTER = 80
"""Lookups after which a drifting hot set moves on by a page."""

Lookup = tuple[str, int]
"""A table, and a page of it."""


@dataclass(frozen=True)
class Distribution:
    """Lookups by primary key, one page each.

    Attributes:
        name: In kebab case.
        about: For the reader.
        tables: Leaf pages by table.
        choose: The next lookups, from random numbers, the lookups before, and the number of lookups.
    """

    name: str
    about: str
    tables: Mapping[str, int]
    choose: Callable[[random.Random, int, int], list[Lookup]]


def _ranked(table: str, pages: int) -> list[int]:
    """The pages of a table from the most popular to the least: anywhere in the table."""
    ranked = list(range(pages))
    random.Random(f"{table} {pages}").shuffle(ranked)
    return ranked


def _zipf(skew: float, table: str = "items", pages: int = PAGES) -> Callable[[random.Random, int, int], list[Lookup]]:
    ranked = _ranked(table, pages)
    weights = list(itertools.accumulate((rank + 1) ** -skew for rank in range(pages)))
    return lambda chooser, _, times: [(table, page) for page in chooser.choices(ranked, cum_weights=weights, k=times)]


def _hot_spot(table: str = "items", pages: int = PAGES) -> Callable[[random.Random, int, int], list[Lookup]]:
    ranked, hot = _ranked(table, pages), pages // 5
    return lambda chooser, _, times: [
        (table, ranked[chooser.randrange(hot) if chooser.random() < 0.8 else chooser.randrange(hot, pages)])
        for _ in range(times)
    ]


def _two_tables(chooser: random.Random, _: int, times: int) -> list[Lookup]:
    hot, cold = PAGES // 4, PAGES - PAGES // 4
    return [
        ("hot", chooser.randrange(hot)) if chooser.random() < 0.7 else ("cold", chooser.randrange(cold))
        for _ in range(times)
    ]


def _drifting(chooser: random.Random, before: int, times: int) -> list[Lookup]:
    def page(number: int) -> int:
        if chooser.random() >= 0.9:
            return chooser.randrange(PAGES)
        return ((before + number) // _HOT_AFTER + chooser.randrange(PAGES // 10)) % PAGES

    return [("items", page(number)) for number in range(times)]


_ITEMS = {"items": PAGES}
DISTRIBUTIONS: Sequence[Distribution] = (
    Distribution("uniform", "all pages alike", _ITEMS, _zipf(0.0)),
    Distribution("zipf-0.6", "Zipf's law, exponent 0.6", _ITEMS, _zipf(0.6)),
    Distribution("zipf-0.9", "Zipf's law, exponent 0.9", _ITEMS, _zipf(0.9)),
    Distribution("zipf-1.2", "Zipf's law, exponent 1.2", _ITEMS, _zipf(1.2)),
    Distribution("hot-spot", "80 % of the lookups on 20 % of the pages", _ITEMS, _hot_spot()),
    Distribution(
        "two-tables",
        "70 % of the lookups on a quarter of the pages, which is a table of its own",
        {"hot": PAGES // 4, "cold": PAGES - PAGES // 4},
        _two_tables,
    ),
    Distribution("drifting", "90 % of the lookups on a tenth of the pages, which moves on", _ITEMS, _drifting),
)
STOCK, STOCK_PAGES = "stock", 49_152
"""A table of 768 MiB, for pools that are large beside the pages of the server itself."""
_STOCK = {STOCK: STOCK_PAGES}
LARGE_DISTRIBUTIONS: Sequence[Distribution] = (
    Distribution("zipf-0.9-large", "Zipf's law, exponent 0.9", _STOCK, _zipf(0.9, STOCK, STOCK_PAGES)),
    Distribution("hot-spot-large", "80 % of the lookups on 20 % of the pages", _STOCK, _hot_spot(STOCK, STOCK_PAGES)),
)
_BY_NAME = {distribution.name: distribution for distribution in (*DISTRIBUTIONS, *LARGE_DISTRIBUTIONS)}


# The kinds of loads. Their representations are part of the digests of measurements. `dataset` names the data of a load,
# `counter` the server's counter of its work, `unit` what that counts, and `per_second` its growth at the load's rate.
# `running` puts the load on a server while the context lasts, which must be less than so many seconds.


@dataclass(frozen=True)
class TpcC:
    """go-tpc's TPC-C, with one thread, as fast as it goes."""

    warehouses: int
    counter = "Com_commit"
    unit = "commit"
    per_second = 0.0

    @property
    def dataset(self) -> str:
        """By warehouses."""
        return f"tpcc-{self.warehouses}"

    def running(self, server: PrivateServer, seconds: int) -> AbstractContextManager[None]:
        """Put it on the server."""
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
        """Operations."""
        return self.rate

    def running(self, server: PrivateServer, seconds: int) -> AbstractContextManager[None]:
        """Put it on the server."""
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
        """Transactions."""
        return self.rate

    def running(self, server: PrivateServer, seconds: int) -> AbstractContextManager[None]:
        """Put it on the server."""
        options = {"rate": self.rate, "rand_type": self.distribution, **SYSBENCH}
        return sysbench.running(server, self.test, seconds=seconds, threads=2, **options)


@dataclass(frozen=True)
class Lookups:
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
        """Put them on the server."""
        with (
            LookupClient(server, _BY_NAME[self.distribution]) as client,
            beside(lambda stop: client.run(seconds, self.rate, stop)),
        ):
            yield


CurveLoad = TpcC | Ycsb | Sysbench | Lookups


@contextmanager
def beside(work: Callable[[threading.Event], object]) -> Iterator[None]:
    """Run work in a thread while the context lasts, at whose end its event is set."""
    stop = threading.Event()
    with ThreadPoolExecutor(1) as worker:
        working = worker.submit(work, stop)
        try:
            yield
        finally:
            stop.set()
        working.result()


class LookupClient:
    """One connection's point lookups by primary key, no faster than a rate; a context manager.

    Each client chooses others: a pool whose dump a restart brings back has the pages of the lookups before it.

    Attributes:
        done: Lookups so far.
    """

    def __init__(self, server: PrivateServer, distribution: Distribution) -> None:
        """Connect."""
        self.done = 0
        self._choose, self._chooser = distribution.choose, random.Random()
        self._connection = server.connect(autocommit=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def run(self, seconds: float, rate: float, stop: threading.Event | None = None) -> None:
        """Look up for so long, or until the event; a commit after each batch."""
        stop = stop or threading.Event()
        began, before = time.monotonic(), self.done
        while (now := time.monotonic() - began) < seconds:
            if stop.wait(max(0.0, (self.done - before) / rate - now)):
                return
            self._look_up(self._choose(self._chooser, self.done, BATCH))
            self._connection.commit()
            self.done += BATCH

    def _look_up(self, lookups: Sequence[Lookup]) -> None:
        """Read a row of each page by its primary key: a statement for each table."""
        by_table: dict[str, list[int]] = {}
        for table, page in lookups:
            by_table.setdefault(table, []).append(max(1, page * ROWS_PER_PAGE))
        for table, ids in by_table.items():
            listed = ",".join(map(str, ids))
            ask(
                self._connection,
                f"SELECT COUNT(filler) FROM {SCHEMA}.{table} WHERE id IN ({listed}) AND filler <> ''",
            )
