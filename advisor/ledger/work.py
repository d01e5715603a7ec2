"""Whether the work after a change is that of before: then what is read and waited for can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from advisor.ledger.comparison import variance
from advisor.ledger.reading import READ, Reading, Work
from advisor.observe.window import total


@dataclass(frozen=True, slots=True)
class _Comparable:
    """When work is that of before.

    Attributes:
        factor: Rates of comparable work differ by less.
        share: Of the time of all statements: less work counts only if its table has such a share of all pages read.
        noise: Standard errors within which rates are the same.
    """

    factor: float = 1.5
    share: float = 0.05
    noise: float = 2.0


_COMPARABLE = _Comparable()


@dataclass(frozen=True, slots=True)
class _WorkRates:
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
    kinds = list(_kinds(before, after))
    if not kinds:
        return "what work was done is not known"
    if len({kind.table == () for kind in kinds}) > 1:
        return "performance_schema tells of the work on one side of the change only"
    times = [kind.seconds for kind in kinds if kind.seconds is not None]
    sums = (total(seconds[0] for seconds in times), total(seconds[1] for seconds in times))
    read = {*_much_read(before), *_much_read(after)}
    counted = [kind for kind in kinds if _counts(kind, sums) or (kind.table in read and _counts_in_table(kind, kinds))]
    if not counted:
        return "nothing was done" if not any(max(kind.rates) for kind in kinds) else ""
    leading = max(counted, key=lambda kind: sum(kind.seconds or (0.0, 0.0)))
    in_step = _explained(leading) or (bool(times) and _alike(_ratio(*sums)))
    changed = [
        kind
        for kind in counted
        if not (_explained(kind) or (in_step and _alike(_ratio(leading.ratio, kind.ratio))))
        and abs(kind.rates[1] - kind.rates[0]) > kind.noise
    ]
    if not changed:
        return ""
    worst = max(changed, key=lambda kind: _ratio(min(kind.rates), max(kind.rates)))
    was, is_ = worst.rates
    return f"the work changed: {worst.name} went from {was:,.4g} to {is_:,.4g} rows a second"


def _kinds(before: Reading, after: Reading) -> Iterator[_WorkRates]:
    sides = [{(*sorted(work.subject.items()), work.way): work for work in reading.work} for reading in (before, after)]
    for key in dict.fromkeys(chain(*sides)):
        was, is_ = (side.get(key) for side in sides)
        known = was or is_
        if known is None:
            continue
        rates = _rate(was, before), _rate(is_, after)
        seconds = None
        if all(work is None or work.seconds for work in (was, is_)):
            seconds = _spent(was, before), _spent(is_, after)
        variances = (variance(work.rows, side.seconds) for work, side in ((was, before), (is_, after)) if work)
        noise = _COMPARABLE.noise * total(variances) ** 0.5
        name = f"{known.way} of {'.'.join(known.subject.values())}" if known.subject else known.way
        yield _WorkRates(name, tuple(known.subject.values()), rates, seconds, noise)


def _much_read(reading: Reading) -> dict[tuple[str, ...], float]:
    """Tables with a share of all pages read that counts."""
    pages = {
        tuple(measure.subject.values()): total(measure.amounts)
        for measure in reading.measures
        if measure.quantity == READ
    }
    return {table: read for table, read in pages.items() if read > _COMPARABLE.share * total(pages.values())}


def _counts(kind: _WorkRates, sums: tuple[float, float]) -> bool:
    if kind.seconds is None:
        return True
    return any(own > _COMPARABLE.share * all_ for own, all_ in zip(kind.seconds, sums, strict=True))


def _counts_in_table(kind: _WorkRates, kinds: list[_WorkRates]) -> bool:
    """Whether it is a share of the work in its table."""
    times = [other.seconds for other in kinds if other.table == kind.table]
    known = [seconds for seconds in times if seconds is not None]
    if len(known) < len(times):
        return True
    return _counts(kind, (total(seconds[0] for seconds in known), total(seconds[1] for seconds in known)))


def _explained(kind: _WorkRates) -> bool:
    """Whether the rate is the same, or statements only take more or less time for the rows that clients ask for."""
    if _alike(kind.ratio):
        return True
    if kind.seconds is None:
        return False
    seconds = _ratio(*kind.seconds)
    return seconds < _COMPARABLE.factor if kind.ratio > 1.0 else seconds > 1.0 / _COMPARABLE.factor


def _alike(ratio: float) -> bool:
    return 1.0 / _COMPARABLE.factor < ratio < _COMPARABLE.factor


def _ratio(before: float, after: float) -> float:
    return after / before if before else (1.0 if not after else float("inf"))


def _rate(work: Work | None, reading: Reading) -> float:
    return total(work.rows) / total(reading.seconds) if work else 0.0


def _spent(work: Work | None, reading: Reading) -> float:
    return total(work.seconds) / total(reading.seconds) if work else 0.0
