"""What is measured of a window, in slices: the work that was done, and what it read and waited."""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pydantic import Field

from advisor.contract.recommendation import Frozen
from advisor.facts.base import counts_of, file_reads, metric, over_pools, ratio, status
from advisor.facts.scans import scans
from advisor.observe.window import Window, known_total, total
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.data_files import DATA_FILES
from exporter.collectors.innodb_status import checkpoint_age
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO, IndexIo
from exporter.snapshot import Index, SectionKey, Table

WINDOW_SECONDS = 300.0
"""Length of a window that counts as one."""
SLICES = 5
"""Slices of such a window: their spread tells what is noise."""
LEAST_SLICES = 4
MOST_TABLES = 20
"""Tables that are measured one by one, those with the most reads and the most time of statements."""

READ, READ_UNIT = "pages read per second", "pages per second"
WAITED, WAITED_UNIT = "time waited in table I/O", "ms per second"
READ_A_SCAN = "pages read per pass"
MERGES = "change buffer merges per second"
LATENCY = "time of a data-file read"
CHECKPOINT_AGE = "age of the checkpoint"
SECONDS_PER_COUNT = "seconds per COUNT(*)"
PER_PASS = (READ_A_SCAN, SECONDS_PER_COUNT)
"""Quantities of a pass over a table."""

Subject = Mapping[str, str]
"""Schema and table; empty for the server."""
PromisedQuantity = tuple[str, Subject]
"""A quantity that is measured only for a promise, and its subject."""

_SECTIONS: tuple[SectionKey[Any], ...] = (POOLS, TABLE_FILES, TABLE_IO)
_NO_TABLE: Subject = {}


class Work(Frozen):
    """Work in each slice: rows of a table, or all statements."""

    subject: Subject = Field(description="Schema and table; empty for all statements.")
    way: str = Field(description="lookups, scans, counts, writes or statements.")
    rows: tuple[float, ...]
    seconds: tuple[float, ...] = Field((), description="Time that statements spent on them; empty where not known.")


class Measure(Frozen):
    """A quantity in each slice: an amount, and the work or the time that it is divided by."""

    quantity: str
    unit: str
    subject: Subject = Field({})
    amounts: tuple[float, ...]
    bases: tuple[float, ...]
    per_second: bool = Field(False, description="Whether the quotient, times the work of a second, is the quantity.")

    @property
    def quotient(self) -> float | None:
        """The amount for one unit of work; None where none was done."""
        return ratio(total(self.amounts), total(self.bases))


class Reading(Frozen):
    """What was measured of a window."""

    began: float = Field(description="Unix seconds.")
    at: float = Field(description="Its end, Unix seconds.")
    server: str = ""
    seconds: tuple[float, ...] = Field(description="Length of each slice.")
    work: tuple[Work, ...]
    measures: tuple[Measure, ...]

    def measure(self, quantity: str, subject: Subject = _NO_TABLE) -> Measure | None:
        """The measure of a quantity; None where it was not measured."""
        measures = (measure for measure in self.measures if measure.quantity == quantity)
        return next((measure for measure in measures if measure.subject == subject), None)

    def scale(self, measure: Measure) -> float:
        """The work of a second, for a quantity that is per second."""
        return total(measure.bases) / total(self.seconds) if measure.per_second else 1.0


def reading(
    window: Window,
    window_seconds: float = WINDOW_SECONDS,
    promised: Collection[PromisedQuantity] = (),
    like: Reading | None = None,
) -> Reading | None:
    """What is measured of a window; None where it is too short for LEAST_SLICES.

    Args:
        window: Without a restart and a change of settings.
        window_seconds: Length of a window that counts as one, of SLICES slices.
        promised: What a finding promised, to be measured beside what always is.
        like: What it shall be compared with: its tables are measured, too, though they may do little now.
    """
    parts = [part for part in _parts(window, window_seconds / SLICES) if not _fell(part)]
    if len(parts) < LEAST_SLICES:
        return None
    whole = Window((parts[0].snapshots[0], parts[-1].latest))
    seconds = tuple(part.seconds for part in parts)
    subjects = [*(subject for _, subject in promised), *(work.subject for work in (like.work if like else ()))]
    tables = _tables(whole, [Table(**subject) for subject in subjects if subject])
    work: list[Work] = []
    for table in tables:
        work += _work(parts, table, [index for index in _indexes(window) if index.of_table == table])
    measures: list[Measure] = []
    for table in tables:
        measures += _of_table(parts, table, work)
    measures += _of_server(parts, seconds, tables, work)
    for quantity, subject in promised:
        measures += _promised(parts, quantity, subject, work)
    if not work:
        work = [Work(subject={}, way="statements", rows=_known(status(part, "questions") for part in parts))]
    return Reading(
        began=whole.snapshots[0].at,
        at=whole.latest.at,
        server=str(whole.latest.server),
        seconds=seconds,
        work=tuple(done for done in work if done.rows),
        measures=tuple(measures),
    )


def _parts(window: Window, length: float) -> Iterator[Window]:
    """Slices of about this length as pairs of snapshots, oldest first; the last one ends with the window.

    A snapshot without a section that the others have is the end of none.
    """
    known = [key for key in _SECTIONS if 2 * sum(s[key] is not None for s in window.snapshots) > len(window.snapshots)]
    usable = [snapshot for snapshot in window.snapshots if all(snapshot[key] is not None for key in known)]
    times = [snapshot.at for snapshot in usable]
    if not times:
        return
    count = round((times[-1] - times[0]) / length)
    ends = dict.fromkeys(_nearest(times, times[-1] - length * number) for number in range(count, -1, -1))
    yield from (Window((usable[first], usable[last])) for first, last in pairwise(ends))


def _fell(part: Window) -> bool:
    """Whether somebody reset counters of tables: the slice tells nothing."""
    first, last = part.snapshots[0], part.latest
    rows, now = first[TABLE_IO] or {}, last[TABLE_IO] or {}
    reads, read = first[TABLE_FILES] or {}, last[TABLE_FILES] or {}
    return any(index in now and now[index].fetched < io.fetched for index, io in rows.items()) or any(
        table in read and read[table].reads < file.reads for table, file in reads.items()
    )


def _nearest(times: Sequence[float], time: float) -> int:
    after = min(bisect.bisect_left(times, time), len(times) - 1)
    before = max(0, after - 1)
    return after if times[after] - time <= time - times[before] else before


def _tables(whole: Window, asked: Sequence[Table]) -> list[Table]:
    """The tables to be measured, those that are asked for first."""
    reads = {table: file_reads(whole, table) or 0.0 for table in whole.latest[TABLE_FILES] or ()}
    spent: dict[Table, float] = {}
    for index in _indexes(whole):
        grown = whole.growth(lambda s: s[TABLE_IO], index, lambda io: io.fetch_seconds + io.write_seconds)
        spent[index.of_table] = spent.get(index.of_table, 0.0) + (grown or 0.0)
    ranked = [heapq.nlargest(MOST_TABLES, amounts, key=lambda table: amounts[table]) for amounts in (reads, spent)]
    busy = [table for tables in ranked for table in tables if reads.get(table) or spent.get(table)]
    return list(dict.fromkeys([*asked, *busy]))


def _indexes(window: Window) -> Collection[Index]:
    return window.latest[TABLE_IO] or ()


def _subject(table: Table) -> Subject:
    return {"schema": table.schema, "table": table.table}


def _work(parts: Sequence[Window], table: Table, indexes: Sequence[Index]) -> Iterator[Work]:
    """Rows of a table that were fetched by an index, by scans, by COUNT(*) of parallel readers, and written."""
    by_index = [index for index in indexes if index.index != NO_INDEX]
    no_index = [index for index in indexes if index.index == NO_INDEX]
    ways: list[tuple[str, Sequence[Index], Callable[[IndexIo], float], Callable[[IndexIo], float]]] = [
        ("lookups", by_index, lambda io: float(io.fetched), lambda io: io.fetch_seconds),
        ("scans", no_index, lambda io: float(io.fetched), lambda io: io.fetch_seconds),
        ("writes", indexes, lambda io: float(io.inserted + io.updated + io.deleted), lambda io: io.write_seconds),
    ]
    for way, of, rows, seconds in ways:
        done = _known(_grown(part, of, rows) for part in parts)
        if any(done):
            spent = _known(_grown(part, of, seconds) for part in parts)
            yield Work(subject=_subject(table), way=way, rows=done, seconds=spent)
    counted = _known(
        part.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: float(c.rows_examined))
        if not part.latest.server.has("count_star_in_table_io")
        else 0.0
        for part in parts
    )
    if any(counted):
        spent = _known(part.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.seconds) for part in parts)
        yield Work(subject=_subject(table), way="counts", rows=counted, seconds=spent)


def _grown(part: Window, indexes: Sequence[Index], value: Callable[[IndexIo], float]) -> float | None:
    return known_total(part.growth(lambda s: s[TABLE_IO], index, value) for index in indexes)


def _of_table(parts: Sequence[Window], table: Table, work: Sequence[Work]) -> Iterator[Measure]:
    """Pages read of a table's file, and time that statements waited in the table."""
    subject = _subject(table)
    own = [done for done in work if done.subject == subject]
    rows = _sums([done.rows for done in own])
    if not rows:
        return
    if table in (parts[-1].latest[TABLE_FILES] or ()):
        reads = _known(file_reads(part, table) for part in parts)
        if reads:
            yield Measure(quantity=READ, unit=READ_UNIT, subject=subject, amounts=reads, bases=rows, per_second=True)
    waited = _sums([done.seconds for done in own]) if all(done.seconds for done in own) else ()
    if waited:
        yield Measure(
            quantity=WAITED,
            unit=WAITED_UNIT,
            subject=subject,
            amounts=tuple(1000.0 * seconds for seconds in waited),
            bases=rows,
            per_second=True,
        )


def _of_server(
    parts: Sequence[Window], seconds: Sequence[float], tables: Sequence[Table], work: Sequence[Work]
) -> Iterator[Measure]:
    """Pages that the pool read beside those of the measured tables, time of a read, and age of the checkpoint."""
    read = _known(part.delta(over_pools("pages_read")) for part in parts)
    if read and work:
        of_tables = [_known(file_reads(part, table) for part in parts) for table in tables]
        known = _sums([reads for reads in of_tables if reads]) or (0.0,) * len(parts)
        rest = tuple(max(0.0, all_ - own) for all_, own in zip(read, known, strict=True))
        yield Measure(quantity=READ, unit=READ_UNIT, amounts=rest, bases=tuple(seconds), per_second=True)
    elif read:
        questions = _known(status(part, "questions") for part in parts)
        if questions:
            yield Measure(quantity=READ, unit=READ_UNIT, amounts=read, bases=questions, per_second=True)
    latency = [_file_reads(part) for part in parts]
    if all(latency):
        counts, spent = zip(*(part for part in latency if part), strict=True)
        yield Measure(quantity=LATENCY, unit="ms", amounts=spent, bases=counts)
    ages = _known(checkpoint_age(part.latest) for part in parts)
    if ages:
        yield Measure(quantity=CHECKPOINT_AGE, unit="bytes", amounts=ages, bases=(1.0,) * len(ages))


def _file_reads(part: Window) -> tuple[float, float] | None:
    """Reads of all data files, and milliseconds waited in them."""
    first, last = (snapshot[DATA_FILES] for snapshot in (part.snapshots[0], part.latest))
    if first is None or last is None or last.reads < first.reads:
        return None
    return float(last.reads - first.reads), 1000.0 * (last.seconds - first.seconds)


def _promised(parts: Sequence[Window], quantity: str, subject: Subject, work: Sequence[Work]) -> Iterator[Measure]:
    """A quantity that is measured for a promise."""
    if quantity == MERGES:
        unit, subject = "merges per second", {}
        bases = _sums([done.rows for done in work if done.way == "writes"])
        amounts = _known(metric(part, "ibuf_merges") for part in parts)
    elif quantity == READ_A_SCAN and subject:
        unit = "pages"
        of_table = [next((scan for scan in scans(part) if scan.subject == subject), None) for part in parts]
        bases = _known(0.0 if scan is None else scan.passes for scan in of_table)
        amounts = _known(file_reads(part, Table(**subject)) for part in parts)
    elif quantity == SECONDS_PER_COUNT and subject:
        unit, table = "seconds", Table(**subject)
        bases = _known(counts_of(part, table) for part in parts)
        amounts = _known(part.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.seconds) for part in parts)
    else:
        return
    if amounts and bases:
        yield Measure(
            quantity=quantity, unit=unit, subject=subject, amounts=amounts, bases=bases, per_second=quantity == MERGES
        )


def _sums(values: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(total(amounts) for amounts in zip(*values, strict=True))


def _known(values: Iterator[float | None]) -> tuple[float, ...]:
    """All values; empty where one of them is not known."""
    amounts = list(values)
    known = tuple(float(f"{amount:.8g}") for amount in amounts if amount is not None)  # short as JSON
    return known if len(known) == len(amounts) else ()
