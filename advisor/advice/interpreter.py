"""The interpreter of rules: the verdict of each rule on each of its items, or why it is silent. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from advisor import facts
from advisor.advice.conditions import FactValues, false_conditions, lasting_holds, missing_fact, values_of
from advisor.advice.findings import moved, recommendation
from advisor.advice.trace import Evaluation, Refusal
from advisor.contract.recommendation import Blind, Failed, Recommendation, fingerprint
from advisor.contract.templates import fill
from advisor.facts import Choice
from advisor.ledger.entry import Outcome
from advisor.ledger.harm import harms
from advisor.observe.limits import LEAST_SECONDS, MAY_READ
from advisor.observe.window import Window, slices
from advisor.pool.choice import choose_size
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.hours import Hour
from advisor.pool.model import PoolModel
from advisor.pool.spare import spare
from advisor.pool.trials import choose
from advisor.rules.check import Rule
from advisor.rules.expressions import EvaluationError, Missing
from advisor.rules.file import Choose


@dataclass(frozen=True, slots=True)
class Remembered:
    """The past that rules know beside a window.

    Attributes:
        hours: The memory of days, oldest first; None without --state-dir.
        may_read: Pages a second that a smaller pool may read more.
        outcomes: Of changes of settings, in any order.
    """

    hours: Sequence[Hour] | None = None
    may_read: float = MAY_READ
    outcomes: Sequence[Outcome] = ()


def evaluate(
    rules: Sequence[Rule],
    window: Window,
    *,
    beside: Sequence[Rule] = (),
    findings: Sequence[Recommendation] = (),
    seconds: float = math.inf,
    every_reason: bool = False,
    remembered: Remembered | None = None,
) -> Iterator[Evaluation]:
    """The trace: what came of each rule on each of its items, and why.

    Args:
        rules: In any order.
        window: What has been watched.
        beside: As in ``advise``.
        findings: As in ``advise``.
        seconds: As in ``advise``.
        every_reason: Whether the trace of a silent rule has every false condition, and not only the first.
        remembered: As in ``advise``.
    """
    evaluator = Evaluator(
        (*rules, *beside), window, findings, seconds, every_reason=every_reason, remembered=remembered
    )
    for rule in rules:
        yield from evaluator.evaluations(rule)


class Evaluator:
    """The rules over one window, and its facts, model and slices, which they share.

    Attributes:
        window: The window.
    """

    def __init__(
        self,
        known: Sequence[Rule],
        window: Window,
        findings: Sequence[Recommendation] = (),
        seconds: float = math.inf,
        *,
        every_reason: bool = False,
        loads: Loads | None = None,
        remembered: Remembered | None = None,
        models: bool = True,
    ) -> None:
        """Take the facts of the window.

        Args:
            known: The rules, and those beside them.
            window: What has been watched.
            findings: As in ``advise``.
            seconds: As in ``advise``.
            every_reason: As in ``evaluate``.
            loads: Of earlier windows: a load that still explains the evidence is not fitted again.
            remembered: As in ``advise``.
            models: Whether models are asked. A rule that takes one is blind without, for want of NO_MODEL.
        """
        self.window = window
        self._findings = {finding.fingerprint: finding for finding in findings}
        self._every_reason, self._models = every_reason, models
        self._until = time.thread_time() + seconds
        self._rule_until = math.inf
        self._needed_by = _needed_by(known, window)
        known_before = remembered or Remembered()
        self._facts = facts.facts(
            window,
            self._needed_by,
            spare(known_before.hours, window, known_before.may_read),
            harms(known_before.outcomes, window.latest),
        )
        self._model = PoolModel(window, self._facts, loads)
        self._slices: list[tuple[Window, facts.Facts]] | None = None

    def evaluations(
        self, rule: Rule, wanted: Callable[[Mapping[str, str]], bool] = lambda _: True
    ) -> Iterator[Evaluation]:
        """One for each item of ``for_each`` whose subject is wanted, within the rule's time. It raises nothing."""
        try:
            yield from self._evaluations(rule, wanted)
        except Exception as error:  # noqa: BLE001 - one broken rule must not keep the others from their findings
            yield Evaluation(rule.id, {}, _unable(rule, None, {}, error))

    def _evaluations(self, rule: Rule, wanted: Callable[[Mapping[str, str]], bool]) -> Iterator[Evaluation]:
        began = time.thread_time()
        self._rule_until = min(began + rule.file.budget_seconds, max(self._until, began + LEAST_BUDGET_SECONDS))
        self._model.until = self._rule_until
        server = self.window.latest.server
        if server not in rule.file.applies:
            applies = f"the rule does not apply to {server}"
            yield Evaluation(rule.id, {}, None, (Refusal("applies", applies),))
            return
        lacking = tuple(_lacking(rule, self.window))
        if lacking:
            settled = self._settled(rule, {blind.lacks for blind in lacking}, wanted)
            yield from settled or (Evaluation(rule.id, {}, blind) for blind in lacking)
            return
        items = [item for item in self._items(rule) if wanted(item.subject if item else {})]
        if not items:
            yield _nothing_in(rule)
        for number, item in enumerate(items):
            if number and time.thread_time() > self._rule_until:
                took = max(0.0, self._rule_until - began)
                reason = f"{number} of {len(items)} took its {took:.3g} s: the others were not looked at"
                yield Evaluation(rule.id, {}, Blind(rule=rule.id, lacks="time", reason=reason))
                return
            yield self._evaluation(rule, item)

    def now(self, rule: Rule, subject: Mapping[str, str]) -> float | None:
        """The quantity whose growth is worse; None where not known.

        It is what ``trend`` says, or else the effect's as it is now, where that takes no model.
        """
        quantity = rule.file.trend or (None if rule.file.effect is None else rule.file.effect.now)
        item = self._item(rule, subject)
        if quantity is None or (item is None and subject):
            return None
        try:
            return float(rule.expressions[quantity](self._values(rule, item)))
        except (Missing, EvaluationError, Unanswerable):
            return None

    def since(self, rule: Rule, subject: Mapping[str, str]) -> float:
        """Begin of the oldest slice from which on the lasting condition never failed; of the window without one."""
        item = self._item(rule, subject)
        if item is None and subject:
            return self.window.latest.at
        for part, of_slice in reversed(self._parts() if rule.file.lasting else []):
            if lasting_holds(rule, of_slice, item) is False:
                return part.latest.at
        return self.window.snapshots[0].at

    def _settled(
        self, rule: Rule, lacks: AbstractSet[str], wanted: Callable[[Mapping[str, str]], bool]
    ) -> list[Evaluation]:
        """The rule's silence, where a condition is false without the sections that it lacks; or else empty.

        An unreadable list may hold anything. So a rule on its items is silent only if a condition is false for all.
        """
        if _WINDOW in lacks:
            return []
        listed: Sequence[Any] = [None]
        if rule.file.for_each is not None and not lacks & {*facts.LIST_SECTIONS[rule.file.for_each]}:
            listed = [item for item in self._items(rule) if wanted(item.subject)]
            if not listed:
                return [_nothing_in(rule)]
        silences = []
        for item in listed:
            refusals, _ = self._conditions(rule, self._values(rule, item))
            if not refusals:
                return []
            silences.append(Evaluation(rule.id, item.subject if item else {}, None, refusals))
        return silences

    def _items(self, rule: Rule) -> Sequence[Any]:
        return [None] if rule.file.for_each is None else self._facts.lists[rule.file.for_each]

    def _item(self, rule: Rule, subject: Mapping[str, str]) -> Any:
        return next((item for item in self._items(rule) if item and item.subject == subject), None)

    def _parts(self) -> list[tuple[Window, facts.Facts]]:
        """The slices of the window, and their facts."""
        if self._slices is None:
            self._slices = [
                (part, facts.facts(part, self._needed_by, self._facts.spare, self._facts.lists["harms"]))
                for part in slices(self.window)
            ]
        return self._slices

    def _evaluation(self, rule: Rule, item: Any) -> Evaluation:
        subject = item.subject if item else {}
        values: FactValues = {}
        try:
            values = self._values(rule, item)
            refusals = self._refusals(rule, values, item)
            verdict = None if refusals else self._verdict(rule, values, item)
        except Exception as error:  # noqa: BLE001 - one broken rule must not keep the others from their findings
            return Evaluation(rule.id, subject, _unable(rule, item, values, error))
        return Evaluation(rule.id, subject, verdict, refusals or (() if verdict else (_NOTHING_TO_DO,)))

    def _verdict(self, rule: Rule, values: FactValues, item: Any) -> Blind | Recommendation | None:
        """The verdict where all conditions hold; None where nothing that it advises can be done on this server."""
        blind = rule.file.blind
        if blind is not None and rule.expressions[blind.only_if](values) is True:
            reason = " ".join(fill(blind.reason, values).split())
            cure = None if blind.cure is None else fill(blind.cure, values)
            return Blind(rule=rule.id, lacks=blind.lacks, reason=f"{reason}{_of(item)}", cure=cure)
        finding = recommendation(rule, self._model, values, item)
        if finding is None:
            return None
        before = self._findings.get(finding.fingerprint)
        return finding.model_copy(
            update={
                "since": round(self.since(rule, finding.subject), 3),
                "judged_at": self.window.latest.at,
                "evidence": (*finding.evidence, *(moved(before, finding) if before else ())),
            }
        )

    def _values(self, rule: Rule, item: Any) -> FactValues:
        return values_of(rule, self._facts, item, self._check_time)

    def _check_time(self) -> None:
        """Raises Unanswerable where the rule's time is over."""
        if time.thread_time() > self._rule_until:
            raise Unanswerable("time", "its expressions took longer than the rule's time")

    def _refusals(self, rule: Rule, values: FactValues, item: Any) -> tuple[Refusal, ...]:
        """The parts of the rule that keep it silent; empty where it holds, and for long enough.

        The model is asked only where all else holds. Its choice joins the values.

        Raises:
            Missing: It depends on a fact that is not known.
            EvaluationError: It depends on an expression that failed.
            Unanswerable: It depends on a choice that the model cannot make.
        """
        chosen = rule.file.choose
        refusals, unsettled = self._conditions(rule, values)
        undecided = (
            isinstance(unsettled, Missing) and chosen is not None and unsettled.name.startswith(f"{facts.CHOICE}.")
        )
        if unsettled is not None and not undecided:
            raise unsettled
        if not refusals:
            refusals = self._lasting(rule, item)
        if refusals or chosen is None:
            return refusals
        try:
            at_most = None if chosen.at_most is None else float(rule.expressions[chosen.at_most](values))
        except Missing:
            if undecided:  # a condition needs the choice, and the choice needs its bound
                raise
            return ()
        values |= facts.values_by_name(facts.CHOICE, self._chosen(chosen, item, at_most))
        refusals, unsettled = self._conditions(rule, values)
        if unsettled is not None:
            raise unsettled
        return refusals

    def _chosen(self, chosen: Choose, item: Any, at_most: float | None) -> Choice:
        if not self._models:
            raise Unanswerable(NO_MODEL, f"all that takes no model says yes to {chosen.setting}")
        if chosen.model == "curve":
            return choose_size(self._model, at_most)
        return choose(self._model, chosen.setting, item, at_most, self._advised(chosen.setting))

    def _advised(self, setting: str) -> float | None:
        """The value that the last advice has for a setting; all findings share one."""
        changes = (change for finding in self._findings.values() for change in finding.changes)
        return next((float(change.to) for change in changes if change.setting == setting), None)

    def _conditions(
        self, rule: Rule, values: FactValues
    ) -> tuple[tuple[Refusal, ...], Missing | EvaluationError | None]:
        return false_conditions(rule, values, every=self._every_reason)

    def _lasting(self, rule: Rule, item: Any) -> tuple[Refusal, ...]:
        """The refusal of a lasting condition that held in too few slices of the window."""
        lasting = rule.file.lasting
        if lasting is None:
            return ()
        verdicts = [lasting_holds(rule, of_slice, item) for _, of_slice in self._parts()]
        held, known = verdicts.count(True), len(verdicts) - verdicts.count(None)
        found_before = fingerprint(rule.id, item.subject if item else {}) in self._findings
        share = lasting.until if found_before else lasting.share
        if held >= share * known:
            return ()
        of = f"{held} of {known} slices of the window, of which {share:.0%} are needed"
        return (Refusal("lasting", f"lasting `{lasting.condition}` held in {of}"),)


LEAST_BUDGET_SECONDS = 0.02
"""CPU time that a rule has in any case, even where those before it took the time of all."""
NO_MODEL = "a model"
"""What a rule lacks whose choice a model has still to make."""
_WINDOW = "window"
"""What a rule lacks where there was too little time to watch."""
_NOTHING_TO_DO = Refusal("change", "it would fire, but nothing of what it advises can be done on this server")


def _unable(rule: Rule, item: Any, values: FactValues, error: Exception) -> Blind | Failed:
    """The verdict of a rule that lacks something, or that failed."""
    if isinstance(error, Unanswerable):
        return Blind(rule=rule.id, lacks=error.lacks, reason=str(error))
    if isinstance(error, Missing):
        try:
            name = missing_fact(rule, values, error.name)
            return Blind(rule=rule.id, lacks=name, reason=f"{name} is not known{_of(item)}")
        except EvaluationError as failure:
            error = failure
    reason = str(error) if isinstance(error, EvaluationError) else f"{type(error).__name__}: {error}"
    return Failed(rule=rule.id, reason=f"the rule failed{_of(item)}: {reason}")


def _needed_by(rules: Sequence[Rule], window: Window) -> dict[str, list[str]]:
    """By section of a snapshot, the rules for this server that need it."""
    applying = [rule for rule in rules if window.latest.server in rule.file.applies]
    return {
        section: [rule.id for rule in applying if section in rule.file.needs]
        for section in {section for rule in applying for section in rule.file.needs}
    }


def _lacking(rule: Rule, window: Window) -> Iterator[Blind]:
    """The sections that the rule needs and the newest snapshot lacks; a long enough window, too."""
    latest = window.latest
    for section in rule.file.needs:
        if latest.sections.get(section) is not None:
            continue
        outcome = latest.outcomes.get(section)
        reason = outcome.reason if outcome and outcome.reason else "not collected yet"
        yield Blind(rule=rule.id, lacks=section, reason=reason, cure=outcome.cure if outcome else None)
    if len(window.snapshots) < 2 or window.seconds < LEAST_SECONDS:
        short = "only one collection" if len(window.snapshots) < 2 else f"only {window.seconds:.1f} s"
        yield Blind(
            rule=rule.id,
            lacks=_WINDOW,
            reason=f"{short} since the server, its settings or the sidecar changed",
            cure="wait for the next one" if len(window.snapshots) < 2 else "wait for the next collection",
        )


def _nothing_in(rule: Rule) -> Evaluation:
    return Evaluation(rule.id, {}, None, (Refusal("for_each", f"there is nothing in {rule.file.for_each}"),))


def _of(item: Any) -> str:
    return f" for {'.'.join(item.subject.values())}" if item else ""
