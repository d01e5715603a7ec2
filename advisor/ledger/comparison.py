"""Comparison of two readings by the same work: what a quantity was, what it became, and what chance may have made."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.ledger.entry import Compared
from advisor.ledger.reading import READ_UNIT, WAITED, WAITED_UNIT, Measure, Reading, Subject
from advisor.observe.limits import MAY_READ

LEAST_WINDOWS = 3
"""Windows over which a rise must last, and as many before the change tell what is usual."""


@dataclass(frozen=True, slots=True)
class _Rise:
    """When a rise is the change's. Six hours of ordinary work, with changes that have no effect, must show none.

    Attributes:
        share_read, least_read: A rise of reads that matters: a share of what was before, and pages a second.
        share_waited, least_waited: The same of time waited, in ms. It also rises when the machine does other work.
        many_windows: With so many, their own spread tells of swings that are longer than a slice.
        swings: Standard deviations from window to window: reads for a row drift over minutes, and noise is no measure.
        chance: Probability that chance alone makes any of the compared quantities seem to rise.
    """

    share_read: float = 0.2
    least_read: float = MAY_READ
    share_waited: float = 0.5
    least_waited: float = 20.0
    many_windows: int = 6
    swings: float = 3.0
    chance: float = 0.025


_RISE = _Rise()


@dataclass(frozen=True, slots=True)
class Level:
    """A quantity over a reading, at the work of a second before the change.

    Attributes:
        value: As its unit says.
        variance: Of the value, by the spread of the slices; by that of the windows where it is larger and there are
            enough of them.
        degrees: Of freedom.
        windows: Its value over each window, oldest first; None where nothing was done.
    """

    value: float
    variance: float
    degrees: float
    windows: tuple[float | None, ...]

    @property
    def swing(self) -> float:
        """How far it goes up and down by itself from window to window: a standard deviation."""
        known = [value for value in self.windows if value is not None]
        return statistics.stdev(known) if len(known) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A quantity before and after a change.

    Attributes:
        moved: By what share more, or less, of the work was asked for: reads for a row may move with it by themselves.
    """

    quantity: str
    unit: str
    subject: Subject
    before: Level
    after: Level
    moved: float


def level_changes(before: Reading, after: Reading, window_seconds: float) -> list[LevelChange]:
    """Every quantity that was measured before and after, where enough was done to tell chance.

    Args:
        before: What was measured before the change.
        after: What was measured after it.
        window_seconds: Length of a window that counts as one.
    """
    changes = []
    for measure in before.measures:
        again = after.measure(measure.quantity, measure.subject)
        if again is None:
            continue
        scale = before.scale(measure)
        then, now = _level(before, measure, scale, window_seconds), _level(after, again, scale, window_seconds)
        if then is not None and now is not None:
            moved = _moved(before, after, measure, again)
            changes.append(LevelChange(measure.quantity, measure.unit, measure.subject, then, now, moved))
    return changes


def sum_of(changes: Sequence[LevelChange], subject: Subject) -> LevelChange:
    """The sum of the same quantity of several subjects; one that was idle in a window counts with its mean there."""
    weights = [max(change.before.value, change.after.value) for change in changes]  # what reads most weighs most
    moved = sum(weight * change.moved for weight, change in zip(weights, changes, strict=True)) / (sum(weights) or 1.0)
    before, after = _sum([change.before for change in changes]), _sum([change.after for change in changes])
    return LevelChange(changes[0].quantity, changes[0].unit, subject, before, after, moved)


def _level(reading: Reading, measure: Measure, scale: float, window_seconds: float) -> Level | None:
    """A quantity over a reading, for so many units of work; None where nothing was done, or too little."""
    quotient = measure.quotient
    if quotient is None or len(measure.bases) < 2:
        return None
    windows = _by_window(reading, measure, window_seconds)
    amounts, bases = ([sum(slice_[part] for slice_ in window) for window in windows] for part in (0, 1))
    of_slices = variance(measure.amounts, measure.bases)
    of_windows = variance(amounts, bases) if len(windows) >= _RISE.many_windows else 0.0
    return Level(
        quotient * scale,
        max(of_slices, of_windows) * scale**2,
        float(len(measure.bases) - 1 if of_slices >= of_windows else len(windows) - 1),
        tuple(amount / base * scale if base else None for amount, base in zip(amounts, bases, strict=True)),
    )


def _moved(before: Reading, after: Reading, measure: Measure, again: Measure) -> float:
    """By what share another amount of work was asked for: not where clients only waited longer, or less, for it."""
    moved = [_share_moved(before, after, measure.bases, again.bases)]
    then, now = (reading.measure(WAITED, measure.subject) for reading in (before, after))
    if then is not None and now is not None:
        moved.append(_share_moved(before, after, then.amounts, now.amounts))
    return min(moved)


def _share_moved(before: Reading, after: Reading, amounts: Sequence[float], again: Sequence[float]) -> float:
    """By what share an amount a second moved, up or down."""
    rates = sum(amounts) / sum(before.seconds), sum(again) / sum(after.seconds)
    return max(rates) / min(rates) - 1.0 if min(rates) else math.inf


def _sum(levels: Sequence[Level]) -> Level:
    count = min(len(level.windows) for level in levels)
    windows = [level.windows[len(level.windows) - count :] for level in levels]
    return Level(
        sum(level.value for level in levels),
        sum(level.variance for level in levels),
        min(level.degrees for level in levels),
        tuple(
            sum(level.value if value is None else value for level, value in zip(levels, values, strict=True))
            for values in zip(*windows, strict=True)
        ),
    )


def compared(change: LevelChange, comparisons: int) -> Compared:
    """A quantity before and after the change; ``comparisons`` is how many are made at once.

    ``worse`` needs all of: a rise beyond noise, by a share and an amount that matter, far beyond its swings before,
    by a larger share than the work moved by, and over each of the last LEAST_WINDOWS windows more than over any window
    before.
    """
    before, after = change.before, change.after
    noise = _quantile(before, after, comparisons) * (before.variance + after.variance) ** 0.5
    least = max(noise, matters(change.unit, before.value), _RISE.swings * before.swing, change.moved * before.value)
    return Compared(
        quantity=change.quantity,
        unit=change.unit,
        subject=change.subject,
        before=_rounded(before.value),
        after=_rounded(after.value),
        noise=_rounded(noise),
        worse=_lasted(before, after) and after.value - before.value > least,
    )


def matters(unit: str, before: float) -> float:
    """The least rise that matters."""
    share, least = {
        READ_UNIT: (_RISE.share_read, _RISE.least_read),
        WAITED_UNIT: (_RISE.share_waited, _RISE.least_waited),
    }.get(unit, (_RISE.share_waited, 0.0))
    return max(share * before, least)


def _lasted(before: Level, after: Level) -> bool:
    last, known = after.windows[-LEAST_WINDOWS:], [value for value in before.windows if value is not None]
    if min(len(last), len(known)) < LEAST_WINDOWS:
        return False
    return all(value is not None and value > max(known) for value in last)


def _by_window(reading: Reading, measure: Measure, window_seconds: float) -> list[list[tuple[float, float]]]:
    """Amounts and work of the slices of each whole window, oldest first; windows are counted from the end."""
    by_window: dict[int, list[tuple[float, float]]] = {}
    elapsed = 0.0
    for seconds, amount, base in zip(
        reversed(reading.seconds), reversed(measure.amounts), reversed(measure.bases), strict=True
    ):
        by_window.setdefault(int((elapsed + seconds / 2) // window_seconds), []).append((amount, base))
        elapsed += seconds
    whole = round(elapsed / window_seconds)
    return [by_window[number] for number in sorted(by_window, reverse=True) if number < max(1, whole)]


def variance(amounts: Sequence[float], bases: Sequence[float]) -> float:
    """Of the quotient of sums, from the residuals of the parts (Cochran, Sampling Techniques, 6.3)."""
    count, base = len(amounts), sum(bases)
    if count < 2 or not base:
        return 0.0
    quotient = sum(amounts) / base
    residuals = sum((amount - quotient * part) ** 2 for amount, part in zip(amounts, bases, strict=True))
    return float(count / (count - 1) * residuals / base**2)


def _quantile(before: Level, after: Level, comparisons: int) -> float:
    """Standard errors that chance exceeds in none of the comparisons, at least two: Student's t for Welch's test.

    Chance is shared out among them (Bonferroni). The quantile is by its expansion in the degrees of freedom (Abramowitz
    and Stegun, 26.7.5).
    """
    z = statistics.NormalDist().inv_cdf(1.0 - _RISE.chance / max(1, comparisons))
    both = before.variance + after.variance
    parts = sum(level.variance**2 / level.degrees for level in (before, after) if level.degrees)
    degrees = both**2 / parts if parts else 1e6
    t = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    return max(2.0, t)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
