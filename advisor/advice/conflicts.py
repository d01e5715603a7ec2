"""Findings that are suppressed, findings that contradict others, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from advisor.contract.recommendation import Change, Recommendation, SetAside
from advisor.rules.configuration import Suppression

Resolved = tuple[tuple[Recommendation, ...], tuple[SetAside, ...], tuple[SetAside, ...]]


def resolve(found: Sequence[Recommendation], suppressions: Sequence[Suppression], today: date) -> Resolved:
    """The findings to recommend, the suppressed ones, and the overruled ones.

    Args:
        found: In order of priority: of two that contradict each other, the first is recommended.
        suppressions: Findings that are not wanted; a suppressed finding overrules nothing.
        today: Ends suppressions.
    """
    made: list[Recommendation] = []
    suppressed: list[SetAside] = []
    overruled: list[SetAside] = []
    for each in found:
        suppression = next((s for s in suppressions if s.covers(each.rule, each.fingerprint, today)), None)
        if suppression is not None:
            suppressed.append(SetAside(recommendation=each, reason=suppression.text))
            continue
        reason = next((reason for other in made if (reason := _contradiction(other, each)) is not None), None)
        if reason is not None:
            overruled.append(SetAside(recommendation=each, reason=reason))
        else:
            made.append(each)
    return tuple(made), tuple(suppressed), tuple(overruled)


def _contradiction(made: Recommendation, other: Recommendation) -> str | None:
    """Why both cannot be followed: they set the same setting to different values."""
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
