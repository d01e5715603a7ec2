"""The geometry of the LRU list: which innodb_old_blocks_pct lets the old sublist hold a scanned object."""

from __future__ import annotations

import math

from exporter.midpoint import TOLERANCE, old_target

EXTENT_PAGES = 64
"""Pages of an extent go to one buffer pool instance, and those of the next extent to the next instance: the instance
is (space << 20 + space + page >> 6) modulo their number (buf0buf.ic, buf_pool_get; seen on 9.7: of 8,003 pages the
fullest of 8 instances held 1,024)."""

OLD_BLOCKS_PCT = range(5, 96)
"""What the server accepts for innodb_old_blocks_pct."""

NO_SETTING = 100.0


def pages_in_fullest_instance(pages: float, instances: float) -> float:
    """Pages of an object that the fullest of ``instances`` has to hold."""
    if instances <= 1:
        return pages
    return math.ceil(pages / EXTENT_PAGES / instances) * EXTENT_PAGES


def old_blocks_pct_to_hold(pages: float, list_pages: float, instances: float) -> float:
    """The smallest innodb_old_blocks_pct whose old sublist holds ``pages`` pages of one object.

    Args:
        pages: Size of the object.
        list_pages: Length of the LRU lists of all instances together, pages.
        instances: Buffer pool instances.

    Returns:
        A whole percentage from 5 to 95, or NO_SETTING where even 95 is too small.
    """
    wanted = pages_in_fullest_instance(pages, instances)
    length = int(list_pages / max(instances, 1))
    return next(
        (float(pct) for pct in OLD_BLOCKS_PCT if old_target(length, pct) - TOLERANCE >= wanted),
        NO_SETTING,
    )
