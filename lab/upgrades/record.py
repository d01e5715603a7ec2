"""The record of an upgrade: the load before and after, what was foretold of it, and the bounds of that."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from advisor.contract.recommendation import Frozen
from lab.gauntlet.record import FEW, LEAST_KEPT, RoundFigure
from lab.gauntlet.record import WITHIN as WITHIN_SHARE
from lab.gauntlet.rounds import READ, TEMPORARY, WRITTEN
from lab.reports import criterion
from lab.reports.criterion import Criterion

WITHIN = 0.2
"""The largest share of the measured value that a prediction may be off, where it states no interval that holds it."""
LARGER = 0.1
"""A change of so large a share must be foretold, or be named as not known."""
MOST_TIMES, MIXED = 2.5, 1.25
"""A load with so many times as much work a second is another one, as is one of whose kinds of work one rose more."""
AGAIN = "again"
"""A figure of a restart under the load: pages read in rounds after it, once a dump of the pool is loaded."""
FIGURES = {
    READ: "pages read",
    WRITTEN: "pages written",
    TEMPORARY: "bytes of temporary files",
    AGAIN: "pages read again after a restart",
}
_SPEAKS_OF = {
    READ: re.compile(r"\bread", re.IGNORECASE),
    WRITTEN: re.compile(r"\b(write|written|flush)", re.IGNORECASE),
    TEMPORARY: re.compile(r"\btemporary files", re.IGNORECASE),
    AGAIN: re.compile(r"\bafter a restart", re.IGNORECASE),
}
"""What a text that names an unknown speaks of, by the figure."""
_QUANTITIES = {
    READ: "pages read ",
    WRITTEN: "pages written ",
    TEMPORARY: "bytes that a build ",
    AGAIN: "young pages that are read again ",
}
"""How quantities begin that are a part of a figure. Others, such as the pages that the first start reads, are not."""
_SUMS = (READ, WRITTEN)
"""Figures of which effects are a part. The others are foretold whole."""
_THREE_ERRORS = 1.5
"""Of two standard errors. Some of a hundred figures differ by two, and hardly one by three."""
_LITTLE = {AGAIN: 1_000.0}
"""Differences that are chance in any case; of other figures FEW. The advisor leaves fewer pages alone that are read
again (warmup-disabled)."""


def _counted(figures: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    return {name: (round(mean, 3), round(error, 3)) for name, (mean, error) in figures.items() if mean}


class LoadFigures(Frozen):
    """A load on a server.

    Attributes:
        server: In words.
        version: As the server prints it, or that of which it has the defaults.
        rounds: How many were counted.
        seconds: Of a round.
        figures: Of a round, by name: the mean, and two standard errors of it. Those that are 0 are left out.
        work: Pieces of work in a round, by what they are; empty where a round has the same before and after.
    """

    server: str
    version: str
    rounds: int
    seconds: float
    figures: Annotated[Mapping[str, tuple[float, float]], AfterValidator(_counted)]
    work: Mapping[str, float] = Field(default_factory=dict)


class ForetoldEffect(Frozen):
    """An effect of the forecast; the attributes are those of `UpgradeEffect`."""

    name: str
    summary: str
    subject: Mapping[str, str]
    quantity: str | None
    unit: str
    now: float | None
    predicted: float | None
    low: float | None
    high: float | None
    pages_per_second: float | None
    better: bool | None

    def concerns(self, figure: str) -> bool:
        """Whether its quantity is a part of a figure, or a table's share of the reads."""
        if "/" in figure:
            own = f"{self.subject.get('schema')}/{self.subject.get('table')}"
            return own == figure and self.concerns(READ)
        return self.predicted is not None and (self.quantity or "").startswith(_QUANTITIES[figure])

    def more(self, seconds: float) -> tuple[float, float, float]:
        """What a round of so many seconds has more of the quantity: as expected, at least and at most."""
        now, predicted = self.now or 0.0, self.predicted or 0.0
        times = seconds if "second" in f"{self.quantity} {self.unit}" else 1.0
        if times == 1.0 and self.pages_per_second and predicted != now:
            times = self.pages_per_second * seconds / (predicted - now)  # passes of a round
        low, high = (predicted if bound is None else bound for bound in (self.low, self.high))
        return times * (predicted - now), times * (low - now), times * (high - now)


@dataclass(frozen=True)
class ForetoldFigure:
    """A figure of a round, foretold and measured.

    Attributes:
        what: In words.
        measured: Before and after.
        predicted: After it; None where nothing was foretold of it, so that it must stay as it is.
        low, high: The stated interval.
        unknown: Whether it was named as not known.
        little: A difference that is chance in any case.
    """

    what: str
    measured: RoundFigure
    predicted: float | None = None
    low: float | None = None
    high: float | None = None
    unknown: bool = False
    little: float = FEW

    @property
    def changed(self) -> bool:
        """Whether it changed by more than chance and a tenth."""
        change = abs(self.measured.saved)
        chance = _THREE_ERRORS * self.measured.noise
        return change > max(LARGER * max(self.measured.before, self.measured.after), chance, self.little)

    @property
    def held(self) -> bool:
        """Whether the bounds are kept."""
        if self.predicted is None:
            return self.unknown or not self.changed
        off = abs(self.predicted - self.measured.after)
        inside = (self.low or 0.0) <= self.measured.after <= (math.inf if self.high is None else self.high)
        stated = inside and self.high is not None
        return stated or off <= max(WITHIN * self.measured.after, self.measured.noise, self.little)

    @property
    def in_vain(self) -> bool:
        """Whether most of a foretold change, or all of it, did not come."""
        if self.predicted is None or self.held:
            return False
        foretold, came = self.predicted - self.measured.before, -self.measured.saved
        return abs(foretold) > LARGER * self.measured.before and came / foretold < LEAST_KEPT

    @property
    def verdict(self) -> str:
        """In words."""
        if self.predicted is None:
            silent = "as foretold, no change" if not self.changed else "not foretold"
            return "named as not known" if self.changed and self.unknown else silent
        off = (self.predicted - self.measured.after) / max(self.measured.after, 1.0)
        return f"{off:+.0%}" if self.held else f"{off:+.0%}: off"


class UpgradedLoad(Frozen):
    """A load before and after an upgrade, and what the recording of before foretold.

    Attributes:
        name: Of the route and the load.
        before, after: The load.
        effects: What was foretold.
        unknown: What was named as not known.
    """

    name: str
    before: LoadFigures
    after: LoadFigures
    effects: tuple[ForetoldEffect, ...]
    unknown: tuple[str, ...]

    def figure(self, name: str) -> RoundFigure:
        """A figure of a round of the load after the upgrade, and the same of before for as much work."""
        was, is_ = (load.figures.get(name, (0.0, 0.0)) for load in (self.before, self.after))
        times = self._work
        return RoundFigure(before=times * was[0], after=is_[0], noise=math.hypot(times * was[1], is_[1]))

    def foretold(self) -> Iterator[ForetoldFigure]:
        """All figures, and the reads of the tables that effects are of, with what was foretold of them."""
        for name, what in FIGURES.items():
            yield self._foretold(name, what)
        for table in sorted({name for load in (self.before, self.after) for name in load.figures if "/" in name}):
            if any(effect.concerns(table) for effect in self.effects):
                yield self._foretold(table, f"pages read of {table}")

    def _foretold(self, name: str, what: str) -> ForetoldFigure:
        measured, effects = self.figure(name), [effect for effect in self.effects if effect.concerns(name)]
        unknown = any(_SPEAKS_OF[READ if "/" in name else name].search(text) for text in self.unknown)
        little = _LITTLE.get(name, FEW)
        if not effects:
            return ForetoldFigure(what, measured, unknown=unknown, little=little)
        if name in _SUMS or "/" in name:
            more = zip(*(effect.more(self.before.seconds) for effect in effects), strict=True)
            predicted, low, high = (measured.before + self._work * math.fsum(column) for column in more)
            return ForetoldFigure(what, measured, predicted, low, high, unknown, little)
        [whole] = effects
        return ForetoldFigure(what, measured, whole.predicted, whole.low, whole.high, unknown, little)

    @property
    def other_load(self) -> str:
        """Why the loads cannot be compared; empty if they can: as much of all work, as far as a server lets them."""
        pace = {what: times * self.before.seconds / self.after.seconds for what, times in self._times.items()}
        of_each = ", ".join(f"{times:.2g} times as many {what} a second" for what, times in pace.items())
        if any(not 1 / MOST_TIMES <= times <= MOST_TIMES for times in pace.values()):
            return f"another pace: {of_each}"
        return f"another mix: {of_each}" if pace and max(pace.values()) > MIXED * min(pace.values()) else ""

    @property
    def _times(self) -> dict[str, float]:
        """Work of a round after the upgrade, as a multiple of that before, by what it is."""
        return {
            name: self.after.work[name] / pieces for name, pieces in self.before.work.items() if name in self.after.work
        }

    @property
    def _work(self) -> float:
        return next(iter(self._times.values()), 1.0)

    def judged(self) -> Iterator[ForetoldFigure]:
        """The figures; none where the load is another one."""
        return iter(()) if self.other_load else self.foretold()

    def broken(self) -> Iterator[str]:
        """What was not foretold, and what was foretold and did not come, in words."""
        for figure in self.judged():
            if figure.in_vain or (figure.predicted is None and not figure.held):
                predicted = "" if figure.predicted is None else f", {figure.predicted:,.0f} foretold"
                yield f"{self.name}: {figure.what} {figure.measured} a round{predicted}: {figure.verdict}"


def broken(upgrades: Iterable[UpgradedLoad]) -> Iterator[str]:
    """The bounds that upgrades break, in words."""
    numbers = []
    for upgraded in upgrades:
        yield from upgraded.broken()
        numbers += [figure.held for figure in upgraded.judged() if figure.predicted is not None]
    share = sum(numbers) / len(numbers) if numbers else None
    yield from criterion.broken(
        [Criterion("share of predicted figures that hold", share, least=WITHIN_SHARE, cases=len(numbers))]
    )
