"""A load of insertions into three random secondary indexes, and its cost by the server's counters."""

from __future__ import annotations

import os
import re
import signal
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial

from exporter.snapshot import Snapshot
from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, look_up_keys, make_random_table
from lab.harness.measure import pages_read
from lab.harness.records import NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, Load, insert_rows
from lab.processes.usage import io_bytes
from lab.proofs.record import Comparison
from lab.servers import Server
from lab.servers.server import NO_OPTIONS
from lab.servers.sql import execute, query_number

ROWS = 160_000  # three indexes of about 600 leaf pages each
POOL = "12M"  # 768 pages
# While the table is created. Recalculated statistics would read hundreds of pages at any time.
PREPARING = {"innodb-buffer-pool-size": "64M", "innodb-stats-auto-recalc": "OFF"}
BUFFERED, UNBUFFERED = ({"innodb-change-buffering": each} for each in ("all", "none"))
RARELY_MERGED = {"innodb-io-capacity": "200"}
"""The default up to 8.0. The master thread then merges ten pages a second, so that the machine's speed matters less."""
COUNTED_READS = {"innodb-use-native-aio": "OFF"}
"""For `shut_down_slowly`: the server then reads by pread, which the kernel counts as reads of the process."""
PAGE_BYTES = 16_384
_SETTLING_SECONDS = 0.5
_DRAINING_SECONDS = 30.0
_MOST_FILLING = 40

Work = Callable[[Server, int], None]
"""Takes the server and a number of rows."""


@dataclass(frozen=True)
class RowCost:
    """The cost of one inserted or looked-up row.

    Attributes:
        pages: Pages that the server read for any purpose.
        merges, operations: Merges of the change buffer, and the operations that they applied.
        milliseconds: Duration.
        redo_bytes: Growth of the log sequence number.
    """

    pages: float
    merges: float
    operations: float
    milliseconds: float
    redo_bytes: float


@dataclass(frozen=True)
class InsertObservation:
    """An observation of the server during insertions.

    Attributes:
        snapshots: The sidecar's snapshots.
        spent: The cost per row meanwhile, counted by the lab.
        rate: Rows a second.
        buffer_pages: The final size of the change buffer.
    """

    snapshots: tuple[Snapshot, ...]
    spent: RowCost
    rate: float
    buffer_pages: int


def prepare(server: Server, rows: int = ROWS, pool: str = POOL) -> None:
    """Create the table, and then shrink the pool; it holds none of the table's pages."""
    make_random_table(server, rows, pool)


def insert(server: Server, rows: int, *, read_back: bool = False) -> None:
    """Insert rows with random keys; with ``read_back`` each is then looked up by each of its keys."""
    with server.connect() as connection:
        insert_rows(connection, EVENTS, rows, indexes=INDEXES, read_back=read_back, seed=None)


read_back: Work = partial(insert, read_back=True)


def look_up(server: Server, rows: int) -> None:
    """Look up rows by random keys, through each index in turn."""
    with server.connect() as connection:
        look_up_keys(connection, rows)


def measure(server: Server, rows: int, work: Work = insert, rounds: int = 5) -> RowCost:
    """The cost per row of the work, over several rounds; its duration is the median of the rounds.

    The master thread merges in bursts: a mean of pages read needs some thousand rows.
    """
    began, took = _counted(server), []
    for _ in range(rounds):
        start = time.perf_counter()
        work(server, rows // rounds)
        took.append(time.perf_counter() - start)
    inserted = rows // rounds * rounds
    grown = [(after - before) / inserted for after, before in zip(_counted(server), began, strict=True)]
    pages, merges, operations, redo = grown
    return RowCost(pages, merges, operations, statistics.median(took) * 1000.0 * rounds / inserted, redo)


def alternating(
    server: Server, statements: tuple[Sequence[str], Sequence[str]], rows: int, work: Work, rounds: int = 8
) -> tuple[RowCost, RowCost]:
    """The cost per row under two settings, in turns, so that changes of the machine or the pool affect both.

    Args:
        server: It has the first setting at the start, and the second at the end.
        statements: The statements for each setting.
        rows: Rows in a round.
        work: The work on them.
        rounds: Rounds under each setting.
    """
    found: tuple[list[RowCost], list[RowCost]] = ([], [])
    for _ in range(rounds):
        for setting, spent in zip(statements, found, strict=True):
            execute(server, *setting)
            spent.append(measure(server, rows, work, rounds=1))
    first, second = (
        RowCost(**{each.name: statistics.median(getattr(s, each.name) for s in spent) for each in fields(RowCost)})
        for spent in found
    )
    return first, second


def observe(server: Server, rows: int, work: Work = insert) -> InsertObservation:
    """Observe the server under a continuous load of ``rows`` at a time.

    The load runs during the collections, too: an idle server merges innodb_io_capacity pages a second.

    Raises:
        NotShown: No row was committed meanwhile: the machine is too busy.
    """
    with Load(server.connect) as load:
        load.repeat(lambda _: work(server, rows), pause=0)
        time.sleep(_SETTLING_SECONDS)
        before, began, last = _counted(server), time.monotonic(), _last_row(server)
        seen = snapshots(server, partial(time.sleep, 1.0), 5)
        after, span = _counted(server), time.monotonic() - began
        done, size = _last_row(server) - last, buffer_pages(server)
    if not done:
        raise NotShown(f"no row was committed in {span:.0f} s")
    pages, merges, operations, redo = [(now - was) / done for now, was in zip(after, before, strict=True)]
    return InsertObservation(seen, RowCost(pages, merges, operations, span * 1000.0 / done, redo), done / span, size)


def counter(server: Server, name: str) -> int:
    """A counter of INNODB_METRICS, its lower half: MariaDB's upper half is garbage."""
    return int(
        query_number(server, f"SELECT COUNT & 4294967295 FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'")
    )


def buffer_pages(server: Server) -> int:
    """The size of the change buffer; an empty one has one page."""
    return counter(server, "ibuf_size")


def fill(server: Server) -> None:
    """Insert until the change buffer stops growing and its reads are steady."""
    size = -1
    for _ in range(_MOST_FILLING):
        if buffer_pages(server) <= size:
            break
        size = buffer_pages(server)
        insert(server, 1_500)
    insert(server, 3_000)


def drain(server: Server) -> None:
    """Wait until an idle server has merged all buffered changes.

    Raises:
        NotShown: It takes too long.
    """
    deadline = time.monotonic() + _DRAINING_SECONDS
    while buffer_pages(server) > 1:
        if time.monotonic() > deadline:
            raise NotShown(f"{buffer_pages(server)} pages of the change buffer are left")
        time.sleep(0.2)


def shut_down_slowly(server: Server, options: Mapping[str, str] = NO_OPTIONS) -> tuple[float, float]:
    """Shut down with innodb_fast_shutdown = 0 and start again; return pages read from the signal on, and seconds.

    The server no longer answers then, so the kernel's count of the process's reads is used: start the server with
    `COUNTED_READS`.
    """
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    before = last = io_bytes(server.pid, "rchar")
    began = time.monotonic()
    os.kill(server.pid, signal.SIGTERM)
    while server.running():
        try:
            last = max(last, io_bytes(server.pid, "rchar"))
        except (OSError, ValueError):  # it has ended, or is ending
            break
        time.sleep(0.002)
    server.wait()
    seconds = time.monotonic() - began
    server.restart(options)
    return (last - before) / PAGE_BYTES, seconds


def comparisons(what: str, before: RowCost, after: RowCost, *, timed: bool = True) -> tuple[Comparison, ...]:
    """Comparisons of the same work: pages read, and time if it is meaningful."""
    pages = Comparison(what=f"pages read for {what}", unit="pages per row", before=before.pages, after=after.pages)
    took = Comparison(what=f"time of {what}", unit="ms per row", before=before.milliseconds, after=after.milliseconds)
    return (pages, took) if timed else (pages,)


def _counted(server: Server) -> tuple[float, float, float, float]:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW ENGINE INNODB STATUS")
        text = cursor.fetchall()[0][2]
    [redo] = re.findall(r"Log sequence number\s+(\d+)", text)
    operations = sum(counter(server, f"ibuf_merges_{each}") for each in ("insert", "delete_mark", "delete"))
    return pages_read(server), counter(server, "ibuf_merges"), operations, float(redo)


def _last_row(server: Server) -> float:
    return query_number(server, f"SELECT MAX(id) FROM {SCHEMA}.{EVENTS}")
