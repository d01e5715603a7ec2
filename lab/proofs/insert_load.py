"""A load of insertions into three random secondary indexes, and what the server counts of it."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from exporter.snapshot import Snapshot
from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, look_up_keys, make_random_table
from lab.harness.measure import PAGES, Counters, Figures, in_turn, innodb_metric, measure, per, wait_until
from lab.harness.watch import PATIENCE, watch
from lab.harness.workloads import SCHEMA, BackgroundLoad, ask, insert_rows
from lab.processes.usage import bytes_read
from lab.proofs.proof import ComparedFigure
from lab.servers import PrivateServer
from lab.servers.server import NO_OPTIONS
from lab.servers.sql import execute, query_number

ROWS = 160_000  # three indexes of about 600 leaf pages each
POOL, POOL_PAGES = "12M", 768
# While the table is created. Recalculated statistics would read hundreds of pages at any time.
PREPARING = {"innodb-buffer-pool-size": "64M", "innodb-stats-auto-recalc": "OFF"}
BUFFERED, UNBUFFERED = ({"innodb-change-buffering": kind} for kind in ("all", "none"))
RARELY_MERGED = {"innodb-io-capacity": "200"}
"""The default up to 8.0. The master thread then merges ten pages a second, so that the machine's speed matters less."""
COUNTED_READS = {"innodb-use-native-aio": "OFF"}
"""For `shut_down_slowly`: the server then reads by pread, which the kernel counts as reads of the process."""
PAGE_BYTES = 16_384
_SETTLING_SECONDS = 0.5
_DRAINING_SECONDS = 30.0
_MOST_FILLING = 40
_REDO = re.compile(r"Log sequence number\s+(\d+)")

RowWork = Callable[[PrivateServer, int], None]
"""Takes the server and a number of rows."""


def _redo(server: PrivateServer) -> float:
    """The log sequence number, bytes."""
    with server.connect() as connection:
        [(_, _, status)] = ask(connection, "SHOW ENGINE INNODB STATUS")
    [number] = _REDO.findall(status)
    return float(number)


def _operations(server: PrivateServer) -> float:
    """Changes that merges of the change buffer applied."""
    return sum(innodb_metric(server, f"ibuf_merges_{kind}") for kind in ("insert", "delete_mark", "delete"))


def _last_row(server: PrivateServer) -> float:
    return query_number(server, f"SELECT MAX(id) FROM {SCHEMA}.{EVENTS}")


COUNTED: Counters = PAGES | {
    "merges": partial(innodb_metric, name="ibuf_merges"),
    "operations": _operations,
    "redo": _redo,
}
"""What is counted for each row; `per_merge` adds ``per_merge``, the changes that a merge applied."""


def prepare(server: PrivateServer, rows: int = ROWS, pool: str = POOL) -> None:
    """Create the table, and then shrink the pool; it holds none of the table's pages."""
    make_random_table(server, rows, pool)


def insert(server: PrivateServer, rows: int, *, read_back: bool = False) -> None:
    """Insert rows with random keys; with ``read_back`` each is then looked up by each of its keys."""
    with server.connect() as connection:
        insert_rows(connection, EVENTS, rows, indexes=INDEXES, read_back=read_back, seed=None)


read_back: RowWork = partial(insert, read_back=True)


def look_up(server: PrivateServer, rows: int) -> None:
    """Look up rows by random keys, through each index in turn."""
    with server.connect() as connection:
        look_up_keys(connection, rows)


def row_cost(server: PrivateServer, rows: int, work: RowWork = insert, rounds: int = 5) -> Figures:
    """The figures of a row, over several rounds.

    The master thread merges in bursts: a mean of pages read needs some thousand rows.
    """
    share = rows // rounds
    return _per_merge(measure(server, lambda: work(server, share), rounds, counters=COUNTED, pieces=share))


def alternating(
    server: PrivateServer, statements: tuple[Sequence[str], Sequence[str]], rows: int, work: RowWork, rounds: int = 8
) -> tuple[Figures, Figures]:
    """The medians of the figures of a row under two settings, in turn.

    Args:
        server: It has the first setting at the start, and the second at the end.
        statements: The statements for each setting.
        rows: Rows in a round.
        work: The work on them.
        rounds: Rounds under each setting.
    """

    def under(setting: Sequence[str]) -> Figures:
        execute(server, *setting)
        return row_cost(server, rows, work, rounds=1)

    first, second = in_turn(rounds, *(partial(under, setting) for setting in statements))
    return first, second


def observe(
    server: PrivateServer, rows: int, work: RowWork = insert, least_rows: int = 0
) -> tuple[tuple[Snapshot, ...], Figures]:
    """Watch the server under a continuous load of ``rows`` at a time.

    The load runs during the collections, too: an idle server merges innodb_io_capacity pages a second. Between two
    collections is a second, or the time of ``least_rows``: a page by which the change buffer grows counts as some
    hundred changes, so fewer rows say little of how many were buffered.

    Returns:
        The sidecar's snapshots, and the figures of a row. ``rate`` is rows a second, ``buffer_pages`` the size of the
        change buffer in the end.

    Raises:
        NotShown: No row was committed meanwhile: the machine is too busy.
    """
    with BackgroundLoad(server.connect) as load:
        load.repeat(lambda _: work(server, rows), pause=0)
        time.sleep(_SETTLING_SECONDS)
        began = time.monotonic()
        wait = partial(_await_rows, server, least_rows)
        seen, counted = watch(server, wait, 5, counters=COUNTED | {"rows": _last_row})
        rate, size = 5 * counted["rows"] / (time.monotonic() - began), buffer_pages(server)
    return seen, _per_merge(per(counted, "rows")) | {"rate": rate, "buffer_pages": size}


def _await_rows(server: PrivateServer, rows: int) -> None:
    """Wait for a second, and until so many rows were inserted. Raises NotShown where they do not come."""
    first = _last_row(server)
    time.sleep(1.0)
    wait_until(lambda: _last_row(server) >= first + rows, PATIENCE, f"fewer than {rows} rows")


def buffer_pages(server: PrivateServer) -> int:
    """The size of the change buffer; an empty one has one page."""
    return innodb_metric(server, "ibuf_size")


def fill(server: PrivateServer) -> None:
    """Insert until the change buffer stops growing and its reads are steady."""
    size = -1
    for _ in range(_MOST_FILLING):
        if buffer_pages(server) <= size:
            break
        size = buffer_pages(server)
        insert(server, 1_500)
    insert(server, 3_000)


def drain(server: PrivateServer) -> None:
    """Wait until an idle server has merged all buffered changes."""
    wait_until(lambda: buffer_pages(server) <= 1, _DRAINING_SECONDS, "the change buffer is not empty")


def shut_down_slowly(server: PrivateServer, options: Mapping[str, str] = NO_OPTIONS) -> Figures:
    """Shut down with innodb_fast_shutdown = 0 and start again; pages read from the signal on, and seconds.

    The server no longer answers then, so the kernel's count of the process's reads is used: start the server with
    `COUNTED_READS`.
    """
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    before = last = bytes_read(server.pid)
    began = time.monotonic()
    os.kill(server.pid, signal.SIGTERM)
    while server.running():
        try:
            last = max(last, bytes_read(server.pid))
        except (OSError, ValueError):  # it has ended, or is ending
            break
        time.sleep(0.002)
    server.wait()
    seconds = time.monotonic() - began
    server.restart(options)
    return {"pages": (last - before) / PAGE_BYTES, "seconds": seconds}


def row_measures(what: str, *, timed: bool = True) -> tuple[ComparedFigure, ...]:
    """Pages read for rows, and time if it is meaningful."""
    pages = ComparedFigure(f"pages read for {what}", "pages per row", "pages")
    return (pages, ComparedFigure(f"time of {what}", "ms per row", "seconds", times=1000.0)) if timed else (pages,)


def _per_merge(figures: Figures) -> Figures:
    return figures | {"per_merge": figures["operations"] / figures["merges"] if figures["merges"] else 0.0}
