"""Rules and a window to advice. Pure: the same window gives the same advice, in the same order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from advisor import choice, facts
from advisor.expressions import EvaluationError, Expression, Missing, Result
from advisor.fitted import Unanswerable
from advisor.recommendation import (
    Advice,
    Blind,
    Change,
    Effect,
    Evidence,
    Number,
    Recommendation,
    change,
    fingerprint,
    tidy,
)
from advisor.rule import Quantity, Rule
from advisor.settings import SETTINGS
from advisor.summary import fill
from advisor.whatif import Model
from advisor.window import Window

Values = dict[str, Result | None]


def advise(rules: Sequence[Rule], window: Window) -> Advice:
    """What the rules say: recommendations, the most severe first, and the rules that could not run."""
    known = facts.facts(window)
    model = Model(window, known)  # fitted once a rule asks it
    recommendations: list[Recommendation] = []
    blind: list[Blind] = []
    for rule in rules:
        if window.latest.server not in rule.file.applies:
            continue
        for outcome in _evaluate(rule, window, known, model):
            if isinstance(outcome, Recommendation):
                recommendations.append(outcome)
            elif outcome not in blind:
                blind.append(outcome)
    recommendations.sort(key=lambda r: (-r.severity.rank, -r.confidence, r.rule, sorted(r.subject.items())))
    server = window.latest.server
    return Advice(
        server=f"{server.flavour} {server.version_text}",
        at=window.latest.at,
        watched_seconds=round(window.seconds, 3),
        recommendations=tuple(recommendations),
        blind=tuple(sorted(blind, key=lambda b: (b.rule, b.lacks))),
    )


def _evaluate(rule: Rule, window: Window, known: facts.Facts, model: Model) -> Iterator[Recommendation | Blind]:
    lacking = list(_lacking(rule, window))
    if lacking:
        yield from lacking
        return
    for item in [None] if rule.file.for_each is None else known.lists[rule.file.for_each]:
        outcome = _outcome(rule, model, _values(rule, known, item), item)
        if outcome is not None:
            yield outcome


def _outcome(rule: Rule, model: Model, values: Values, item: Any) -> Recommendation | Blind | None:
    try:
        try:
            return _recommendation(rule, model, values, item) if _fires(rule, model, values, item) else None
        except Missing as missing:
            name = _root(rule, values, missing.name)
            return Blind(rule=rule.id, lacks=name, reason=f"{name} is not known{_of(item)}")
        except Unanswerable as unanswerable:
            return Blind(rule=rule.id, lacks=unanswerable.lacks, reason=str(unanswerable))
    except EvaluationError as error:
        return Blind(rule=rule.id, lacks="evaluation", reason=f"the rule failed{_of(item)}: {error}")


def _lacking(rule: Rule, window: Window) -> Iterator[Blind]:
    """What the rule needs and the newest snapshot does not have."""
    latest = window.latest
    for section in rule.file.needs:
        if getattr(latest, section) is not None:
            continue
        outcome = latest.outcomes.get(section)
        reason = outcome.reason if outcome and outcome.reason else "not collected yet"
        yield Blind(rule=rule.id, lacks=section, reason=reason, cure=outcome.cure if outcome else None)
    if len(window.snapshots) < 2:
        yield Blind(
            rule=rule.id,
            lacks="window",
            reason="only one collection since the server, its settings or the sidecar changed",
            cure="wait for the next one",
        )


def _values(rule: Rule, known: facts.Facts, item: Any) -> Values:
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
            values[name] = None  # _root says why, if anything needs it
    return values


def _root(rule: Rule, values: Values, name: str) -> str:
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


def _fires(rule: Rule, model: Model, values: Values, item: Any) -> bool:
    """Whether the rule holds; the model is asked only where everything else says so. What it chose joins the values."""
    if rule.file.choose is None:
        return _holds(rule, values)
    try:
        holds = _holds(rule, values)
    except Missing as missing:
        if missing.name not in choice.VOCABULARY:
            raise
        holds = True
    if not holds:
        return False
    values |= facts.named(choice.GROUP, choice.choose(model, rule.file.choose.setting, item))
    return _holds(rule, values)


def _holds(rule: Rule, values: Values) -> bool:
    """Whether all of ``when`` hold and none of ``unless``.

    One that settles it does so whatever is missing, or fails, in the others.
    """
    unsettled: Missing | EvaluationError | None = None
    for conditions, wanted in ((rule.when, True), (rule.unless, False)):
        for condition in conditions:
            try:
                if condition(values) is not wanted:
                    return False
            except (Missing, EvaluationError) as unknown:
                unsettled = unsettled or unknown
    if unsettled is not None:
        raise unsettled
    return True


def _recommendation(rule: Rule, model: Model, values: Values, item: Any) -> Recommendation:
    file, window, subject = rule.file, model.window, _subject(item)
    chosen = file.choose
    return Recommendation(
        rule=rule.id,
        severity=file.severity,
        confidence=file.confidence if chosen is None else round(file.confidence * model.fitted.fit.confidence, 3),
        fingerprint=fingerprint(rule.id, subject),
        summary=fill(file.summary, values).strip(),
        subject=subject,
        evidence=tuple(
            Evidence(name=item.name, value=_shown(expression(values)), unit=item.unit, source=item.source)
            for item, expression in rule.evidence
        ),
        changes=tuple(_change(setting, expression, window, values) for setting, expression in rule.change),
        effect=_effect(rule.effect, values),
        cost=None if rule.cost is None else _effect(rule.cost, values),
        alternatives=() if chosen is None else choice.alternatives(model, chosen.setting, item),
        watched_seconds=round(window.seconds, 3),
        references=file.references,
    )


def _change(name: str, expression: Expression, window: Window, values: Values) -> Change:
    setting, to, server = SETTINGS[name], expression(values), window.latest.server
    if isinstance(to, bool) or not setting.accepts(to):
        raise EvaluationError(f"{name} does not take {to}")
    before = values[f"setting.{name}"]
    if before is None or isinstance(before, bool):
        raise Missing(f"setting.{name}")
    return change(name, before, to, dynamic=setting.dynamic_on(server), set_persist=server.set_persist)


def _effect(quantity: Quantity, values: Values) -> Effect:
    item = quantity.item
    return Effect(
        quantity=item.quantity,
        now=None if quantity.now is None else _number(quantity.now(values)),
        predicted=_number(quantity.predicted(values)),
        unit=item.unit,
        model=item.model,
        error=None if quantity.error is None else _number(quantity.error(values)),
        read_bytes_saved_per_second=None if quantity.saved is None else _number(quantity.saved(values)),
    )


def _shown(value: Result) -> Number | str:
    return value if isinstance(value, str) else _number(value)


def _number(value: Result) -> Number:
    number = float(value)
    if not math.isfinite(number):
        raise EvaluationError(f"a value is {number}: a division by zero?")
    return tidy(number)


def _subject(item: Any) -> dict[str, str]:
    return {} if item is None else {"schema": item.schema, "table": item.table}


def _of(item: Any) -> str:
    return "" if item is None else f" for {item.schema}.{item.table}"
