"""Whether a promise was kept. Production, proofs and the gauntlet share it."""

from __future__ import annotations

from advisor.ledger.entry import Compared, Promise, Result

_UNSTATED = 0.2
"""The error of a promise that states none: the bound that the proofs hold every effect to."""


def stated(promise: Promise) -> float:
    """The error that a promise may have, relative to now."""
    return _UNSTATED if promise.error is None else float(promise.error)


def verdict(promise: Promise, measured: Compared) -> tuple[Result, float] | None:
    """Kept or missed, and what was measured less what was predicted, relative to now; None where now is 0.

    It is kept if the stated error, or chance, explains what it is off.
    """
    now = abs(float(promise.now))
    if not now:
        return None
    error = (float(measured.after) - float(promise.predicted)) / now
    kept = abs(error) <= max(stated(promise), float(measured.noise) / now)
    return Result.KEPT if kept else Result.MISSED, error
