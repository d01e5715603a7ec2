"""The values that a rule's expressions see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from advisor import facts
from advisor.contract.templates import FactValue
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Missing

FactValues = dict[str, FactValue | None]
"""By name; None where not known."""


def values_of(rule: Rule, known: facts.Facts, item: Any, check_time: Callable[[], None] = lambda: None) -> FactValues:
    """The value of every name that the rule's expressions may use, its own ``let`` included.

    Args:
        rule: The rule.
        known: The facts.
        item: The item of ``for_each``; None without.
        check_time: Called before each ``let``; an exception from it ends the work.
    """
    values: FactValues = {**known.values}
    if rule.file.for_each is not None and item is not None:
        values |= facts.values_by_name(facts.LISTS[rule.file.for_each][0], item)
    for name, text in rule.file.let.items():
        check_time()
        try:
            values[name] = rule.expressions[text](values)
        except (Missing, EvaluationError):
            values[name] = None  # missing_fact says why, if anything needs it
    return values


def missing_fact(rule: Rule, values: FactValues, name: str) -> str:
    """The missing fact behind a name: the name itself, or the fact that the ``let`` of that name lacks.

    Raises:
        EvaluationError: The ``let`` failed for another reason.
    """
    while name in rule.file.let:
        try:
            rule.expressions[rule.file.let[name]](values)
        except Missing as missing:
            name = missing.name
        else:
            break
    return name
