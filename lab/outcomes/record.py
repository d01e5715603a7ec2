"""The records of advice that is followed by hand, and of changes without advice, and their bounds."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.recommendation import Frozen
from advisor.ledger.entry import Outcome, Result
from lab.proofs.harm import PERIOD, WINDOW
from lab.reports.criterion import Criterion, broken

OUTCOMES, CHANGES = "outcomes", "changes"
"""lab/records/outcomes.json and changes.json."""
MOST_OFF = 0.2
"""The largest difference between what the ledger measured and what the lab counted, as a share of the count."""
NEARLY_NOTHING = 0.01
"""Share of the reads before: fewer are none, for which no share is a bound."""
IN_TIME = 3.0 + 2 * PERIOD / WINDOW
"""Windows within which harm has to be told of: three, and the collections at both ends."""
LEAST_COMPARED = 10
"""Changes without effect whose both sides have to be compared on each server: a silence that was never tried is none"""


class OutcomeRecord(Frozen):
    """An outcome of advice that was followed by hand.

    Attributes:
        about: The load in words.
        applied: The statements.
        outcome: As the ledger closed it.
        counted: Pages read before and after, by the lab's count, in the unit of what the ledger measured.
        windows: After so many windows it was closed.
        comparable: Whether the work went on as before.
    """

    about: str
    applied: tuple[str, ...]
    outcome: Outcome
    counted: tuple[float, float]
    windows: float
    comparable: bool

    def __str__(self) -> str:
        return f"{self.outcome.result}, {self.outcome.why}, counted {self.counted}"

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
        for what, value, count in zip(
            ("before", "after"), (measured.before, measured.after), self.counted, strict=True
        ):
            most_off = max(MOST_OFF * count, NEARLY_NOTHING * self.counted[0])
            yield from broken([Criterion(f"reads {what}, by the ledger", value, count - most_off, count + most_off)])


class ChangesRecord(Frozen):
    """Changes under a load, and what the ledger told of them.

    Attributes:
        about: The load in words.
        changed: The change, in words or as the statement.
        windows: How long the load was watched.
        changes: How many changes there were.
        compared: Those whose both sides could be compared.
        told_after: Windows after a change that did harm until that was told of; None where there is no harm.
        harm: What was told of as harm.
    """

    about: str
    changed: str
    windows: int
    changes: int
    compared: int
    told_after: float | None
    harm: tuple[str, ...]

    def __str__(self) -> str:
        told = "no harm" if self.told_after is None else f"harm told after {self.told_after} windows"
        return f"{told} of {self.changes} changes, {self.compared} compared"

    def broken(self) -> Iterator[str]:
        """Bounds that do not hold, in words."""
        if self.told_after is not None:
            if not self.harm:
                yield "no harm is told of"
            yield from broken([Criterion("windows until harm is told of", self.told_after, most=IN_TIME)])
        elif self.harm:
            yield f"harm is told of, though the changes have no effect: {self.harm}"
        else:
            compared = Criterion("changes that could be compared", self.compared, LEAST_COMPARED, cases=self.changes)
            yield from broken([compared])
