"""The choice of a setting's value by the pool's model, and its effect on a table or on the server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from advisor.contract.recommendation import Alternative, Effect, tidy
from advisor.facts import Choice, ScanFacts
from advisor.pool.choice import EQUAL, smallest_size
from advisor.pool.errors import Unanswerable, confidence
from advisor.pool.estimate import Reads
from advisor.pool.model import PoolModel
from advisor.pool.settings import POOL_SIZE
from advisor.pool.tables import GROWTH

_PCT = "innodb_old_blocks_pct"
_CANDIDATES: dict[str, tuple[float, ...]] = {
    _PCT: tuple(float(pct) for pct in range(5, 96, 5)),
    "innodb_old_blocks_time": (0.0, 1_000.0),  # 0 promotes pages at the second access; 1,000 is the default
    "innodb_parallel_read_threads": (1.0,),
}
"""Values to try beside today's."""
_NEAR = 100 * (GROWTH - 1)
"""Points of innodb_old_blocks_pct, those that the tables' growth takes: a value that stands is no further from the
best. Nearer ones differ by what was watched, and not by the load: 74 to 77 of windows of one load (lab.demo)."""
WORTHWHILE = 0.5
"""Share of a table's reads that an alternative may leave at most."""
EXACT, ROUGH = 0.01, 0.05
"""Least error of a prediction, relative to today's reads: of scans alone, and of scans beside other accesses. The
model keeps these on real servers, the second where it is told the accesses (tests/live/test_whatif.py and
test_whatif_hot_set.py)."""
LEFT, OTHERS = "pool pages left for everything else", "pages read per second by everything else"


@dataclass(frozen=True, slots=True)
class Trial:
    """A value of a setting, as the model tries it.

    Attributes:
        now: Reads as measured today.
        then: Reads to promise with the value.
        worst: The most reads of those that may come instead: tables grow, the pool cannot give all of its pages to
            them, and the accesses are others than those fitted.
        least: The fewest of these.
    """

    model: PoolModel
    setting: str
    value: float
    now: Reads
    then: Reads
    worst: Reads
    least: Reads

    @classmethod
    def of(cls, model: PoolModel, setting: str, value: float) -> Trial:
        """Try a value.

        Args:
            model: Of the window.
            setting: To try.
            value: Of the setting.

        Raises:
            Unanswerable: The model cannot be calibrated, or time is over.
        """
        changes = _change(model, setting, value)
        futures = [model.reads(changes), *model.strained(changes)]
        worst, least = max(futures, key=_all), min(futures, key=_all)
        return cls(model, setting, value, model.reads({}), futures[0], worst, least)

    @property
    def left(self) -> tuple[float, float]:
        """Pages in the pool that the scanned tables leave for everything else, now and then."""
        changes = _change(self.model, self.setting, self.value)
        return self.model.predict({}).others, self.model.predict(changes).others

    def table_error(self, table: str) -> float:
        """Error of the pages read per pass over a table, relative to those of today."""
        by_model = self.model.predict({}).rates.per_pass[table]
        now, then, worst = (self.model.per_pass(reads)[table] for reads in (self.now, self.then, self.worst))
        return self._error(now, by_model, abs(worst - then))

    @property
    def error(self) -> float:
        """Error of all pages read per second, relative to those of today."""
        size = self.model.size({self.setting: self.value})
        if size is not None:
            return size.error
        return self._error(self.now.all, self.model.predict({}).rates.read, self.worst.all - self.least.all)

    def _error(self, now: float, by_model: float, spread: float) -> float:
        """The model's deviation today, but at least what it is known to be off, and the range of its prediction."""
        return deviation(self.model, now, by_model) + spread / now if now else 0.0


def deviation(model: PoolModel, now: float, by_model: float) -> float:
    """The model's deviation from what is measured today, relative to it; but at least what it is known to be off."""
    least = ROUGH if any(model.lookups) else EXACT
    return max(abs(by_model - now) / now, least) if now else 0.0


def choose(
    model: PoolModel,
    setting: str,
    scan: ScanFacts | None,
    at_most: float | None = None,
    advised: float | None = None,
) -> Choice:
    """The model's choice for one scanned table, or for the server as a whole.

    Args:
        model: Of the window.
        setting: A setting that the model answers for.
        scan: The table; None for the server.
        at_most: Largest value to choose. A pool is never chosen larger than the machine has memory for, if that is
            known.
        advised: The value of the last advice, which stays where it reads as little and is near the best.

    Raises:
        Unanswerable: The model cannot be calibrated, or does not have this table.
    """
    table = None if scan is None else model.table(scan)
    trial = Trial.of(model, setting, best(model, setting, at_most, advised))
    by_model = model.predict({}).rates
    error = trial.error if table is None else trial.table_error(table)
    left_now, left_then = trial.left

    def pages(per_pass: Mapping[str, float]) -> float | None:
        return None if table is None else float(round(per_pass[table]))

    return Choice(
        value=trial.value,
        now=pages(model.per_pass(trial.now)),
        predicted=pages(model.per_pass(trial.then)),
        model_now=pages(by_model.per_pass),
        predicted_by_pct=_by_pct(model, table) if table is not None and setting == POOL_SIZE else None,
        read_now=round(trial.now.all, 2),
        read_predicted=round(trial.then.all, 2),
        read_most=round(trial.worst.all, 2),
        model_read_now=round(by_model.read, 2),
        cost_now=left_now,
        cost_predicted=left_then,
        saved=trial.now.all - trial.then.all,
        error=error,
        read_error=trial.error,
        confidence=confidence(error),
    )


def _by_pct(model: PoolModel, table: str) -> float:
    """Pages read per pass over a table with the best innodb_old_blocks_pct."""
    trial = Trial.of(model, _PCT, best(model, _PCT))
    return float(round(model.per_pass(trial.then)[table]))


def best(model: PoolModel, setting: str, at_most: float | None = None, advised: float | None = None) -> float:
    """The value with the least change among those with the fewest reads, whichever accesses explain today's.

    The arguments are those of ``choose``.

    Raises:
        Unanswerable: The server has no such setting, or the model cannot be calibrated.
    """
    if setting not in model.today.settings:
        raise Unanswerable(f"setting.{setting}", f"{setting} is not known")
    if setting == POOL_SIZE:
        return smallest_size(model, at_most)
    today = model.today.settings[setting]
    reads = {today: _reads(model, setting, today)}
    for value in sorted(_CANDIDATES[setting], key=lambda value: abs(value - today)):
        if value != today and (at_most is None or value <= at_most):
            reads[value] = _reads(model, setting, value, _enough(reads, today))
            if not reads[value]:
                break  # one that is further away cannot be better
    value = _least(reads, today)
    if setting == _PCT and value != today:  # try the values between two candidates
        step = 1.0 if value < today else -1.0
        nearer = value + step
        while nearer != today and nearer not in reads:
            reads[nearer] = _reads(model, setting, nearer, _enough(reads, today))
            nearer += step
        value = _least(reads, today)
    if setting == _PCT and advised is not None and advised != value != today and abs(advised - value) <= _NEAR:
        reads[advised] = _reads(model, setting, advised, _enough(reads, today))
        value = advised if reads[advised] <= _enough(reads, today) else value
    return value


def others(model: PoolModel, setting: str, value: float) -> Effect:
    """What a value does to the pages that everything but the scans reads."""
    trial = Trial.of(model, setting, value)
    return Effect(
        quantity=OTHERS,
        now=tidy(round(trial.now.others, 2)),
        predicted=tidy(round(trial.worst.others, 2)),
        unit="pages per second",
        model="lru",
    )


def alternatives(model: PoolModel, setting: str, scan: ScanFacts) -> tuple[Alternative, ...]:
    """Other settings that help the table too, each with the value that the model chooses.

    None beside a larger pool, which is for tables that no share of today's holds: other settings share it out in
    another way, and hold them by chance (two tables in turn: pct 5 was in vain on MariaDB 11.8, time 0 on MySQL 9.7).
    """
    if setting == POOL_SIZE:
        return ()
    return tuple(
        alternative
        for other in (*_CANDIDATES, POOL_SIZE)
        if other != setting and other in model.today.settings
        for alternative in _alternative(model, other, model.table(scan))
    )


def _alternative(model: PoolModel, setting: str, table: str) -> Iterator[Alternative]:
    trial = Trial.of(model, setting, best(model, setting))
    before, then, after = (model.per_pass(reads)[table] for reads in (trial.now, trial.then, trial.worst))
    if after > WORTHWHILE * before or trial.worst.all >= trial.now.all:
        return
    left_now, left_then = trial.left
    yield Alternative(
        change=model.change(setting, trial.value),
        effect=Effect(
            quantity="pages read per pass",
            now=round(before),
            predicted=round(then),
            unit="pages",
            model="lru",
            error=tidy(trial.table_error(table)),
        ),
        cost=Effect(
            quantity=LEFT, now=tidy(round(left_now)), predicted=tidy(round(left_then)), unit="pages", model="lru"
        ),
        others=others(model, setting, trial.value),
    )


def _reads(model: PoolModel, setting: str, value: float, most: float = math.inf) -> float:
    """All pages read per second with a value, at worst; or any number above ``most``, where it is above."""
    most_read = 0.0
    for reads in model.strained(_change(model, setting, value)):
        most_read = max(most_read, reads.all)
        if most_read > most:
            break  # the value is out, whatever the other accesses would read
    return most_read


def _all(reads: Reads) -> float:
    return reads.all


def _change(model: PoolModel, setting: str, value: float) -> dict[str, float]:
    return {} if value == model.today.settings[setting] else {setting: value}


def _least(reads: dict[float, float], today: float) -> float:
    enough = _enough(reads, today)
    return min((value for value, read in reads.items() if read <= enough), key=lambda value: abs(value - today))


def _enough(reads: dict[float, float], today: float) -> float:
    """The most reads that count as equal to the fewest."""
    return min(reads.values()) + EQUAL * reads[today]
