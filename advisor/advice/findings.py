"""The recommendation of a rule that fires, from its values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from advisor.advice.conditions import FactValues
from advisor.contract import changes
from advisor.contract.recommendation import (
    Action,
    Alternative,
    Change,
    Effect,
    Evidence,
    Number,
    Recommendation,
    fingerprint,
    tidy,
)
from advisor.contract.settings import SETTINGS
from advisor.contract.templates import FactValue, duration, fill
from advisor.facts import CHOICE
from advisor.facts.beyond_window import HarmFacts
from advisor.observe.window import Window
from advisor.pool.errors import confidence
from advisor.pool.model import PoolModel
from advisor.pool.trials import alternatives, others
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Missing
from advisor.rules.file import ChangeItem, EffectItem
from exporter.server import Server

_MOVED = "advised_before"
_NOISE = 0.05
"""Share by which figures of two windows of one load differ at most."""


def recommendation(rule: Rule, model: PoolModel, values: FactValues, item: Any) -> Recommendation | None:
    """The recommendation; None where no change and no action of the rule can be made on this server.

    Args:
        rule: The rule.
        model: The model of the window.
        values: What the rule's expressions see.
        item: The item of ``for_each``; None without.

    Raises:
        Missing: A value in it is not known.
        EvaluationError: An expression failed, or a setting does not accept its value.
        Unanswerable: The model cannot be calibrated.
    """
    file, window = rule.file, model.window
    subject: dict[str, str] = {} if item is None else item.subject
    changed = (*_changes(rule, window, values), *(_taken_back(window, item) if file.take_back else ()))
    actions = tuple(_actions(rule, window.latest.server, values))
    if not (changed or actions):
        return None
    value, sure = (values.get(f"{CHOICE}.{name}") for name in ("value", "confidence"))
    chosen = None if value is None else file.choose
    effect = _effect(rule, file.effect, values)
    certainty = 1.0 if sure is None else _sure(float(sure), effect)
    left: Effect | None = None
    tried: tuple[Alternative, ...] = ()
    if chosen and item:
        tried = alternatives(model, chosen.setting, item)
        left = others(model, chosen.setting, float(value)) if changed and value else None
    return Recommendation(
        rule=rule.id,
        severity=file.severity,
        confidence=round(file.confidence * certainty, 3),
        fingerprint=fingerprint(rule.id, subject),
        summary=_line(file.summary, values),
        why=file.why.strip(),
        subject=subject,
        evidence=tuple(_evidence(rule, values)),
        changes=changed,
        actions=actions,
        effect=effect,
        cost=_effect(rule, file.cost, values),
        others=left,
        alternatives=tried,
        watched_seconds=round(window.seconds, 3),
        references=file.references,
    )


def moved(before: Recommendation, now: Recommendation) -> Iterator[Evidence]:
    """The values that the last advice had for the changes of a finding, and why they moved.

    A value that does not move keeps what it moved from before.

    Args:
        before: The finding as it was when it first advised its last values.
        now: The finding.
    """
    earlier = {change.setting: change.to for change in before.changes}
    for change in now.changes:
        value = earlier.get(change.setting, change.to)
        if value == change.to:
            yield from (item for item in before.evidence if item.name == _MOVED)
        else:
            because = ", ".join(_differences(before, now)) or f"no figure moved by more than {_NOISE:.0%}"
            source = f"the advice after {duration(before.watched_seconds)}; since then {because}"
            yield Evidence(name=_MOVED, value=value, source=source)


def _differences(before: Recommendation, now: Recommendation) -> Iterator[str]:
    """The figures of a finding that differ from those of the last advice."""
    figures = _figures(before)
    for name, figure in _figures(now).items():
        earlier = figures.get(name, figure)
        if abs(figure - earlier) > _NOISE * max(abs(figure), abs(earlier)):
            yield f"{name} {fill('{before:number} -> {now:number}', {'before': earlier, 'now': figure})}"


def _figures(finding: Recommendation) -> dict[str, float]:
    """The figures by name that do not grow with the window: reads today, and pages."""
    effects = (effect for effect in (finding.effect, finding.others) if effect is not None and effect.now is not None)
    pages = (item for item in finding.evidence if item.unit == "pages" and not isinstance(item.value, str))
    return {effect.quantity: float(effect.now or 0) for effect in effects} | {
        item.name.replace("_", " "): float(item.value) for item in pages
    }


def _sure(chosen: float, effect: Effect | None) -> float:
    """The confidence in a choice, 0 to 1: less where the rule gives its effect a larger error."""
    return chosen if effect is None else min(chosen, confidence(effect.error or 0.0))


def _evidence(rule: Rule, values: FactValues) -> Iterator[Evidence]:
    """The items of evidence whose values are known."""
    for item in rule.file.evidence:
        try:
            value = rule.expressions[item.value](values)
        except Missing:
            continue  # the finding does not rest on it: conditions, changes and effects do
        shown = value if isinstance(value, str) else _number(value)
        source = fill(item.source, values)
        yield Evidence(name=item.name, value=shown, unit=fill(item.unit, values), source=source)


def _changes(rule: Rule, window: Window, values: FactValues) -> Iterator[Change]:
    for item in rule.file.change:
        if _applies(rule, item.only_if, values):
            change = _change(rule, item, window, values)
            if change is not None:
                yield change


def _change(rule: Rule, item: ChangeItem, window: Window, values: FactValues) -> Change | None:
    to, before = rule.expressions[item.value](values), values[f"setting.{item.setting}"]
    if before is None or isinstance(before, bool) or isinstance(to, bool):
        raise Missing(f"setting.{item.setting}")
    if not SETTINGS[item.setting].accepts(to):
        raise EvaluationError(f"{item.setting} does not take {to}")
    if to == before or changes.refuses(window.latest.server, item.setting, to) is not None:
        return None
    return changes.change_at(window.latest, item.setting, before, to)


def _taken_back(window: Window, harm: HarmFacts) -> Iterator[Change]:
    """The way back of each setting that the server lets go back."""
    latest = window.latest
    for name, to in harm.take_back.items():
        now = SETTINGS[name].read(latest.setting(name))
        if to != now and changes.refuses(latest.server, name, to) is None:
            yield changes.change_at(latest, name, now, to)


def _actions(rule: Rule, server: Server, values: FactValues) -> Iterator[Action]:
    for item in rule.file.action:
        if _applies(rule, item.only_if, values):
            action = Action(
                do=_line(item.do, values),
                apply=tuple(fill(template, values) for template in item.apply),
                rollback=tuple(fill(template, values) for template in item.rollback),
            )
            yield changes.action_on(server, action)


def _line(template: str, values: FactValues) -> str:
    """A template of one line, however its author folded it; line ends in a name stay."""
    return fill(" ".join(template.split()), values)


def _applies(rule: Rule, only_if: str | None, values: FactValues) -> bool:
    """Whether an item's own condition holds; False where it is not known."""
    try:
        return only_if is None or rule.expressions[only_if](values) is True
    except Missing:
        return False


def _effect(rule: Rule, item: EffectItem | None, values: FactValues) -> Effect | None:
    if item is None or not _applies(rule, item.only_if, values):
        return None

    def number(text: str | None) -> Number | None:
        return None if text is None else _number(rule.expressions[text](values))

    return Effect(
        quantity=fill(item.quantity, values),
        now=number(item.now),
        predicted=_number(rule.expressions[item.predicted](values)),
        unit=fill(item.unit, values),
        model=item.model,
        error=number(item.error),
        read_bytes_saved_per_second=number(item.read_bytes_saved_per_second),
    )


def _number(value: FactValue) -> Number:
    number = float(value)
    if not math.isfinite(number):
        raise EvaluationError(f"a value is {number}: a division by zero?")
    return tidy(number)
