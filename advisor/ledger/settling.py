"""How long a pool takes to settle after a change."""

from __future__ import annotations

from advisor.ledger.entry import Outcome
from advisor.observe.window import Window

WINDOW_SECONDS = 300.0


def settled(outcome: Outcome, window: Window) -> bool:
    """Whether enough was seen since the change."""
    return window.snapshots[0].at >= outcome.at and window.seconds >= 3 * WINDOW_SECONDS
