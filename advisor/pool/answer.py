"""The miss curve as the command line, HTTP and pictures show it."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.pool.curve import Curve, Estimate, Size


class ExpectedReads(Frozen):
    """Pages read from disk a second: what to expect, and the bounds."""

    expected: Number = Field(description="The likeliest.")
    low: Number = Field(description="The fewest: of larger pools by smooth popularity, of smaller ones by any.")
    high: Number = Field(description="The most: of larger pools by any independent accesses.")


class TableExpectedReads(Frozen):
    """Reads of a table's pages by anything but full scans."""

    subject: Mapping[str, str]
    pages_read_per_second: ExpectedReads


class PoolSize(Frozen):
    """A size of the buffer pool, and the reads to expect."""

    times: Number = Field(description="Multiple of today's size.")
    bytes: Number = Field(description="innodb_buffer_pool_size.")
    pages_read_per_second: ExpectedReads = Field(description="By everything, first reads as far as they go on.")
    scan_pages_read_per_second: Number = Field(description="The part of the expected reads that full scans cause.")
    tables: tuple[TableExpectedReads, ...] = Field(description="The most read first.")

    @property
    def name(self) -> str:
        """``0.5 ×``, or ``today``."""
        return "today" if self.times == 1 else f"{self.times:g} ×"


class FilledPool(Frozen):
    """A measured point: what was read while the pool filled, at today's accesses."""

    bytes: Number = Field(description="Of data in the pool.")
    pages_read_per_second: Number


class MissCurve(Frozen):
    """The reads to expect with buffer pools of other sizes."""

    server: str
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float
    pool_bytes: Number = Field(description="innodb_buffer_pool_size today.")
    page_bytes: Number = Field(description="innodb_page_size.")
    pages_read_per_second: Number = Field(description="Today, as measured.")
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
                name = ".".join(filter(None, table.subject.values()))
                reads.setdefault(name, {})[size.times] = table.pages_read_per_second.expected
        return dict(sorted(reads.items(), key=lambda item: (-max(item[1].values()), item[0])))


def answer(curve: Curve, server: str) -> MissCurve:
    """The curve of a server, with numbers for people."""
    return MissCurve(
        server=server,
        at=curve.at,
        watched_seconds=round(curve.seconds, 3),
        pool_bytes=tidy(curve.bytes),
        page_bytes=tidy(curve.page_bytes),
        pages_read_per_second=_rate(curve.reads),
        first_pages_read_per_second=_reads(curve.first_reads),
        sizes=tuple(map(_size, curve.sizes)),
        filled=tuple(
            FilledPool(bytes=round(point.bytes), pages_read_per_second=_rate(point.reads)) for point in curve.filled
        ),
        notes=curve.notes,
    )


def table_subject(name: str) -> dict[str, str]:
    """Schema and table of a curve's name for a table."""
    schema, dot, table = name.partition(".")
    return {"schema": schema, "table": table} if dot else {"schema": "", "table": name}


def _size(size: Size) -> PoolSize:
    tables = sorted(size.tables.items(), key=lambda item: (-item[1].expected, item[0]))
    return PoolSize(
        times=tidy(size.times),
        bytes=round(size.bytes),
        pages_read_per_second=_reads(size.reads),
        scan_pages_read_per_second=_rate(size.scans),
        tables=tuple(
            TableExpectedReads(subject=table_subject(name), pages_read_per_second=_reads(reads))
            for name, reads in tables
        ),
    )


def _reads(reads: Estimate) -> ExpectedReads:
    return ExpectedReads(expected=_rate(reads.expected), low=_rate(reads.low), high=_rate(reads.high))


def _rate(pages: float) -> Number:
    return tidy(tidy(round(pages, 2)))  # 388.0 is 388
