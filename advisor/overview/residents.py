"""The indexes whose pages the buffer pool holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field

from advisor.contract.recommendation import Frozen
from advisor.overview.lacks import why
from exporter.collectors.cached_indexes import CACHED_INDEXES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.lru_pages import LRU_PAGES
from exporter.collectors.pools import POOLS
from exporter.snapshot import Index, Snapshot

MOST_RESIDENTS = 20
"""Indexes with an entry of their own: more colours than anybody tells apart."""
_DRIFT = "INNODB_CACHED_INDEXES counts leaf pages alone, and drifts where pages are evicted or indexes are built"
_EXACT = "every page of the LRU list, by INNODB_BUFFER_PAGE_LRU"


class Resident(Frozen):
    """An index in the pool. The last entry sums the others: its names are null."""

    schema_: str | None = Field(alias="schema")
    table: str | None
    index: str | None
    pages: int = Field(description="In the pool.")
    of_pages: int | None = Field(description="Size of the index, counted as pages are; null where it is not known.")
    old_pages: int | None = Field(description="The part in the old sublists; null where the server does not tell.")


@dataclass(frozen=True, slots=True)
class Residents:
    """What the pool holds.

    Attributes:
        top: The indexes with the most pages, and all others in one entry at the end; None where not known.
        lack: Why not.
        note: What the counts are, and how far they can be trusted.
        by_index: Pages of every index that the server names.
        complete: Whether an index without a count has no page in the pool.
        leaf: Whether only leaf pages are counted.
    """

    top: tuple[Resident, ...] | None = None
    lack: str | None = None
    note: str | None = None
    by_index: Mapping[Index, int] | None = None
    complete: bool = False
    leaf: bool = True


def resident_pages(snapshot: Snapshot) -> Mapping[Index, int] | None:
    """Pages in the pool of every index that the server names, leaf pages alone or all; None where it does not tell."""
    if (lru := snapshot[LRU_PAGES]) is not None:
        return {index: pages.young + pages.old for index, pages in lru.pages.items()}
    cached = snapshot[CACHED_INDEXES]
    return None if cached is None else cached.pages


def residents(snapshot: Snapshot) -> Residents:
    """From the pages of the LRU list where these are read, or else from INNODB_CACHED_INDEXES."""
    lru, cached, sizes = snapshot[LRU_PAGES], snapshot[CACHED_INDEXES], snapshot[INDEX_SIZES]
    known = {} if sizes is None else sizes.sizes
    if lru is not None:
        each = {index: (pages.young + pages.old, pages.old) for index, pages in lru.pages.items()}
        of = {index: size.pages for index, size in known.items()}
        top = _top(each, of, (lru.other.young + lru.other.old, lru.other.old))
        return Residents(top, None, _EXACT, resident_pages(snapshot), complete=False, leaf=False)
    if cached is None:
        return Residents(lack=why(snapshot, CACHED_INDEXES))
    leaves = {index: size.leaf_pages for index, size in known.items()}
    top = _top({index: (pages, None) for index, pages in cached.pages.items()}, leaves, (cached.other_pages, None))
    return Residents(top, None, _note(snapshot, top), cached.pages, complete=not cached.other_pages)


def _top(
    found: Mapping[Index, tuple[int, int | None]], of: Mapping[Index, int], other: tuple[int, int | None]
) -> tuple[Resident, ...]:
    """The indexes with the most pages, and a last entry for the pages of all others, if there are any."""
    ranked = sorted(found, key=lambda index: (-found[index][0], index.schema, index.table, index.index))
    pages, old = other
    for index in ranked[MOST_RESIDENTS:]:
        pages += found[index][0]
        old = None if old is None else old + (found[index][1] or 0)
    top = [
        Resident(
            schema_=index.schema,
            table=index.table,
            index=index.index,
            pages=found[index][0],
            of_pages=of.get(index),
            old_pages=found[index][1],
        )
        for index in ranked[:MOST_RESIDENTS]
        if found[index][0]
    ]
    if pages:
        top.append(Resident(schema_=None, table=None, index=None, pages=pages, of_pages=None, old_pages=old))
    return tuple(top)


def _note(snapshot: Snapshot, top: tuple[Resident, ...]) -> str:
    """What INNODB_CACHED_INDEXES counts; and whether it has drifted beyond what there can be."""
    counted, pools = sum(each.pages for each in top), snapshot[POOLS]
    held = None if pools is None else sum(pool.database_pages for pool in pools)
    if held is not None and counted > held:
        return f"{_DRIFT}: now it counts {counted:,} pages where the LRU lists have {held:,}"
    return _DRIFT
