"""Sizes of memory and durations as people write them in files and options."""

from __future__ import annotations

import math
import re

_BYTES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_LEAST_BYTES = 2**20
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def size(written: object) -> int:
    """Bytes of memory, from a whole number or a text such as ``16G``, ``16Gi``, ``16 GiB``; all units are binary.

    Raises:
        ValueError: It is not a size, or no server runs in so little: the unit was forgotten.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B|i)?", str(written).strip(), re.IGNORECASE)
    count = round(float(match[1]) * _BYTES[match[2].upper()]) if match else 0
    if isinstance(written, bool) or count < _LEAST_BYTES:
        raise ValueError(f"{written} is not a size such as 16G")
    return count


def go_duration(written: object) -> float:
    """Seconds, from a duration as Go and Prometheus write it: ``100ms``, ``1m30s``, or 0.

    Raises:
        ValueError: It is no duration.
    """
    text = str(written).strip()
    parts = re.findall(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)", text)
    if text != "0" and (not parts or "".join(map("".join, parts)) != text):
        raise ValueError("must be a duration such as 100ms, 1s or 1m30s")
    return math.fsum(float(number) * _SECONDS[unit] for number, unit in parts)
