"""The model of a window: what it says of other settings."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cached_property

from advisor.contract import changes
from advisor.contract.recommendation import Change
from advisor.facts import Facts, ScanFacts
from advisor.models.lru.popularity import Pages
from advisor.observe.window import Window
from advisor.pool.curve import PoolSize
from advisor.pool.errors import ACCEPTED_ERROR, Unanswerable, answerable, confidence
from advisor.pool.estimate import Reads, SizeModel
from advisor.pool.fitting import NEGLIGIBLE, Loads
from advisor.pool.scanned import Prediction, ScannedPool
from advisor.pool.settings import POOL_SIZE
from advisor.pool.tables import MOST_SCANNED, is_measured, table_name


class PoolModel:
    """The model of a window.

    Args:
        window: What has been watched.
        facts: The window's.
        loads: Those of earlier windows; one that stands for this window spares it the fit and its predictions.
    """

    def __init__(self, window: Window, facts: Facts, loads: Loads | None = None) -> None:
        self.window, self.facts = window, facts
        self._loads = loads or Loads()
        self.until: float | None = None
        """When time is over, by ``time.thread_time``: a busy machine does not count."""

    @cached_property
    def sizes(self) -> SizeModel:
        """What was watched, and the load that explains it.

        Raises:
            Unanswerable: The evidence is not enough.
        """
        return SizeModel.of(self.window, self.facts, self._loads, self.check_time)

    @property
    def today(self) -> ScannedPool:
        """The pool and its scans today. Raises Unanswerable as ``sizes``."""
        return self.sizes.evidence.scanned

    @property
    def lookups(self) -> tuple[tuple[Pages, ...], ...]:
        """Lookups that explain what was measured, the likeliest first. Raises Unanswerable as ``sizes``."""
        return self.sizes.load.lookups

    def table(self, scan: ScanFacts) -> str:
        """The name of a scanned table in the workload.

        Raises:
            Unanswerable: It is not in it.
        """
        name = table_name(scan)
        if name in self.today.scans:
            return name
        if is_measured(scan):
            raise Unanswerable("model", f"the model takes only the {MOST_SCANNED} tables with the most scanned pages")
        raise Unanswerable("model", f"the facts of the scans of {name} are incomplete")

    @answerable()
    def predict(self, changes: Mapping[str, float]) -> Prediction:
        """What the simulation says of some changes to settings of the model, beside the likeliest lookups.

        Raises:
            Unanswerable: The evidence is not enough, or time is over.
        """
        return self.sizes.load.predict(changes, self.lookups[0], self.check_time)

    @answerable()
    def reads(self, changes: Mapping[str, float]) -> Reads:
        """The reads to expect after some changes; without changes those measured today.

        Of another size of the pool they are those of the miss curve, else those of the simulation.

        Raises:
            Unanswerable: The evidence is not enough, or time is over.
        """
        times = self._times(changes)
        return self.sizes.reads(changes, self.lookups[0]) if times is None else self.sizes.expected(times)

    def strained(self, changes: Mapping[str, float]) -> Iterator[Reads]:
        """The reads that may come instead: by all lookups that explain today's, and under strain (``predict``).

        Raises:
            Unanswerable: The evidence is not enough, or time is over.
        """
        for lookups in self.lookups:
            with answerable():
                reads = self.sizes.reads(changes, lookups, strained=True)
            yield reads

    def other(self, now: ScannedPool, then: ScannedPool) -> Iterator[Reads]:
        """The reads in another pool, or by other scans: the likeliest, then those that may come instead (``strained``).

        Args:
            now: ``today``, or the same scans at known times.
            then: What they become.

        Raises:
            Unanswerable: The evidence is not enough, or time is over.
        """
        for strained in (False, True):
            for lookups in self.lookups:
                with answerable():
                    reads = self.sizes.reads_of(now, then, lookups, strained=strained)
                yield reads

    def per_pass(self, reads: Reads) -> dict[str, float]:
        """Pages that a scan of each table reads."""
        per_second = self.today.workload.scans_per_second
        return {name: pages / per_second[name] for name, pages in reads.scans.items()}

    def size(self, changes: Mapping[str, float]) -> PoolSize | None:
        """The miss curve's answer; None where something else than the pool's size changes.

        Raises:
            Unanswerable: The evidence is not enough, or time is over.
        """
        times = self._times(changes)
        return None if times is None else self.sizes.size(times)

    def _times(self, changes: Mapping[str, float]) -> float | None:
        """The multiple of today's size; None where something else changes."""
        today = self.sizes.evidence.pool_bytes
        return None if changes.keys() - {POOL_SIZE} else changes.get(POOL_SIZE, today) / today

    @property
    def error(self) -> float:
        """How far the simulation is off today's reads of tables, relative to them."""
        evidence, by_model = self.sizes.evidence, self.predict({}).rates
        per_second = self.today.workload.scans_per_second
        off = abs(by_model.other - evidence.by_lookups)
        for name, pages in self.today.per_pass.items():
            off += abs(by_model.per_pass[name] - pages) * per_second[name]
        return off / max(evidence.reads, NEGLIGIBLE * self.today.workload.scanned, 1.0)

    @property
    def confidence(self) -> float:
        """1 within the accepted error, and less beyond it."""
        return confidence(self.error)

    def notes(self, changes: Mapping[str, float]) -> Iterator[str]:
        """What the answer to some changes rests on, and what it cannot see, in sentences."""
        yield from self.sizes.notes()
        simulated = self.today.scans or self.size(changes) is None
        if simulated and self.error > ACCEPTED_ERROR:
            yield (
                f"the model reads {self.predict({}).rates.read:,.1f} pages/s today and deviates from the measured reads"
                f" by {self.error:.0%}: its predictions are as uncertain"
            )
        left_out = self.today.left_out
        if left_out:
            names = ", ".join(map(table_name, left_out[:3]))
            more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
            why = "their facts are incomplete, or there are too many tables"
            yield f"scans of {names}{more} are not in the model: {why}"
        if any(part.fetch == "normal" for part in self.today.workload.scans):
            yield "the time of a serial scan is estimated from the time of its reads"

    def change(self, name: str, value: float) -> Change:
        """A change of a setting of the model, with the statements for this server."""
        return changes.change_at(self.window.latest, name, self.today.settings[name], value)

    def check_time(self) -> None:
        """Raise Unanswerable where time is over."""
        if self.until is not None and time.thread_time() > self.until:
            raise Unanswerable("time", "the model took longer than the rule's time")
