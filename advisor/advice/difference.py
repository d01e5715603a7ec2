"""Whether advice says something else than before, and not only at another time."""

from __future__ import annotations

from typing import Any

from advisor.contract.recommendation import Advice

_DATES = {"at", "watched_seconds", "computed_at", "age_seconds", "next_at"}
_DATES_OF_FINDING = {"watched_seconds", "judged_at"}
_SET_ASIDE = {"__all__": {"recommendation": _DATES_OF_FINDING}}
_DATED: Any = {
    **dict.fromkeys(_DATES, True),
    "recommendations": {"__all__": _DATES_OF_FINDING},
    "suppressed": _SET_ASIDE,
    "overruled": _SET_ASIDE,
}
"""As pydantic excludes it."""


def says_the_same(one: Advice, other: Advice) -> bool:
    """Whether only dates differ: with each verdict they do."""
    return one.computed_at == other.computed_at or one.model_dump(exclude=_DATED) == other.model_dump(exclude=_DATED)
