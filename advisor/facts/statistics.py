"""Tables that are larger than their persistent statistics say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from advisor.facts.base import TableFacts, fact, file_reads, over_pools, ratio, statements
from advisor.observe.window import Window
from exporter.collectors.cached_indexes import CACHED_INDEXES
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_statements import TABLE_STATEMENTS
from exporter.rows import number
from exporter.snapshot import SectionKey, Snapshot, Table


@dataclass(frozen=True, slots=True)
class StatisticsFacts(TableFacts):
    """A table that is seen to have more pages than its persistent statistics say."""

    pages: float = fact("Pages of all its indexes by the persistent statistics.", unit="pages")
    least_pages: float | None = fact(
        "Pages that it is seen to have: those in the buffer pool (from MySQL 8.0 on), or those that a statement "
        "reads, but no more than its file has. Not known of any table where nothing tells either: then the largest "
        "table stands for all.",
        unit="pages",
    )
    seen: str = fact("Where they were seen, in words: in the buffer pool, or as reads of a statement.")


_SEEN = ((CACHED_INDEXES,), (TABLE_FILES, TABLE_STATEMENTS, FILE_SIZES))
"""The sections that show pages of tables: in the buffer pool, or as reads of a statement."""


_SLACK = 1.5
"""Reads of files and of the pool are counted a moment apart."""


def statistics(window: Window) -> list[StatisticsFacts]:
    """Each table that is seen to be larger than its statistics say, by name.

    Without sizes, the reads of all tables stand for one table, as an upper bound: that may settle a rule.
    """
    return sorted(_larger(window), key=lambda table: (table.schema, table.table))


def _larger(window: Window) -> Iterator[StatisticsFacts]:
    latest = window.latest
    sizes, cached, files = latest[INDEX_SIZES], latest[CACHED_INDEXES], latest[FILE_SIZES] or {}
    page_bytes = number(latest.setting("innodb_page_size"))
    resident = Counter[Table]()
    for index, held in (cached.pages if cached else {}).items():
        resident[index.of_table] += held
    if sizes is None:
        read = window.delta(over_pools("pages_read")) if _is_shut(latest, CACHED_INDEXES) else None
        # A table has one page at least, and no statement reads more of it than is read at all.
        yield StatisticsFacts("", "", 1.0, None if read is None else _SLACK * read, "")
        return
    pages = sizes.pages
    if pages and all(any(_is_shut(latest, section) for section in sections) for sections in _SEEN):
        largest, known = max(pages.items(), key=lambda item: (item[1], item[0].schema, item[0].table))
        yield StatisticsFacts(largest.schema, largest.table, float(known), None, "")
        return
    for table, known in pages.items():
        of_file = ratio(files.get(table), page_bytes) or 0.0  # a file of compressed pages has more of them
        seen = (
            (float(resident[table]), "are in the buffer pool"),
            (min(_pages_read_per_statement(window, table), of_file), "are read by a statement"),
        )
        least, where = max(seen)
        if least > known:
            yield StatisticsFacts(table.schema, table.table, float(known), least, where)


def _is_shut(snapshot: Snapshot, section: SectionKey[Any]) -> bool:
    outcome = snapshot.outcomes.get(section.name)
    return snapshot[section] is None and outcome is not None and outcome.failure is not None


def _pages_read_per_statement(window: Window, table: Table) -> float:
    """Pages read from the table's data file by a statement on it; one may have begun before the window."""
    read, count = file_reads(window, table), statements(window, table)
    return 0.0 if read is None or count is None else read / (count + 1.0)
