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
from advisor.pool.errors import ACCEPTED_ERROR, Unanswerable, answerable
from advisor.pool.estimate import Explained, explained
from advisor.pool.fitting import NEGLIGIBLE, Loads
from advisor.pool.scanned import Prediction, ReadRates, Scanned
from advisor.pool.settings import POOL_SIZE
from advisor.pool.tables import MOST_TABLES, is_measured, table_name


class PoolModel:
    """The model of a window.

    Args:
        window: What has been watched.
        known: Its facts.
        loads: Those of earlier windows; one that stands for this window spares it the fit and its predictions.
    """

    def __init__(self, window: Window, known: Facts, loads: Loads | None = None) -> None:
        self.window, self._known = window, known
        self._loads = loads or Loads()
        self.until: float | None = None
        """When time is over, by ``time.thread_time``: a busy machine does not count."""

    @property
    def most_bytes(self) -> float | None:
        """The largest pool that the machine has memory for, in bytes; None where not known."""
        return self._known.pool.most_bytes

    @property
    def pages_read_per_second(self) -> float:
        """Over the whole window, which may begin before the pool was full."""
        return self._known.pool.pages_read_per_second or 0.0

    @cached_property
    def explained(self) -> Explained:
        """What was watched, and the load that explains it.

        Raises:
            Unanswerable: The window does not tell enough.
        """
        return explained(self.window, self._known, self._loads, self.check_time)

    @property
    def today(self) -> Scanned:
        """The pool and its scans today. Raises Unanswerable as ``explained``."""
        return self.explained.evidence.scanned

    @property
    def loads(self) -> tuple[tuple[Pages, ...], ...]:
        """Lookups that explain what was measured, the likeliest first. Raises Unanswerable as ``explained``."""
        return self.explained.fitted.lookups

    def table(self, scan: ScanFacts) -> str:
        """The name of a scanned table in the workload.

        Raises:
            Unanswerable: It is not in it.
        """
        name = table_name(scan)
        if name in self.today.scans:
            return name
        if is_measured(scan):
            raise Unanswerable("model", f"the model takes only the {MOST_TABLES} tables with the most scanned pages")
        raise Unanswerable("model", f"the facts of the scans of {name} are incomplete")

    @answerable()
    def predict(
        self, changes: Mapping[str, float], *, strained: bool = False, lookups: tuple[Pages, ...] | None = None
    ) -> Prediction:
        """What the simulation says of some changes.

        Args:
            changes: To settings of the model.
            strained: As in ``scanned.predict``.
            lookups: Beside the scans; the likeliest by default.

        Raises:
            Unanswerable: The window does not tell enough, or time is over.
        """
        lookups = self.loads[0] if lookups is None else lookups
        return self.explained.fitted.predict(changes, lookups, self.check_time, strained=strained)

    @answerable()
    def reads(
        self, changes: Mapping[str, float], *, strained: bool = False, lookups: tuple[Pages, ...] | None = None
    ) -> ReadRates:
        """The pages read after some changes, relative to those measured today; without changes these themselves.

        Args:
            changes: To settings of the model.
            strained: As in ``scanned.predict``.
            lookups: Beside the scans; where the likeliest, and the size of the pool changes, as the miss curve says.

        Raises:
            Unanswerable: The window does not tell enough, or time is over.
        """
        size = self.size(changes) if lookups is None and not strained else None
        if size is not None:
            return self.explained.expected(float(size.times))
        return self.explained.reads(changes, self.loads[0] if lookups is None else lookups, strained=strained)

    def size(self, changes: Mapping[str, float]) -> PoolSize | None:
        """The miss curve's answer; None where something else than the pool's size changes.

        Raises:
            Unanswerable: The window does not tell enough, or time is over.
        """
        if changes and changes.keys() != {POOL_SIZE}:
            return None
        return self.explained.size(changes.get(POOL_SIZE, self.explained.bytes) / self.explained.bytes)

    @property
    def error(self) -> float:
        """How far the simulation is off today's reads of tables, relative to them."""
        evidence, by_model, per_second = (
            self.explained.evidence,
            self.predict({}).rates,
            self.today.workload.scans_per_second,
        )
        off = abs(by_model.other - evidence.by_lookups)
        for name, pages in self.today.per_pass.items():
            off += abs(by_model.per_pass[name] - pages) * per_second[name]
        return off / max(evidence.reads, NEGLIGIBLE * self.today.workload.scanned, 1.0)

    @property
    def confidence(self) -> float:
        """1 within the accepted error, and less beyond it."""
        return min(1.0, ACCEPTED_ERROR / self.error) if self.error else 1.0

    def notes(self, changes: Mapping[str, float]) -> Iterator[str]:
        """What the answer to some changes rests on, and what it cannot see, in sentences."""
        yield from self.explained.notes()
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
