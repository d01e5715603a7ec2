"""Tables that COUNT(*) counted, and the index that it used or could use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from advisor.contract.recommendation import identifier
from advisor.facts.base import Meaning, ratio
from advisor.models.index_size import index_pages
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS, hidden
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize
from exporter.rows import number
from exporter.snapshot import Index, Table

_COLUMN_BYTES = 8.0


@dataclass(frozen=True, slots=True)
class CountFacts:
    """A table that SELECT COUNT(*) without WHERE counted in the window."""

    schema: Annotated[str, Meaning("Schema of the table.")]
    table: Annotated[str, Meaning("Name of the table.")]
    counts: Annotated[float | None, Meaning("COUNT(*) of it in the window.", unit="counts")] = None
    counts_per_hour: Annotated[float | None, Meaning("COUNT(*) of it in an hour.", unit="counts/h")] = None
    seconds: Annotated[float | None, Meaning("Time of one COUNT(*).", unit="seconds")] = None
    rows: Annotated[float | None, Meaning("Rows of the table, as last estimated.", unit="rows")] = None
    pages: Annotated[float | None, Meaning("Size of its clustered index.", unit="pages")] = None
    bytes: Annotated[float | None, Meaning("Size of its clustered index.", unit="bytes")] = None
    secondary: Annotated[str | None, Meaning("Name of its smallest secondary index; empty without one.")] = None
    secondary_pages: Annotated[
        float | None, Meaning("Size of its smallest secondary index; 0 without one.", unit="pages")
    ] = None
    key: Annotated[
        str | None,
        Meaning(
            "Columns of its primary key as SQL quotes them, with commas; empty where it has none or they are not known."
        ),
    ] = None
    key_index_pages: Annotated[
        float | None,
        Meaning(
            "Size that a secondary index on the primary key's columns would have. Each column counts as 8 bytes, a "
            "BIGINT: shorter ones need less, texts more.",
            unit="pages",
        ),
    ] = None
    clustered_by_bug: Annotated[
        bool | None, Meaning("Whether the server counts by the clustered index although it has a smaller one.")
    ] = None

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"schema": self.schema, "table": self.table}


def counts(window: Window) -> list[CountFacts]:
    """Each table of known size that was counted in the window, by counted pages in falling order."""
    sizes = window.latest[INDEX_SIZES]
    if sizes is None:
        return []
    found = []
    for index, size in sizes.sizes.items():
        table = Table(index.schema, index.table)
        counted = window.latest[COUNT_STATEMENTS] or {}
        if index.clustered and hidden(counted, table):
            found.append(_counted(window, index, size, None))
        elif index.clustered and table in counted:
            counts = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.executions)
            if counts != 0.0:
                found.append(_counted(window, index, size, counts))
    return sorted(found, key=lambda each: (-(each.counts or 0.0) * (each.pages or 0.0), each.schema, each.table))


def _counted(window: Window, index: Index, size: IndexSize, counts: float | None) -> CountFacts:
    table = Table(index.schema, index.table)
    page = number(window.latest.setting("innodb_page_size"))
    rows = None if size.rows is None else float(size.rows)
    columns = size.columns or ()
    smallest = _smallest_secondary(window, table)
    seconds = window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.seconds)
    return CountFacts(
        schema=table.schema,
        table=table.table,
        counts=counts,
        counts_per_hour=ratio(None if counts is None else counts * 3600.0, window.seconds),
        seconds=ratio(seconds, counts),
        rows=rows,
        pages=float(size.pages),
        bytes=None if page is None else size.pages * float(size.page_bytes or page),
        secondary="" if smallest is None else smallest[0].index,
        secondary_pages=0.0 if smallest is None else float(smallest[1].pages),
        key=", ".join(map(identifier, columns)),
        key_index_pages=(
            None if rows is None or page is None else index_pages(rows, _COLUMN_BYTES * max(1, len(columns)), page)
        ),
        clustered_by_bug=window.latest.server.has("count_star_takes_clustered_index"),
    )


def _smallest_secondary(window: Window, table: Table) -> tuple[Index, IndexSize] | None:
    sizes = window.latest[INDEX_SIZES]
    own = [
        (index, size)
        for index, size in (sizes.sizes if sizes else {}).items()
        if (index.schema, index.table) == (table.schema, table.table) and not index.clustered
    ]
    return min(own, key=lambda each: (each[1].pages, each[0].index), default=None)
