"""Durations as Go and Prometheus write them."""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import BeforeValidator

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _duration(written: object) -> object:
    """Seconds, from a duration as Go writes it: ``100ms``, ``1m30s``, or 0."""
    text = str(written).strip()
    parts = re.findall(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)", text)
    if text != "0" and (not parts or "".join(map("".join, parts)) != text):
        raise ValueError("must be a duration such as 100ms, 1s or 1m30s")
    return math.fsum(float(number) * _UNITS[unit] for number, unit in parts)


Seconds = Annotated[float, BeforeValidator(_duration)]
