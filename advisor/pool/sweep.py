"""A sweep: what the model says of a setting over its whole range. Sliders are drawn from it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.errors import Refused, Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.model import PoolModel
from advisor.pool.ranges import POINTS, spread
from advisor.pool.scanned import ReadRates
from advisor.pool.settings import refuse_unknown, values_as_set
from advisor.pool.trials import LEFT, OTHERS, deviation

SECONDS, LONGEST_SECONDS = 1.0, 5.0
"""Seconds of a core that the predictions of one answer take, by default and at most. The next answer goes on."""


class SweptQuantity(Frozen):
    """A quantity today, and with each of the values."""

    quantity: str
    unit: str
    now: Number = Field(description="As measured, or by the model where it cannot be measured.")
    predicted: tuple[Number, ...] = Field(description="One for each of the values.")
    error: Number | None = Field(
        None, description="What the predicted values may be off, relative to the value now. Null where not known."
    )


class SweptTable(SweptQuantity):
    """Reads of a scanned table, today and with each of the values."""

    subject: Mapping[str, str]


class Sweep(Frozen):
    """What the model says of a setting over its whole range."""

    server: str
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    setting: str
    unit: str
    from_: Number = Field(alias="from", serialization_alias="from", description="The value now.")
    set: Mapping[str, Number] = Field(description="Other settings, which have these values in all predictions.")
    values: tuple[Number, ...] = Field(description="In rising order, the value now among them.")
    left_out: int = Field(description="Values that there was no time for. The next answer goes on with them.")
    objects: tuple[SweptTable, ...] = Field(description="Scanned tables, the most read first.")
    others: SweptQuantity = Field(description="Pages that the scanned tables leave to everything else in the pool.")
    other_reads: SweptQuantity = Field(description="Pages that everything but the scans reads.")
    reads: SweptQuantity = Field(description="Pages read by all.")
    confidence: float = Field(ge=0, le=1)
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Point:
    """What the model says of one value.

    Attributes:
        left: Pages in the pool for what is not scanned.
    """

    reads: ReadRates
    left: float


def sweep(
    window: Window,
    setting: str,
    *,
    beside: Mapping[str, SettingValue] | None = None,
    values: Sequence[SettingValue] = (),
    points: int = POINTS,
    seconds: float = SECONDS,
    loads: Loads | None = None,
) -> Sweep:
    """What each value of a setting would do.

    Args:
        window: What has been watched.
        setting: One that the model answers for.
        beside: Other settings, with values that they have in all predictions.
        values: To be among those that are swept; they come first.
        points: Values at most that spread over the setting's range, beside these and the value now.
        seconds: Of a core for the predictions, beside the fit. The first one is always made.
        loads: Those of earlier windows. What was predicted before takes no time.

    Raises:
        Refused: The server would not take a value, or the model has no answer for the setting.
        Unanswerable: The window does not tell enough.
    """
    refuse_unknown(window, setting)
    if beside and setting in beside:
        raise Refused(f"{setting} is swept, and cannot have one value beside that")
    others = values_as_set(window, beside) if beside else {}
    wanted = [values_as_set(window, {setting: value})[setting] for value in values]
    known = facts(window)
    model = PoolModel(window, known, loads)
    today = model.today.settings.get(setting)
    if today is None:
        raise Unanswerable(f"setting.{setting}", f"{setting} is not known")
    others = {name: value for name, value in others.items() if value != model.today.settings[name]}
    order = [*wanted, today, *spread(window, setting, points, model.most_bytes)]
    by_value = dict(_points(model, setting, list(dict.fromkeys(order)), others, seconds))
    return _answer(model, setting, by_value, others, len({*order}) - len(by_value))


def _points(
    model: PoolModel, setting: str, order: Sequence[float], beside: Mapping[str, float], seconds: float
) -> Iterator[tuple[float, _Point]]:
    """What the model says of each value, for as long as there is time."""
    today = model.today.settings[setting]
    for value in order:
        changes = {**beside, **({} if value == today else {setting: value})}
        try:
            yield value, _Point(model.reads(changes), model.predict(changes).others)
        except Unanswerable as error:
            if error.lacks != "time" or model.until is None:
                raise
            return
        if model.until is None:
            model.until = time.thread_time() + seconds


def _answer(
    model: PoolModel, setting: str, by_value: Mapping[float, _Point], beside: Mapping[str, float], left_out: int
) -> Sweep:
    today, now = model.today, _Point(model.reads({}), model.predict({}).others)
    by_model = model.predict({}).rates
    values = sorted(by_value)
    sizes = [size for value in values if (size := model.size({**beside, setting: value})) is not None]
    error = max((size.error for size in sizes), default=deviation(model, now.reads.all, by_model.read))
    points = [by_value[value] for value in values]
    per_second = "pages per second"
    return Sweep(
        server=str(model.window.latest.server),
        at=model.window.latest.at,
        setting=setting,
        unit=SETTINGS[setting].unit,
        from_=tidy(today.settings[setting]),
        set={name: tidy(value) for name, value in beside.items()},
        values=tuple(map(tidy, values)),
        left_out=left_out,
        objects=tuple(
            SweptTable(
                subject=scan.subject,
                quantity="pages read per pass",
                unit="pages",
                now=_number(now.reads.per_pass[name]),
                predicted=tuple(_number(point.reads.per_pass[name]) for point in points),
                error=tidy(deviation(model, now.reads.per_pass[name], by_model.per_pass[name])),
            )
            for name, scan in today.scans.items()
        ),
        others=SweptQuantity(
            quantity=LEFT,
            unit="pages",
            now=round(now.left),
            predicted=tuple(round(point.left) for point in points),
        ),
        other_reads=SweptQuantity(
            quantity=OTHERS,
            unit=per_second,
            now=_number(now.reads.other),
            predicted=tuple(_number(point.reads.other) for point in points),
        ),
        reads=SweptQuantity(
            quantity="pages read per second",
            unit=per_second,
            now=_number(now.reads.all),
            predicted=tuple(_number(point.reads.all) for point in points),
            error=tidy(error),
        ),
        confidence=round(min((size.confidence for size in sizes), default=model.confidence), 3),
        notes=tuple(model.notes({**beside, setting: today.settings[setting]})),
    )


def _number(value: float) -> Number:
    return tidy(round(value, 2))
