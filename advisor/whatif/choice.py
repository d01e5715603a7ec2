"""The choice of the LRU model: a value of a setting, and its effect on a table or on the server."""

from __future__ import annotations

import math
from collections.abc import Iterator

from advisor.contract.recommendation import Alternative, Effect, tidy
from advisor.facts import ScanFacts
from advisor.facts.choice import Choice
from advisor.whatif.errors import Unanswerable
from advisor.whatif.model import LruModel
from advisor.whatif.settings import size_as_set

_CANDIDATES: dict[str, tuple[float, ...]] = {
    "innodb_old_blocks_pct": tuple(float(pct) for pct in range(5, 96, 5)),
    "innodb_old_blocks_time": (0.0, 1_000.0),  # 0 promotes pages at the second access; 1,000 is the default
    "innodb_parallel_read_threads": (1.0,),
}
"""Values to try beside today's; the pool's size is tried in _LARGER times today's."""
_POOL_SIZE = "innodb_buffer_pool_size"
_LARGER = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
_HALVINGS = 5
"""Of the step between two of these sizes, to approach the smallest size that is enough."""
ENOUGH = 0.1
"""Share of the reads that the largest pool saves: memory has its price, so a smaller pool may miss that much."""
EQUAL = 0.005
"""Share of today's reads: candidates that differ by less are equal."""
WORTHWHILE = 0.5
"""Share of a table's reads that an alternative may leave at most."""
GROWTH = 1.05
"""Candidates are compared with slightly larger tables: statistics lag behind by up to a tenth of the rows."""
LEFT = "pool pages left for everything else"


def choose(model: LruModel, setting: str, scan: ScanFacts | None, at_most: float | None = None) -> Choice:
    """The model's choice for one scanned table, or for the server as a whole.

    Args:
        model: Of the window.
        setting: A setting that the model answers for.
        scan: The table; None for the server.
        at_most: Largest value to choose. A pool is never chosen larger than the machine has memory for, if that is
            known.

    Raises:
        Unanswerable: The model cannot be calibrated, or does not have this table.
    """
    table = None if scan is None else model.table(scan)
    value = best(model, setting, at_most)
    now, then = model.predict({}), model.predict(_change(model, setting, value))
    return Choice(
        value=value,
        now=None if table is None else float(round(now.rates.per_pass[table])),
        predicted=None if table is None else float(round(then.rates.per_pass[table])),
        read_now=round(now.rates.read, 2),
        read_predicted=round(then.rates.read, 2),
        cost_now=now.others,
        cost_predicted=then.others,
        saved=now.rates.read - then.rates.read,
        error=model.calibration.fit.error,
        confidence=model.calibration.fit.confidence,
    )


def best(model: LruModel, setting: str, at_most: float | None = None) -> float:
    """The value with the least change among those with the fewest reads.

    Raises:
        Unanswerable: The server has no such setting, or the model cannot be calibrated.
    """
    if setting not in model.calibration.settings:
        raise Unanswerable(f"setting.{setting}", f"{setting} is not known")
    if setting == _POOL_SIZE:
        return _size(model, math.inf if at_most is None else at_most)
    today = model.calibration.settings[setting]
    tried = [value for value in _CANDIDATES[setting] if at_most is None or value <= at_most]
    reads = {value: _reads(model, setting, value) for value in (today, *tried)}
    found = _least(reads, today)
    if setting == "innodb_old_blocks_pct" and found != today:  # try the values between two candidates
        step = 1.0 if found < today else -1.0
        nearer = found + step
        while nearer != today and nearer not in reads:
            reads[nearer] = _reads(model, setting, nearer)
            nearer += step
        found = _least(reads, today)
    return found


def _size(model: LruModel, at_most: float) -> float:
    """The smallest pool that saves nearly as many reads as the largest one."""
    window, today = model.window, model.calibration.settings[_POOL_SIZE]
    at_most = min(at_most, model.most_bytes or math.inf, _LARGER[-1] * today)
    sizes = {size_as_set(window, today * times) for times in _LARGER} | {size_as_set(window, at_most, up=False)}
    tried = (today, *sorted(size for size in sizes if today < size <= at_most))
    reads = {size: _reads(model, _POOL_SIZE, size) for size in tried}
    saves = reads[today] - min(reads.values())
    if saves <= EQUAL * reads[today]:
        return today
    enough = min(reads.values()) + ENOUGH * saves
    found = min(size for size, read in reads.items() if read <= enough)
    less = max(size for size in reads if size < found)
    for _ in range(_HALVINGS):
        between = size_as_set(window, (less + found) / 2)
        if not less < between < found:
            break
        if _reads(model, _POOL_SIZE, between) <= enough:
            found = between
        else:
            less = between
    return found


def alternatives(model: LruModel, setting: str, scan: ScanFacts) -> tuple[Alternative, ...]:
    """Other settings that help the table too, each with the value that the model chooses."""
    return tuple(
        found
        for other in (*_CANDIDATES, _POOL_SIZE)
        if other != setting and other in model.calibration.settings
        for found in _alternative(model, other, model.table(scan))
    )


def _alternative(model: LruModel, setting: str, table: str) -> Iterator[Alternative]:
    value = best(model, setting)
    now, then = model.predict({}), model.predict(_change(model, setting, value))
    before, after = now.rates.per_pass[table], then.rates.per_pass[table]
    if after > WORTHWHILE * before or then.rates.read >= now.rates.read:
        return
    error = tidy(model.calibration.fit.error)
    yield Alternative(
        change=model.change(setting, value),
        effect=Effect(
            quantity="pages read per pass",
            now=round(before),
            predicted=round(after),
            unit="pages",
            model="lru",
            error=error,
        ),
        cost=Effect(
            quantity=LEFT,
            now=tidy(round(now.others)),
            predicted=tidy(round(then.others)),
            unit="pages",
            model="lru",
            error=error,
        ),
    )


def _reads(model: LruModel, setting: str, value: float) -> float:
    return model.predict(_change(model, setting, value), GROWTH).rates.read


def _change(model: LruModel, setting: str, value: float) -> dict[str, float]:
    return {} if value == model.calibration.settings[setting] else {setting: value}


def _least(reads: dict[float, float], today: float) -> float:
    enough = min(reads.values()) + EQUAL * reads[today]
    return min((value for value, read in reads.items() if read <= enough), key=lambda value: abs(value - today))
