"""Tables that COUNT(*) counted, and the index that it used or could use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from advisor.contract.sql import identifier
from advisor.facts.base import SECONDARY, TableFacts, maybe, ratio
from advisor.models.index_size import index_pages
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize
from exporter.digest_text import CUT
from exporter.rows import number
from exporter.snapshot import Table

_COLUMN_BYTES = 8.0


@dataclass(frozen=True, slots=True)
class CountFacts(TableFacts):
    """A table that SELECT COUNT(*) without WHERE counted in the window."""

    counts: float | None = maybe("COUNT(*) of it in the window.", unit="counts")
    counts_per_hour: float | None = maybe("COUNT(*) of it in an hour.", unit="counts/h")
    seconds: float | None = maybe("Time of one COUNT(*).", unit="seconds")
    rows: float | None = maybe("Rows of the table, as last estimated.", unit="rows")
    pages: float | None = maybe("Size of its clustered index.", unit="pages")
    bytes: float | None = maybe("Size of its clustered index.", unit="bytes")
    has_secondary: bool | None = maybe("Whether it has a secondary index.")
    secondary: str | None = maybe("Name of its smallest secondary index; empty without one.")
    secondary_pages: float | None = maybe("Size of its smallest secondary index; 0 without one.", unit="pages")
    key: str | None = maybe(
        "Columns of its primary key as SQL quotes them, with commas; empty where it has none or they are not known.",
        sql=True,
    )
    key_index_pages: float | None = maybe(
        "Size that a secondary index on the primary key's columns would have. Each column counts as 8 bytes, a "
        "BIGINT: shorter ones need less, texts more.",
        unit="pages",
    )
    clustered_by_bug: bool | None = maybe(
        "Whether the server counts by the clustered index although it has a smaller one."
    )


def counts(window: Window) -> list[CountFacts]:
    """Each table of known size that was counted in the window, by counted pages in falling order.

    Where no size is known, each table that was counted, without what takes its size: that may settle a rule.
    """
    sizes, counted = window.latest[INDEX_SIZES], window.latest[COUNT_STATEMENTS] or {}
    if sizes is None:
        counts_of_tables = [_counted(window, table, _executions(window, table)) for table in counted]
        return sorted(
            (count for count in counts_of_tables if count.counts != 0.0), key=lambda count: (count.schema, count.table)
        )
    counts_of_tables = []
    for index, size in sizes.sizes.items():
        table = Table(index.schema, index.table)
        if index.clustered and hidden(counted, table):
            counts_of_tables.append(_sized(window, _counted(window, table, None), size))
        elif index.clustered and table in counted:
            counts = _executions(window, table)
            if counts != 0.0:
                counts_of_tables.append(_sized(window, _counted(window, table, counts), size))
    return sorted(
        counts_of_tables, key=lambda count: (-(count.counts or 0.0) * (count.pages or 0.0), count.schema, count.table)
    )


def _executions(window: Window, table: Table) -> float | None:
    return window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.executions)


def _counted(window: Window, table: Table, counts: float | None) -> CountFacts:
    """What takes no size. Counts of tables whose names were cut are those of nobody knows how many tables."""
    if table.table == CUT and counts:
        counts = None
    seconds = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.seconds)
    return CountFacts(
        schema=table.schema,
        table=table.table,
        counts=counts,
        counts_per_hour=ratio(None if counts is None else counts * 3600.0, window.seconds),
        seconds=ratio(seconds, counts),
        clustered_by_bug=window.latest.server.has("count_star_takes_clustered_index"),
    )


def _sized(window: Window, counted: CountFacts, size: IndexSize) -> CountFacts:
    page = number(window.latest.setting("innodb_page_size"))
    rows = None if size.rows is None else float(size.rows)
    columns = size.columns or ()
    secondary = _secondary(window, Table(counted.schema, counted.table))
    smallest = min(secondary, key=lambda name: (secondary[name].pages, name), default=None)
    return replace(
        counted,
        rows=rows,
        pages=float(size.pages),
        bytes=None if page is None else size.pages * float(size.page_bytes or page),
        has_secondary=bool(secondary),
        secondary=None if smallest == SECONDARY else smallest or "",
        secondary_pages=_pages(secondary, smallest),
        key=", ".join(map(identifier, columns)),
        key_index_pages=(
            None if rows is None or page is None else index_pages(rows, _COLUMN_BYTES * max(1, len(columns)), page)
        ),
    )


def _pages(secondary: Mapping[str, IndexSize], name: str | None) -> float | None:
    if name == SECONDARY:
        return None
    return 0.0 if name is None else float(secondary[name].pages)


def _secondary(window: Window, table: Table) -> dict[str, IndexSize]:
    """A table's secondary indexes, by name."""
    sizes = window.latest[INDEX_SIZES]
    return {
        index.index: size
        for index, size in (sizes.sizes if sizes else {}).items()
        if (index.schema, index.table) == (table.schema, table.table) and not index.clustered
    }
