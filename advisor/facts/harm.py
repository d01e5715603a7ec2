"""Changes of settings after which something else got worse (advisor.ledger.harm)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from advisor.contract.settings import SettingValue
from advisor.facts.base import NO_FACT, Meaning


@dataclass(frozen=True, slots=True)
class HarmFacts:
    """A change of a setting, or of several at once, that is still in force, and what got worse after it."""

    setting: Annotated[str, Meaning("Setting that was changed; several that were changed at once, with commas.")]
    changed: Annotated[
        str, Meaning("The change in words, such as innodb_old_blocks_pct from 37 to 95; with a semicolon each.")
    ]
    changed_at: Annotated[str, Meaning("When the change was first seen.")]
    seconds: Annotated[float, Meaning("Time since then.", unit="seconds")]
    advised: Annotated[bool, Meaning("Whether the change followed a finding.")]
    rules: Annotated[str, Meaning("Rules whose findings asked for the setting, with commas; empty where none did.")]
    quantity: Annotated[str, Meaning("What got worse most clearly, with the table that it is of.")]
    unit: Annotated[str, Meaning("Its unit.")]
    before: Annotated[float, Meaning("It before the change.")]
    after: Annotated[float, Meaning("It after the change, by the same work.")]
    noise: Annotated[float, Meaning("What chance may make of the difference.")]
    count: Annotated[float, Meaning("Quantities that got worse.", unit="quantities")]
    worse: Annotated[str, Meaning("All that got worse, in words, the clearest first.")]
    can_be_taken_back: Annotated[bool, Meaning("Whether the server can have all of the earlier values again.")]
    take_back: Mapping[str, SettingValue] = field(default_factory=dict, metadata=NO_FACT)
    """The values to go back to, by setting."""

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"setting": self.setting}
