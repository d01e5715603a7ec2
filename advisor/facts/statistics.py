"""Tables that are larger than their persistent statistics say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from advisor.facts.base import TableFacts, fact, file_reads, over_pools, ratio, statements
from advisor.observe.window import Window
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_statements import TABLE_STATEMENTS
from exporter.rows import number
from exporter.snapshot import SectionKey, Snapshot, Table

_SOURCES: tuple[SectionKey[Any], ...] = (TABLE_FILES, TABLE_STATEMENTS, FILE_SIZES)
"""The sections that show how many pages of a table a statement reads."""
_SLACK = 1.5
"""Reads of files and of the pool are counted a moment apart."""


@dataclass(frozen=True, slots=True)
class StatisticsFacts(TableFacts):
    """A table of which statements read more pages than its persistent statistics say it has."""

    pages: float = fact("Pages of all its indexes by the persistent statistics.", unit="pages")
    least_pages: float | None = fact(
        "Pages that a statement reads of it, on average, but no more than its file has. Not known where the "
        "server does not tell: then the largest table of which more was read than its statistics say stands for all.",
        unit="pages",
    )


def statistics(window: Window) -> list[StatisticsFacts]:
    """Each table that is seen to be larger than its statistics say, by name.

    Without sizes, the reads of all tables stand for one table, as an upper bound: that may settle a rule.
    """
    return sorted(_larger(window), key=lambda table: (table.schema, table.table))


def _larger(window: Window) -> Iterator[StatisticsFacts]:
    latest = window.latest
    sizes, files = latest[INDEX_SIZES], latest[FILE_SIZES] or {}
    if sizes is None:
        read = window.delta(over_pools("pages_read"))
        # A table has one page at least, and no statement reads more of it than is read at all.
        yield StatisticsFacts("", "", 1.0, None if read is None else _SLACK * read)
        return
    pages, page_bytes = sizes.pages, number(latest.setting("innodb_page_size"))
    if _has_failed(latest):
        reads = {table: file_reads(window, table) for table in pages}
        # A statement reads no more of a table than all do.
        suspects = [table for table, read in reads.items() if read is None or read > pages[table]]
        if suspects:
            largest = max(suspects, key=lambda table: (pages[table], table.schema, table.table))
            yield StatisticsFacts(largest.schema, largest.table, float(pages[largest]), None)
        return
    for table, known in pages.items():
        of_file = ratio(files.get(table), page_bytes) or 0.0  # a file of compressed pages has more of them
        least = min(_pages_read_per_statement(window, table), of_file)
        if least > known:
            yield StatisticsFacts(table.schema, table.table, float(known), least)


def _has_failed(snapshot: Snapshot) -> bool:
    """Whether one of the sources could not be read."""
    outcomes = [snapshot.outcomes.get(section.name) for section in _SOURCES if snapshot[section] is None]
    return any(outcome is not None and outcome.failure is not None for outcome in outcomes)


def _pages_read_per_statement(window: Window, table: Table) -> float:
    """Pages read from the table's data file by a statement on it; one may have begun before the window."""
    read, count = file_reads(window, table), statements(window, table)
    return 0.0 if read is None or count is None else read / (count + 1.0)
