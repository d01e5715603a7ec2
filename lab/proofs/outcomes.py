"""The measured effects of the proofs, as outcomes."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.ledger.entry import Compared, Outcome, Promise
from lab.proofs.record import MeasuredEffect
from lab.proofs.report import found
from lab.reports import calibration


def outcomes() -> Iterator[tuple[str, Outcome]]:
    """Each with the server that it was proved on."""
    for rule, record in found().items():
        for server, proof in record.proofs.items():
            for effect in proof.effects:
                if (each := outcome(rule, effect)) is not None:
                    yield f"the proof on {server}", each


def outcome(rule: str, effect: MeasuredEffect) -> Outcome | None:
    """What became of advice; None where the rule says that there is nothing now."""
    promise = Promise(
        setting="",
        to="",
        quantity=effect.quantity,
        unit=effect.unit,
        now=effect.now,
        predicted=effect.predicted,
        error=effect.stated,
    )
    measured = Compared(quantity=effect.quantity, unit=effect.unit, before=effect.before, after=effect.after, noise=0.0)
    return calibration.outcome(rule, promise, measured)
