"""The record of a workload: what was advised, what was promised, what was measured, and the bounds of all that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from advisor.contract.recommendation import Frozen
from lab.reports import criterion
from lab.reports.criterion import Criterion

MOST_WORSE = 0.05
"""Reads may rise by this share: the bound of the proofs."""
FEW = 10.0
"""Pages a round that the server and the sidecar read on their own, or leave unread, by chance."""
PRICE = 0.05
"""What one table reads more may be this share of what is saved in all: the price of the advice."""
LEAST_KEPT = 0.25
"""Advice that saves less than this share of its promise is in vain."""
WITHIN = 0.9
"""The least share of predictions within their own stated error."""


class RoundFigure(Frozen):
    """A figure of a round, before and after; less is better.

    Attributes:
        noise: Two standard errors of the difference, from the rounds before and after.
    """

    before: float
    after: float
    noise: float

    def __str__(self) -> str:
        return f"{self.before:,.0f} → {self.after:,.0f}"

    @property
    def saved(self) -> float:
        """What a round has less of it."""
        return self.before - self.after

    def worse(self, price: float = 0.0) -> bool:
        """Whether it rose by more than chance, and more than ``price`` allows."""
        return -self.saved > max(self.noise, MOST_WORSE * self.before, FEW, price)


class PromisedSaving(Frozen):
    """A finding's effect, in pages or merges a round.

    Attributes:
        quantity, unit: As the finding says.
        per_round: The factor from its unit to that of a round.
        now, predicted: As the finding says.
        error: Its own stated error, a share of ``now``; None where it states none.
        measured: The quantity a round.
    """

    quantity: str
    unit: str
    per_round: float
    now: float
    predicted: float
    error: float | None
    measured: RoundFigure

    @property
    def promised(self) -> float:
        """Saving a round by the finding."""
        return (self.now - self.predicted) * self.per_round

    @property
    def off(self) -> float:
        """Promised less measured saving, as a share of what is read now by the finding."""
        return abs(self.promised - self.measured.saved) / max(self.now * self.per_round, 1.0)

    @property
    def within(self) -> bool:
        """Whether it is within its own stated error, or within chance."""
        stated = (self.error or 0.0) * self.now * self.per_round
        return abs(self.promised - self.measured.saved) <= max(stated, self.measured.noise, FEW)

    @property
    def in_vain(self) -> bool:
        """Whether the advice saved nothing, or much less than it promised."""
        return self.measured.saved <= max(0.0, LEAST_KEPT * self.promised)


class FollowedAdvice(Frozen):
    """A finding, or an alternative of one, that was followed.

    Attributes:
        rule, severity, confidence, summary, subject: As the finding says.
        alternative: Whether it is one.
        applied: The executed statements, or lines of the option file.
        refused: What the server refused; then nothing is measured.
        promise: None where its effect is not a rate, or where it states none.
        read, written: Pages a round, by everything.
        busy: Seconds that the clients worked in a round. It judges nothing: other work on the machine adds to it.
        tables: Pages read a round from each table's file.
    """

    rule: str
    severity: str
    confidence: float
    summary: str
    subject: Mapping[str, str]
    alternative: bool
    applied: tuple[str, ...]
    refused: str = ""
    promise: PromisedSaving | None
    read: RoundFigure
    written: RoundFigure
    busy: RoundFigure
    tables: Mapping[str, RoundFigure]

    @property
    def harm(self) -> tuple[str, ...]:
        """What got worse: all reads, all reads and writes, or the reads of another table."""
        own = f"{self.subject.get('schema')}/{self.subject.get('table')}"
        refused = [f"refused: {self.refused}"] if self.refused else []
        return (
            *refused,
            *worsened(self.read, self.written, {name: figure for name, figure in self.tables.items() if name != own}),
        )


def worsened(read: RoundFigure, written: RoundFigure, tables: Mapping[str, RoundFigure]) -> tuple[str, ...]:
    """What got worse: all reads, all reads and writes, or the reads of one of these tables."""
    price = PRICE * max(0.0, read.saved)
    both = RoundFigure(
        before=read.before + written.before, after=read.after + written.after, noise=read.noise + written.noise
    )
    worse = {what: figure for what, figure in (("reads", read), ("I/O", both)) if figure.worse()} | {
        f"reads of {name}": figure for name, figure in tables.items() if figure.worse(price)
    }
    return tuple(f"{what} {figure} a round" for what, figure in worse.items())


class GauntletRecord(Frozen):
    """A workload on a server.

    Attributes:
        about, expectation: The workload, and what the advice must be, in words.
        reported: Whether the workload comes from a report of wrong advice.
        said: The rules that fired.
        unexpected: What is not as expected; empty if all is.
        blind: The rules that could not judge.
        read, written: Pages a round before any advice.
        noise: Of ``read``, two standard errors.
        seconds, busy: Of a round, with and without its rest.
        entries: Everything that was followed.
    """

    about: str
    expectation: str
    reported: bool
    said: tuple[str, ...]
    unexpected: tuple[str, ...]
    blind: tuple[str, ...]
    read: float
    written: float
    noise: float
    seconds: float
    busy: float
    entries: tuple[FollowedAdvice, ...]


def broken(records: Iterable[tuple[str, GauntletRecord]]) -> list[str]:
    """The bounds that records break, each with its workload: expectations, harm, in vain, and stated errors."""
    failures, within = [], []
    for name, record in records:
        failures += [f"{name}: {unexpected}" for unexpected in record.unexpected]
        for entry in record.entries:
            advice = f"{name}: {'an alternative of ' if entry.alternative else ''}{entry.rule}"
            failures += [f"{advice} harms: {harm}" for harm in entry.harm]
            if entry.promise is None or entry.refused:
                continue
            within.append(entry.promise.within)
            if entry.promise.in_vain:
                failures.append(f"{advice} is in vain: {entry.promise.quantity} {entry.promise.measured} a round")
    share = sum(within) / len(within) if within else None
    within_error = Criterion(
        "share of predictions within their own stated error", share, least=WITHIN, cases=len(within)
    )
    return failures + list(criterion.broken([within_error]))
