"""The values that a rule's expressions see, and its conditions on them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from advisor import facts
from advisor.advice.trace import Refusal
from advisor.contract.templates import FactValue
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Expression, Missing

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


def false_conditions(
    rule: Rule, values: FactValues, *, every: bool
) -> tuple[tuple[Refusal, ...], Missing | EvaluationError | None]:
    """The conditions that keep a rule silent; without one, the error of a condition that cannot be evaluated.

    One false condition silences the rule, even if other facts are unknown.

    Args:
        rule: The rule.
        values: As its expressions see them.
        every: Whether to return every false condition, and not only the first.
    """
    refusals: list[Refusal] = []
    unsettled: Missing | EvaluationError | None = None
    conditions = [(text, True) for text in rule.file.when] + [(text, False) for text in rule.file.unless]
    for text, wanted in conditions:
        condition = rule.expressions[text]
        try:
            holds = condition(values) is True
        except (Missing, EvaluationError) as unknown:
            unsettled = unsettled or unknown
            continue
        if holds is not wanted:
            refusals.append(_refusal(rule, condition, values, wanted=wanted))
            if not every:
                break
    return tuple(refusals), None if refusals else unsettled


def _refusal(rule: Rule, condition: Expression, values: FactValues, *, wanted: bool) -> Refusal:
    """With the values of the condition's names, and of the names in the ``let`` behind them."""
    key: Literal["when", "unless"] = "when" if wanted else "unless"
    seen: dict[str, FactValue | None] = {}
    names = [*condition.names]
    for name in names:  # grows on the way
        if name in values and name not in seen:
            seen[name] = values[name]
            names += rule.expressions[rule.file.let[name]].names if name in rule.file.let else ()
    return Refusal(key, f"{key} `{' '.join(condition.text.split())}` is {'false' if wanted else 'true'}", seen)


def lasting_holds(rule: Rule, of_slice: facts.Facts, item: Any) -> bool | None:
    """Whether the lasting condition holds in a slice; None where that is unknown.

    Args:
        rule: One with a lasting condition.
        of_slice: The facts of the slice.
        item: The item of ``for_each`` over the whole window; None without.
    """
    same = item
    if rule.file.for_each is not None:
        items = of_slice.lists[rule.file.for_each]
        same = next((candidate for candidate in items if candidate.subject == item.subject), None)
    if rule.file.lasting is None or (same is None and item is not None):
        return None
    try:
        return rule.expressions[rule.file.lasting.condition](values_of(rule, of_slice, same)) is True
    except (Missing, EvaluationError):
        return None
