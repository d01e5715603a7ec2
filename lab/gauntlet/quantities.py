"""The measured side of a promise: what the server's counters say of the quantity that a finding predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from advisor.contract.recommendation import Effect, Recommendation
from lab.gauntlet.counters import Counters


@dataclass(frozen=True)
class Quantity:
    """A quantity of a round.

    Attributes:
        measured: Its value in a round.
        per_round: The factor from the finding's unit to pages (or merges) a round.
    """

    measured: Callable[[Counters], float]
    per_round: float


PASSES = ("passes", "passes_by_parallel_readers")
"""Evidence of how often the table was read."""


def read(counters: Counters) -> float:
    """Pages read by everything."""
    return counters.read


def merges(counters: Counters) -> float:
    """Change buffer merges."""
    return counters.merges


NOT_RATES = {
    "rules without a source that they need",
    "memory for the buffer pool",
    "pages that a slow shutdown reads to empty the change buffer",
    "pages of the change buffer after a slow shutdown",
    "pages that one COUNT(*) goes through",
    "bytes that a build of the largest index writes to temporary files",
    "pages of data files that reads and writes leave in the page cache",
    "age of the checkpoint",
    "parallel reader threads per core",
    "seconds per COUNT(*)",
    "young pages read again after a restart, at most",
}
"""Quantities that rounds do not show. The statements are executed all the same, and nothing may get worse."""


MEASURED = {
    "pages read per pass",
    "pages read per second",
    "secondary-index pages read per second by inserts and updates",
    "pages read by the same work",
    "change buffer merges per second",
}
"""Quantities that rounds show."""


def quantity(found: Recommendation, effect: Effect, rounds: int) -> Quantity | None:
    """How a finding's quantity is measured; None if rounds do not show it.

    Args:
        found: The finding.
        effect: Its effect, or that of one of its alternatives.
        rounds: Rounds under its watch.

    Raises:
        KeyError: A quantity that is neither measured here nor known not to be.
    """
    seconds = found.watched_seconds / rounds
    evidence = {each.name: each.value for each in found.evidence}
    match effect.quantity:
        case "pages read per pass":
            table = f"{found.subject['schema']}/{found.subject['table']}"
            passes = next(float(evidence[name]) for name in PASSES if name in evidence)
            return Quantity(lambda round_: round_.tables.get(table, 0.0), passes / rounds)
        case "pages read per second" | "secondary-index pages read per second by inserts and updates":
            return Quantity(read, seconds)
        case "pages read by the same work":
            return Quantity(read, 1.0 / rounds)
        case "change buffer merges per second":
            return Quantity(merges, seconds)
        case other if other in NOT_RATES:
            return None
        case other:
            raise KeyError(f"{found.rule} predicts {other!r}: say in lab.gauntlet.quantities how it is measured")
