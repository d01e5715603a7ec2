"""What is measured of a window, in slices: the work that was done, and what it read and waited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from advisor.contract.recommendation import Frozen
from advisor.facts.base import over_pools
from advisor.observe.window import Window
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO
from exporter.snapshot import Index, Table

SLICES = 12
LEAST_SLICES = 4


class Work(Frozen):
    """Rows of a table, in each slice."""

    subject: Mapping[str, str] = Field(description="Its schema and table.")
    way: str = Field(description="lookups, scans or writes.")
    rows: tuple[float, ...]
    seconds: tuple[float, ...] = Field(description="Time that statements spent on them.")


class Measure(Frozen):
    """A quantity, in each slice: an amount, and what it is divided by."""

    quantity: str
    unit: str
    subject: Mapping[str, str] = {}
    amounts: tuple[float, ...]
    bases: tuple[float, ...]

    @property
    def value(self) -> float | None:
        """The quotient over all slices; None where nothing was done."""
        base = sum(self.bases)
        return sum(self.amounts) / base if base else None


class Reading(Frozen):
    """What was measured of a window."""

    began: float = Field(description="Unix seconds.")
    at: float = Field(description="Its end, Unix seconds.")
    seconds: tuple[float, ...] = Field(description="Length of each slice.")
    work: tuple[Work, ...]
    measures: tuple[Measure, ...]

    def measure(self, quantity: str, subject: Mapping[str, str]) -> Measure | None:
        """The measure of a quantity; None where it was not measured."""
        return next((each for each in self.measures if (each.quantity, each.subject) == (quantity, subject)), None)


def reading(window: Window) -> Reading | None:
    """What is measured of a window; None where it is too short."""
    parts = list(_slices(window))
    if len(parts) < LEAST_SLICES:
        return None
    seconds = tuple(part.seconds for part in parts)
    read = _known([part.delta(over_pools("pages_read")) for part in parts])
    measures = [Measure(quantity="pages read per second", unit="pages per second", amounts=read, bases=seconds)]
    measures = measures if read else []
    for table in sorted(window.latest[TABLE_FILES] or (), key=lambda each: (each.schema, each.table)):
        pages = _known([_file_reads(part, table) for part in parts])
        if pages:
            subject = {"schema": table.schema, "table": table.table}
            measures.append(
                Measure(
                    quantity="pages read per second",
                    unit="pages per second",
                    subject=subject,
                    amounts=pages,
                    bases=seconds,
                )
            )
    return Reading(
        began=window.snapshots[0].at,
        at=window.latest.at,
        seconds=seconds,
        work=tuple(_work(window, parts)),
        measures=tuple(measures),
    )


def _slices(window: Window) -> Iterator[Window]:
    steps = len(window.snapshots) - 1
    count = min(SLICES, steps)
    for number in range(count):
        first, last = steps * number // count, steps * (number + 1) // count
        yield Window(window.snapshots[first : last + 1])


def _known(values: Sequence[float | None]) -> tuple[float, ...]:
    known = tuple(each for each in values if each is not None)
    return known if len(known) == len(values) else ()


def _file_reads(part: Window, table: Table) -> float | None:
    return part.growth(lambda s: s[TABLE_FILES], table, lambda file: float(file.reads))


def _work(window: Window, parts: Sequence[Window]) -> Iterator[Work]:
    tables: dict[Table, list[Index]] = {}
    for index in window.latest[TABLE_IO] or ():
        tables.setdefault(Table(index.schema, index.table), []).append(index)
    for table, indexes in sorted(tables.items(), key=lambda each: (each[0].schema, each[0].table)):
        for way in ("lookups", "scans", "writes"):
            grown = [_rows(part, indexes, way) for part in parts]
            rows, seconds = _known([each[0] for each in grown]), _known([each[1] for each in grown])
            if rows and seconds and any(rows):
                yield Work(subject={"schema": table.schema, "table": table.table}, way=way, rows=rows, seconds=seconds)


def _rows(part: Window, indexes: Sequence[Index], way: str) -> tuple[float | None, float | None]:
    rows = seconds = 0.0
    for index in indexes:
        if way != "writes" and (index.index == NO_INDEX) != (way == "scans"):
            continue
        written = way == "writes"
        grown = part.growth(
            lambda s: s[TABLE_IO],
            index,
            lambda io: float(io.inserted + io.updated + io.deleted if written else io.fetched),  # noqa: B023
        )
        spent = part.growth(
            lambda s: s[TABLE_IO],
            index,
            lambda io: io.write_seconds if written else io.fetch_seconds,  # noqa: B023
        )
        if grown is None or spent is None:
            return None, None
        rows, seconds = rows + grown, seconds + spent
    return rows, seconds
