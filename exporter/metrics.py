"""The definition of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MetricType = Literal["gauge", "counter", "info", "unknown"]

Sample = tuple[str, tuple[str, ...], float]
"""A metric's name, its label values in the order of its Spec, and the value."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A metric: name, type, help text, label names and unit.

    ``unit`` is the base unit at the end of the name (before ``_total`` for a counter). It is empty for plain counts.
    """

    name: str
    kind: MetricType
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class HistogramSpec:
    """A metric that counts observations by their size.

    ``buckets`` are their upper ends, ascending; one without an end follows them.
    """

    name: str
    help: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...]

    @property
    def kind(self) -> Literal["histogram"]:
        """Its type."""
        return "histogram"
