"""What a replay of recordings found: the outcomes of each stretch, and the calibration of all."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from advisor.contract.recommendation import Frozen
from advisor.ledger.calibration import Calibration, calibration
from advisor.ledger.entry import Found, Outcome


class Stretch(Frozen):
    """Recordings of a server that follow each other."""

    recordings: tuple[str, ...]
    server: str
    began: float = Field(description="Unix seconds.")
    ended: float = Field(description="Unix seconds.")
    collections: int
    findings: tuple[Found, ...]
    outcomes: tuple[Outcome, ...] = Field(description="In the order of their changes.")


class Grades(Frozen):
    """The stretches, and what became of their promises."""

    stretches: tuple[Stretch, ...]
    calibration: Calibration

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Of all stretches."""
        return tuple(each for stretch in self.stretches for each in stretch.outcomes)


def grades(stretches: Iterable[Stretch]) -> Grades:
    """With the calibration of all stretches, each prediction with its recordings."""
    found = tuple(stretches)
    return Grades(
        stretches=found,
        calibration=calibration(
            (", ".join(stretch.recordings), outcome) for stretch in found for outcome in stretch.outcomes
        ),
    )
