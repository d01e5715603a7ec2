"""Key numbers of a capture, and the refusal of one that does not show its scenario."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.pools import POOLS
from exporter.midpoint import old_target
from exporter.snapshot import Index, Snapshot, Table

Snapshots = Sequence[Snapshot]
Numbers = dict[str, object]
CaptureCheck = Callable[[Snapshots], Numbers]
"""Returns the key numbers of a capture. Raises `CaptureRejected`."""
MOST = 0.8
"""The least share of a table's pages that a pass reads if the pool does not keep the table."""
HARDLY = 0.02
"""The most that it reads if the pool keeps the table: other work reads a few pages."""


class CaptureRejected(Exception):
    """The capture does not show its scenario; the text says what is missing."""


def require(condition: bool, what: str) -> None:  # noqa: FBT001 - as in assert
    """Reject the capture unless the condition holds."""
    if not condition:
        raise CaptureRejected(what)


def pages_read(snapshots: Snapshots) -> list[int]:
    """Pages that the pool read between each snapshot and the next."""
    totals = [sum(pool.pages_read for pool in snapshot[POOLS] or ()) for snapshot in snapshots]
    return [after - before for before, after in pairwise(totals)]


def made_young(snapshots: Snapshots) -> list[int]:
    """Pages that were made young between each snapshot and the next."""
    totals = [sum(pool.made_young for pool in snapshot[POOLS] or ()) for snapshot in snapshots]
    return [after - before for before, after in pairwise(totals)]


def table_pages(snapshots: Snapshots, table: Table) -> int:
    """Leaf pages of the clustered index as statistics say.

    Raises:
        CaptureRejected: There are none.
    """
    sizes = snapshots[-1][INDEX_SIZES]
    index = Index(table.schema, table.table, "PRIMARY")
    require(sizes is not None and index in sizes.sizes, f"no statistics of {table.table}")
    assert sizes is not None  # noqa: S101 - for the type checker
    return sizes.sizes[index].leaf_pages


def old_target_pages(snapshot: Snapshot) -> int:
    """Length that the settings steer the old sublists to."""
    pct = int(snapshot.setting("innodb_old_blocks_pct") or 37)
    return sum(old_target(pool.database_pages, pct) for pool in snapshot[POOLS] or ())


def free_pages(snapshot: Snapshot) -> int:
    """Pages on the free lists."""
    return sum(pool.free_pages for pool in snapshot[POOLS] or ())


def counter_growth(snapshots: Snapshots, counter: str) -> int:
    """How much a counter of INNODB_METRICS grew over the capture."""
    first, last = ((snapshots[end][INNODB_METRICS] or {}).get(counter) for end in (0, -1))
    require(first is not None and last is not None, f"no {counter}")
    assert first is not None  # noqa: S101 - for the type checker
    assert last is not None  # noqa: S101
    return last - first
