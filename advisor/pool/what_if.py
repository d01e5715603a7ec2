"""The answer to "what if these settings were changed?": pages read and pages held, today and after the change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import Field

from advisor.contract.recommendation import Change, Frozen, Number, tidy
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.contract.templates import exact_binary
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.estimate import Reads
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
        Unanswerable: The evidence is not enough.
    """
    as_set = values_as_set(window, changes)
    model = PoolModel(window, facts(window), loads)
    now, then = model.predict({}), model.predict(as_set)
    reads, reads_then, size = model.reads({}), model.reads(as_set), model.size(as_set)
    return WhatIf(
        server=str(window.latest.server),
        at=window.latest.at,
        watched_seconds=round(window.seconds, 3),
        changes=tuple(model.change(name, value) for name, value in as_set.items()),
        tables=tuple(_tables(model, reads, reads_then, then.until_cached)),
        other_pages_read_per_second=_amount(reads.others, reads_then.others),
        pages_read_per_second=_amount(reads.all, reads_then.all),
        pages_of_others=_amount(round(now.others), round(then.others)),
        young_pages_of_others=_amount(round(now.young), round(then.young)),
        error=tidy(model.error if size is None else size.error),
        confidence=round(model.confidence if size is None else size.confidence, 3),
        notes=(*_roundings(changes, as_set), *model.notes(as_set)),
    )


def _tables(
    model: PoolModel, now: Reads, then: Reads, until_cached: Mapping[str, int | None]
) -> Iterator[TableOutcome]:
    today, per_pass, per_pass_then = model.today, model.per_pass(now), model.per_pass(then)
    for name, scan in today.scans.items():
        yield TableOutcome(
            subject=scan.subject,
            pages=tidy(scan.pages or 0.0),
            passes_per_hour=tidy(today.workload.scans_per_second[name] * 3600.0),
            measured_pages_read_per_pass=tidy(today.per_pass[name]),
            pages_read_per_pass=_amount(per_pass[name], per_pass_then[name]),
            pages_read_per_second=_amount(now.scans[name], then.scans[name]),
            passes_until_cached=until_cached[name],
        )


def _amount(now: float, then: float) -> Amount:
    return Amount(now=tidy(round(now, 2)), then=tidy(round(then, 2)))


def _roundings(changes: Mapping[str, SettingValue], as_set: Mapping[str, float]) -> Iterator[str]:
    for name, value in as_set.items():
        if SETTINGS[name].parse(changes[name]) != value:
            made = exact_binary(value) if SETTINGS[name].unit == "bytes" else f"{value:.0f}"
            yield f"this server makes {made} of {name} = {changes[name]}: it takes whole steps"
