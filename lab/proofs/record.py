"""The record of a proof: predictions, measurements, and their bounds."""

from __future__ import annotations

from advisor.contract.recommendation import Frozen
from lab.harness.records import NotShown

MOST_OFF = 0.2
"""The largest error of a predicted effect in pages, as a share of the measured one."""
MOST_HARM = 1.05
"""The largest ratio of reads or time after the advice was followed to before."""


class EvidenceCheck(Frozen):
    """A number of the rule's evidence, and the lab's own value for it."""

    name: str
    said: float
    known: float
    within: float = 0.1

    def check(self) -> None:
        """Raise `NotShown` if they differ by more than the share ``within`` of the lab's value."""
        if abs(self.said - self.known) > self.within * abs(self.known):
            raise NotShown(f"{self.name} is {self.said:g} in the evidence, but {self.known:g}")


class MeasuredEffect(Frozen):
    """A predicted effect and its measurement, in the same unit; less is better.

    Attributes:
        now: The current value, by the rule.
        predicted: The future value, by the rule.
        before, after: The lab's measurements before and after the rule's statements.
    """

    quantity: str
    unit: str
    now: float
    predicted: float
    before: float
    after: float

    @property
    def error(self) -> float:
        """Predicted effect (now - predicted) less measured effect (before - after), as a share of the latter."""
        return abs((self.now - self.predicted) - (self.before - self.after)) / abs(self.before - self.after)

    def check(self) -> None:
        """Raise `NotShown` if there is no effect, or if a prediction in pages is too far off."""
        if self.after >= self.before:
            raise NotShown(f"{self.quantity} was {self.before:g}, and then {self.after:g}")
        if "page" in self.unit and self.error > MOST_OFF:
            raise NotShown(
                f"{self.quantity} fell from {self.before:g} to {self.after:g} {self.unit}; from {self.now:g} to"
                f" {self.predicted:g} was predicted, which is {self.error:.0%} off"
            )


class Comparison(Frozen):
    """Reads or time of the same work, before and after; less is better.

    Attributes:
        least: For a time: the least value after, where ``after`` is the median. Other work on a machine only adds time.
    """

    what: str
    unit: str
    before: float
    after: float
    least: float | None = None

    @property
    def ratio(self) -> float:
        """After by before; infinite if before was 0."""
        if self.before:
            return self.after / self.before
        return 1.0 if not self.after else float("inf")

    def check(self) -> None:
        """Raise `NotShown` if after exceeds before by more than `MOST_HARM` allows; a time is judged by its least."""
        if self.ratio > MOST_HARM and (self.least is None or self.least > MOST_HARM * self.before):
            at_best = "" if self.least is None else f", {self.least:g} at best"
            was = f"{self.what} was {self.before:g} {self.unit}"
            raise NotShown(f"the advice harms: {was}, and then {self.after:g}{at_best}")


class PromisedLimit(Frozen):
    """A quantity that the advice may make worse, and the most that it promises.

    Attributes:
        most: By the rule, after its advice.
        before, after: The lab's measurements.
    """

    what: str
    unit: str
    before: float
    most: float
    after: float

    def check(self) -> None:
        """Raise `NotShown` if it became worse than promised."""
        if self.after > self.most:
            was = f"{self.what} was {self.before:g} {self.unit}"
            raise NotShown(f"{was}, and then {self.after:g}: at most {self.most:g} was promised")


class ProofRecord(Frozen):
    """A proof's record.

    Attributes:
        condition: The state created on the server, in words.
        altered: Values altered in the snapshots, or scaled down in the rule, and why; usually empty.
        summary: The rule's summary.
        facts: Checks of its evidence.
        applied, taken_back: Its own statements (or lines of the option file, with a restart).
        effects: Its predictions and their measurements. Empty if it predicts nothing.
        measures: Reads and time of the same work before and after: no harm.
        promises: What may become worse, and is no worse than promised.
        notes: Further remarks for the reader.
    """

    condition: str
    altered: str = ""
    summary: str
    facts: tuple[EvidenceCheck, ...]
    applied: tuple[str, ...]
    taken_back: tuple[str, ...]
    effects: tuple[MeasuredEffect, ...]
    measures: tuple[Comparison, ...]
    promises: tuple[PromisedLimit, ...] = ()
    notes: str = ""

    def check(self) -> None:
        """Raise `NotShown` if a bound is broken."""
        bounded: tuple[EvidenceCheck | MeasuredEffect | Comparison | PromisedLimit, ...]
        bounded = (*self.facts, *self.effects, *self.measures, *self.promises)
        for bound in bounded:
            bound.check()


class CounterProofRecord(Frozen):
    """A counter-proof's record: folklore would fire, the rule is silent, and folklore was followed.

    Attributes:
        folklore: The advice.
        source: Its source.
        condition: The state created on the server, in words.
        followed: Folklore's statements or options.
        measures: Reads and time of the same work before and after: worse, or no better.
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
        return max(measure.ratio for measure in self.measures)
