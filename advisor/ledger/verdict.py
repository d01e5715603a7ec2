"""Whether a promise was kept."""

from __future__ import annotations

from advisor.ledger.entry import Compared, Promise, Result

_UNSTATED = 0.2
"""The error of a promise that states none: the bound that the proofs hold every effect to."""


def verdict(promise: Promise, measured: Compared) -> tuple[Result, float] | None:
    """Kept or missed, and what was measured less what was predicted, relative to now; None where now is 0.

    It is kept if the stated error, or chance, explains what it is off.
    """
    now = abs(float(promise.now))
    if not now:
        return None
    error = (float(measured.after) - float(promise.predicted)) / now
    stated = _UNSTATED if promise.error is None else float(promise.error)
    kept = abs(error) <= max(stated, float(measured.noise) / now)
    return Result.KEPT if kept else Result.MISSED, error
