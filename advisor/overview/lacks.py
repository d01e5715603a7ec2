"""Why a part of the overview is not known."""

from __future__ import annotations

from typing import Any

from exporter.snapshot import SectionKey, Snapshot


def why(snapshot: Snapshot, *sources: SectionKey[Any]) -> str | None:
    """The reason of the first source that is not known, with its cure; None where all are known.

    Args:
        snapshot: With the outcomes of its collectors.
        sources: What the part is made of.
    """
    for source in sources:
        if snapshot[source] is not None:
            continue
        outcome = snapshot.outcomes.get(source.name)
        if outcome is None or not outcome.reason:
            return f"{source.name} has not been read"
        return outcome.reason if outcome.cure is None else f"{outcome.reason}: {outcome.cure}"
    return None
