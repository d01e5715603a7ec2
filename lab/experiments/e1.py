"""E1: COUNT(*) of a table that is not in the pool, by 1 to 32 threads, and of its copy in key order."""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from advisor.models.parallel_read import ParallelRead
from lab.experiments.base import Column, Conclusion, Experiment, Row
from lab.harness.measure import leaf_pages
from lab.harness.records import Data, Part, Say
from lab.harness.workloads import SCHEMA, ask
from lab.processes.usage import cpu_seconds
from lab.reports import pictures
from lab.reports.criterion import Criterion
from lab.reports.pictures import BLUE, GREEN, INK, MEASURED, MODEL, ORANGE, label, thousands
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

THREADS = (1, 2, 4, 8, 16, 32)

ROWS = 2**20
ROUNDS = 5
GROWN, ORDERED = "item", "item_in_order"
PARALLEL, SERIAL = "mysql-9.7", "mysql-5.6"
OPTIONS = {
    "innodb-buffer-pool-size": "256M",  # holds both tables: no count reads a page twice
    "innodb-flush-method": "O_DIRECT",
    "innodb-doublewrite": "OFF",
}
_THREAD = "SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
_COUNTERS = {
    "pages": "Innodb_pages_read",
    "waited_for": "Innodb_buffer_pool_reads",
    "read_ahead": "Innodb_buffer_pool_read_ahead",
}


def make_items(server: PrivateServer) -> None:
    """Create the published table in the published way: doubled with only its key, then filled.

    The rows grow, so that every page splits, and the new halves go to the end of the file.
    """
    execute(
        server,
        f"CREATE DATABASE {SCHEMA}",
        f"CREATE TABLE {SCHEMA}.{GROWN} (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(10), description VARCHAR(30),"
        " price INT UNSIGNED, created_at DATETIME) ENGINE=InnoDB",
        f"INSERT INTO {SCHEMA}.{GROWN} (id) VALUES (1)",
    )
    have = 1
    while have < ROWS:
        execute(server, f"INSERT INTO {SCHEMA}.{GROWN} (id) SELECT id + {have} FROM {SCHEMA}.{GROWN} ORDER BY id")
        have *= 2
    execute(
        server,
        f"UPDATE {SCHEMA}.{GROWN} SET name = CONCAT('item', FLOOR(RAND() * 1000000)),"
        " description = CONCAT('description ', FLOOR(RAND() * 1000000000000)), price = RAND() * 1000000,"
        " created_at = '2019-01-21' - INTERVAL FLOOR(RAND() * 10000000) SECOND",
        f"ANALYZE TABLE {SCHEMA}.{GROWN}",
    )


def copy_in_order(server: PrivateServer) -> None:
    """Create a copy with pages in key order, like a table with insertions only at its end."""
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.{ORDERED} LIKE {SCHEMA}.{GROWN}",
        f"INSERT INTO {SCHEMA}.{ORDERED} SELECT * FROM {SCHEMA}.{GROWN} ORDER BY id",
        f"ANALYZE TABLE {SCHEMA}.{ORDERED}",
    )


def subtrees(server: PrivateServer, table: str) -> int:
    """Subtrees of the root of its clustered index, the units of a parallel read; from the data file of an idle server.

    Counts PAGE_LEVEL (page0types.h) in pages of the type FIL_PAGE_INDEX (fil0types.h).
    """
    size, kind, level, index_page = 16384, 24, 38 + 26, 17855
    data = (server.datadir / SCHEMA / f"{table}.ibd").read_bytes()
    levels = Counter(
        int.from_bytes(data[page + level : page + level + 2])
        for page in range(0, len(data), size)
        if int.from_bytes(data[page + kind : page + kind + 2]) == index_page
    )
    return levels[max(levels) - 1]


def _count(server: PrivateServer, table: str, threads: int) -> dict[str, float]:
    """One COUNT(*) of an open table.

    Returns:
        ``seconds``; ``threads_made``, the created threads; ``load``, the machine's load average (tasks that run or wait
        for a core or a disk, over a minute); ``cpu_seconds`` of the server; ``pages`` read, and among them
        ``waited_for`` and ``read_ahead``; ``wait_seconds`` of all threads for reads of the table's file, without
        read-ahead.
    """
    with server.connect() as connection:
        if server.name == PARALLEL:
            ask(connection, f"SET SESSION innodb_parallel_read_threads = {threads}")
        ask(connection, f"SELECT id FROM {SCHEMA}.{table} WHERE id = 1")
        before, threads_before = _counters(server, table), query_number(server, _THREAD)
        began = time.perf_counter()
        ask(connection, f"SELECT COUNT(*) FROM {SCHEMA}.{table}")
        took = time.perf_counter() - began
    threads_made = query_number(server, _THREAD) - threads_before - 1  # without the one of this query
    after = _counters(server, table)
    spent = {name: round(after[name] - before[name], 4) for name in after}
    return {"seconds": round(took, 4), "threads_made": threads_made, "load": os.getloadavg()[0]} | spent


def _counters(server: PrivateServer, table: str) -> dict[str, float]:
    with server.connect() as connection:
        status = dict(ask(connection, "SHOW GLOBAL STATUS LIKE 'Innodb%'"))
    wait_seconds = query_number(
        server,
        "SELECT SUM(SUM_TIMER_READ) / 1e12 FROM performance_schema.file_summary_by_instance"
        f" WHERE FILE_NAME LIKE '%{SCHEMA}/{table}.ibd'",
    )
    counters = {name: float(status[variable]) for name, variable in _COUNTERS.items()}
    return counters | {"cpu_seconds": round(cpu_seconds(server.pid), 2), "wait_seconds": wait_seconds}


def measure(server: PrivateServer, say: Say, tables: Sequence[str], threads: Sequence[int]) -> Data:
    """Count every table with every number of threads, in rounds, each time after a restart."""
    say("filling the table")
    make_items(server)
    if ORDERED in tables:
        copy_in_order(server)
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")  # so that no purge runs during the counts
    counts: dict[str, dict[str, list[dict[str, float]]]] = {
        table: {str(number): [] for number in threads} for table in tables
    }
    for round_ in range(1, ROUNDS + 1):
        for number in threads:
            say(f"round {round_} of {ROUNDS}, {number} threads")
            server.restart()
            for table in tables:
                counts[table][str(number)].append(_count(server, table, number))
    return {
        "cores": len(os.sched_getaffinity(0)),
        "tables": {
            table: {
                "leaf_pages": leaf_pages(server, SCHEMA, table),
                "subtrees": subtrees(server, table),
                "counts": counts[table],
            }
            for table in tables
        },
    }


PARTS = (
    Part(
        "experiments/E1",
        PARALLEL,
        PARALLEL,
        OPTIONS | {"innodb-redo-log-capacity": "512M"},
        partial(measure, tables=(GROWN, ORDERED), threads=THREADS),
    ),
    Part(
        "experiments/E1",
        SERIAL,
        SERIAL,
        OPTIONS | {"innodb-log-file-size": "256M"},
        partial(measure, tables=(GROWN,), threads=(1,)),
    ),
)


PUBLISHED = {1: 33.07, 2: 19.65, 4: 13.16, 8: 8.81, 16: 7.43, 32: 7.16}
"""Seconds by threads: seed 000, MySQL 8.0.14 on two virtual cores, the first count after a restart."""
PUBLISHED_CORES, PUBLISHED_ROWS = 2, 2**24
PUBLISHED_SERIAL = 32.94  # seconds, MySQL 5.7.25
MOST = max(THREADS)
ADVISED = 4
"""Threads that the rule may advise for two cores: two per core."""
WITHIN = 0.2
"""The largest error of the model."""

COLUMNS = (
    Column("server", "server"),
    Column("lie", "pages lie"),
    Column("threads", "threads"),
    Column("published", "published, s", ".2f"),
    Column("published_speed_up", "its speed-up", ".2f"),
    Column("published_model", "model of it", ".2f"),
    Column("seconds", "ours, s", ".3f"),
    Column("speed_up", "our speed-up", ".2f"),
    Column("model", "model, from one thread", ".2f"),
    Column("model_with_waits", "model, reads as slow as they were", ".2f"),
    Column("pages", "pages read"),
    Column("waited_for", "of them waited for"),
    Column("wait_seconds", "waits of all threads, s", ".2f"),
    Column("cpu_seconds", "CPU time, s", ".2f"),
)

Counts = dict[int, dict[str, float]]
"""By number of threads, the numbers of a count."""


def _published() -> tuple[ParallelRead, Counts]:
    """The published table: its model, and its numbers. Its waits are fitted to the times with 1 and 32 threads."""
    one = PUBLISHED[1]
    waits = (one / PUBLISHED_CORES - PUBLISHED[MOST]) / (1.0 / PUBLISHED_CORES - 1.0 / MOST)
    model = ParallelRead(one, 1.0, waits, PUBLISHED_CORES)
    return model, {
        threads: {
            "published": seconds,
            "published_speed_up": one / seconds,
            "published_model": one / model.seconds_with(threads),
        }
        for threads, seconds in PUBLISHED.items()
    }


def _counts(part: Data, table: str) -> tuple[ParallelRead, Counts]:
    """The counts of a table: the model with the count of one thread as its input, and medians of `_count`.

    Threads share the subtrees of the table's root: more threads than subtrees are idle. ``model`` is the model's
    speed-up if reads take as long as with one thread, ``model_with_waits`` with their measured duration.
    """
    data, cores = part["tables"][table], part["cores"]
    counts: Counts = {
        int(threads): {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        for threads, runs in data["counts"].items()
    }
    one = counts[1]["seconds"]
    model = ParallelRead(one, 1.0, counts[1]["wait_seconds"], cores)
    for threads, count in counts.items():
        working = min(threads, data["subtrees"])
        count |= {
            "wait_ms": 1000.0 * count["wait_seconds"] / count["waited_for"],
            "speed_up": one / count["seconds"],
            "model": one / model.seconds_with(working),
            "model_with_waits": one / (model.cpu_seconds / min(working, cores) + count["wait_seconds"] / working),
            "share": count["pages"] / data["leaf_pages"],
        }
    return model, counts


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row per server, table and number of threads."""
    published_model, published = _published()
    model, grown = _counts(parts[PARALLEL], GROWN)
    _, ordered = _counts(parts[PARALLEL], ORDERED)
    alone = _counts(parts[SERIAL], GROWN)[1][1]
    serial = {name: value for name, value in alone.items() if "model" not in name and name != "speed_up"}

    def column(counts: Counts, name: str) -> list[float]:
        return [round(count[name], 2) for count in counts.values()]

    return Conclusion(
        rows=(
            *(_row("as they came", threads, published[threads] | count) for threads, count in grown.items()),
            *(_row("in key order", threads, count) for threads, count in ordered.items()),
            {**_row("as they came", 1, serial), "server": SERIAL, "published": PUBLISHED_SERIAL},
        ),
        criteria=tuple(_criteria(published, grown, ordered, alone)),
        figures={
            "published": published,
            "published_model": published_model,
            "model": model,
            "grown": grown,
            "ordered": ordered,
            "subtrees": parts[PARALLEL]["tables"][GROWN]["subtrees"],
            "times_as_many": PUBLISHED_ROWS // ROWS,
        },
        plot={
            "threads": list(THREADS),
            "published": column(published, "published_speed_up"),
            "published_model": column(published, "published_model"),
            "grown": column(grown, "speed_up"),
            "grown_model": column(grown, "model"),
            "grown_model_with_its_waits": column(grown, "model_with_waits"),
            "ordered": column(ordered, "speed_up"),
            "ordered_model": column(ordered, "model"),
        },
    )


def _row(lie: str, threads: int, count: Mapping[str, float]) -> Row:
    return {**count, "server": PARALLEL, "lie": lie, "threads": threads}


def _criteria(published: Counts, grown: Counts, ordered: Counts, alone: Mapping[str, float]) -> Iterator[Criterion]:
    one = grown[1]
    shares = [count["share"] for counts in (grown, ordered) for count in counts.values()]
    yield Criterion("pages read by a count beside the table's, fewest", min(shares), least=0.95)
    yield Criterion("pages read by a count beside the table's, most", max(shares), most=1.05)
    what = f"pages read by {SERIAL} beside those of {PARALLEL} with one thread"
    yield Criterion(what, alone["pages"] / one["pages"], 0.95, 1.05)
    made = [count["threads_made"] / threads for threads, count in grown.items() if threads > 1]
    yield Criterion("threads made for a count beside those allowed, fewest", min(made), 1.0, 1.0)
    waited, waited_in_order = (counts[1]["waited_for"] / counts[1]["pages"] for counts in (grown, ordered))
    yield Criterion("pages as they came: share that one thread waits for", waited, least=0.95)
    yield Criterion("pages in key order: share that one thread waits for", waited_in_order, most=0.1)
    theirs = f"(published: {published[ADVISED]['published_speed_up']:.2f})"
    speed_up = grown[ADVISED]["speed_up"]
    yield Criterion(f"pages as they came: speed-up with {ADVISED} threads {theirs}", speed_up, least=1.5)
    # All time but the waits for reads is shared among the cores in key order, too.
    what = f"speed-up with {ADVISED} threads, pages as they came beside pages in key order"
    yield Criterion(what, speed_up / ordered[ADVISED]["speed_up"], least=1.0)
    for threads in THREADS:
        if 1 < threads <= ADVISED:
            beside = grown[threads]["model_with_waits"] / grown[threads]["speed_up"]
            what = "the model's speed-up with reads as slow as they were beside ours"
            yield Criterion(f"pages as they came, {threads} threads: {what}", beside, 1.0 - WITHIN, 1.0 + WITHIN)
    ratios = [count["published_model"] / count["published_speed_up"] for count in published.values()]
    what = "the model's speed-up beside the published one"
    yield Criterion(f"{what}, lowest of all numbers of threads", min(ratios), least=1.0 - WITHIN)
    yield Criterion(f"{what}, highest of all numbers of threads", max(ratios), most=1.0 + WITHIN)


def draw(figure: Figure, data: Data) -> None:
    """Two panels: the published table, and its copy in key order."""
    left, right = figure.subplots(1, 2, sharey=True)
    threads = data["threads"]
    left.plot(threads, data["published"], color=ORANGE, label="published, 8.0.14", **pictures.PUBLISHED)
    left.plot(threads, data["published_model"], color=ORANGE, label="model of it", **MODEL)
    left.plot(threads, data["grown"], color=BLUE, label="here, 9.7", **MEASURED)
    left.plot(threads, data["grown_model"], color=BLUE, label="model, from one thread", **MODEL)
    left.plot(
        threads,
        data["grown_model_with_its_waits"],
        color=GREEN,
        label="model, reads as slow as they were",
        **MODEL,
    )
    left.set_title("pages as they came", fontsize=11)
    right.plot(threads, data["ordered"], color=BLUE, label="here, 9.7", **MEASURED)
    right.plot(threads, data["ordered_model"], color=BLUE, label="model, from one thread", **MODEL)
    right.set_title("pages in key order", fontsize=11)
    _axes(left, "times as fast as with one thread")
    _axes(right, "")


def _axes(axes: Axes, y: str) -> None:
    label(axes, "reader threads", y)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.axhline(1.0, color=INK, linewidth=0.8)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", fontsize=9)


EXPERIMENT = Experiment("E1", "COUNT(*) by 1 to 32 parallel readers", PARTS, COLUMNS, conclude, draw, size=(9.5, 4.2))
