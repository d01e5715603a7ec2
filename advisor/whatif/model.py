"""What a change of settings would do to the pages that are read: asked of the model of the LRU list."""

from __future__ import annotations

import contextlib
import difflib
import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from advisor.contract import changes
from advisor.contract.recommendation import Change, Frozen, Number, tidy
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.facts import Facts, ScanFacts, facts
from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pass, Pool, Settings
from advisor.models.lru.workload import HOT, OTHER, UNSEEN, Rates, Workload, passes_of, rates, scenario
from advisor.observe.window import Window
from advisor.whatif.calibration import (
    MOST_TABLES,
    SETTINGS_OF_MODEL,
    Fitted,
    Unanswerable,
    fitted,
    is_measured,
    table_name,
)
from exporter.server import Server

log = logging.getLogger(__name__)

_MIB = 2**20
MOST_BYTES = 2**50
CACHED = 0.01
"""A pass that reads no more than this part of the table is one over a cached table."""


class Refused(ValueError):
    """A change that the server would not take, or that the model has no answer for."""


class Amount(Frozen):
    """A quantity today, by the model, and after the change."""

    now: Number
    then: Number


class TableOutcome(Frozen):
    """What the scans of a table read."""

    subject: Mapping[str, str]
    pages: Number
    passes_per_hour: Number
    measured_pages_read_per_pass: Number = Field(description="By the last pass that was watched.")
    pages_read_per_pass: Amount
    pages_read_per_second: Amount
    passes_until_cached: int | None = Field(description="After the change; none where it is never cached.")


class HotSet(Frozen):
    """Single page accesses beside the scans, as fitted."""

    pages: Number
    skew: Number = Field(description="The page of rank r is asked for in proportion to r ** -skew.")
    accesses_per_second: Number
    assumed: bool = Field(description="It read nothing that it could be fitted to: the most pages that may be there.")


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
    hot_sets: tuple[HotSet, ...]
    error: Number = Field(description="By how much the model misses today's reads, relative to them.")
    confidence: float = Field(ge=0, le=1)
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the model says of some settings.

    Attributes:
        rates: What the pool comes to.
        others: Pages in the pool that are not those of scanned tables.
        young: Of these, the ones in the young sublist.
        until_cached: By table, passes that still read it; None where they go on.
    """

    rates: Rates
    others: float
    young: float
    until_cached: Mapping[str, int | None]


def what_if(window: Window, changes: Mapping[str, SettingValue]) -> WhatIf:
    """What a change of settings would do.

    Args:
        window: What has been watched.
        changes: New values by setting, as a person writes them: 80, "80" or "4G".

    Raises:
        Refused: A change that makes no sense on this server.
        Unanswerable: The window does not tell enough.
    """
    wanted = checked(window, changes)
    return answer(Model(window, facts(window)), wanted, tuple(_rounded(changes, wanted)))


class Model:
    """The model fitted to a window, which keeps what it was asked."""

    def __init__(self, window: Window, known: Facts) -> None:
        self.window, self._known = window, known
        self._fitted: Fitted | None = None
        self._predictions: dict[tuple[tuple[tuple[str, float], ...], float], Prediction] = {}
        self.until: float | None = None
        """When whoever asks runs out of time, by ``time.thread_time``: a busy machine does not count."""

    @property
    def most_bytes(self) -> float | None:
        """The largest pool that there is memory for; None where that is not known."""
        return self._known.pool.most_bytes

    @property
    def fitted(self) -> Fitted:
        """The fit; made when it is first asked for.

        Raises:
            Unanswerable: The window does not tell enough.
        """
        if self._fitted is None:
            with _answers():
                self._fitted = fitted(self.window, self._known, self._check_time)
        return self._fitted

    def table(self, scan: ScanFacts) -> str:
        """The name of a scanned table in the workload.

        Raises:
            Unanswerable: It is not in it.
        """
        name = table_name(scan)
        if name in self.fitted.scans:
            return name
        if is_measured(scan):
            raise Unanswerable("model", f"the model takes the {MOST_TABLES} tables of which the most pages are scanned")
        raise Unanswerable("model", f"too little is known of the scans of {name}")

    def predict(self, changes: Mapping[str, float], growth: float = 1.0) -> Prediction:
        """What comes of some changes.

        Args:
            changes: To settings of the model.
            growth: By how much the scanned tables are larger than they are.
        """
        key = (tuple(sorted(changes.items())), growth)
        if key not in self._predictions:
            self._check_time()
            with _answers():
                self._predictions[key] = _predict(self.fitted, changes, growth)
        return self._predictions[key]

    def _check_time(self) -> None:
        if self.until is not None and time.thread_time() > self.until:
            raise Unanswerable("time", "the model took longer than the rule's time")


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    """What goes wrong in the model is no reason for anything else to fail."""
    try:
        yield
    except (ArithmeticError, ValueError) as error:
        log.exception("the model failed")
        raise Unanswerable("model", f"the model failed: {error}") from error


def checked(window: Window, changes: Mapping[str, SettingValue]) -> dict[str, float]:
    """The changes as the server would have them; the pool's size rounded.

    Raises:
        Refused: One that it would not take, or that the model has no answer for.
    """
    if not changes:
        raise Refused("no setting to change; try innodb_old_blocks_pct=80")
    return {name: _checked(window, name, value) for name, value in changes.items()}


def _rounded(changes: Mapping[str, SettingValue], wanted: Mapping[str, float]) -> Iterator[str]:
    for name, value in wanted.items():
        if SETTINGS[name].parse(changes[name]) != value:
            yield f"this server makes {value:.0f} of {name} = {changes[name]}: it takes whole steps"


def _checked(window: Window, name: str, value: SettingValue) -> float:
    server = window.latest.server
    known = window.latest.variables
    if known is None:
        raise Unanswerable("variables", "the settings of the server are not known")
    if name not in SETTINGS_OF_MODEL:
        near = difflib.get_close_matches(name, SETTINGS_OF_MODEL, n=1, cutoff=0.8)
        if near:
            raise Refused(f"unknown setting {name}; did you mean {near[0]}?")
        raise Refused(f"the model does not answer for {name}; it does for {', '.join(SETTINGS_OF_MODEL)}")
    if name not in known:
        raise Refused(f"{_name(server)} has no setting {name}")
    if name == "innodb_lru_scan_depth" and not server.has("free_list_kept"):
        raise Refused(
            "the model does not answer for innodb_lru_scan_depth here: only MariaDB 10.6+ always keeps a free list"
        )
    try:
        number = float(SETTINGS[name].parse(value))
    except ValueError as error:
        raise Refused(f"{name}: {error}") from None
    if number > MOST_BYTES:
        raise Refused(f"{name}: {value} is more than any machine has")
    return size_as_set(window, number) if name == "innodb_buffer_pool_size" else number


def size_as_set(window: Window, size: float, *, up: bool = True) -> float:
    """A pool's size as the server makes it of ``size``: up to whole chunks in each instance.

    So do MySQL from 5.7.5 and MariaDB from 10.2.2 on; newer releases of MariaDB, which have no chunks, go down to whole
    MiB (reference manuals; tests/live/test_whatif.py). With ``up`` false: the largest such size that is no more.
    """
    latest = window.latest
    chunk = float(latest.setting("innodb_buffer_pool_chunk_size") or 0)
    if not chunk:
        return float(size // _MIB * _MIB)
    step = chunk * len(latest.pools or (None,))
    return (math.ceil if up else math.floor)(size / step) * step


def _predict(today: Fitted, changes: Mapping[str, float], growth: float) -> Prediction:
    settings = {**today.settings, **changes}
    workload, pool = _grown(today.fit.workload, growth), today.pool
    then_workload, then_pool = _grown(today.workload_with(settings), growth), today.pool_with(settings)
    if then_pool.pages != pool.pages:  # what it was before does not go on in a pool of another size
        began, steps = None, scenario(then_workload, then_pool)
    else:
        steps = scenario(workload, pool)
        began = len(simulation.simulate(steps).passes) if changes else 0
        if changes:
            steps = scenario(workload, pool, then=(_settings(then_pool), then_workload))
    found = simulation.simulate(steps)
    if began is None:  # what fills the pool is no pass
        began = len(found.passes) - passes_of(then_workload)
    others = [found.resident[name] for name in (HOT, UNSEEN, OTHER) if name in found.resident]
    return Prediction(
        rates=rates(then_workload, found.passes),
        others=sum(each.young + each.old for each in others),
        young=sum(each.young for each in others),
        until_cached={
            name: _until_cached(scan_pages, [each for each in found.passes[began:] if each.object == name])
            for name, scan_pages in {scan.name: scan.pages for scan in then_workload.scans}.items()
        },
    )


def _grown(workload: Workload, growth: float) -> Workload:
    """With larger tables, of which no part is left from before: a restart would lose it."""
    scans = (replace(scan, pages=math.ceil(scan.pages * growth), kept=float(scan.kept == 1)) for scan in workload.scans)
    return workload if growth == 1.0 else replace(workload, scans=tuple(scans))


def _settings(pool: Pool) -> Settings:
    return Settings(
        old_blocks_pct=pool.old_blocks_pct,
        old_blocks_time_ms=pool.old_blocks_time_ms,
        free_low=pool.free_low,
        free_high=pool.free_high,
    )


def _until_cached(pages: int, passes: Sequence[Pass]) -> int | None:
    reading = [number for number, each in enumerate(passes, 1) if each.pages_read > CACHED * pages]
    last = reading[-1] if reading else 0
    return None if last == len(passes) else last


def answer(model: Model, changes: Mapping[str, float], notes: Sequence[str] = ()) -> WhatIf:
    """What is predicted of some changes, that are checked, in words and numbers for people and programs."""
    today, window = model.fitted, model.window
    now, then = model.predict({}), model.predict(changes)
    per_second = today.fit.workload.passes_per_second
    return WhatIf(
        server=_name(window.latest.server),
        at=window.latest.at,
        watched_seconds=round(window.seconds, 3),
        changes=tuple(changed(model, name, value) for name, value in changes.items()),
        tables=tuple(
            TableOutcome(
                subject={"schema": scan.schema, "table": scan.table},
                pages=tidy(scan.pages or 0.0),
                passes_per_hour=tidy(per_second[name] * 3600.0),
                measured_pages_read_per_pass=tidy(today.measured.per_pass[name]),
                pages_read_per_pass=_amount(now.rates.per_pass[name], then.rates.per_pass[name]),
                pages_read_per_second=_amount(
                    now.rates.per_pass[name] * per_second[name], then.rates.per_pass[name] * per_second[name]
                ),
                passes_until_cached=then.until_cached[name],
            )
            for name, scan in today.scans.items()
        ),
        other_pages_read_per_second=_amount(now.rates.other, then.rates.other),
        pages_read_per_second=_amount(now.rates.read, then.rates.read),
        pages_of_others=_amount(round(now.others), round(then.others)),
        young_pages_of_others=_amount(round(now.young), round(then.young)),
        hot_sets=tuple(
            HotSet(
                pages=hot.pages,
                skew=tidy(hot.skew),
                accesses_per_second=tidy(hot.per_second),
                assumed=hot.name == UNSEEN,
            )
            for hot in today.fit.workload.backgrounds
        ),
        error=tidy(today.fit.error),
        confidence=round(today.fit.confidence, 3),
        notes=(*notes, *today.notes),
    )


def changed(model: Model, name: str, value: float) -> Change:
    """A change of a setting of the model, with the statements for this server."""
    return changes.change_at(model.window.latest, name, model.fitted.settings[name], value)


def _amount(now: float, then: float) -> Amount:
    return Amount(now=tidy(round(now, 2)), then=tidy(round(then, 2)))


def _name(server: Server) -> str:
    return f"{server.flavour} {server.version_text}"
