"""What is known beside a window: the memory of days, and what became of changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.ledger.entry import Outcome
from advisor.observe.limits import MAY_READ
from advisor.pool.hours import Hour


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is handed to an evaluation.

    Attributes:
        hours: The memory of days, oldest first; None where none is kept.
        may_read: Pages a second that may be read more.
        outcomes: What became of changes of settings, in any order.
    """

    hours: Sequence[Hour] | None = None
    may_read: float = MAY_READ
    outcomes: Sequence[Outcome] = ()
