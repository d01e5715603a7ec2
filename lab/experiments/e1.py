"""E1: COUNT(*) of a table that is not in the pool, by 1 to 32 threads, and of its copy in key order."""

from __future__ import annotations

import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from advisor.models.parallel_read import ParallelRead
from lab.experiments.base import Cell, Column, Conclusion, Experiment
from lab.harness.measure import leaf_pages
from lab.harness.records import Data, Part
from lab.harness.workloads import SCHEMA
from lab.processes.usage import cpu_seconds
from lab.reports import pictures
from lab.reports.criterion import Criterion
from lab.reports.pictures import BLUE, GREEN, INK, MEASURED, MODEL, ORANGE, label, thousands
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

Say = Callable[[str], None]

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
    with server.connect() as connection, connection.cursor() as cursor:
        if server.name == PARALLEL:
            cursor.execute(f"SET SESSION innodb_parallel_read_threads = {threads}")
        cursor.execute(f"SELECT id FROM {SCHEMA}.{table} WHERE id = 1")
        cursor.fetchall()
        before, threads_before = _counters(server, table), query_number(server, _THREAD)
        began = time.perf_counter()
        cursor.execute(f"SELECT COUNT(*) FROM {SCHEMA}.{table}")
        cursor.fetchall()
        took = time.perf_counter() - began
    threads_made = query_number(server, _THREAD) - threads_before - 1  # without the one of this query
    after = _counters(server, table)
    spent = {name: round(after[name] - before[name], 4) for name in after}
    return {"seconds": round(took, 4), "threads_made": threads_made, "load": os.getloadavg()[0]} | spent


def _counters(server: PrivateServer, table: str) -> dict[str, float]:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb%'")
        status = dict(cursor.fetchall())
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
SLOWER = 1.5
"""A ratio of durations above this is not chance."""

COLUMNS = (
    Column("server"),
    Column("pages lie"),
    Column("threads"),
    Column("published, s", ".2f"),
    Column("its speed-up", ".2f"),
    Column("model of it", ".2f"),
    Column("ours, s", ".3f"),
    Column("our speed-up", ".2f"),
    Column("model, from one thread", ".2f"),
    Column("model, reads as slow as they were", ".2f"),
    Column("pages read"),
    Column("of them waited for"),
    Column("waits of all threads, s", ".2f"),
    Column("CPU time, s", ".2f"),
)


@dataclass(frozen=True)
class CountCost:
    """The counts of one table with one number of threads: medians of the numbers of `_count`."""

    threads: int
    seconds: float
    threads_made: float
    load: float
    pages: float
    waited_for: float
    read_ahead: float
    cpu_seconds: float
    wait_seconds: float

    @property
    def wait_ms(self) -> float:
        """Milliseconds of a wait for a page."""
        return 1000.0 * self.wait_seconds / self.waited_for

    @property
    def counters(self) -> tuple[float, ...]:
        """The last cells of a row."""
        return self.pages, self.waited_for, self.wait_seconds, self.cpu_seconds


@dataclass(frozen=True)
class CountSeries:
    """The counts of one table with all numbers of threads.

    Attributes:
        leaf_pages: Leaf pages of its clustered index.
        subtrees: Subtrees of its root. Threads share them; more threads than subtrees are idle.
        by_threads: Its counts.
        cores: Cores available to the server.
    """

    leaf_pages: float
    subtrees: int
    by_threads: Mapping[int, CountCost]
    cores: int

    @property
    def model(self) -> ParallelRead:
        """The model with the count of one thread as its input."""
        one = self.by_threads[1]
        return ParallelRead(one.seconds, 1.0, one.wait_seconds, self.cores)

    def speed_up(self, threads: int) -> float:
        """The measured speed-up."""
        return self.by_threads[1].seconds / self.by_threads[threads].seconds

    def predicted(self, threads: int) -> float:
        """The model's speed-up, if reads take as long as with one thread."""
        return self.model.seconds / self.model.seconds_with(min(threads, self.subtrees))

    def predicted_with_waits(self, threads: int) -> float:
        """The model's speed-up with the measured duration of reads for this number of threads."""
        one, working = self.model, min(threads, self.subtrees)
        waits = self.by_threads[threads].wait_seconds
        return one.seconds / (one.cpu_seconds / min(working, self.cores) + waits / working)


def published_model() -> ParallelRead:
    """The model of the published table. Its waits are unknown; they are fitted to the times with 1 and 32 threads."""
    one = PUBLISHED[1]
    waits = (one / PUBLISHED_CORES - PUBLISHED[MOST]) / (1.0 / PUBLISHED_CORES - 1.0 / MOST)
    return ParallelRead(one, 1.0, waits, PUBLISHED_CORES)


def _published_speed_up(threads: int) -> float:
    return PUBLISHED[1] / PUBLISHED[threads]


def _predicted_of_published(threads: int) -> float:
    model = published_model()
    return model.seconds / model.seconds_with(threads)


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row per server, table and number of threads."""
    grown, ordered = (_series(parts[PARALLEL], table) for table in (GROWN, ORDERED))
    serial = _series(parts[SERIAL], GROWN)
    alone = serial.by_threads[1]

    def rounded(speed_up: Callable[[int], float]) -> list[float]:
        return [round(speed_up(number), 2) for number in THREADS]

    return Conclusion(
        columns=COLUMNS,
        rows=(
            *(_row(grown, number, published=True) for number in THREADS),
            *(_row(ordered, number, published=False) for number in THREADS),
            (SERIAL, "as they came", 1, PUBLISHED_SERIAL, *[None] * 2, alone.seconds, *[None] * 3, *alone.counters),
        ),
        criteria=tuple(_criteria(grown, ordered, serial)),
        differences=tuple(_differences(grown, ordered, serial)),
        plot={
            "threads": list(THREADS),
            "published": rounded(_published_speed_up),
            "published_model": rounded(_predicted_of_published),
            "grown": rounded(grown.speed_up),
            "grown_model": rounded(grown.predicted),
            "grown_model_with_its_waits": rounded(grown.predicted_with_waits),
            "ordered": rounded(ordered.speed_up),
            "ordered_model": rounded(ordered.predicted),
        },
    )


def _series(part: Data, table: str) -> CountSeries:
    data = part["tables"][table]
    by_threads = {
        int(threads): CountCost(
            int(threads), **{name: statistics.median(run[name] for run in runs) for name in runs[0]}
        )
        for threads, runs in data["counts"].items()
    }
    return CountSeries(data["leaf_pages"], data["subtrees"], by_threads, part["cores"])


def _row(series: CountSeries, threads: int, *, published: bool) -> tuple[Cell, ...]:
    count = series.by_threads[threads]
    theirs: tuple[Cell, ...] = (None, None, None)
    if published:
        theirs = (PUBLISHED[threads], _published_speed_up(threads), _predicted_of_published(threads))
    return (
        PARALLEL,
        "as they came" if published else "in key order",
        threads,
        *theirs,
        count.seconds,
        series.speed_up(threads),
        series.predicted(threads),
        series.predicted_with_waits(threads),
        *count.counters,
    )


def _criteria(grown: CountSeries, ordered: CountSeries, serial: CountSeries) -> Iterator[Criterion]:
    one = grown.by_threads[1]
    shares = [count.pages / series.leaf_pages for series in (grown, ordered) for count in series.by_threads.values()]
    made = [count.threads_made / count.threads for count in grown.by_threads.values() if count.threads > 1]
    yield Criterion("pages read by a count beside the table's, fewest", min(shares), least=0.95)
    yield Criterion("pages read by a count beside the table's, most", max(shares), most=1.05)
    beside = serial.by_threads[1].pages / one.pages
    yield Criterion(f"pages read by {SERIAL} beside those of {PARALLEL} with one thread", beside, 0.95, 1.05)
    yield Criterion("threads made for a count beside those allowed, fewest", min(made), 1.0, 1.0)
    waited = one.waited_for / one.pages
    yield Criterion("pages as they came: share that one thread waits for", waited, least=0.95)
    waited = ordered.by_threads[1].waited_for / ordered.by_threads[1].pages
    yield Criterion("pages in key order: share that one thread waits for", waited, most=0.1)
    published = f"(published: {_published_speed_up(ADVISED):.2f})"
    speed_up = grown.speed_up(ADVISED)
    yield Criterion(f"pages as they came: speed-up with {ADVISED} threads {published}", speed_up, least=1.5)
    # All time but the waits for reads is shared among the cores in key order, too.
    beside = speed_up / ordered.speed_up(ADVISED)
    what = f"speed-up with {ADVISED} threads, pages as they came beside pages in key order"
    yield Criterion(what, beside, least=1.0)
    for number in THREADS:
        if 1 < number <= ADVISED:
            beside = grown.predicted_with_waits(number) / grown.speed_up(number)
            what = "the model's speed-up with reads as slow as they were beside ours"
            yield Criterion(f"pages as they came, {number} threads: {what}", beside, 1.0 - WITHIN, 1.0 + WITHIN)
    ratios = [_predicted_of_published(number) / PUBLISHED[1] * PUBLISHED[number] for number in THREADS]
    what = "the model's speed-up beside the published one"
    yield Criterion(f"{what}, lowest of all numbers of threads", min(ratios), least=1.0 - WITHIN)
    yield Criterion(f"{what}, highest of all numbers of threads", max(ratios), most=1.0 + WITHIN)


def _differences(grown: CountSeries, ordered: CountSeries, serial: CountSeries) -> Iterator[str]:
    one, last = grown.by_threads[1], grown.by_threads[MOST]
    for number in (ADVISED, MOST):
        measured, predicted = grown.speed_up(number), grown.predicted(number)
        with_waits = grown.predicted_with_waits(number)
        if abs(predicted / measured - 1.0) > WITHIN and abs(with_waits - measured) < 0.5 * abs(predicted - measured):
            wait = grown.by_threads[number].wait_ms
            why = "it serves a limited number of reads" if wait > one.wait_ms else "other work used it less"
            yield (
                f"With {number} threads the model predicts {predicted:.1f} times the speed of one; {measured:.1f} was"
                f" measured. The model assumes that the disk is as fast as with one thread. But a wait for a page took"
                f" {one.wait_ms:.2f} ms with one thread, and {wait:.2f} ms with {number}: {why}. With the measured"
                f" duration it predicts {with_waits:.1f}."
            )
    if grown.subtrees < MOST:
        yield (
            f"More than {grown.subtrees} threads gain nothing: the root of this table has {grown.subtrees} subtrees,"
            f" and each is read by one thread. The published table has {PUBLISHED_ROWS // ROWS} times as many rows."
        )
    if last.load > 2 * grown.cores and grown.speed_up(MOST) < (1.0 - WITHIN) * grown.predicted_with_waits(MOST):
        yield (
            f"With {MOST} threads the model predicts {grown.predicted_with_waits(MOST):.1f} times the speed of one,"
            f" from the measured duration of reads and the number of busy threads; {grown.speed_up(MOST):.1f} was"
            f" measured. The machine had other work: its load average was {last.load:.1f} on {grown.cores} cores. No"
            " counter of the server shows a thread that waits for a core."
        )
    share, here = published_model().wait_share, grown.model.wait_share
    if here > share:
        yield (
            f"The published waits are unknown. Fitted to the times with 1 and {MOST} threads, they are {share:.0%} of"
            f" one thread's time. Here they are {here:.0%}, so more of it can overlap: {ADVISED} threads are"
            f" {grown.speed_up(ADVISED):.2f} times as fast as one, not {_published_speed_up(ADVISED):.2f} times."
        )
    first = ordered.by_threads[1]
    yield (
        f"The gain needs pages in random order. In the copy with pages in key order, {first.read_ahead:,.0f} of"
        f" {first.pages:,.0f} pages were read ahead: one thread waits {first.wait_seconds:.2f} s for reads instead of"
        f" {one.wait_seconds:.2f} s, and {ADVISED} threads are {ordered.speed_up(ADVISED):.2f} times as fast."
    )
    unaccounted, predicted = first.seconds - first.cpu_seconds - first.wait_seconds, ordered.predicted(ADVISED)
    if unaccounted > 0.2 * first.seconds and ordered.speed_up(ADVISED) < (1.0 - WITHIN) * predicted:
        yield (
            f"There the model predicts more, {predicted:.1f}: it counts all time without a wait for a"
            f" read as CPU time. Of the {first.seconds:.2f} s of one thread the server used the CPU for"
            f" {first.cpu_seconds:.2f} s. {unaccounted:.2f} s are neither CPU time nor own reads: the thread"
            " waits for pages of read-ahead, or for a core. The rule on too few threads uses only waits for reads and"
            " stays silent."
        )
    alone = serial.by_threads[1]
    if max(alone.wait_ms, one.wait_ms) > SLOWER * min(alone.wait_ms, one.wait_ms):
        yield (
            f"{SERIAL} takes {alone.seconds / one.seconds:.1f} times as long as one thread of {PARALLEL}"
            f" (published for 5.7.25: {PUBLISHED_SERIAL / PUBLISHED[1]:.1f}), for the same pages: a read took"
            f" {alone.wait_ms:.2f} ms on {SERIAL}, and {one.wait_ms:.2f} ms on {PARALLEL}."
        )


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


EXPERIMENT = Experiment("E1", "COUNT(*) by 1 to 32 parallel readers", PARTS, conclude, draw, size=(9.5, 4.2))
