"""The record of memory plans: what moved with the settings, and the steps under a real limit."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.recommendation import Frozen
from lab.reports.criterion import Criterion, broken

LEAST_OF_CHANGE, MOST_OF_CHANGE = 0.8, 1.01
"""Bounds of the measured change as a share of the plan's: a plan that counts too little is worse."""
LEAST_OF_LIMIT, MOST_OF_LIMIT = 0.8, 0.95
"""Bounds of the most in use under the plan's limit, as a share of it: less is wasted, more is close to a kill."""
_MIB = 2**20


class MovedMemory(Frozen):
    """Memory that moved with a setting.

    Attributes:
        setting: Its name.
        before, after: Its values, bytes.
        planned: Bytes by which memory was to move.
        measured: Bytes by which it did, with a full pool, or at the peak of a build.
        unused: Bytes of free pages: those that the page cleaner keeps may never have been in memory.
    """

    setting: str
    before: float
    after: float
    planned: float
    measured: float
    unused: float = 0.0

    @property
    def share(self) -> float:
        """Measured, as a share of what was planned."""
        return self.measured / self.planned


class CarriedOutStep(Frozen):
    """A step of a plan.

    Attributes:
        do: In words.
        check: The PromQL that said that it was done; empty where only the server itself says it.
        seconds: Until it did.
        in_use: Bytes then.
    """

    do: str
    check: str
    seconds: float
    in_use: int


class LimitedPlan(Frozen):
    """A plan that was carried out under a limit, there and back, and its steps in another order.

    Attributes:
        used, limit, limit_then: Of the plan, bytes.
        most: The most in use, as a share of the limit: before, after the change, and after the way back.
        steps, back: The steps.
        kills: Processes killed until the end of the way back.
        refused: Whether the kernel refused the lower limit while the pool was still large.
        killed: Whether the server was killed when the larger pool went first.
    """

    used: int
    limit: int
    limit_then: int
    most: tuple[float, float, float]
    steps: tuple[CarriedOutStep, ...]
    back: tuple[CarriedOutStep, ...]
    kills: int
    refused: bool
    killed: bool


class MemoryRecord(Frozen):
    """A part.

    Attributes:
        moved: What moved with the settings.
        plan: The plan that was carried out; None where only the memory was measured.
    """

    moved: tuple[MovedMemory, ...]
    plan: LimitedPlan | None = None

    def __str__(self) -> str:
        shares = ", ".join(f"{moved.measured / _MIB:,.0f} of {moved.planned / _MIB:,.0f} MiB" for moved in self.moved)
        if self.plan is None:
            return shares
        before, after, back = self.plan.most
        return (
            f"{shares}; at most {before:.0%} of the limit in use before, {after:.0%} after, {back:.0%} on the way back;"
            f" {self.plan.kills} kills; the other order: refused {self.plan.refused}, killed {self.plan.killed}"
        )

    def broken(self) -> Iterator[str]:
        """Bounds that do not hold, in words."""
        for moved in self.moved:
            what = f"measured of planned bytes, {moved.setting} = {moved.after:.0f}"
            used = (moved.measured + moved.unused) / moved.planned
            yield from broken([Criterion(what, moved.share, most=MOST_OF_CHANGE)])
            yield from broken([Criterion(f"{what}, with free pages", used, least=LEAST_OF_CHANGE)])
        if self.plan is None:
            return
        if self.plan.kills:
            yield f"{self.plan.kills} kills in the planned order"
        if not (self.plan.killed and self.plan.refused):
            yield "the other order was neither refused nor killed: the control shows nothing"
        yield from broken([Criterion("most in use, of the plan's limit", self.plan.most[1], *_OF_LIMIT)])


_OF_LIMIT = LEAST_OF_LIMIT, MOST_OF_LIMIT
