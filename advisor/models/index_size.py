"""Pages of a secondary index and bytes of its entries. Pure."""

from __future__ import annotations

import math

_ENTRY_BYTES = 5.5
_PAGE_BYTES = 128.0


def index_pages(rows: float, key_bytes: float, page: float = 16384.0) -> float:
    """Leaf pages of a fresh secondary index on columns of ``key_bytes``, which include the primary key.

    An entry has a header of 5 bytes and its part of the page directory beside its columns, a page 128 bytes of its own
    (rem0rec.h, page0page.h). Measured on MySQL 9.7.4 and 5.6.24: 15 pages for 24,000 rows of 4 bytes, 32 and 33 of 16
    bytes, 62 of 36; this says 15, 32 and 62.
    """
    return math.ceil(rows * (key_bytes + _ENTRY_BYTES) / (page - _PAGE_BYTES))


def key_bytes(rows: float, leaf_pages: float, page: float = 16384.0) -> float:
    """Bytes of an entry's columns in an index of ``leaf_pages`` full pages: the inverse of ``index_pages``."""
    return max(1.0, leaf_pages * (page - _PAGE_BYTES) / rows - _ENTRY_BYTES)
