"""The miss curve: pages read a second for a row of pool sizes. JSON and people get its numbers tidy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PlainSerializer

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.pool.errors import confidence

TIMES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)
"""The sizes that are always answered for, as multiples of today's."""
_ERRORS = {1.0: 0.21, 0.75: 0.41, 0.5: 0.94}
"""How far nine tenths of the predictions were off at most, as a share of today's reads, by the least multiple of
today's size: docs/miss-curve.md."""


def _tidy_rate(pages: float) -> Number:
    return tidy(tidy(round(pages, 2)))  # 388.0 is 388


Rate = Annotated[Number, PlainSerializer(_tidy_rate, return_type=Number)]
Bytes = Annotated[Number, PlainSerializer(round, return_type=Number)]
Multiple = Annotated[Number, PlainSerializer(tidy, return_type=Number)]


class ExpectedReads(Frozen):
    """Pages read from disk a second: what to expect, and the bounds."""

    expected: Rate = Field(description="The likeliest.")
    low: Rate = Field(description="The fewest: of larger pools by smooth popularity, of smaller ones by any.")
    high: Rate = Field(description="The most: of larger pools by any independent accesses.")


NO_READS = ExpectedReads(expected=0.0, low=0.0, high=0.0)


class TableExpectedReads(Frozen):
    """Reads of a table's pages by anything but full scans."""

    subject: Mapping[str, str]
    pages_read_per_second: ExpectedReads

    @property
    def name(self) -> str:
        """``schema.table``, or what tables are summed as."""
        return ".".join(filter(None, self.subject.values()))


def reads_by_table(reads: Mapping[str, ExpectedReads]) -> tuple[TableExpectedReads, ...]:
    """The reads of tables by ``schema.table``, the most read first."""
    ranked = sorted(reads.items(), key=lambda item: (-item[1].expected, item[0]))
    return tuple(TableExpectedReads(subject=_subject(name), pages_read_per_second=table) for name, table in ranked)


def _subject(name: str) -> dict[str, str]:
    schema, dot, table = name.partition(".")
    return {"schema": schema, "table": table} if dot else {"schema": "", "table": name}


class PoolSize(Frozen):
    """A size of the buffer pool, and the reads to expect."""

    times: Multiple = Field(description="Multiple of today's size.")
    bytes: Bytes = Field(description="innodb_buffer_pool_size.")
    pages_read_per_second: ExpectedReads = Field(description="By everything, first reads as far as they go on.")
    scan_pages_read_per_second: Rate = Field(description="The part of the expected reads that full scans cause.")
    tables: tuple[TableExpectedReads, ...] = Field(description="The most read first.")

    @property
    def name(self) -> str:
        """``0.5 ×``, or ``today``."""
        return "today" if self.times == 1 else f"{self.times:g} ×"

    @property
    def error(self) -> float:
        """How far such predictions were off at most, nine times of ten, as a share of today's reads."""
        return next((error for times, error in _ERRORS.items() if self.times >= times), max(_ERRORS.values()))

    @property
    def confidence(self) -> float:
        """1 within the accepted error, and less beyond it."""
        return confidence(self.error)


class FilledPool(Frozen):
    """A measured point: what was read while the pool filled, at today's accesses."""

    bytes: Bytes = Field(description="Of data in the pool.")
    pages_read_per_second: Rate


class MissCurve(Frozen):
    """The reads to expect with buffer pools of other sizes."""

    server: str
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float
    pool_bytes: Bytes = Field(description="innodb_buffer_pool_size today.")
    page_bytes: Bytes = Field(description="innodb_page_size.")
    pages_read_per_second: Rate = Field(description="Today, as measured.")
    first_pages_read_per_second: ExpectedReads = Field(
        description="The part of it that was read for the first time. No size saves these reads."
    )
    sizes: tuple[PoolSize, ...] = Field(description="Ascending; today's is among them.")
    filled: tuple[FilledPool, ...] = Field(description="Measured while the pool filled; ascending, often empty.")
    notes: tuple[str, ...] = Field(description="What the answer rests on, and what it cannot see.")

    @property
    def scanned(self) -> bool:
        """Whether full scans read at any size."""
        return any(size.scan_pages_read_per_second for size in self.sizes)

    def by_table(self) -> dict[str, dict[Number, Number]]:
        """Expected reads by table and multiple of today's size, the table with the most at any size first."""
        reads: dict[str, dict[Number, Number]] = {}
        for size in self.sizes:
            for table in size.tables:
                reads.setdefault(table.name, {})[size.times] = table.pages_read_per_second.expected
        return dict(sorted(reads.items(), key=lambda item: (-max(item[1].values()), item[0])))

    def tidied(self) -> MissCurve:
        """The curve with the numbers that its JSON has, for people."""
        return MissCurve.model_validate(self.model_dump())
