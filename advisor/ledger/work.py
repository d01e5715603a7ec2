"""Whether the work after a change is that of before: then what is read and waited for can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from advisor.ledger.reading import READ, Reading, Work
from advisor.observe.window import total

FACTOR = 1.5
"""Rates of comparable work differ by less."""
_SHARE = 0.05
"""Of the time of all statements: less work counts only if its table has such a share of all pages read."""
_NOISE = 2.0
"""Standard errors."""


@dataclass(frozen=True, slots=True)
class _Moved:
    """Work of one kind before and after.

    Attributes:
        name: In words.
        table: Schema and table; empty for all statements.
        rates: Rows a second.
        seconds: Seconds of statements a second; None where not known.
        noise: Of the difference of the rates.
    """

    name: str
    table: tuple[str, ...]
    rates: tuple[float, float]
    seconds: tuple[float, float] | None
    noise: float

    @property
    def ratio(self) -> float:
        return _ratio(*self.rates)


def changed_work(before: Reading, after: Reading) -> str:
    """Why the work is not comparable, in words; empty where it is.

    Each kind of work that takes a share of the time must go on at about the same rate. Another rate may be the effect
    of the change, for clients that wait for each answer: then statements take as much time as before for more or for
    fewer rows. So a rate may differ if the time of its statements does not. Or it keeps step with the work that takes
    most time, where that is explained so, or all work together takes as much time as before.
    """
    moved = list(_moved(before, after))
    if not moved:
        return "what work was done is not known"
    if len({each.table == () for each in moved}) > 1:
        return "performance_schema tells of the work on one side of the change only"
    times = [each.seconds for each in moved if each.seconds is not None]
    sums = (total(each[0] for each in times), total(each[1] for each in times))
    read = {*_much_read(before), *_much_read(after)}
    counted = [each for each in moved if _counts(each, sums) or (each.table in read and _counts_in_table(each, moved))]
    if not counted:
        return "nothing was done" if not any(max(each.rates) for each in moved) else ""
    leading = max(counted, key=lambda each: sum(each.seconds or (0.0, 0.0)))
    in_step = _explained(leading) or (bool(times) and _alike(_ratio(*sums)))
    wrong = [
        each
        for each in counted
        if not (_explained(each) or (in_step and _alike(_ratio(leading.ratio, each.ratio))))
        and abs(each.rates[1] - each.rates[0]) > each.noise
    ]
    if not wrong:
        return ""
    worst = max(wrong, key=lambda each: _ratio(min(each.rates), max(each.rates)))
    was, is_ = worst.rates
    return f"the work changed: {worst.name} went from {was:,.4g} to {is_:,.4g} rows a second"


def _moved(before: Reading, after: Reading) -> Iterator[_Moved]:
    sides = [{(*sorted(each.subject.items()), each.way): each for each in reading.work} for reading in (before, after)]
    for key in dict.fromkeys(chain(*sides)):
        was, is_ = (of.get(key) for of in sides)
        known = was or is_
        if known is None:
            continue
        rates = _rate(was, before), _rate(is_, after)
        seconds = None
        if all(each is None or each.seconds for each in (was, is_)):
            seconds = _spent(was, before), _spent(is_, after)
        noise = _NOISE * (_variance(was, before) + _variance(is_, after)) ** 0.5
        name = f"{known.way} of {'.'.join(known.subject.values())}" if known.subject else known.way
        yield _Moved(name, tuple(known.subject.values()), rates, seconds, noise)


def _much_read(reading: Reading) -> dict[tuple[str, ...], float]:
    """Tables with a share of all pages read that counts."""
    pages = {tuple(each.subject.values()): total(each.amounts) for each in reading.measures if each.quantity == READ}
    return {table: read for table, read in pages.items() if read > _SHARE * total(pages.values())}


def _counts(moved: _Moved, sums: tuple[float, float]) -> bool:
    if moved.seconds is None:
        return True
    return any(own > _SHARE * all_ for own, all_ in zip(moved.seconds, sums, strict=True))


def _counts_in_table(moved: _Moved, all_: list[_Moved]) -> bool:
    """Whether it is a share of the work in its table."""
    of_table = [each for each in all_ if each.table == moved.table]
    if any(each.seconds is None for each in of_table):
        return True
    sums = [total(each.seconds[side] for each in of_table if each.seconds) for side in (0, 1)]
    return _counts(moved, (sums[0], sums[1]))


def _explained(moved: _Moved) -> bool:
    """Whether the rate is the same, or statements only take more or less time for the rows that clients ask for."""
    if _alike(moved.ratio):
        return True
    if moved.seconds is None:
        return False
    seconds = _ratio(*moved.seconds)
    return seconds < FACTOR if moved.ratio > 1.0 else seconds > 1.0 / FACTOR


def _alike(ratio: float) -> bool:
    return 1.0 / FACTOR < ratio < FACTOR


def _ratio(before: float, after: float) -> float:
    return after / before if before else (1.0 if not after else float("inf"))


def _rate(work: Work | None, reading: Reading) -> float:
    return total(work.rows) / total(reading.seconds) if work else 0.0


def _spent(work: Work | None, reading: Reading) -> float:
    return total(work.seconds) / total(reading.seconds) if work else 0.0


def _variance(work: Work | None, reading: Reading) -> float:
    """Of the rate."""
    count = len(reading.seconds)
    if work is None or count < 2:
        return 0.0
    rate = _rate(work, reading)
    residuals = sum((rows - rate * each) ** 2 for rows, each in zip(work.rows, reading.seconds, strict=True))
    return float(count / (count - 1) * residuals / total(reading.seconds) ** 2)
