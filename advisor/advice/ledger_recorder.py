"""The recorder of the ledger: it takes in each collection. What is new is on the disk before it is shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from advisor.advice.judgement import Assessment
from advisor.files.stored import StoredItems
from advisor.ledger.entry import ENTRY
from advisor.ledger.ledger import Ledger
from exporter.snapshot import Snapshot
from exporter.state_file import StateFile

log = logging.getLogger(__name__)


class LedgerRecorder:
    """The ledger of a server, as it goes on.

    Attributes:
        ledger: All of it is on the disk, where there is a state file.
        is_stored: Whether there is a state file for it.
    """

    def __init__(self, ledger: Ledger | None = None, state: StateFile | None = None) -> None:
        """Begin with the ledger of the state file; without one, with ``ledger``, by default an empty one."""
        self._items = None if state is None else StoredItems(state, "entries", ENTRY)
        self.is_stored = state is not None
        self.ledger = (ledger or Ledger()) if self._items is None else Ledger.of(self._items.load())
        if self.is_stored and self.ledger != Ledger():
            log.info("found a ledger of %d entries", len(self.ledger.by_key))
        self._newest: Snapshot | None = None
        self._assessment: Assessment | None = None

    @property
    def problem(self) -> str | None:
        """Why the newest entries are not stored; None where they are, and without a state file."""
        return None if self._items is None else self._items.problem

    async def observe(self, history: Sequence[Snapshot], assessment: Assessment | None) -> None:
        """Take a new snapshot or a new assessment into the ledger, in a thread.

        A failure is logged: the next snapshot may be understood.

        Args:
            history: As for ``Ledger.observe``; not empty.
            assessment: The last one.
        """
        if history[-1] is self._newest and assessment is self._assessment:
            return
        self._newest, self._assessment = history[-1], assessment
        try:
            self.ledger = await asyncio.to_thread(self._observed, tuple(history), assessment)
        except Exception:
            log.exception("the ledger missed a collection")

    def _observed(self, history: Sequence[Snapshot], last: Assessment | None) -> Ledger:
        if last is None:
            ledger, new = self.ledger.observe(history, None)
        else:
            ledger, new = self.ledger.observe(history, last.advice, last.rule_set.rules, last.is_gone)
        if new and self._items is not None:
            self._items.keep(ledger.by_key)
        return ledger
