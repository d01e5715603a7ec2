"""E5: the same load under innodb_change_buffering none and all, in turn, with counters.

There are three parts. In the first the whole table is in the pool, as in the published experiment. In the others
secondary indexes with keys in random order are several times as large as the pool, and some settings are scaled down
with the pool. At their defaults, 128 rollback segments in each of two undo tablespaces fill a pool of 512 pages, a page
cleaner that keeps 1,024 pages free (innodb_lru_scan_depth) empties it, and a master thread that merges 500 pages a
second (innodb_io_capacity / 20) keeps a buffer of 25 pages empty.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from advisor.models.change_buffer import Buffer, Changes, steady
from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, make_random_table
from lab.experiments.base import Column, Conclusion, Experiment, Row
from lab.harness.measure import Counters, Figures, innodb_metric, measure, pages_read, pool_statistic, wait_until
from lab.harness.records import Data, Part, Say
from lab.harness.workloads import SCHEMA, ask, insert_rows
from lab.programs import sysbench
from lab.reports.criterion import Criterion
from lab.reports.pictures import BLUE, INK, ORANGE, PINK, label, thousands
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

SETTINGS = ("none", "all")
ORDER = ("none", "all", "all", "none", "none", "all")
"""Three pairs, so that growth from run to run affects both settings alike."""
THREADS = 4
WRITE_ONLY, INSERT = "oltp_write_only", "oltp_insert"
FIT_ROWS, FIT_POOL = 150_000, "160M"
"""The pool is about four times as large as the table, as in the published experiment."""
LARGE_KEYS, LARGE_POOL = 200_000, "8M"
"""There are four rows per key."""
FILLING = {"none": 2_000, "all": 8_000}
"""Transactions before a run: until the pool is full, and until as many changes are merged as are buffered."""
RANDOM_ROWS, RANDOM_POOL = 240_000, "16M"
RANDOM_INSERTED = 5_000
"""Rows of a run; as many are inserted before it, until as many changes are merged as are buffered."""
COMPACT_HEADER = 5  # bytes of a record in the compact format, REC_N_NEW_EXTRA_BYTES in rem0types.h
K_ENTRY = COMPACT_HEADER + 4 + 6.0  # k INT, DB_ROW_ID
RANDOM_ENTRY = COMPACT_HEADER + 1 + 4 + 24 + 4.0  # length of the prefix, k INT, filler(24), id INT
EMPTY_SECONDS = 60.0

_OPTIONS = {"innodb-stats-auto-recalc": "OFF"}  # new statistics would read pages at any time
_SCALED = _OPTIONS | {
    "innodb-lru-scan-depth": "100",
    "innodb-rollback-segments": "4",
    "innodb-io-capacity": "200",
}


def fits(server: PrivateServer, say: Say) -> Data:
    """The published commands, on a new table each time; then the same load on all rows of the last table."""

    def typed(_: str) -> Figures:
        execute(server, f"DROP DATABASE IF EXISTS {sysbench.SCHEMA}")
        sysbench.prepare(server, WRITE_ONLY, table_size=FIT_ROWS, secondary=True)
        built = _leaf_pages(server, sysbench.SCHEMA)["k_1"]
        # As published: without --table-size, so that the load goes to the first 10,000 rows (see README.md).
        return _sysbench(server, WRITE_ONLY, seconds=5) | {"built_leaf_pages": built}

    def whole(_: str) -> Figures:
        return _sysbench(server, WRITE_ONLY, seconds=2, table_size=FIT_ROWS)

    runs = {"typed": _in_turn(server, say, ORDER, typed), "whole": _in_turn(server, say, 2 * ORDER, whole)}
    return _numbers(server, runs, _leaf_pages(server, sysbench.SCHEMA), "k_1", K_ENTRY)


def too_large(server: PrivateServer, say: Say) -> Data:
    """Sysbench inserts rows; its index on k, with keys in random order, is more than twice as large as the pool."""
    say("making the table")
    _make_large(server)
    indexes = _leaf_pages(server, sysbench.SCHEMA)
    load = partial(_sysbench, server, INSERT, table_size=LARGE_KEYS, rand_type="uniform")

    def inserted(setting: str) -> Figures:
        load(events=FILLING[setting])
        return load(seconds=4) | {"cached": _cached(server, "k_1")}

    return _numbers(server, {INSERT: _in_turn(server, say, ORDER, inserted)}, indexes, "k_1", K_ENTRY)


def random_keys(server: PrivateServer, say: Say) -> Data:
    """Rows are inserted, 200 a statement, into a table with three random indexes that are larger than the pool."""
    say("making the table")
    make_random_table(server, RANDOM_ROWS, RANDOM_POOL)
    indexes = _leaf_pages(server, SCHEMA)

    def insert() -> None:
        with server.connect() as connection:
            insert_rows(connection, EVENTS, RANDOM_INSERTED, indexes=INDEXES, read_back=False, seed=None)

    def inserted(_: str) -> Figures:
        insert()
        run = _measured(server, insert)
        cached = sum(_cached(server, index) for index in indexes if index != "PRIMARY")
        return run | {"transactions": RANDOM_INSERTED, "cached": cached}

    return _numbers(server, {"insert_rows": _in_turn(server, say, ORDER, inserted)}, indexes, "k", RANDOM_ENTRY)


def _in_turn(
    server: PrivateServer, say: Say, order: Sequence[str], run: Callable[[str], Figures]
) -> dict[str, list[Figures]]:
    """The runs under each setting of innodb_change_buffering; before one with none the buffer is emptied."""
    runs: dict[str, list[Figures]] = {setting: [] for setting in SETTINGS}
    for number, setting in enumerate(order, 1):
        say(f"{setting}, run {number} of {len(order)}")
        execute(server, f"SET GLOBAL innodb_change_buffering = {setting}")
        if setting == "none":
            wait_until(
                lambda: innodb_metric(server, "ibuf_size") <= 1, EMPTY_SECONDS, "the change buffer was not empty"
            )
        runs[setting].append(run(setting))
    return runs


def _make_large(server: PrivateServer) -> None:
    """Sysbench fills a quarter; the server doubles it twice, which is faster and leaves the index as inserts do."""
    sysbench.prepare(server, INSERT, table_size=LARGE_KEYS, secondary=True, rand_type="uniform")
    table = f"{sysbench.SCHEMA}.sbtest1"
    doubled = f"INSERT INTO {table} (k, c, pad) SELECT 1 + FLOOR(RAND() * {LARGE_KEYS}), c, pad FROM {table}"
    execute(server, doubled, doubled, f"ANALYZE TABLE {table}", "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart({"innodb-buffer-pool-size": LARGE_POOL})


def _sysbench(server: PrivateServer, test: str, *, seconds: int = 0, events: int = 0, **options: str | int) -> Figures:
    reports: list[sysbench.SysbenchReport] = []

    def work() -> None:
        schema = sysbench.SCHEMA
        run = sysbench.run(server, test, threads=THREADS, seconds=seconds, events=events, schema=schema, **options)
        reports.append(run)

    run = _measured(server, work)
    [report] = reports
    return run | {
        "seconds": report.seconds,
        "transactions": report.transactions,
        "ignored_errors": report.ignored_errors,
        "latency_p95_ms": report.latency_p95,
    }


def _file_reads(server: PrivateServer, file: str) -> float:
    files = f"performance_schema.file_summary_by_instance WHERE FILE_NAME LIKE '%/{file}'"
    return query_number(server, f"SELECT COALESCE(SUM(COUNT_READ), 0) FROM {files}")


COUNTERS: Counters = {
    "pages_read": pages_read,
    "merges": partial(innodb_metric, name="ibuf_merges"),
    "merged_inserts": partial(innodb_metric, name="ibuf_merges_insert"),
    "merged_delete_marks": partial(innodb_metric, name="ibuf_merges_delete_mark"),
    "merged_deletes": partial(innodb_metric, name="ibuf_merges_delete"),
    "undo_reads": partial(_file_reads, file="undo_00_"),
    "system_reads": partial(_file_reads, file="ibdata1"),  # it holds the change buffer
}


def _measured(server: PrivateServer, work: Callable[[], None]) -> Figures:
    """Seconds, pages read and merges during the work."""
    figures = measure(server, work, counters=COUNTERS)
    return figures | {"change_buffer_pages": innodb_metric(server, "ibuf_size")}


def _leaf_pages(server: PrivateServer, schema: str) -> dict[str, int]:
    """Leaf pages by index, from the last statistics."""
    with server.connect() as connection:
        rows = ask(
            connection,
            "SELECT index_name, stat_value FROM mysql.innodb_index_stats"
            f" WHERE database_name = '{schema}' AND stat_name = 'n_leaf_pages'",
        )
    return {str(name): int(pages) for name, pages in rows}


def _cached(server: PrivateServer, index: str) -> float:
    """An index's leaf pages in the pool."""
    return query_number(
        server,
        "SELECT COALESCE(SUM(N_CACHED_PAGES), 0) FROM information_schema.INNODB_CACHED_INDEXES"
        f" JOIN information_schema.INNODB_INDEXES USING (INDEX_ID) WHERE NAME = '{index}'",
    )


def _numbers(
    server: PrivateServer,
    runs: dict[str, dict[str, list[Figures]]],
    indexes: dict[str, int],
    named: str,
    entry_bytes: float,
) -> dict[str, Any]:
    """A part's numbers; ``named`` is the prefix of the names of indexes with keys in random order."""
    return {
        "runs": runs,
        "pool_pages": pool_statistic(server, "POOL_SIZE"),
        "page_bytes": query_number(server, "SELECT @@innodb_page_size"),
        "max_size_pct": query_number(server, "SELECT @@innodb_change_buffer_max_size"),
        "io_capacity": query_number(server, "SELECT @@innodb_io_capacity"),
        "leaf_pages": indexes,
        "random_leaf_pages": sum(pages for name, pages in indexes.items() if name.startswith(named)),
        "entry_bytes": entry_bytes,
    }


FITS, TOO_LARGE, RANDOM = (
    f"mysql-9.7, {what}" for what in ("indexes in the pool", "indexes larger than the pool", "three random indexes")
)
PARTS = (
    Part("experiments/E5", FITS, "mysql-9.7", _OPTIONS | {"innodb-buffer-pool-size": FIT_POOL}, fits),
    Part("experiments/E5", TOO_LARGE, "mysql-9.7", _SCALED | {"innodb-buffer-pool-size": FIT_POOL}, too_large),
    Part("experiments/E5", RANDOM, "mysql-9.7", _SCALED | {"innodb-buffer-pool-size": FIT_POOL}, random_keys),
)


PUBLISHED = {"none": 858.01, "all": 866.13}
"""Transactions a second: seed 004, MySQL 8.4.1, means of three runs of ten minutes."""
PUBLISHED_OPERATIONS_A_MERGE = 1.0
"""Its example run with all: 1,281 merges of 1,281 delete marks, no inserts and no deletes."""
RESIDENT = 0.02
"""The most pages read per transaction if all of them are in the pool."""
MORE_PAGES = 1.65
"""The largest ratio to the model's: small pools read the buffer's own pages again (change-buffering-would-help)."""

COLUMNS = (
    Column("regime", "regime"),
    Column("setting", "innodb_change_buffering"),
    Column("published", "published, transactions/s", ",.1f"),
    Column("per_second", "ours, transactions/s"),
    Column("published_faster", "published, all / none", ".2f"),
    Column("faster", "ours, all / none", ".2f"),
    Column("pages_read", "pages read"),
    Column("pages", "pages a transaction", ".3f"),
    Column("model_pages", "model, pages a transaction", ".3f"),
    Column("merges", "merges"),
    Column("merged_inserts", "inserts merged"),
    Column("merged_delete_marks", "delete marks"),
    Column("merged_deletes", "deletes"),
    Column("published_a_merge", "published, operations a merge", ".2f"),
    Column("a_merge", "ours, operations a merge", ".2f"),
    Column("model_a_merge", "model, operations a merge", ".2f"),
)
_SUMS = (
    *("seconds", "transactions", "pages_read", "ignored_errors"),
    *("merges", "merged_inserts", "merged_delete_marks", "merged_deletes"),
)


@dataclass(frozen=True)
class Regime:
    """A load on one table.

    Attributes:
        name: In words.
        none, all: The runs under each setting: sums over them, the median of the speeds, and the model's numbers, by
            the names of the columns. Without ``model_pages`` where the pages in the pool were not counted.
        faster: Speed with all by speed with none: the median over pairs of consecutive runs.
        leaf_pages: Leaf pages of the indexes with keys in random order.
        pool_pages: The pool.
    """

    name: str
    none: Mapping[str, float]
    all: Mapping[str, float]
    faster: float
    leaf_pages: float
    pool_pages: float

    @property
    def fewer_pages(self) -> float:
        """Pages a transaction with none, by those with all."""
        return self.none["pages"] / self.all["pages"]


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row a load and setting."""
    typed = _regime(parts[FITS], "typed", "fits: as published, its first 10,000 rows", 4.0)
    whole = _regime(parts[FITS], "whole", "fits: all of its rows", 4.0)
    inserts = _regime(parts[TOO_LARGE], "oltp_insert", "does not fit: oltp_insert, one index", 1.0)
    random = _regime(parts[RANDOM], "insert_rows", "does not fit: rows with three random keys", 3.0)
    regimes = (typed, whole, inserts, random)

    def by_setting(column: str, digits: int | None) -> dict[str, list[float | None]]:
        def rounded(runs: Mapping[str, float]) -> float | None:
            return round(runs[column], digits) if column in runs else None

        return {
            "none": [rounded(regime.none) for regime in regimes],
            "all": [rounded(regime.all) for regime in regimes],
        }

    return Conclusion(
        rows=tuple(row for regime in regimes for row in _rows(regime, published=regime is typed)),
        criteria=tuple(_criteria(typed, whole, inserts, random)),
        figures={
            "typed": typed,
            "whole": whole,
            "inserts": inserts,
            "random": random,
            "error_rate": typed.none["ignored_errors"] / typed.none["transactions"],
            "delete_marks": typed.all["merged_delete_marks"] / max(typed.all["operations"], 1.0),
            # Of the index on k as its build left it, over all runs with all.
            "built": sum(run["built_leaf_pages"] for run in parts[FITS]["runs"]["typed"]["all"]),
        },
        plot={
            "regimes": [regime.name for regime in regimes],
            "published": PUBLISHED,
            "per_second": by_setting("per_second", None),
            "pages": by_setting("pages", 4),
            "model_pages": by_setting("model_pages", 4),
        },
    )


def _regime(part: Data, load: str, name: str, changes_each: float) -> Regime:
    """The runs of a load; ``changes_each`` is a transaction's changes to random places of the indexes."""
    runs = part["runs"][load]
    pairs = zip(*(runs[setting] for setting in SETTINGS), strict=True)
    none, merged = (_sums(runs[setting]) for setting in SETTINGS)
    if "cached" in none:
        absent = part["random_leaf_pages"] - none["cached"]
        none |= _model(part, none, none["transactions"] * changes_each * absent / part["random_leaf_pages"], 0.0)
        # With all, these are the changes that merges applied, as the advisor takes them.
        merged |= _model(part, merged, merged["operations"], part["max_size_pct"])
    return Regime(
        name=name,
        none=none,
        all=merged,
        faster=statistics.median(_speed(buffered) / _speed(unbuffered) for unbuffered, buffered in pairs),
        leaf_pages=part["random_leaf_pages"],
        pool_pages=part["pool_pages"],
    )


def _sums(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    sums = {name: sum(run.get(name, 0.0) for run in runs) for name in _SUMS}
    operations = sums["merged_inserts"] + sums["merged_delete_marks"] + sums["merged_deletes"]
    cached = {"cached": statistics.mean(run["cached"] for run in runs)} if "cached" in runs[0] else {}
    return {
        **sums,
        **cached,
        "per_second": statistics.median(_speed(run) for run in runs),
        "pages": sums["pages_read"] / sums["transactions"],
        "operations": operations,
        "a_merge": operations / sums["merges"] if sums["merges"] else 0.0,
    }


def _model(part: Data, runs: Mapping[str, float], changes: float, max_size_pct: float) -> dict[str, float]:
    """The model, fed with the changes to leaf pages that are not in the pool."""
    buffer = Buffer(part["pool_pages"], part["page_bytes"], max_size_pct, part["io_capacity"])
    absent = part["random_leaf_pages"] - runs["cached"]
    model = steady(buffer, Changes(changes / runs["seconds"], absent, part["entry_bytes"]))
    return {
        "model_pages": model.reads_per_second * runs["seconds"] / runs["transactions"],
        "model_a_merge": model.operations_per_merge,
    }


def _speed(run: Mapping[str, float]) -> float:
    return run["transactions"] / run["seconds"]


def _rows(regime: Regime, *, published: bool) -> Iterator[Row]:
    theirs = PUBLISHED if published else {}
    none = {name: value for name, value in regime.none.items() if "a_merge" not in name}
    yield {**none, "regime": regime.name, "setting": "none", "published": theirs.get("none")}
    yield {
        **regime.all,
        "a_merge": regime.all["a_merge"] or None,
        "regime": regime.name,
        "setting": "all",
        "faster": regime.faster,
        "published": theirs.get("all"),
        "published_faster": PUBLISHED["all"] / PUBLISHED["none"] if published else None,
        "published_a_merge": PUBLISHED_OPERATIONS_A_MERGE if published else None,
    }


def _criteria(typed: Regime, whole: Regime, inserts: Regime, random: Regime) -> Iterator[Criterion]:
    for regime in (typed, whole):
        yield Criterion(f"{regime.name}: speed, all / none", regime.faster, 0.7, 1.4)
    for setting, runs in zip(SETTINGS, (whole.none, whole.all), strict=True):
        yield Criterion(f"{whole.name}: pages read a transaction with {setting}", runs["pages"], most=RESIDENT)
    beside = typed.none["pages_read"] / max(typed.all["pages_read"], 1.0)
    yield Criterion(f"{typed.name}: pages read, none / all", beside, 0.8, 1.25)
    yield Criterion(f"{typed.name}: pages merged with all", typed.all["merges"], least=1)
    yield Criterion(f"{typed.name}: operations a merge", typed.all["a_merge"], 1.0, 1.3)
    for regime in (inserts, random):
        yield Criterion(f"{regime.name}: pages read a transaction, none / all", regime.fewer_pages, least=3.0)
        yield Criterion(f"{regime.name}: speed, all / none", regime.faster, least=1.2)
        ratio = regime.all["a_merge"] / regime.all["model_a_merge"]
        yield Criterion(f"{regime.name}: operations a merge, measured / model", ratio, 0.7, 1.4)
        for setting, runs in zip(SETTINGS, (regime.none, regime.all), strict=True):
            ratio = runs["pages"] / runs["model_pages"]
            yield Criterion(f"{regime.name}: pages read with {setting}, measured / model", ratio, 0.7, MORE_PAGES)


COLOURS = {"none": ORANGE, "all": BLUE}
_WIDTH = 0.38
_NAMES = (
    "oltp_write_only,\nas published,\nfits",
    "oltp_write_only,\nall rows,\nfits",
    "oltp_insert,\ndoes not fit",
    "three random\nkeys,\ndoes not fit",
)


def draw(figure: Figure, data: Data) -> None:
    """Two panels: transactions a second, and pages that a transaction reads."""
    left, right = figure.subplots(1, 2)
    for number, (setting, colour) in enumerate(COLOURS.items()):
        places = [regime + (number - 0.5) * _WIDTH for regime in range(len(_NAMES))]
        bars = {"width": _WIDTH, "color": colour, "label": f"{setting}, here"}
        left.bar(places, data["per_second"][setting], **bars)
        published = data["published"][setting]
        marker = {"color": PINK, "markersize": 9, "markeredgecolor": "white"}
        left.plot(places[0], published, "^", **marker, label=None if number else "published, 8.4.1")
        right.bar(places, data["pages"][setting], **bars)
        model = [(place, pages) for place, pages in zip(places, data["model_pages"][setting], strict=True) if pages]
        right.plot(
            *zip(*model, strict=True),
            linestyle="none",
            marker="s",
            fillstyle="none",
            markersize=9,
            color=INK,
            label=None if number else "model",
        )
    _axes(left, "transactions (or rows) a second")
    _axes(right, "pages read a transaction (or row)")
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.1f}"))


def _axes(axes: Axes, y: str) -> None:
    label(axes, "", y)
    axes.set_axisbelow(True)
    axes.set_xticks(range(len(_NAMES)), _NAMES, fontsize=8)
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    axes.legend(loc="upper left", fontsize=9)


EXPERIMENT = Experiment("E5", "Change buffering, none and all", PARTS, COLUMNS, conclude, draw, size=(11.0, 4.4))
