"""Pages read, as measured today or as expected after a change. Every answer starts from what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_EXPLAINED = 0.5
"""Share of a measured value that the model has to explain before it may scale it."""


@dataclass(frozen=True, slots=True)
class Reads:
    """Pages read: as measured today, or as expected after a change.

    Attributes:
        per_pass: By table.
        scans: Per second, by all scans.
        other: Per second, by everything else.
    """

    per_pass: Mapping[str, float]
    scans: float
    other: float

    @property
    def all(self) -> float:
        """Per second, by everything."""
        return self.scans + self.other


def expected(measured: float, now: float, then: float) -> float:
    """The value after a change, of one that is measured today.

    The model is never exact. Today's value is the measured one, and the model says by how much it changes: by a share
    where it falls and the model explains most of it; else by an amount, since a share of nearly nothing says nothing,
    and what the model does not explain stays.

    Args:
        measured: On the server, today.
        now: By the model, today.
        then: By the model, after the change.
    """
    if then < now and now >= _EXPLAINED * measured:
        return measured * then / now
    return max(0.0, measured + then - now)
