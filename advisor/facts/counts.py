"""Tables that COUNT(*) counted, and the index that it used or could use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from advisor.contract.sql import identifier
from advisor.facts.base import SECONDARY, TableFacts, count_seconds, counts_of, maybe, ratio
from advisor.models.ddl import index_pages
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.key_bytes import KEY_BYTES
from exporter.digest_text import CUT
from exporter.rows import number
from exporter.snapshot import Table


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
        "Size that a secondary index on the primary key's columns would have, by their types. Where one has no fixed "
        "length, the size of the clustered index, which it may reach; so it does without a primary key.",
        unit="pages",
    )
    clustered_by_bug: bool | None = maybe(
        "Whether the server counts by the clustered index although it has a smaller one."
    )


def counts(window: Window) -> list[CountFacts]:
    """Each table of known size that was counted in the window, by counted pages in falling order.

    Where no size is known, each counted table without the facts that need its size: the others may settle a rule.
    """
    sizes, counted = window.latest[INDEX_SIZES], window.latest[COUNT_STATEMENTS] or {}
    if sizes is None:
        unsized = [_counted(window, table, counts_of(window, table)) for table in counted]
        return sorted(
            (count for count in unsized if count.counts != 0.0), key=lambda count: (count.schema, count.table)
        )
    sized = []
    for index, size in sizes.sizes.items():
        if index.clustered and (hidden(counted, index.of_table) or index.of_table in counted):
            executions = None if hidden(counted, index.of_table) else counts_of(window, index.of_table)
            if executions != 0.0:
                sized.append(_sized(window, _counted(window, index.of_table, executions), size, sizes))
    return sorted(sized, key=lambda count: (-(count.counts or 0.0) * (count.pages or 0.0), count.schema, count.table))


def _counted(window: Window, table: Table, counts: float | None) -> CountFacts:
    """The facts that need no size. The counts of a cut table name are of an unknown number of tables: not known."""
    if table.table == CUT and counts:
        counts = None
    return CountFacts(
        schema=table.schema,
        table=table.table,
        counts=counts,
        counts_per_hour=ratio(None if counts is None else counts * 3600.0, window.seconds),
        seconds=count_seconds(window, table) if counts else None,
        clustered_by_bug=window.latest.server.has("count_star_takes_clustered_index"),
    )


def _sized(window: Window, counted: CountFacts, size: IndexSize, sizes: IndexSizes) -> CountFacts:
    page = number(window.latest.setting("innodb_page_size"))
    rows = None if size.rows is None else float(size.rows)
    columns = size.columns or ()
    of_table = sizes.of(Table(counted.schema, counted.table))
    secondary = {index.index: size for index, size in of_table.items() if not index.clustered}
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
        key_index_pages=_key_index_pages(window.latest[KEY_BYTES], Table(counted.schema, counted.table), size, page),
    )


def _key_index_pages(
    keys: Mapping[Table, int] | None, table: Table, clustered: IndexSize, page: float | None
) -> float | None:
    """Pages of an index on the primary key; None where its columns' types or the rows are not known."""
    if keys is None or clustered.rows is None or page is None:
        return None
    key_bytes = keys.get(table)
    pages = float(clustered.pages)
    return pages if key_bytes is None else min(pages, index_pages(clustered.rows, key_bytes, page))


def _pages(secondary: Mapping[str, IndexSize], name: str | None) -> float | None:
    if name == SECONDARY:
        return None
    return 0.0 if name is None else float(secondary[name].pages)
