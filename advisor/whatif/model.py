"""The model of the LRU list, calibrated to a window: its predictions for other settings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from advisor.contract import changes
from advisor.contract.recommendation import Change
from advisor.facts import Facts, ScanFacts
from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pass, Pool, Settings
from advisor.models.lru.workload import HOT, OTHER, UNSEEN, Workload, passes_of, rates, scenario
from advisor.observe.window import Window
from advisor.pool.curve import Size
from advisor.pool.errors import Unanswerable, answerable
from advisor.pool.estimate import Explained, explained
from advisor.pool.tables import GROWTH, MOST_TABLES, is_measured, table_name
from advisor.whatif.calibration import Calibration, evidence
from advisor.whatif.calibrations import Calibrated, Calibrations, Prediction
from advisor.whatif.reads import Reads, expected
from advisor.whatif.rivals import rivals

POOL_SIZE = "innodb_buffer_pool_size"
CACHED = 0.01
"""Share of a table: a pass that reads no more finds the table cached."""


class LruModel:
    """The model of a window, with every prediction that it has made.

    Args:
        window: What has been watched.
        known: Its facts.
        calibrations: Those of earlier windows; one that stands for this window spares it the fit and its predictions.
    """

    def __init__(self, window: Window, known: Facts, calibrations: Calibrations | None = None) -> None:
        self.window, self._known = window, known
        self._calibrations = calibrations or Calibrations()
        self._calibrated: Calibrated | None = None
        self.until: float | None = None
        """When time is over, by ``time.thread_time``: a busy machine does not count."""
        self.pause: Callable[[], None] = lambda: None
        """Called between two simulations. It may block for a while, or raise Unanswerable."""

    @property
    def most_bytes(self) -> float | None:
        """The largest pool that the machine has memory for, in bytes; None where not known."""
        return self._known.pool.most_bytes

    @property
    def calibration(self) -> Calibration:
        """The calibration, made when it is first asked for.

        Raises:
            Unanswerable: The window does not tell enough.
        """
        return self._found.calibration

    @property
    def _found(self) -> Calibrated:
        if self._calibrated is None:
            with answerable():
                self._calibrated = self._calibrations.of(evidence(self.window, self._known), self.check_time)
        return self._calibrated

    def table(self, scan: ScanFacts) -> str:
        """The name of a scanned table in the workload.

        Raises:
            Unanswerable: It is not in it.
        """
        name = table_name(scan)
        if name in self.calibration.scans:
            return name
        if is_measured(scan):
            raise Unanswerable("model", f"the model takes only the {MOST_TABLES} tables with the most scanned pages")
        raise Unanswerable("model", f"the facts of the scans of {name} are incomplete")

    @property
    def rivals(self) -> tuple[Workload, ...]:
        """Other workloads that explain the measured reads as well as the fitted one.

        Raises:
            Unanswerable: The model cannot be calibrated, or time is over.
        """

        def find() -> tuple[Workload, ...]:
            today = self.calibration
            with answerable():
                return rivals(today.fit, today.pool, today.measured, self.check_time)

        return self._found.rivalled(find)

    def predict(
        self, changes: Mapping[str, float], *, strained: bool = False, rival: Workload | None = None
    ) -> Prediction:
        """The prediction for some changes.

        Args:
            changes: To settings of the model.
            strained: With scanned tables that have grown, and without the pages that the pool may not be able to give
                to them (`Calibration.reserved`). What only just fits does not fit then.
            rival: A workload in place of the fitted one.

        Raises:
            Unanswerable: The model cannot be calibrated, or time is over.
        """

        def predict() -> Prediction:
            self.check_time()
            today = self.calibration
            if rival is not None:
                today = replace(today, fit=replace(today.fit, workload=rival))
            with answerable():
                return _predict(today, changes, strained=strained)

        return self._found.predicted((tuple(sorted(changes.items())), strained, rival), predict)

    def reads(self, changes: Mapping[str, float], *, strained: bool = False, rival: Workload | None = None) -> Reads:
        """The pages read after some changes, relative to those measured today; without changes these themselves.

        Args:
            changes: To settings of the model.
            strained: As in ``predict``.
            rival: As in ``predict``.

        Raises:
            Unanswerable: The model cannot be calibrated, or time is over.
        """
        today = self.calibration
        if (size := self.size(changes)) is not None:
            return Reads({}, 0.0, size.reads.expected)
        now, then = (self.predict(each, strained=strained, rival=rival).rates for each in ({}, changes))
        per_second = today.fit.workload.scans_per_second
        per_pass = {
            name: expected(measured, now.per_pass[name], then.per_pass[name])
            for name, measured in today.measured.per_pass.items()
        }
        return Reads(
            per_pass=per_pass,
            scans=sum(pages * per_second[name] for name, pages in per_pass.items()),
            other=expected(today.measured.other, now.other, then.other),
        )

    def size(self, changes: Mapping[str, float]) -> Size | None:
        """The miss curve's answer; None where something else than the pool's size changes, or tables are scanned.

        Raises:
            Unanswerable: The model cannot be calibrated, or time is over.
        """
        today = self.calibration.settings.get(POOL_SIZE)
        if not changes or changes.keys() != {POOL_SIZE} or self.calibration.scans or not today:
            return None
        return self._explained.size(changes[POOL_SIZE] / today)

    @property
    def notes_of_sizes(self) -> tuple[str, ...]:
        """What answers for sizes of the pool rest on, and what they cannot see."""
        return tuple(self._explained.notes())

    @cached_property
    def _explained(self) -> Explained:
        return explained(self.window, self._known, self._calibrations.loads, self.check_time)

    def change(self, name: str, value: float) -> Change:
        """A change of a setting of the model, with the statements for this server."""
        return changes.change_at(self.window.latest, name, self.calibration.settings[name], value)

    def check_time(self) -> None:
        """Wait where that is asked for. Raises Unanswerable where time is over."""
        self.pause()
        if self.until is not None and time.thread_time() > self.until:
            raise Unanswerable("time", "the model took longer than the rule's time")


def _predict(today: Calibration, changes: Mapping[str, float], *, strained: bool) -> Prediction:
    settings = {**today.settings, **changes}
    workload, pool = today.fit.workload, today.pool
    then_workload, then_pool = today.workload_with(settings), today.pool_with(settings)
    if strained:
        workload, then_workload = _grown(workload), _grown(then_workload)
        pool, then_pool = _shrunk(pool, today.reserved), _shrunk(then_pool, today.reserved)
    if then_pool.pages != pool.pages:  # a pool of another size starts empty
        began, steps = None, scenario(then_workload, then_pool)
    else:
        steps = scenario(workload, pool)
        began = len(simulation.simulate(steps, simulation.LONGEST).passes) if changes else 0
        if changes:
            steps = scenario(workload, pool, then=(_settings(then_pool), then_workload))
    found = simulation.simulate(steps, simulation.LONGEST)
    if began is None:  # the steps that fill the pool do not count
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


def _grown(workload: Workload) -> Workload:
    """The workload with larger tables, and no part of them kept from before: a restart would lose it."""
    scans = (replace(scan, pages=math.ceil(scan.pages * GROWTH), kept=float(scan.kept == 1)) for scan in workload.scans)
    return replace(workload, scans=tuple(scans))


def _shrunk(pool: Pool, pages: int) -> Pool:
    """The pool without some of its pages, of which it keeps half at least."""
    return pool.model_copy(update={"pages": pool.pages - min(pages, pool.pages // 2)})


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
