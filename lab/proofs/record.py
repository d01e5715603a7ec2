"""The record of a proof: predictions, measurements, and their bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from advisor.contract.recommendation import Frozen
from lab.reports.criterion import Criterion

MOST_OFF = 0.2
"""The largest error of a predicted effect in pages, as a share of the measured one."""
MOST_HARM = 1.05
"""The largest ratio of reads or time after the advice was followed to before."""
LEAST_HARM = 0.95
"""The least ratio of the worst quantity after folklore was followed to before."""


class EvidenceCheck(Frozen):
    """A number of the rule's evidence, and the lab's own value, which it equals within a share of the latter."""

    name: str
    said: float
    known: float
    within: float = 0.1

    def criteria(self) -> Iterator[Criterion]:
        """Its bound."""
        most_off = self.within * abs(self.known)
        yield Criterion(f"{self.name}, by the evidence", self.said, self.known - most_off, self.known + most_off)


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

    def criteria(self) -> Iterator[Criterion]:
        """There is an effect; a prediction in pages is near it."""
        yield Criterion(f"{self.quantity}, after the advice", self.after, most=math.nextafter(self.before, -math.inf))
        if "page" in self.unit and self.after < self.before:
            yield Criterion(f"error of the predicted {self.quantity}", self.error, most=MOST_OFF)


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
        return self._ratio(self.after)

    def criteria(self) -> Iterator[Criterion]:
        """The advice does no harm; a time is judged by its least."""
        best = self.after if self.least is None else min(self.least, self.after)
        yield Criterion(f"{self.what}, after to before", self._ratio(best), most=MOST_HARM)

    def _ratio(self, after: float) -> float:
        if self.before:
            return after / self.before
        return 1.0 if not after else math.inf


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

    def criteria(self) -> Iterator[Criterion]:
        """Its bound."""
        yield Criterion(f"{self.what}, after the advice", self.after, most=self.most)


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

    def criteria(self) -> Iterator[Criterion]:
        """All its bounds."""
        bounded: tuple[EvidenceCheck | MeasuredEffect | Comparison | PromisedLimit, ...]
        bounded = (*self.facts, *self.effects, *self.measures, *self.promises)
        for figure in bounded:
            yield from figure.criteria()


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

    def criteria(self) -> Iterator[Criterion]:
        """Folklore does not help."""
        yield Criterion("the worst of what folklore changes, after to before", self.harm, least=LEAST_HARM)
