"""How many pages a secondary index has, and what its entries hold. Pure."""

from __future__ import annotations

import math

_ENTRY_BYTES = 5.5
_PAGE_BYTES = 128.0


def index_pages(rows: float, key_bytes: float, page: float = 16384.0) -> float:
    """Leaf pages of a secondary index that was just built, on columns of so many bytes, those of the key included.

    An entry has a header of 5 bytes and its part of the page directory beside its columns, a page 128 bytes of its own
    (rem0rec.h, page0page.h). Measured on MySQL 9.7.4 and 5.6.24: 15 pages for 24,000 rows of 4 bytes, 32 and 33 of 16
    bytes, 62 of 36; this says 15, 32 and 62.
    """
    return math.ceil(rows * (key_bytes + _ENTRY_BYTES) / (page - _PAGE_BYTES))


def key_bytes(rows: float, leaf_pages: float, page: float = 16384.0) -> float:
    """The other way round: bytes of an entry's columns in an index of so many leaf pages, taken to be full."""
    return max(1.0, leaf_pages * (page - _PAGE_BYTES) / rows - _ENTRY_BYTES)
