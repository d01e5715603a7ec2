"""The record of an outcome, and its bounds."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from advisor.ledger.entry import Outcome, Result

GROUP = "outcomes"
"""lab/records/outcomes.json."""
MOST_OFF = 0.2
"""The largest difference between what the ledger measured and what the lab counted, as a share of the count."""
NEARLY_NOTHING = 0.01
"""Share of the reads before: fewer are none, for which no share is a bound."""


class OutcomeRecord(BaseModel):
    """An outcome of advice that was followed by hand.

    Attributes:
        about: The load in words.
        applied: The statements.
        outcome: As the ledger closed it.
        counted: Pages read before and after, by the lab's count, in the unit of what the ledger measured.
        windows: After so many windows it was closed.
        comparable: Whether the work went on as before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    applied: tuple[str, ...]
    outcome: Outcome
    counted: tuple[float, float]
    windows: float
    comparable: bool

    def broken(self) -> Iterator[str]:
        """Bounds that do not hold, in words."""
        outcome, measured = self.outcome, self.outcome.measured
        if not outcome.followed:
            yield "the outcome does not say that the advice was followed"
        if outcome.harm:
            yield f"harm: {outcome.harm}"
        if not self.comparable:
            if outcome.result is not Result.NOT_COMPARABLE:
                yield f"other work began, and the outcome is {outcome.result}"
            return
        if outcome.result is not Result.KEPT or measured is None:
            yield f"the outcome is {outcome.result}: {outcome.why}"
            return
        for what, said, known in zip(("before", "after"), (measured.before, measured.after), self.counted, strict=True):
            if abs(said - known) > max(MOST_OFF * known, NEARLY_NOTHING * self.counted[0]):
                yield f"{what}: measured {said:g}, counted {known:g}"
