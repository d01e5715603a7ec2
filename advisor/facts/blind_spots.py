"""Sources that the server or the account does not open, with the cure of each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.facts.base import fact
from advisor.observe.window import Window
from exporter.snapshot import ReadOutcome

_QUOTED = r"'(?:[^'\\]|''|\\\\)*'"
_STATEMENT = re.compile(
    rf"GRANT (?:PROCESS ON \*\.\*|SELECT ON (?:performance_schema|mysql)\.[\w*]+) TO {_QUOTED}@{_QUOTED}"
    r"|UPDATE performance_schema\.setup_\w+ SET ENABLED = 'YES' WHERE NAME = '[\w/]+'"
)
"""The statements that may be advised. A recording may hold any cure: others are shown as words only."""
_UNDO = {
    "GRANT ": (("GRANT ", "REVOKE "), (" TO ", " FROM ")),
    "UPDATE ": (("SET ENABLED = 'YES'", "SET ENABLED = 'NO'"),),
}
"""The beginnings of statements that cure, with the replacements that undo them."""


@dataclass(frozen=True, slots=True)
class BlindSpotFacts:
    """Sources that the same cure would open."""

    sources: str = fact("Names of the sources, with commas.")
    count: float = fact("Number of sources.", unit="sources")
    reason: str = fact("Why the sources are shut, in the words of the first.")
    cure: str = fact("What opens the sources.", sql=True)
    statement: bool = fact(
        "Whether the cure is a statement, and not a line of the option file or of the configuration."
    )
    undo: str = fact("Statement that takes the cure back; empty where the cure is not a statement.", sql=True)
    rules: str = fact("Rules that need the sources, with commas; empty where none does.")
    rule_count: float = fact("Number of rules that need the sources.", unit="rules")

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"cure": self.cure}


def blind_spots(window: Window, needed_by: Mapping[str, Sequence[str]]) -> list[BlindSpotFacts]:
    """One blind spot for each cure, in the order of the sources' names.

    Args:
        window: Its newest snapshot is used.
        needed_by: By source, the rules that need it.
    """
    shut: dict[str, list[tuple[str, ReadOutcome]]] = {}
    for name, outcome in sorted(window.latest.outcomes.items()):
        if outcome.failure and outcome.cure:
            shut.setdefault(outcome.cure, []).append((name, outcome))
    spots = []
    for cure, sources in shut.items():
        rules = sorted({rule for name, _ in sources for rule in needed_by.get(name, ())})
        spots.append(
            BlindSpotFacts(
                sources=", ".join(name for name, _ in sources),
                count=float(len(sources)),
                reason=sources[0][1].reason,
                cure=cure,
                statement=_STATEMENT.fullmatch(cure) is not None,
                undo=_undo(cure),
                rules=", ".join(rules),
                rule_count=float(len(rules)),
            )
        )
    return spots


def _undo(cure: str) -> str:
    if _STATEMENT.fullmatch(cure) is None:
        return ""
    for said, turned in next(turns for begin, turns in _UNDO.items() if cure.startswith(begin)):
        cure = cure.replace(said, turned, 1)
    return cure
