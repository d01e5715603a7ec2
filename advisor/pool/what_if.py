"""The answer to "what if these settings were changed?": pages read and pages held, today and after the change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from advisor.contract.recommendation import Change, Frozen, Number, tidy
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.contract.templates import exact_binary
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.fitting import Loads
from advisor.pool.model import PoolModel
from advisor.pool.settings import values_as_set


class Amount(Frozen):
    """A quantity today and after the change."""

    now: Number
    then: Number


class TableOutcome(Frozen):
    """Reads by the scans of a table."""

    subject: Mapping[str, str]
    pages: Number
    passes_per_hour: Number
    measured_pages_read_per_pass: Number = Field(description="By the last pass that was watched.")
    pages_read_per_pass: Amount
    pages_read_per_second: Amount
    passes_until_cached: int | None = Field(description="After the change; none where it is never cached.")


class WhatIf(Frozen):
    """The answer to: what if these settings were changed?"""

    server: str
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float
    changes: tuple[Change, ...]
    tables: tuple[TableOutcome, ...] = Field(description="Those that are scanned, the most read first.")
    other_pages_read_per_second: Amount
    pages_read_per_second: Amount = Field(description="By all.")
    pages_of_others: Amount = Field(description="In the pool, of what is not scanned: what is left to the hot set.")
    young_pages_of_others: Amount = Field(description="Those of them in the young sublist.")
    error: Number = Field(
        description="What the prediction may be off, relative to today's reads: for another size of the pool, how far"
        " nine tenths of such predictions were off at most; else the deviation of the model from today's reads."
    )
    confidence: float = Field(ge=0, le=1)
    notes: tuple[str, ...]


def what_if(window: Window, changes: Mapping[str, SettingValue], loads: Loads | None = None) -> WhatIf:
    """What a change of settings would do.

    Args:
        window: What has been watched.
        changes: New values by setting, as a person writes them: 80, "80" or "4G".
        loads: Those of earlier windows.

    Raises:
        Refused: The server would not take a change, or the model has no answer for it.
        Unanswerable: The window does not tell enough.
    """
    wanted = values_as_set(window, changes)
    return answer(PoolModel(window, facts(window), loads), wanted, tuple(_roundings(changes, wanted)))


def answer(model: PoolModel, changes: Mapping[str, float], notes: Sequence[str] = ()) -> WhatIf:
    """The answer of the model.

    Args:
        model: Of the window.
        changes: As ``values_as_set`` returns them.
        notes: Sentences that come before the notes of the calibration.
    """
    today, window = model.today, model.window
    server = window.latest.server
    now, then = model.predict({}), model.predict(changes)
    reads, reads_then, size = model.reads({}), model.reads(changes), model.size(changes)
    per_second = today.workload.scans_per_second
    return WhatIf(
        server=str(server),
        at=window.latest.at,
        watched_seconds=round(window.seconds, 3),
        changes=tuple(model.change(name, value) for name, value in changes.items()),
        tables=tuple(
            TableOutcome(
                subject={"schema": scan.schema, "table": scan.table},
                pages=tidy(scan.pages or 0.0),
                passes_per_hour=tidy(per_second[name] * 3600.0),
                measured_pages_read_per_pass=tidy(today.per_pass[name]),
                pages_read_per_pass=_amount(reads.per_pass[name], reads_then.per_pass[name]),
                pages_read_per_second=_amount(
                    reads.per_pass[name] * per_second[name], reads_then.per_pass[name] * per_second[name]
                ),
                passes_until_cached=then.until_cached[name],
            )
            for name, scan in today.scans.items()
        ),
        other_pages_read_per_second=_amount(reads.other, reads_then.other),
        pages_read_per_second=_amount(reads.all, reads_then.all),
        pages_of_others=_amount(round(now.others), round(then.others)),
        young_pages_of_others=_amount(round(now.young), round(then.young)),
        error=tidy(model.error if size is None else size.error),
        confidence=round(model.confidence if size is None else size.confidence, 3),
        notes=(*notes, *model.notes(changes)),
    )


def _amount(now: float, then: float) -> Amount:
    return Amount(now=tidy(round(now, 2)), then=tidy(round(then, 2)))


def _roundings(changes: Mapping[str, SettingValue], wanted: Mapping[str, float]) -> Iterator[str]:
    for name, value in wanted.items():
        if SETTINGS[name].parse(changes[name]) != value:
            made = exact_binary(value) if SETTINGS[name].unit == "bytes" else f"{value:.0f}"
            yield f"this server makes {made} of {name} = {changes[name]}: it takes whole steps"
