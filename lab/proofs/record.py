"""The record of a proof: what was predicted, what was measured, and the bounds that both keep."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from lab.campaign.part import NotShown

MOST_OFF = 0.2
"""Of the measured effect: by how much a predicted one may miss it, where it is one of pages."""
MOST_HARM = 1.05
"""What reads or time may be after advice was followed, relative to before."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EvidenceCheck(_Frozen):
    """A number of the rule's evidence beside the same number as the lab knows or measures it."""

    name: str
    said: float
    known: float
    within: float = 0.1

    def check(self) -> None:
        """Raise `NotShown` where they are further apart than the part ``within`` of what is known."""
        if abs(self.said - self.known) > self.within * abs(self.known):
            raise NotShown(f"{self.name} is {self.said:g} in the evidence, but {self.known:g}")


class MeasuredEffect(_Frozen):
    """What was predicted of a quantity, and what was measured. All in the same unit, less is better.

    Attributes:
        now: What the rule says it is.
        predicted: What the rule says it becomes.
        before, after: As the lab measured it, before and after the rule's statements.
    """

    quantity: str
    unit: str
    now: float
    predicted: float
    before: float
    after: float

    @property
    def error(self) -> float:
        """By which part of the measured effect (before - after) the predicted one (now - predicted) misses it."""
        return abs((self.now - self.predicted) - (self.before - self.after)) / abs(self.before - self.after)

    def check(self) -> None:
        """Raise `NotShown` where there is no effect, or where the prediction of one of pages misses it by too much."""
        if self.after >= self.before:
            raise NotShown(f"{self.quantity} was {self.before:g}, and then {self.after:g}")
        if "page" in self.unit and self.error > MOST_OFF:
            raise NotShown(
                f"{self.quantity} fell from {self.before:g} to {self.after:g} {self.unit}; from {self.now:g} to"
                f" {self.predicted:g} was predicted, which is {self.error:.0%} off"
            )


class Comparison(_Frozen):
    """Reads or time of the same work, before and after; less is better.

    Attributes:
        least: Of a time, the least after, where ``after`` is the median: whatever else runs on a machine only adds.
    """

    what: str
    unit: str
    before: float
    after: float
    least: float | None = None

    @property
    def ratio(self) -> float:
        """What it is after, relative to before; infinite where there was nothing before."""
        if self.before:
            return self.after / self.before
        return 1.0 if not self.after else float("inf")

    def check(self) -> None:
        """Raise `NotShown` where it is worse than before by more than a twentieth; of times, the least after."""
        if self.ratio > MOST_HARM and (self.least is None or self.least > MOST_HARM * self.before):
            at_best = "" if self.least is None else f", {self.least:g} at best"
            was = f"{self.what} was {self.before:g} {self.unit}"
            raise NotShown(f"the advice harms: {was}, and then {self.after:g}{at_best}")


class ProofRecord(_Frozen):
    """A proof's record.

    Attributes:
        condition: What was created on the server, in words.
        altered: What of the server was altered in its snapshots, or of the rule scaled down, and why; mostly nothing.
        summary: What the rule said.
        facts: Of its evidence, beside what was known.
        applied, taken_back: Its own statements (or its lines of the option file, with a restart).
        effects: Of what it predicts. Empty where it predicts nothing.
        measures: Reads and time of the same work before and after: no harm.
        notes: What else a reader must know.
    """

    condition: str
    altered: str = ""
    summary: str
    facts: tuple[EvidenceCheck, ...]
    applied: tuple[str, ...]
    taken_back: tuple[str, ...]
    effects: tuple[MeasuredEffect, ...]
    measures: tuple[Comparison, ...]
    notes: str = ""

    def check(self) -> None:
        """Raise `NotShown` where a bound is broken."""
        bounded: tuple[EvidenceCheck | MeasuredEffect | Comparison, ...] = (*self.facts, *self.effects, *self.measures)
        for each in bounded:
            each.check()


class CounterProofRecord(_Frozen):
    """A counter-proof's record: folklore would fire, the rule is silent, and this is what following folklore does.

    Attributes:
        folklore: What it says.
        source: Who says so.
        condition: What was created on the server, in words.
        followed: The statements or options that folklore would have.
        measures: Reads and time of the same work before and after: worse, or in vain.
    """

    folklore: str
    source: str
    condition: str
    followed: tuple[str, ...]
    measures: tuple[Comparison, ...]
    notes: str = ""

    @property
    def harm(self) -> float:
        """The worst of the ratios."""
        return max(each.ratio for each in self.measures)
