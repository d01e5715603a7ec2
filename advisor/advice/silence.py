"""Why a rule said nothing of a window: what in it said no, with the values it saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from advisor import facts
from advisor.advice import evaluation
from advisor.advice.findings import Values, make
from advisor.contract.recommendation import tidy
from advisor.facts import choice
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Expression, Missing, Result, names_in
from advisor.whatif.calibration import Unanswerable
from advisor.whatif.choice import choose
from advisor.whatif.model import Model


@dataclass(frozen=True, slots=True)
class Silence:
    """One reason.

    Attributes:
        of: What the rule looked at, such as a table; empty for the server as a whole.
        what: In words, with the expression.
        values: Of the names in it; None where not known.
    """

    of: str
    what: str
    values: dict[str, Result | None]

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {_shown(value)}" for name, value in self.values.items())
        return (f"{self.of}: " if self.of else "") + self.what + (f"  ({values})" if values else "")


def explain(rule: Rule, window: Window, beside: Sequence[Rule] = ()) -> Iterator[Silence]:
    """Everything that kept the rule silent, for each of what it looks at; nothing where it is blind or fires.

    Args:
        rule: The rule.
        window: What it looked at.
        beside: Rules that are blind where a source that they need is shut.
    """
    server = window.latest.server
    if server not in rule.file.applies:
        yield Silence("", f"the rule does not apply to {server.flavour} {server.version_text}", {})
        return
    needed_by = evaluation.needed_by((rule, *beside), window)
    known = facts.facts(window, needed_by)
    parts = [] if rule.lasting is None else [facts.facts(part, needed_by) for part in evaluation.slices(window)]
    for_each = rule.file.for_each
    items = [None] if for_each is None else known.lists[for_each]
    if not items:
        yield Silence("", f"there is nothing in {for_each}", {})
    model = Model(window, known)
    for item in items:
        yield from _of_item(rule, model, known, parts, item)


def _of_item(
    rule: Rule, model: Model, known: facts.Facts, parts: Sequence[facts.Facts], item: Any
) -> Iterator[Silence]:
    name = ".".join(item.subject.values()) if item else ""
    values = evaluation.values_of(rule, known, item)
    found = list(_conditions(rule, name, values))
    if not found and rule.file.lasting is not None:
        held, slices = evaluation.lasting(rule, parts, item)
        if held < rule.file.lasting.share * slices:
            share = f"{held} of {slices} slices of the window, of which {rule.file.lasting.share:.0%} are needed"
            found.append(Silence(name, f"lasting `{rule.file.lasting.condition}` held in {share}", {}))
    if not found and rule.file.choose is not None:
        try:
            at_most = None if rule.at_most is None else float(rule.at_most(values))
            values |= facts.named(choice.GROUP, choose(model, rule.file.choose.setting, item, at_most))
            found = list(_conditions(rule, name, values))
        except (Missing, EvaluationError, Unanswerable):
            return  # the rule is blind, and says so itself
    yield from found or _undoable(rule, model, name, values, item)


def _conditions(rule: Rule, name: str, values: Values) -> Iterator[Silence]:
    for key, conditions, wanted in (("when", rule.when, True), ("unless", rule.unless, False)):
        for condition in conditions:
            try:
                holds = condition(values) is True
            except (Missing, EvaluationError):
                continue
            if holds is not wanted:
                said = f"{key} `{' '.join(condition.text.split())}` is {'true' if holds else 'false'}"
                yield Silence(name, said, _seen(rule, condition, values))


def _undoable(rule: Rule, model: Model, name: str, values: Values, item: Any) -> Iterator[Silence]:
    try:
        if make(rule, model, values, item) is None:
            yield Silence(name, "it would fire, but nothing of what it advises can be done on this server", {})
    except (Missing, EvaluationError, Unanswerable):
        return


def _seen(rule: Rule, condition: Expression, values: Values) -> dict[str, Result | None]:
    """The values of the names in a condition, and of those in the ``let`` behind them."""
    seen: dict[str, Result | None] = {}
    waiting = names_in(condition.text)
    while waiting:
        name = waiting.pop(0)
        if name in values and name not in seen:
            seen[name] = values[name]
            if name in rule.let:
                waiting += names_in(rule.let[name].text)
    return seen


def _shown(value: Result | None) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool | str):
        return str(value).lower() if isinstance(value, bool) else repr(value)
    return f"{tidy(value):,}"
