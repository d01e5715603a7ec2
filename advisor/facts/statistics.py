"""Tables that are larger than their persistent statistics say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning, ratio
from advisor.observe.window import Window
from exporter.collectors.cached_indexes import CACHED_INDEXES
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_statements import TABLE_STATEMENTS
from exporter.rows import number
from exporter.snapshot import Table


@dataclass(frozen=True, slots=True)
class StatisticsFacts:
    """A table that is seen to have more pages than its persistent statistics say."""

    schema: Annotated[str, Meaning("Schema of the table.")]
    table: Annotated[str, Meaning("Name of the table.")]
    pages: Annotated[float, Meaning("Pages of all its indexes by the persistent statistics.", unit="pages")]
    least_pages: Annotated[
        float,
        Meaning(
            "Pages that it is seen to have: those in the buffer pool (from MySQL 8.0 on), or those that a statement "
            "reads, but no more than its file has.",
            unit="pages",
        ),
    ]
    seen: Annotated[str, Meaning("Where they were seen, in words: in the buffer pool, or as reads of a statement.")]

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"schema": self.schema, "table": self.table}


def statistics(window: Window) -> list[StatisticsFacts]:
    """Each table that is seen to be larger than its statistics say, by name."""
    return sorted(_larger(window), key=lambda each: (each.schema, each.table))


def _larger(window: Window) -> Iterator[StatisticsFacts]:
    latest = window.latest
    sizes, cached, files = latest[INDEX_SIZES], latest[CACHED_INDEXES], latest[FILE_SIZES] or {}
    page_bytes = number(latest.setting("innodb_page_size"))
    pages: dict[Table, int] = {}
    for index, size in (sizes.sizes if sizes else {}).items():
        table = Table(index.schema, index.table)
        pages[table] = pages.get(table, 0) + size.pages
    resident: dict[Table, int] = {}
    for index, held in (cached.pages if cached else {}).items():
        table = Table(index.schema, index.table)
        resident[table] = resident.get(table, 0) + held
    for table, known in pages.items():
        of_file = ratio(files.get(table), page_bytes) or 0.0  # a file of compressed pages has more of them
        seen = (
            (float(resident.get(table, 0)), "are in the buffer pool"),
            (min(_pages_read_per_statement(window, table), of_file), "are read by a statement"),
        )
        least, where = max(seen)
        if least > known:
            yield StatisticsFacts(table.schema, table.table, float(known), least, where)


def _pages_read_per_statement(window: Window, table: Table) -> float:
    """Pages read from the table's data file by a statement on it; one may have begun before the window."""
    read = window.growth(lambda s: s[TABLE_FILES], table, lambda f: f.reads)
    statements = window.growth(lambda s: s[TABLE_STATEMENTS], table, float)
    return 0.0 if read is None or statements is None else read / (statements + 1.0)
