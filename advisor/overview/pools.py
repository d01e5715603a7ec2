"""The LRU list of each buffer pool instance, from head to tail: young pages, old pages, and the free list beside it."""

from __future__ import annotations

from pydantic import Field

from advisor.contract.recommendation import Frozen
from exporter.collectors.pools import POOLS
from exporter.midpoint import old_target
from exporter.rows import number
from exporter.snapshot import Snapshot


class Pool(Frozen):
    """One buffer pool instance."""

    pool: int = Field(description="The instance's number.")
    size_pages: int
    young_pages: int = Field(description="From the head of the LRU list to the midpoint.")
    old_pages: int = Field(description="From the midpoint to the tail; 0 in a list of less than 512 pages.")
    free_pages: int = Field(description="On the free list.")
    old_target_pages: int | None = Field(
        description="Length that innodb_old_blocks_pct steers the old sublist to, give or take 20 pages."
    )
    modified_pages: int = Field(description="Dirty pages, young or old.")


def pools(snapshot: Snapshot) -> tuple[Pool, ...] | None:
    """The instances in the order of their numbers; None where they are not known.

    Pages that are neither young, old nor free hold no data: the adaptive hash index, locks, and compressed pages'
    frames.
    """
    known = snapshot[POOLS]
    if known is None:
        return None
    pct = number(snapshot.setting("innodb_old_blocks_pct"))
    return tuple(
        Pool(
            pool=each.pool,
            size_pages=each.size_pages,
            young_pages=max(0, each.database_pages - each.old_pages),  # the server reads the two at different moments
            old_pages=each.old_pages,
            free_pages=each.free_pages,
            old_target_pages=None if pct is None else old_target(each.database_pages, int(pct)),
            modified_pages=each.modified_pages,
        )
        for each in known
    )
