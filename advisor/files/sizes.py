"""Sizes of memory as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_SMALLEST = 2**20


def size(written: object) -> int:
    """Bytes of memory, from a whole number or a text such as ``16G``, ``16Gi``, ``16 GiB``; all units are binary.

    Raises:
        ValueError: It is not a size, or no server runs in so little: the unit was forgotten.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B|i)?", str(written).strip(), re.IGNORECASE)
    found_bytes = round(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if isinstance(written, bool) or found_bytes < _SMALLEST:
        raise ValueError(f"{written} is not a size such as 16G")
    return found_bytes
