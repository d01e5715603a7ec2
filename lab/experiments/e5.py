"""E5: the same load under innodb_change_buffering none and all, in turn, with counters.

There are three parts. In the first the whole table is in the pool, as in the published experiment. In the others
secondary indexes with keys in random order are several times as large as the pool, and some settings are scaled down
with the pool. At their defaults, 128 rollback segments in each of two undo tablespaces fill a pool of 512 pages, a page
cleaner that keeps 1,024 pages free (innodb_lru_scan_depth) empties it, and a master thread that merges 500 pages a
second (innodb_io_capacity / 20) keeps a buffer of 25 pages empty.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from advisor.models.change_buffer import Buffer, Changes, Steady, steady
from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, make_random_table
from lab.experiments.base import Cell, Column, Conclusion, Experiment
from lab.harness.measure import Counters, Figures, innodb_metric, measure, pages_read, pool_statistic
from lab.harness.records import Data, NotShown, Part
from lab.harness.workloads import SCHEMA, insert_rows
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


def fits(server: PrivateServer, say: Callable[[str], None]) -> Data:
    """The published commands, on a new table each time; then the same load on all rows of the last table."""
    runs: dict[str, dict[str, list[Figures]]] = {
        load: {setting: [] for setting in SETTINGS} for load in ("typed", "whole")
    }
    indexes: dict[str, int] = {}
    for number, setting in enumerate(ORDER, 1):
        say(f"{setting}, run {number} of {len(ORDER)}")
        _switch(server, setting)
        execute(server, f"DROP DATABASE IF EXISTS {sysbench.SCHEMA}")
        sysbench.prepare(server, WRITE_ONLY, table_size=FIT_ROWS, secondary=True)
        indexes = _leaf_pages(server, sysbench.SCHEMA)
        # As published: without --table-size, so that the load goes to the first 10,000 rows (see README.md).
        typed = _sysbench(server, WRITE_ONLY, seconds=5)
        runs["typed"][setting].append(typed | {"built_leaf_pages": indexes["k_1"]})
    for number, setting in enumerate(2 * ORDER, 1):
        say(f"{setting}, all rows, run {number} of {2 * len(ORDER)}")
        _switch(server, setting)
        runs["whole"][setting].append(_sysbench(server, WRITE_ONLY, seconds=2, table_size=FIT_ROWS))
    return _numbers(server, runs, indexes, "k_1", K_ENTRY)


def too_large(server: PrivateServer, say: Callable[[str], None]) -> Data:
    """Sysbench inserts rows; its index on k, with keys in random order, is more than twice as large as the pool."""
    say("making the table")
    _make_large(server)
    indexes = _leaf_pages(server, sysbench.SCHEMA)
    runs: dict[str, dict[str, list[Figures]]] = {INSERT: {setting: [] for setting in SETTINGS}}
    for number, setting in enumerate(ORDER, 1):
        say(f"{setting}, run {number} of {len(ORDER)}")
        _switch(server, setting)
        load = partial(_sysbench, server, INSERT, table_size=LARGE_KEYS, rand_type="uniform")
        load(events=FILLING[setting])
        runs[INSERT][setting].append(load(seconds=4) | {"cached": _cached(server, "k_1")})
    return _numbers(server, runs, indexes, "k_1", K_ENTRY)


def random_keys(server: PrivateServer, say: Callable[[str], None]) -> Data:
    """Rows are inserted, 200 a statement, into a table with three random indexes that are larger than the pool."""
    say("making the table")
    make_random_table(server, RANDOM_ROWS, RANDOM_POOL)
    indexes = _leaf_pages(server, SCHEMA)
    runs: dict[str, dict[str, list[Figures]]] = {"insert_rows": {setting: [] for setting in SETTINGS}}

    def insert(rows: int) -> None:
        with server.connect() as connection:
            insert_rows(connection, EVENTS, rows, indexes=INDEXES, read_back=False, seed=None)

    for number, setting in enumerate(ORDER, 1):
        say(f"{setting}, run {number} of {len(ORDER)}")
        _switch(server, setting)
        insert(RANDOM_INSERTED)
        run = _measured(server, partial(insert, RANDOM_INSERTED))
        cached = sum(_cached(server, index) for index in indexes if index != "PRIMARY")
        runs["insert_rows"][setting].append(run | {"transactions": RANDOM_INSERTED, "cached": cached})
    return _numbers(server, runs, indexes, "k", RANDOM_ENTRY)


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


def _switch(server: PrivateServer, setting: str) -> None:
    """Set innodb_change_buffering; for none, wait until the buffer is empty."""
    execute(server, f"SET GLOBAL innodb_change_buffering = {setting}")
    deadline = time.monotonic() + EMPTY_SECONDS
    while setting == "none" and innodb_metric(server, "ibuf_size") > 1:
        if time.monotonic() > deadline:
            raise NotShown(f"the change buffer was not empty after {EMPTY_SECONDS:.0f} s")
        time.sleep(0.1)


def _leaf_pages(server: PrivateServer, schema: str) -> dict[str, int]:
    """Leaf pages by index, from the last statistics."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT index_name, stat_value FROM mysql.innodb_index_stats"
            f" WHERE database_name = '{schema}' AND stat_name = 'n_leaf_pages'"
        )
        return {str(name): int(pages) for name, pages in cursor.fetchall()}


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
PUBLISHED_RUN = {"transactions": 514_659, "ignored_errors": 715}
"""Its example run with none."""
PUBLISHED_MERGES = {"merges": 1281, "merged_delete_marks": 1281}
"""Merges of its example run with all; no inserts and no deletes."""
DEFAULT_TABLE_SIZE = 10_000
"""Rows of sysbench's load without --table-size (oltp_common.lua)."""
RESIDENT = 0.02
"""The most pages read per transaction if all of them are in the pool."""
MORE_PAGES = 1.65
"""The largest ratio to the model's: small pools read the buffer's own pages again (change-buffering-would-help)."""

COLUMNS = (
    Column("regime"),
    Column("innodb_change_buffering"),
    Column("published, transactions/s", ",.1f"),
    Column("ours, transactions/s"),
    Column("published, all / none", ".2f"),
    Column("ours, all / none", ".2f"),
    Column("pages read"),
    Column("pages a transaction", ".3f"),
    Column("model, pages a transaction", ".3f"),
    Column("merges"),
    Column("inserts merged"),
    Column("delete marks"),
    Column("deletes"),
    Column("published, operations a merge", ".2f"),
    Column("ours, operations a merge", ".2f"),
    Column("model, operations a merge", ".2f"),
)


@dataclass(frozen=True)
class LoadRuns:
    """The runs of a load under one setting: sums, and the median of the speeds.

    Attributes:
        per_second: Transactions a second, or rows if the lab inserts them itself.
        cached: Leaf pages in the pool, of the indexes with random keys; None if not measured.
    """

    per_second: float
    seconds: float
    transactions: float
    pages_read: float
    merges: float
    merged_inserts: float
    merged_delete_marks: float
    merged_deletes: float
    undo_reads: float
    system_reads: float
    ignored_errors: float
    cached: float | None

    @property
    def pages_a_transaction(self) -> float:
        """Pages read per transaction."""
        return self.pages_read / self.transactions

    @property
    def operations(self) -> float:
        """Changes applied by merges."""
        return self.merged_inserts + self.merged_delete_marks + self.merged_deletes

    @property
    def operations_a_merge(self) -> float | None:
        """Operations per merge; None without merges."""
        return self.operations / self.merges if self.merges else None


@dataclass(frozen=True)
class Regime:
    """A load on one table.

    Attributes:
        name: In words.
        published: Published transactions a second by setting; None without any.
        by_setting: The results by setting.
        faster: Speed with all by speed with none: the median over pairs of consecutive runs.
        changes_each: A transaction's changes to random places of the indexes.
        leaf_pages: Leaf pages of these indexes.
        entry_bytes: Bytes of an entry.
        buffer: The settings that limit the change buffer.
    """

    name: str
    published: Mapping[str, float] | None
    by_setting: Mapping[str, LoadRuns]
    faster: float
    changes_each: float
    leaf_pages: float
    entry_bytes: float
    buffer: Buffer

    def fewer_pages(self) -> float:
        """Pages a transaction with none, by those with all."""
        none, buffered = (self.by_setting[setting].pages_a_transaction for setting in SETTINGS)
        return none / buffered

    def model(self, setting: str) -> Steady | None:
        """Fed with the rate of changes to leaf pages that are not in the pool; None where that is not known.

        With all, these are the changes that merges applied, as the advisor takes them.
        """
        runs, buffer = self.by_setting[setting], self.buffer
        if runs.cached is None:
            return None
        absent, changes = self.leaf_pages - runs.cached, runs.operations
        if setting == "none":
            changes = runs.transactions * self.changes_each * absent / self.leaf_pages
            buffer = replace(buffer, max_size_pct=0.0)
        return steady(buffer, Changes(changes / runs.seconds, absent, self.entry_bytes))

    def predicted_pages(self, setting: str) -> float | None:
        """A transaction, by the model."""
        runs, model = self.by_setting[setting], self.model(setting)
        return None if model is None else model.reads_per_second * runs.seconds / runs.transactions


def conclude(parts: Mapping[str, Data]) -> Conclusion:
    """One row a load and setting."""
    typed = _regime(parts[FITS], "typed", "fits: as published, its first 10,000 rows", 4.0, PUBLISHED)
    whole = _regime(parts[FITS], "whole", "fits: all of its rows", 4.0)
    inserts = _regime(parts[TOO_LARGE], "oltp_insert", "does not fit: oltp_insert, one index", 1.0)
    random = _regime(parts[RANDOM], "insert_rows", "does not fit: rows with three random keys", 3.0)
    regimes = (typed, whole, inserts, random)
    return Conclusion(
        columns=COLUMNS,
        rows=tuple(_row(regime, setting) for regime in regimes for setting in SETTINGS),
        criteria=tuple(_criteria(typed, whole, inserts, random)),
        differences=tuple(_differences(typed, whole, inserts, random, _built(parts[FITS]))),
        plot={
            "regimes": [regime.name for regime in regimes],
            "published": PUBLISHED,
            "per_second": {
                setting: [round(regime.by_setting[setting].per_second) for regime in regimes] for setting in SETTINGS
            },
            "pages": {
                setting: [round(regime.by_setting[setting].pages_a_transaction, 4) for regime in regimes]
                for setting in SETTINGS
            },
            "model_pages": {
                setting: [_rounded(regime.predicted_pages(setting)) for regime in regimes] for setting in SETTINGS
            },
        },
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _regime(
    part: Data, load: str, name: str, changes_each: float, published: Mapping[str, float] | None = None
) -> Regime:
    pairs = zip(*(part["runs"][load][setting] for setting in SETTINGS), strict=True)
    return Regime(
        name=name,
        published=published,
        by_setting={setting: _setting(part["runs"][load][setting]) for setting in SETTINGS},
        faster=statistics.median(_speed(buffered) / _speed(none) for none, buffered in pairs),
        changes_each=changes_each,
        leaf_pages=part["random_leaf_pages"],
        entry_bytes=part["entry_bytes"],
        buffer=Buffer(part["pool_pages"], part["page_bytes"], part["max_size_pct"], part["io_capacity"]),
    )


def _speed(run: Mapping[str, float]) -> float:
    return run["transactions"] / run["seconds"]


def _setting(runs: list[Mapping[str, float]]) -> LoadRuns:
    sums = (field.name for field in fields(LoadRuns) if field.name not in {"per_second", "cached"})
    return LoadRuns(
        per_second=statistics.median(_speed(run) for run in runs),
        cached=statistics.mean(run["cached"] for run in runs) if all("cached" in run for run in runs) else None,
        **{name: sum(run.get(name, 0.0) for run in runs) for name in sums},
    )


def _built(part: Data) -> float:
    """Leaf pages of the index on k as its build left them, over all runs with all."""
    return float(sum(run["built_leaf_pages"] for run in part["runs"]["typed"]["all"]))


def _row(regime: Regime, setting: str) -> tuple[Cell, ...]:
    runs, published, model = regime.by_setting[setting], regime.published, regime.model(setting)
    buffered = setting == "all"
    return (
        regime.name,
        setting,
        published[setting] if published else None,
        runs.per_second,
        published["all"] / published["none"] if published and buffered else None,
        regime.faster if buffered else None,
        runs.pages_read,
        runs.pages_a_transaction,
        regime.predicted_pages(setting),
        runs.merges,
        runs.merged_inserts,
        runs.merged_delete_marks,
        runs.merged_deletes,
        PUBLISHED_MERGES["merged_delete_marks"] / PUBLISHED_MERGES["merges"] if published and buffered else None,
        runs.operations_a_merge if buffered else None,
        model.operations_per_merge if model is not None and buffered else None,
    )


def _criteria(typed: Regime, whole: Regime, inserts: Regime, random: Regime) -> Iterator[Criterion]:
    for regime in (typed, whole):
        yield Criterion(f"{regime.name}: speed, all / none", regime.faster, 0.7, 1.4)
    for setting in SETTINGS:
        pages = whole.by_setting[setting].pages_a_transaction
        yield Criterion(f"{whole.name}: pages read a transaction with {setting}", pages, most=RESIDENT)
    none, merged = (typed.by_setting[setting] for setting in SETTINGS)
    yield Criterion(f"{typed.name}: pages read, none / all", none.pages_read / max(merged.pages_read, 1.0), 0.8, 1.25)
    yield Criterion(f"{typed.name}: pages merged with all", merged.merges, least=1)
    yield Criterion(f"{typed.name}: operations a merge", merged.operations_a_merge or 0.0, 1.0, 1.3)
    for regime in (inserts, random):
        yield Criterion(f"{regime.name}: pages read a transaction, none / all", regime.fewer_pages(), least=3.0)
        yield Criterion(f"{regime.name}: speed, all / none", regime.faster, least=1.2)
        model = regime.model("all")
        if model is not None:
            ratio = (regime.by_setting["all"].operations_a_merge or 0.0) / model.operations_per_merge
            yield Criterion(f"{regime.name}: operations a merge, measured / model", ratio, 0.7, 1.4)
        for setting in SETTINGS:
            pages = regime.by_setting[setting].pages_a_transaction / (regime.predicted_pages(setting) or 1.0)
            yield Criterion(f"{regime.name}: pages read with {setting}, measured / model", pages, 0.7, MORE_PAGES)


def _differences(typed: Regime, whole: Regime, inserts: Regime, random: Regime, built: float) -> Iterator[str]:
    errors, published_errors = typed.by_setting["none"], PUBLISHED_RUN["ignored_errors"]
    others = whole.by_setting["none"]
    rate = errors.ignored_errors / errors.transactions
    if rate > 5 * others.ignored_errors / others.transactions:
        yield (
            f"The published load went to {DEFAULT_TABLE_SIZE:,} of the ten million rows: its command line has no"
            f" --table-size, and this is sysbench's default. Its deadlocks confirm it:"
            f" {published_errors} in {PUBLISHED_RUN['transactions']:,} transactions"
            f" ({published_errors / PUBLISHED_RUN['transactions']:.2%}). Here {errors.ignored_errors:.0f} in"
            f" {errors.transactions:,.0f} ({rate:.2%}) as published, and {others.ignored_errors:.0f} in"
            f" {others.transactions:,.0f} with the load on all rows."
        )
    merged = typed.by_setting["all"]
    marks = merged.merged_delete_marks / max(merged.operations, 1.0)
    if marks > 0.8 and merged.pages_read <= built:
        yield (
            f"The published experiment merged one operation at a time ({PUBLISHED_MERGES['merges']:,} merges of"
            f" {PUBLISHED_MERGES['merged_delete_marks']:,} delete marks) and saved nothing. Here, too, {marks:.0%} of"
            f" the merged operations are delete marks: {merged.operations:,.0f} operations by {merged.merges:,.0f}"
            " merges. Only full pages that the build of the index on k left on disk are read, each of them once; the"
            f" index has {built:,.0f} leaf pages, over all of these runs. An UPDATE's delete mark is buffered, but the"
            " new key after it is not buffered for a full page (ibuf_index_page_calc_free_from_bits), so the page is"
            " read at once. Pages read:"
            f" {typed.by_setting['none'].pages_read:,.0f} with none, {merged.pages_read:,.0f} with all."
        )
    pages = max(whole.by_setting[setting].pages_a_transaction for setting in SETTINGS)
    if pages < RESIDENT:
        yield (
            "More rows would not have changed this: on all rows of a table in the pool, a transaction read at most"
            f" {pages:.4f} pages, and {whole.by_setting['all'].merges:,.0f} pages were merged with all."
        )
    for regime in (inserts, random):
        yield from _where_it_helps(regime)


def _where_it_helps(regime: Regime) -> Iterator[str]:
    none, buffered = (regime.by_setting[setting] for setting in SETTINGS)
    if regime.fewer_pages() > 1.5 and buffered.operations_a_merge:
        yield (
            f"{regime.name}: the indexes have {regime.leaf_pages:,.0f} leaf pages, the pool has"
            f" {regime.buffer.pool_pages:,.0f}. With none a transaction or row read {none.pages_a_transaction:.2f}"
            f" pages, with all {buffered.pages_a_transaction:.2f}: a merge applied"
            f" {buffered.operations_a_merge:.1f} operations. On the same disk all was {regime.faster:.1f} times as"
            " fast."
        )
    predicted = regime.predicted_pages("all")
    if predicted is not None and buffered.pages_a_transaction > 1.2 * predicted:
        other = buffered.undo_reads + buffered.system_reads
        yield (
            f"{regime.name}: more pages were read with all than the model predicts, {buffered.pages_a_transaction:.3f}"
            f" per transaction or row, not {predicted:.3f}. Of {buffered.pages_read:,.0f} pages {buffered.merges:,.0f}"
            f" were merged. {buffered.undo_reads:,.0f} reads were of undo pages and {buffered.system_reads:,.0f} of the"
            f" system tablespace, which holds the change buffer; without them the result is"
            f" {(buffered.pages_read - other) / buffered.transactions:.3f}."
        )


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


EXPERIMENT = Experiment("E5", "Change buffering, none and all", PARTS, conclude, draw, size=(11.0, 4.4))
