"""A bound that a measured number must keep: of proofs, experiments, miss curves and warm-ups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Criterion:
    """A bound on a ratio, a share or a number of pages; never on absolute seconds.

    Attributes:
        what: The quantity, in words.
        value: Its measured value; None where there is no case, which breaks nothing.
        least, most: Its bounds; None for none.
        cases: The number of cases that the value is of; 0 if it is a number of its own.
    """

    what: str
    value: float | None
    least: float | None = None
    most: float | None = None
    cases: int = 0

    @property
    def holds(self) -> bool:
        """Whether the value is within its bounds."""
        if self.value is None:
            return True
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        if self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}"
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"


def broken(criteria: Iterable[Criterion]) -> Iterator[str]:
    """The criteria that do not hold, with their values."""
    for criterion in criteria:
        if not criterion.holds:
            of = f", of {criterion.cases}" if criterion.cases else ""
            yield f"{criterion.what}: {criterion.value:.4g}, not {criterion.bounds}{of}"
