"""What a benchmark declares: figures with their bounds, and the run that fills in their values."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

Say = Callable[[str], None]
"""Takes a progress message."""
LONGER = 3
"""A benchmark that breaks a bound is measured again, with this many times the rounds."""


class Values(BaseModel):
    """The values of a figure.

    Attributes:
        ours: One per round.
        beside: The rival's.
    """

    ours: tuple[float, ...]
    beside: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table.

    Attributes:
        what: The measured quantity.
        unit: Its unit.
        rival: What it is compared with, such as `mysqld_exporter`; empty for nothing.
        most: The bound of the median.
        most_ratio, least_ratio: The bounds of the ratio to the rival.
        paired: The ratio is the median of the rounds' ratios, instead of the ratio of the medians.
    """

    what: str
    unit: str = ""
    rival: str = ""
    most: float | None = None
    most_ratio: float | None = None
    least_ratio: float | None = None
    paired: bool = False

    @property
    def bound(self) -> str:
        """The bound in words; empty for none."""
        if self.most is not None:
            return f"≤ {self.most:g} {self.unit}".strip()
        if self.most_ratio is not None:
            return f"≤ {self.most_ratio:g} ×"
        return "" if self.least_ratio is None else f"≥ {self.least_ratio:g} ×"

    def ratio(self, values: Values) -> float | None:
        """Ours by the rival's. None without a rival, or where its value is 0."""
        if not values.beside or 0 in values.beside:
            return None
        if self.paired:
            return statistics.median(ours / beside for ours, beside in zip(values.ours, values.beside, strict=True))
        return statistics.median(values.ours) / statistics.median(values.beside)

    def holds(self, values: Values | None) -> bool:
        """Whether the bound holds. It does not where the value, or the rival's, is missing."""
        if not self.bound:
            return True
        if values is None:
            return False
        if self.most is not None:
            return statistics.median(values.ours) <= self.most
        ratio = self.ratio(values)
        if ratio is None:
            return False
        return ratio <= self.most_ratio if self.most_ratio is not None else ratio >= (self.least_ratio or 0.0)

    def times_worse(self, values: Values, recorded: Values) -> float | None:
        """How many times worse the ratio is than the recorded one, below 1 if it is better; None without a ratio."""
        now, before = self.ratio(values), self.ratio(recorded)
        if not now or not before:
            return None
        return before / now if self.least_ratio is not None else now / before


@dataclass
class BenchRun:
    """One measurement of a benchmark: its length, its progress, and its values.

    Attributes:
        say: Takes progress messages.
        short: The short form, which CI runs.
        longer: A second measurement, after the first broke a bound.
        values: By key of the figure.
        versions: Versions of the programs, by name.
    """

    say: Say
    short: bool = False
    longer: bool = False
    values: dict[str, Values] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def scaled(self, whole: int, short: int) -> int:
        """A number of rounds or seconds: ``whole`` or ``short``, and `LONGER` times as many in a second measurement."""
        return (short if self.short else whole) * (LONGER if self.longer else 1)

    def rounds(self, what: str, whole: int, short: int) -> Iterator[int]:
        """The rounds from 1, `scaled`; a progress message such as `sweep 2 of 5` begins each."""
        last = self.scaled(whole, short)
        for number in range(1, last + 1):
            self.say(f"{what} {number} of {last}")
            yield number

    def put(self, key: str, ours: float | Iterable[float], beside: float | Iterable[float] = ()) -> None:
        """Take the values of a figure."""
        self.values[key] = Values(ours=_tuple(ours), beside=_tuple(beside))


def _tuple(values: float | Iterable[float]) -> tuple[float, ...]:
    return (values,) if isinstance(values, int | float) else tuple(values)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Figures that are measured together.

    Attributes:
        name: For `--only`, and of its record.
        title: One line.
        method: One paragraph.
        figures: By key, in the order of the table.
        measure: Puts the values into the run. Raises `UnavailableHere` or `StartError` without a server.
        seconds: Its approximate duration, whole and short.
    """

    name: str
    title: str
    method: str
    figures: Mapping[str, Figure]
    measure: Callable[[BenchRun], None]
    seconds: tuple[float, float]

    def broken(self, values: Mapping[str, Values]) -> list[str]:
        """The figures whose bound is broken or that lack a value."""
        return [key for key, figure in self.figures.items() if not figure.holds(values.get(key))]

    def run(self, say: Say, note: Say, *, short: bool) -> BenchRun:
        """Measure. In the long form a second, longer one follows a broken bound; ``note`` tells which it was."""
        run = BenchRun(say, short=short)
        self.measure(run)
        if not short and (broken := self.broken(run.values)):
            values = (f"{key}: {statistics.median(run.values[key].ours):.3g}" for key in broken if key in run.values)
            note(f"{self.name}: measured again, longer, since bounds of {broken} are broken; {', '.join(values)}")
            run = BenchRun(say, longer=True)
            self.measure(run)
        return run


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The lower and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high
