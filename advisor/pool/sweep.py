"""A sweep: what the model says of a setting over its whole range. Sliders are drawn from it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.errors import Refused, Unanswerable
from advisor.pool.estimate import Reads
from advisor.pool.fitting import Loads
from advisor.pool.model import PoolModel
from advisor.pool.ranges import POINTS, spread
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
    most: tuple[Number, ...] | None = Field(
        None,
        description="The most with each of the values, which advice chooses by: scanned tables grow by a twentieth, the"
        " pool has fewer pages for them, and accesses are any that explain the value now. Null where not simulated.",
    )
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
        Unanswerable: The evidence is not enough.
    """
    refuse_unknown(window, setting)
    if beside and setting in beside:
        raise Refused(f"{setting} is swept, and cannot have one value beside that")
    others = values_as_set(window, beside) if beside else {}
    first = [values_as_set(window, {setting: value})[setting] for value in values]
    model = PoolModel(window, facts(window), loads)
    today = model.today.settings.get(setting)
    if today is None:
        raise Unanswerable(f"setting.{setting}", f"{setting} is not known")
    others = {name: value for name, value in others.items() if value != model.today.settings[name]}
    order = [*first, today, *spread(window, setting, points, model.facts.pool.most_bytes)]
    questions = {value: {**others, **({} if value == today else {setting: value})} for value in order}
    answered = {value: questions[value] for value in sorted(_answered(model, questions, seconds))}
    return _sweep(model, setting, answered, others, len(questions) - len(answered))


def _answered(model: PoolModel, questions: Mapping[float, Mapping[str, float]], seconds: float) -> Iterator[float]:
    """The values that there is time for; the model keeps what it predicts."""
    for value, changes in questions.items():
        try:
            model.predict(changes)
            _most(model, changes)
        except Unanswerable as error:
            if error.lacks != "time" or model.until is None:
                raise
            return
        yield value
        if model.until is None:
            model.until = time.thread_time() + seconds


def _most(model: PoolModel, changes: Mapping[str, float]) -> Reads:
    """The most reads after some changes; those to expect where nothing changes, or the miss curve answers."""
    likeliest = model.reads(changes)
    if not changes or model.size(changes) is not None:
        return likeliest
    return max((likeliest, *model.strained(changes)), key=lambda reads: reads.all)


def _sweep(
    model: PoolModel,
    setting: str,
    questions: Mapping[float, Mapping[str, float]],
    beside: Mapping[str, float],
    left_out: int,
) -> Sweep:
    now, by_model, today = model.reads({}), model.predict({}), model.today.settings[setting]
    reads = [model.reads(changes) for changes in questions.values()]
    left = [model.predict(changes).others for changes in questions.values()]
    sizes = [size for value in questions if (size := model.size({**beside, setting: value})) is not None]
    most = None if sizes else [_most(model, changes) for changes in questions.values()]
    error = max((size.error for size in sizes), default=deviation(model, now.all, by_model.rates.read))
    per_second = "pages per second"
    return Sweep(
        server=str(model.window.latest.server),
        at=model.window.latest.at,
        setting=setting,
        unit=SETTINGS[setting].unit,
        from_=tidy(today),
        set={name: tidy(value) for name, value in beside.items()},
        values=tuple(map(tidy, questions)),
        left_out=left_out,
        objects=tuple(_tables(model, reads, most)),
        others=SweptQuantity(
            quantity=LEFT, unit="pages", now=round(by_model.others), predicted=tuple(map(round, left))
        ),
        other_reads=SweptQuantity(
            quantity=OTHERS,
            unit=per_second,
            now=_number(now.others),
            predicted=tuple(_number(then.others) for then in reads),
        ),
        reads=SweptQuantity(
            quantity="pages read per second",
            unit=per_second,
            now=_number(now.all),
            predicted=tuple(_number(then.all) for then in reads),
            most=None if most is None else tuple(_number(then.all) for then in most),
            error=tidy(error),
        ),
        confidence=round(min((size.confidence for size in sizes), default=model.confidence), 3),
        notes=tuple(model.notes({**beside, setting: today})),
    )


def _tables(model: PoolModel, reads: Sequence[Reads], most: Sequence[Reads] | None) -> Iterator[SweptTable]:
    now, by_model, then = model.per_pass(model.reads({})), model.predict({}).rates, [*map(model.per_pass, reads)]
    at_worst = None if most is None else [*map(model.per_pass, most)]
    for name, scan in model.today.scans.items():
        yield SweptTable(
            subject=scan.subject,
            quantity="pages read per pass",
            unit="pages",
            now=_number(now[name]),
            predicted=tuple(_number(per_pass[name]) for per_pass in then),
            most=None if at_worst is None else tuple(_number(per_pass[name]) for per_pass in at_worst),
            error=tidy(deviation(model, now[name], by_model.per_pass[name])),
        )


def _number(value: float) -> Number:
    return tidy(round(value, 2))
