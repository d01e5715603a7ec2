"""The values that a rule's expressions see."""

from __future__ import annotations

from typing import Any

from advisor import facts
from advisor.contract.templates import Value
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Missing

Values = dict[str, Value | None]
"""By name; None where not known."""


def values_of(rule: Rule, known: facts.Facts, item: Any) -> Values:
    """Everything the rule's expressions may name, its own ``let`` included."""
    values: Values = {f"setting.{name}": value for name, value in known.setting.items()}
    for group in facts.GROUPS:
        values |= facts.named(group, getattr(known, group))
    if rule.file.for_each is not None and item is not None:
        values |= facts.named(facts.LISTS[rule.file.for_each][0], item)
    for name, expression in rule.let.items():
        try:
            values[name] = expression(values)
        except (Missing, EvaluationError):
            values[name] = None  # missing_fact says why, if anything needs it
    return values


def missing_fact(rule: Rule, values: Values, name: str) -> str:
    """The fact behind a missing name: the name itself, or what the ``let`` of that name lacks.

    Raises:
        EvaluationError: The ``let`` failed for another reason.
    """
    while name in rule.let:
        try:
            rule.let[name](values)
        except Missing as missing:
            name = missing.name
        else:
            break
    return name
