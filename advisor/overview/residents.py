"""The indexes whose pages the buffer pool holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field

from advisor.contract.recommendation import Frozen
from exporter.collectors.cached_indexes import CACHED_INDEXES, bounded
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.lru_pages import LRU_PAGES
from exporter.snapshot import Index, Snapshot

MOST_RESIDENTS = 20
"""Indexes with an entry of their own: more colours than anybody tells apart."""
_AT_MOST = (
    "at most: INNODB_CACHED_INDEXES counts leaf pages alone, goes on counting freed ones, and is cut to the size of "
    "each table's file and to the LRU lists"
)
_EXACT = "every page of the LRU list, by INNODB_BUFFER_PAGE_LRU"


class Resident(Frozen):
    """An index in the pool. The last entry sums the others: its names are null."""

    schema_: str | None = Field(alias="schema")
    table: str | None
    index: str | None
    pages: int = Field(description="In the pool.")
    of_pages: int | None = Field(description="Size of the index, counted as pages are; null where it is not known.")
    old_pages: int | None = Field(description="The part in the old sublists; null where the server does not tell.")


class _Pages(NamedTuple):
    """Pages in the pool, and those of them in the old sublists, where the server tells."""

    all: int
    old: int | None


def resident_pages(snapshot: Snapshot) -> Mapping[Index, int] | None:
    """Pages in the pool of each index that the server names, all or at most its leaf pages; None where not known."""
    if (lru := snapshot[LRU_PAGES]) is not None:
        return {index: pages.young + pages.old for index, pages in lru.pages.items()}
    cached = bounded(snapshot)
    return None if cached is None else cached.pages


def is_complete(snapshot: Snapshot) -> bool:
    """Whether an index without a count has no page in the pool."""
    cached = snapshot[CACHED_INDEXES]
    return snapshot[LRU_PAGES] is None and cached is not None and not cached.other_pages


def residents(snapshot: Snapshot) -> tuple[tuple[Resident, ...] | None, str | None]:
    """The indexes with the most pages, and how far the counts can be trusted; None where not known.

    They are counted in the LRU list where its pages are read, or else by INNODB_CACHED_INDEXES.
    """
    lru, cached, sizes = snapshot[LRU_PAGES], bounded(snapshot), snapshot[INDEX_SIZES]
    known = {} if sizes is None else sizes.sizes
    if lru is not None:
        pages = {index: _Pages(count.young + count.old, count.old) for index, count in lru.pages.items()}
        other = _Pages(lru.other.young + lru.other.old, lru.other.old)
        return _top(pages, {index: size.pages for index, size in known.items()}, other), _EXACT
    if cached is None:
        return None, None
    leaves = {index: size.leaf_pages for index, size in known.items()}
    pages = {index: _Pages(count, None) for index, count in cached.pages.items()}
    return _top(pages, leaves, _Pages(cached.other_pages, None)), _AT_MOST


def _top(by_index: Mapping[Index, _Pages], sizes: Mapping[Index, int], other: _Pages) -> tuple[Resident, ...]:
    """The indexes with the most pages, and a last entry for the pages of all others, if there are any."""
    ranked = sorted(by_index, key=lambda index: (-by_index[index].all, index.schema, index.table, index.index))
    rest = [other, *(by_index[index] for index in ranked[MOST_RESIDENTS:])]
    top = [
        Resident(
            schema_=index.schema,
            table=index.table,
            index=index.index,
            pages=by_index[index].all,
            of_pages=sizes.get(index),
            old_pages=by_index[index].old,
        )
        for index in ranked[:MOST_RESIDENTS]
        if by_index[index].all
    ]
    if pages := sum(count.all for count in rest):
        old = None if other.old is None else sum(count.old or 0 for count in rest)
        top.append(Resident(schema_=None, table=None, index=None, pages=pages, of_pages=None, old_pages=old))
    return tuple(top)
