"""Rules and a window to advice. Pure: the same window gives the same advice, in the same order."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from advisor import facts
from advisor.advice.conflicts import resolve
from advisor.advice.findings import Values, make
from advisor.contract.recommendation import Advice, Blind, Failed, Recommendation, fingerprint
from advisor.facts import choice
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Missing
from advisor.rules.suppression import Suppression
from advisor.whatif.calibration import Unanswerable
from advisor.whatif.choice import choose
from advisor.whatif.model import Model

SLICES = 8
"""At most, into which a window is cut to see how lasting something is."""
Outcome = Recommendation | Blind | Failed


def advise(
    rules: Sequence[Rule],
    window: Window,
    *,
    beside: Sequence[Rule] = (),
    suppressions: Sequence[Suppression] = (),
    standing: frozenset[str] = frozenset(),
    seconds: float = math.inf,
) -> Advice:
    """What the rules say: recommendations, the most severe first, and the rules that could not run.

    Args:
        rules: In any order.
        window: What has been watched.
        beside: Rules that are not asked, but blind where a source that they need is shut.
        suppressions: Findings that are not wanted.
        standing: Fingerprints of the findings of the last advice: these go later than they came.
        seconds: Of a core, for all rules together, beside what each of them may take.
    """
    evaluation = _Evaluation((*rules, *beside), window, standing, seconds)
    server = window.latest.server
    outcomes = [outcome for rule in rules if server in rule.file.applies for outcome in evaluation.outcomes(rule)]
    found = [each for each in outcomes if isinstance(each, Recommendation)]
    found.sort(key=lambda r: (-r.severity.rank, -r.confidence, r.rule, sorted(r.subject.items())))
    made, suppressed, overruled = resolve(found, suppressions, datetime.fromtimestamp(window.latest.at, UTC).date())
    return Advice(
        server=f"{server.flavour} {server.version_text}",
        at=window.latest.at,
        watched_seconds=round(window.seconds, 3),
        recommendations=made,
        blind=tuple(sorted({b for b in outcomes if isinstance(b, Blind)}, key=lambda b: (b.rule, b.lacks, b.reason))),
        failed=tuple(sorted({f for f in outcomes if isinstance(f, Failed)}, key=lambda f: (f.rule, f.reason))),
        suppressed=suppressed,
        overruled=overruled,
    )


class _Evaluation:
    """The rules over one window, with what they share: facts, the fitted model, the slices."""

    def __init__(self, known: Sequence[Rule], window: Window, standing: frozenset[str], seconds: float) -> None:
        self._window, self._standing = window, standing
        self._until = time.thread_time() + seconds
        self._needed_by = needed_by(known, window)
        self._facts = facts.facts(window, self._needed_by)
        self._model = Model(window, self._facts)  # fitted once a rule asks it
        self._sliced: list[facts.Facts] | None = None

    def outcomes(self, rule: Rule) -> Iterator[Outcome]:
        """What a rule says of everything that it looks at, within its time."""
        lacking = list(_lacking(rule, self._window))
        if lacking:
            yield from lacking
            return
        items: Sequence[Any] = [None]
        if rule.file.for_each is not None:
            items = self._facts.lists[rule.file.for_each]
        began = time.thread_time()
        self._model.until = until = min(began + rule.file.budget_seconds, self._until)
        for number, item in enumerate(items):
            if number and time.thread_time() > until:
                took = max(0.0, until - began)
                reason = f"{number} of {len(items)} took its {took:.3g} s: the others were not looked at"
                yield Blind(rule=rule.id, lacks="time", reason=reason)
                return
            outcome = self._outcome(rule, item)
            if outcome is not None:
                yield outcome

    def _outcome(self, rule: Rule, item: Any) -> Outcome | None:
        values = values_of(rule, self._facts, item)
        try:
            try:
                if not self._fires(rule, values, item):
                    return None
                return make(rule, self._model, values, item)
            except Missing as missing:
                name = _root(rule, values, missing.name)
                return Blind(rule=rule.id, lacks=name, reason=f"{name} is not known{_of(item)}")
            except Unanswerable as unanswerable:
                return Blind(rule=rule.id, lacks=unanswerable.lacks, reason=str(unanswerable))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one rule, the others have their say
            what = str(error) if isinstance(error, EvaluationError) else f"{type(error).__name__}: {error}"
            return Failed(rule=rule.id, reason=f"the rule failed{_of(item)}: {what}")

    def _fires(self, rule: Rule, values: Values, item: Any) -> bool:
        """Whether the rule holds, and for long enough.

        The model is asked only where everything else says so. What it chose joins the values.
        """
        chosen = rule.file.choose
        try:
            holds = _holds(rule, values)
        except Missing as missing:
            if chosen is None or missing.name not in choice.VOCABULARY:
                raise
            holds = True
        if not holds or not self._lasts(rule, item):
            return False
        if chosen is None:
            return True
        try:
            at_most = None if rule.at_most is None else float(rule.at_most(values))
        except Missing as bound:
            return _holds_unbounded(rule, values, bound)
        values |= facts.named(choice.GROUP, choose(self._model, chosen.setting, item, at_most))
        return _holds(rule, values)

    def _lasts(self, rule: Rule, item: Any) -> bool:
        """Whether the lasting condition held in enough slices of the window; those that do not know it don't count."""
        if rule.file.lasting is None:
            return True
        held, known = lasting(rule, self._slices(), item)
        stands = fingerprint(rule.id, item.subject if item else {}) in self._standing
        share = rule.file.lasting.until if stands else rule.file.lasting.share
        return held >= share * known

    def _slices(self) -> list[facts.Facts]:
        if self._sliced is None:
            self._sliced = [facts.facts(part, self._needed_by) for part in slices(self._window)]
        return self._sliced


def needed_by(rules: Sequence[Rule], window: Window) -> dict[str, list[str]]:
    """By section of a snapshot, the rules for this server that need it."""
    applying = [rule for rule in rules if window.latest.server in rule.file.applies]
    return {
        section: [rule.id for rule in applying if section in rule.file.needs]
        for section in {section for rule in applying for section in rule.file.needs}
    }


def lasting(rule: Rule, parts: Sequence[facts.Facts], item: Any) -> tuple[int, int]:
    """In how many slices the rule's lasting condition holds, and how many know whether it does.

    Args:
        rule: One with a lasting condition.
        parts: The facts of each slice.
        item: What ``for_each`` looks at, as the whole window has it; None without.
    """
    held = known = 0
    for part in parts:
        same = item
        if rule.file.for_each is not None:
            same = next((each for each in part.lists[rule.file.for_each] if each.subject == item.subject), None)
        if rule.lasting is None or (same is None and item is not None):
            continue
        try:
            held += rule.lasting(values_of(rule, part, same)) is True
        except (Missing, EvaluationError):
            continue
        known += 1
    return held, known


def slices(window: Window) -> Iterator[Window]:
    """A window cut into up to SLICES parts, each with a snapshot at least at either end, that share their ends."""
    steps = len(window.snapshots) - 1
    count = max(1, min(SLICES, steps))
    marks = [round(steps * number / count) for number in range(count + 1)]
    for first, last in pairwise(marks):
        yield Window(window.snapshots[first : last + 1])


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


def _holds_unbounded(rule: Rule, values: Values, bound: Missing) -> bool:
    """Whether the rule holds where nothing could be chosen; what then lacks is not the choice but its bound."""
    try:
        return _holds(rule, values)
    except Missing as missing:
        if missing.name in choice.VOCABULARY:
            raise bound from None
        raise


def _of(item: Any) -> str:
    return f" for {'.'.join(item.subject.values())}" if item else ""
