"""What becomes of the findings: those the configuration does not want, those that contradict others, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from advisor.recommendation import Change, Recommendation, SetAside


class Suppression(BaseModel):
    """Findings that are not wanted: all of a rule, or one by its fingerprint.

    Attributes:
        until: The last day that it counts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: str | None = Field(None, min_length=1)
    fingerprint: str | None = Field(None, pattern="^[0-9a-f]{16}$")
    reason: str = ""
    until: date | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.rule is None) == (self.fingerprint is None):
            raise ValueError("name either a rule or a fingerprint")
        return self

    def covers(self, found: Recommendation, today: date) -> bool:
        """Whether it is about this finding, today."""
        if self.until is not None and today > self.until:
            return False
        return self.rule == found.rule or self.fingerprint == found.fingerprint

    @property
    def said(self) -> str:
        """Why, in words."""
        named = f"the rule {self.rule}" if self.rule else f"the fingerprint {self.fingerprint}"
        until = f" until {self.until}" if self.until else ""
        return f"{named} is suppressed{until}" + (f": {self.reason}" if self.reason else "")


Resolved = tuple[tuple[Recommendation, ...], tuple[SetAside, ...], tuple[SetAside, ...]]


def resolve(found: Sequence[Recommendation], suppressions: Sequence[Suppression], today: date) -> Resolved:
    """Those that are made, those that are suppressed, and those that are overruled.

    Args:
        found: In their order: of two that contradict each other the first is made.
        suppressions: Findings that are not wanted; they overrule nothing.
        today: For suppressions that end.
    """
    made: list[Recommendation] = []
    suppressed: list[SetAside] = []
    overruled: list[SetAside] = []
    for each in found:
        suppression = next((s for s in suppressions if s.covers(each, today)), None)
        if suppression is not None:
            suppressed.append(SetAside(recommendation=each, reason=suppression.said))
            continue
        reason = next((reason for other in made if (reason := _contradiction(other, each)) is not None), None)
        if reason is not None:
            overruled.append(SetAside(recommendation=each, reason=reason))
        else:
            made.append(each)
    return tuple(made), tuple(suppressed), tuple(overruled)


def _contradiction(made: Recommendation, other: Recommendation) -> str | None:
    """Why the second cannot be followed beside the first: they set one setting to different values."""
    for one in made.changes:
        for another in other.changes:
            if one.setting == another.setting and one.to != another.to:
                what = "the other way" if _opposed(one, another) else "to another value"
                return (
                    f"{made.rule} ({made.fingerprint}) sets {one.setting} to {one.to}, this one {what}, {another.to}:"
                    " follow the first, and look again"
                )
    return None


def _opposed(one: Change, another: Change) -> bool:
    values = (one.to, one.from_, another.to)
    if not all(isinstance(value, int | float) for value in values):
        return True
    to, before, other = (float(value) for value in values if not isinstance(value, str | None))
    return (to - before) * (other - before) < 0
