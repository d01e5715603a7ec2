"""Series: numbers of the snapshots in their order, growing counts as rates. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy_or_none
from advisor.observe.limits import LONGEST_GAP
from advisor.observe.window import restarted
from exporter.collectors.base import MOST_ROWS, Collector, amount
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.pools import POOLS, BufferPool
from exporter.collectors.status import STATUS
from exporter.collectors.table_files import TABLE_FILES, reads_since
from exporter.midpoint import old_target
from exporter.snapshot import Snapshot, Table

TABLES = 8
"""Tables with a series of their own: the ones that are read most."""
MOST_POINTS = 300
TABLE_PAGES_READ = "table_pages_read"
_OPERATIONS = ("ibuf_merges_insert", "ibuf_merges_delete_mark", "ibuf_merges_delete")

Labels = tuple[tuple[str, str], ...]
_ALL: Labels = ()
Values = Mapping[Labels, float]


class Series(Frozen):
    """A row of numbers."""

    name: str
    labels: dict[str, str] = Field(
        description="pool: an instance of the buffer pool; none for the sum of all. schema and table: a table."
    )
    unit: str
    values: tuple[Number | None, ...] = Field(description="One for each time; null where it is not known.")


class SeriesAnswer(Frozen):
    """Series over the same times."""

    at: tuple[float, ...] = Field(description="Times of snapshots, Unix seconds, oldest first.")
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a series shows.

    Attributes:
        name: Of the series.
        unit: Of its values.
        text: What it is, and where it is read.
        collector: Its source.
        values: Of a snapshot, by labels; empty where not known.
        counter: Whether the values are counts since the server's start, of which the series has the growth a second.
    """

    name: str
    unit: str
    text: str
    collector: Collector[Any]
    values: Callable[[Snapshot], Values]
    counter: bool = True


def _over_pools(value: Callable[[Snapshot, BufferPool], float | None]) -> Callable[[Snapshot], Values]:
    """A value of each instance, and their sum where all are known."""

    def values(snapshot: Snapshot) -> Values:
        pools = snapshot[POOLS] or ()
        known: dict[Labels, float] = {
            (("pool", str(pool.pool)),): number for pool in pools if (number := value(snapshot, pool)) is not None
        }
        return {_ALL: sum(known.values()), **known} if known and len(known) == len(pools) else known

    return values


def _pools(name: str, unit: str, text: str, column: str, field: str, *, counter: bool = True) -> Quantity:
    values = _over_pools(lambda _, pool: getattr(pool, field))
    return Quantity(name, unit, f"{text}: {column} of INNODB_BUFFER_POOL_STATS.", POOLS, values, counter)


def _young(_: Snapshot, pool: BufferPool) -> float | None:
    # The server reads the two at different moments.
    return pool.database_pages - pool.old_pages if pool.old_pages <= pool.database_pages else None


def _old_target(snapshot: Snapshot, pool: BufferPool) -> float | None:
    pct = amount(snapshot, "innodb_old_blocks_pct")
    return None if pct is None else old_target(pool.database_pages, int(pct))


def _metrics(*names: str) -> Callable[[Snapshot], Values]:
    """The sum of counters of INNODB_METRICS; empty unless all are enabled."""

    def values(snapshot: Snapshot) -> Values:
        counters = snapshot[INNODB_METRICS] or {}
        return {_ALL: sum(counters[name] for name in names)} if all(name in counters for name in names) else {}

    return values


def _thread_seconds(snapshot: Snapshot) -> Values:
    readers = snapshot[PARALLEL_READERS]
    return {} if readers is None else {_ALL: readers.thread_seconds}


def _of_tables(tables: Sequence[Table]) -> Quantity:
    """The reads of some tables. A table that is new in a list that was not full began at 0."""
    labels: dict[Table, Labels] = {table: (("schema", table.schema), ("table", table.table)) for table in tables}

    def values(snapshot: Snapshot) -> Values:
        files = snapshot[TABLE_FILES]
        if files is None:
            return {}
        full = len(files) >= MOST_ROWS
        known = [table for table in tables if table in files or not full]
        return {labels[table]: files[table].reads if table in files else 0 for table in known}

    text = f"Reads of a table's own data file, a page each, of the {TABLES} tables that are read most over the window"
    return Quantity(
        TABLE_PAGES_READ, "pages/s", f"{text}: performance_schema.file_summary_by_instance.", TABLE_FILES, values
    )


_QUANTITIES = (
    _pools("pages_read", "pages/s", "Pages read from disk, read-ahead included", "NUMBER_PAGES_READ", "pages_read"),
    _pools("pages_written", "pages/s", "Pages written to disk", "NUMBER_PAGES_WRITTEN", "pages_written"),
    _pools("page_gets", "pages/s", "Pages asked for, in memory or not", "NUMBER_PAGES_GET", "gets"),
    _pools(
        "made_young",
        "pages/s",
        "Pages moved from the old sublist to the head of the list",
        "PAGES_MADE_YOUNG",
        "made_young",
    ),
    _pools(
        "not_made_young",
        "pages/s",
        "Accesses to old pages that did not move them",
        "PAGES_NOT_MADE_YOUNG",
        "not_made_young",
    ),
    Quantity(
        "young_pages",
        "pages",
        "Length of the young sublist: DATABASE_PAGES less OLD_DATABASE_PAGES of INNODB_BUFFER_POOL_STATS.",
        POOLS,
        _over_pools(_young),
        counter=False,
    ),
    _pools("old_pages", "pages", "Length of the old sublist", "OLD_DATABASE_PAGES", "old_pages", counter=False),
    _pools("free_pages", "pages", "Pages on the free list", "FREE_BUFFERS", "free_pages", counter=False),
    _pools("size_pages", "pages", "Size of the pool", "POOL_SIZE", "size_pages", counter=False),
    Quantity(
        "old_target_pages",
        "pages",
        "Length that innodb_old_blocks_pct steers the old sublist to, as buf_LRU_old_adjust_len has it.",
        POOLS,
        _over_pools(_old_target),
        counter=False,
    ),
    Quantity(
        "change_buffer_pages",
        "pages",
        "Size of the change buffer; an empty one has one page: ibuf_size of INNODB_METRICS.",
        INNODB_METRICS,
        _metrics("ibuf_size"),
        counter=False,
    ),
    Quantity(
        "change_buffer_merges",
        "pages/s",
        "Pages into which waiting changes were merged: ibuf_merges of INNODB_METRICS.",
        INNODB_METRICS,
        _metrics("ibuf_merges"),
    ),
    Quantity(
        "change_buffer_operations",
        "changes/s",
        f"Changes that merges applied: {', '.join(_OPERATIONS)} of INNODB_METRICS.",
        INNODB_METRICS,
        _metrics(*_OPERATIONS),
    ),
    Quantity(
        "reader_threads",
        "threads",
        "Parallel reader threads, on average since the snapshot before: samples of performance_schema.threads.",
        PARALLEL_READERS,
        _thread_seconds,
    ),
    _of_tables(()),
)
QUANTITIES: Mapping[str, Quantity] = {quantity.name: quantity for quantity in _QUANTITIES}
"""By name of the series."""


Point = tuple[float, Mapping[tuple[str, Labels], float]]
"""A time, and its values by name and labels."""


def series(
    history: Sequence[Snapshot],
    names: Sequence[str],
    since: float,
    most: int = MOST_POINTS,
) -> SeriesAnswer:
    """Series of a history.

    Args:
        history: Snapshots, oldest first.
        names: Of QUANTITIES.
        since: Only snapshots later than this, Unix seconds.
        most: Points at most. More are thinned to means of as many points each, at the time of the last of them.
    """
    quantities = [QUANTITIES[name] for name in dict.fromkeys(names)]
    if TABLE_PAGES_READ in names:
        quantities[quantities.index(QUANTITIES[TABLE_PAGES_READ])] = _of_tables(_most_read(history, since))
    points = _thinned(list(_points(history, quantities, since)), most)
    keys = dict.fromkeys(key for _, values in points for key in values)
    return SeriesAnswer(
        at=tuple(at for at, _ in points),
        series=tuple(
            Series(
                name=quantity.name,
                labels=dict(labels),
                unit=quantity.unit,
                values=tuple(tidy_or_none(values.get((name, labels))) for _, values in points),
            )
            for quantity in quantities
            for name, labels in keys
            if name == quantity.name
        ),
    )


def _most_read(history: Sequence[Snapshot], since: float) -> list[Table]:
    """The tables that read most since then, roughly; those that read nothing are left out."""
    counts = [files for snapshot in history if snapshot.at > since and (files := snapshot[TABLE_FILES]) is not None]
    if not counts:
        return []
    grown = reads_since(counts[0], counts[-1])
    ranked = heapq.nsmallest(TABLES, grown, key=lambda table: (-grown[table], table.schema, table.table))
    return [table for table in ranked if grown[table]]


def _points(history: Sequence[Snapshot], quantities: Sequence[Quantity], since: float) -> Iterator[Point]:
    rates = _SeriesValues(quantities)
    before: Snapshot | None = None
    # From the end, as few are asked for mostly.
    later = [*takewhile(lambda snapshot: snapshot.at >= since - LONGEST_GAP, reversed(history))]
    for snapshot in reversed(later):
        if before is not None and not 0 < snapshot.at - before.at <= LONGEST_GAP:
            rates.forget()
            if before.at > since:
                yield (before.at + snapshot.at) / 2, {}  # a line over the gap would be a lie
        point = snapshot.at, rates.values(snapshot)
        if snapshot.at > since:
            yield point
        before = snapshot


class _SeriesValues:
    """The values of snapshots in their order. What a source counted is compared with its last read."""

    def __init__(self, quantities: Sequence[Quantity]) -> None:
        self._quantities = quantities
        self._status: Snapshot | None = None
        self._last: dict[str, tuple[float, Values]] = {}  # by name: when it was read, and its counts

    def forget(self) -> None:
        """Counts from before are not comparable."""
        self._last.clear()

    def values(self, snapshot: Snapshot) -> dict[tuple[str, Labels], float]:
        if snapshot[STATUS] is not None:
            if self._status is not None and restarted(self._status, snapshot):
                self.forget()
            self._status = snapshot
        values: dict[tuple[str, Labels], float] = {}
        for quantity in self._quantities:
            by_labels = self._grown(quantity, snapshot) if quantity.counter else quantity.values(snapshot)
            values |= {(quantity.name, labels): value for labels, value in by_labels.items()}
        return values

    def _grown(self, quantity: Quantity, snapshot: Snapshot) -> Values:
        now, read = quantity.values(snapshot), snapshot.read_at.get(quantity.collector.name, snapshot.at)
        if not now:
            return {}
        last = self._last.get(quantity.name)
        if last is not None and last[0] == read:
            return {}  # it was not read anew
        self._last[quantity.name] = read, now
        if last is None or not 0 < read - last[0] <= LONGEST_GAP:
            return {}
        seconds, before = read - last[0], last[1]
        return {
            labels: (value - before[labels]) / seconds
            for labels, value in now.items()
            if labels in before and value >= before[labels]
        }


def _thinned(points: Sequence[Point], most: int) -> list[Point]:
    size = -(-len(points) // most)
    return [_mean(points[n : n + size]) for n in range(0, len(points), size)] if size > 1 else list(points)


def _mean(points: Sequence[Point]) -> Point:
    keys = dict.fromkeys(key for _, values in points for key in values)
    known = {key: [values[key] for _, values in points if key in values] for key in keys}
    return points[-1][0], {key: sum(values) / len(values) for key, values in known.items()}
