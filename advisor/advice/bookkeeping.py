"""Bookkeeping: the ledger of a server goes on with each collection. What is new is kept first, and told then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from advisor.advice.assessment import Assessment
from advisor.ledger.journal import Journal
from advisor.ledger.ledger import Ledger, Versions
from advisor.ledger.versions import versions
from advisor.rules.rulebook import RuleSet
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)


class Bookkeeping:
    """The ledger of a server.

    Attributes:
        ledger: What may be told: all of it is kept.
        journal: Where it is kept; None where it is not.
    """

    def __init__(self, ledger: Ledger, journal: Journal | None = None) -> None:
        """Nothing is observed yet."""
        self.ledger, self.journal = ledger, journal
        self._seen: tuple[Snapshot | None, Assessment | None] = (None, None)
        self._by: tuple[RuleSet | None, Versions] = (None, Versions())

    async def observe(self, history: Sequence[Snapshot], last: Assessment | None, rule_set: RuleSet) -> None:
        """Take what is new into the ledger; nothing, where neither snapshot nor assessment is. It is done in a thread.

        A failure is logged: the next snapshot may be understood.

        Args:
            history: As for ``Ledger.observe``.
            last: The last assessment.
            rule_set: The rules that it comes from.
        """
        seen = (history[-1] if history else None, last)
        if all(now is before for now, before in zip(seen, self._seen, strict=True)):
            return
        self._seen = seen
        if self._by[0] is not rule_set:
            self._by = rule_set, versions(rule_set.rules)
        try:
            self.ledger = await asyncio.to_thread(self._observed, tuple(history), last, self._by[1])
        except Exception:
            log.exception("the ledger missed a collection")

    def _observed(self, history: Sequence[Snapshot], last: Assessment | None, by: Versions) -> Ledger:
        if last is None:
            ledger, new = self.ledger.observe(history, None, by)
        else:
            ledger, new = self.ledger.observe(history, last.advice, by, last.is_gone)
        if new and self.journal is not None:
            self.journal.keep(new, ledger)
        return ledger
