"""Comparison of two readings by the same work: what a quantity was, what it became, and what chance may have made."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.ledger.entry import Compared
from advisor.ledger.reading import WINDOW_SECONDS, Measure, Reading, Subject
from advisor.observe.limits import MAY_READ

LEAST_WINDOWS = 3
"""Windows over which a rise must last, and as many before the change tell what is usual."""
SHARE_READ, SHARE_WAITED = 0.2, 0.5
"""Rises that matter, as a share of what was before. Time waited rises, too, when the machine does other work."""
LEAST_READ, LEAST_WAITED = MAY_READ, 20.0
"""Rises that matter, in pages and in milliseconds per second."""
_MANY_WINDOWS = 6
"""Windows whose own spread tells of swings that are longer than a slice."""
_SWINGS = 3.0
"""Standard deviations from window to window: reads for a row drift over minutes, and then noise is no measure."""
_CHANCE = 0.025
"""That chance alone makes any of the compared quantities seem to rise."""


@dataclass(frozen=True, slots=True)
class Side:
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
        known = [each for each in self.windows if each is not None]
        return statistics.stdev(known) if len(known) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Pair:
    """A quantity before and after.

    Attributes:
        moved: By what share more, or less, of the work was asked for: reads for a row may move with it by themselves.
    """

    before: Side
    after: Side
    moved: float = 0.0


def side(reading: Reading, measure: Measure, scale: float, window_seconds: float = WINDOW_SECONDS) -> Side | None:
    """A quantity over a reading; None where nothing was done, or too little to tell chance.

    Args:
        reading: Has the measure.
        measure: An amount for each unit of work.
        scale: Units of work.
        window_seconds: Length of a window that counts as one.
    """
    quotient = measure.quotient
    if quotient is None or len(measure.bases) < 2:
        return None
    windows = _by_window(reading, measure, window_seconds)
    amounts, bases = ([sum(each[part] for each in window) for window in windows] for part in (0, 1))
    of_slices = _variance(measure.amounts, measure.bases)
    of_windows = _variance(amounts, bases) if len(windows) >= _MANY_WINDOWS else 0.0
    return Side(
        quotient * scale,
        max(of_slices, of_windows) * scale**2,
        float(len(measure.bases) - 1 if of_slices >= of_windows else len(windows) - 1),
        tuple(amount / base * scale if base else None for amount, base in zip(amounts, bases, strict=True)),
    )


def together(pairs: Sequence[Pair]) -> Pair:
    """The sum of quantities; one that was idle in a window counts with its mean there."""
    weights = [max(pair.before.value, pair.after.value) for pair in pairs]  # what reads most says how much all moved
    moved = sum(weight * pair.moved for weight, pair in zip(weights, pairs, strict=True)) / (sum(weights) or 1.0)
    return Pair(_sum([pair.before for pair in pairs]), _sum([pair.after for pair in pairs]), moved)


def _sum(sides: Sequence[Side]) -> Side:
    count = min(len(each.windows) for each in sides)
    windows = [each.windows[len(each.windows) - count :] for each in sides]
    return Side(
        sum(each.value for each in sides),
        sum(each.variance for each in sides),
        min(each.degrees for each in sides),
        tuple(
            sum(each.value if value is None else value for each, value in zip(sides, values, strict=True))
            for values in zip(*windows, strict=True)
        ),
    )


def compared(quantity: str, unit: str, subject: Subject, pair: Pair, comparisons: int) -> Compared:
    """A quantity before and after the change; ``comparisons`` is how many are made at once.

    ``worse`` needs all of: a rise beyond noise, by a share and an amount that matter, far beyond its swings before,
    by a larger share than the work moved by, and over each of the last LEAST_WINDOWS windows more than over any window
    before.
    """
    before, after = pair.before, pair.after
    noise = _quantile(before, after, comparisons) * (before.variance + after.variance) ** 0.5
    rise = after.value - before.value
    return Compared(
        quantity=quantity,
        unit=unit,
        subject=subject,
        before=_rounded(before.value),
        after=_rounded(after.value),
        noise=_rounded(noise),
        worse=_lasted(before, after)
        and rise > max(noise, matters(unit, before.value), _SWINGS * before.swing, pair.moved * before.value),
    )


def matters(unit: str, before: float) -> float:
    """The least rise that matters."""
    share, least = {
        "pages per second": (SHARE_READ, LEAST_READ),
        "ms per second": (SHARE_WAITED, LEAST_WAITED),
    }.get(unit, (SHARE_WAITED, 0.0))
    return max(share * before, least)


def _lasted(before: Side, after: Side) -> bool:
    last, known = after.windows[-LEAST_WINDOWS:], [each for each in before.windows if each is not None]
    if min(len(last), len(known)) < LEAST_WINDOWS:
        return False
    return all(each is not None and each > max(known) for each in last)


def _by_window(reading: Reading, measure: Measure, window_seconds: float) -> list[list[tuple[float, float]]]:
    """Amounts and work of the slices of each whole window, oldest first; windows are counted from the end."""
    found: dict[int, list[tuple[float, float]]] = {}
    elapsed = 0.0
    for seconds, amount, base in zip(
        reversed(reading.seconds), reversed(measure.amounts), reversed(measure.bases), strict=True
    ):
        found.setdefault(int((elapsed + seconds / 2) // window_seconds), []).append((amount, base))
        elapsed += seconds
    whole = round(elapsed / window_seconds)
    return [found[number] for number in sorted(found, reverse=True) if number < max(1, whole)]


def _variance(amounts: Sequence[float], bases: Sequence[float]) -> float:
    """Of the quotient of sums, from the residuals of the parts (Cochran, Sampling Techniques, 6.3)."""
    count, base = len(amounts), sum(bases)
    if count < 2 or not base:
        return 0.0
    quotient = sum(amounts) / base
    residuals = sum((amount - quotient * each) ** 2 for amount, each in zip(amounts, bases, strict=True))
    return float(count / (count - 1) * residuals / base**2)


def _quantile(before: Side, after: Side, comparisons: int) -> float:
    """Standard errors that chance exceeds in none of the comparisons, at least two: Student's t for Welch's test.

    Chance is shared out among them (Bonferroni). The quantile is by its expansion in the degrees of freedom (Abramowitz
    and Stegun, 26.7.5).
    """
    z = statistics.NormalDist().inv_cdf(1.0 - _CHANCE / max(1, comparisons))
    both = before.variance + after.variance
    parts = sum(each.variance**2 / each.degrees for each in (before, after) if each.degrees)
    degrees = both**2 / parts if parts else 1e6
    t = z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
    return max(2.0, t)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
