"""The gauntlet's measured promises, as outcomes."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.ledger.entry import Compared, Outcome
from advisor.ledger.entry import Promise as Promised
from advisor.ledger.reading import READ, READ_UNIT
from lab.campaign import records
from lab.gauntlet.record import Entry, GauntletRecord, Measured
from lab.gauntlet.workload import SERVERS
from lab.reports import calibration


def outcomes() -> Iterator[tuple[str, Outcome]]:
    """Each with its workload and its server."""
    for server in SERVERS:
        record = records.load(f"gauntlet/{server}")
        for name, data in records.data(record).items() if record else ():
            workload = GauntletRecord.model_validate(data)
            for entry in workload.entries:
                if (found := outcome(entry, workload.seconds)) is not None:
                    yield f"{name} on {server}", found


def outcome(entry: Entry, seconds: float) -> Outcome | None:
    """What became of advice; None where it promised nothing that rounds show, or the server refused it.

    Args:
        entry: The advice that was followed.
        seconds: Of a round.
    """
    promise = entry.promise
    if promise is None or entry.refused:
        return None
    promised = Promised(
        setting="",
        to="",
        quantity=promise.quantity,
        unit=promise.unit,
        now=promise.now,
        predicted=promise.predicted,
        error=promise.error,
    )
    measured = _compared(promise.quantity, promise.unit, promise.measured, promise.per_round)
    reads = _compared(READ, READ_UNIT, entry.read, seconds, worse=bool(entry.harm))
    return calibration.outcome(entry.rule, promised, measured, [reads])


def _compared(quantity: str, unit: str, measured: Measured, per_round: float, *, worse: bool = False) -> Compared:
    """In the finding's unit.

    Args:
        quantity: Its name.
        unit: Its unit.
        measured: A round.
        per_round: The factor from the unit to that of a round.
        worse: Whether the bounds of the gauntlet call it harm.
    """
    before, after, noise = (each / per_round for each in (measured.before, measured.after, measured.noise))
    return Compared(quantity=quantity, unit=unit, before=before, after=after, noise=noise, worse=worse)
