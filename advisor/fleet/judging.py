"""Rules over the windows of a fleet's servers: what takes no model first, then models as long as their budget lasts.

Known conditions settle nearly all rules of nearly all servers, in some 1.5 ms a server. Rules that a model still has to
answer wait: the budget is for the servers that read the most pages.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from advisor import facts
from advisor.advice.conditions import FactValues, values_of
from advisor.advice.evaluation import advice
from advisor.advice.interpreter import NO_MODEL, Evaluator
from advisor.advice.trace import Evaluation
from advisor.contract.fleet import Source
from advisor.contract.recommendation import Blind, Recommendation
from advisor.facts.base import over_pools, ratio
from advisor.fleet.mysqld_exporter import RUN_SIDECAR
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.configuration import Suppression
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.snapshot import Snapshot

Waiting = TypeVar("Waiting")

_CURES = {
    Source.MYSQLD_EXPORTER: RUN_SIDECAR,
    Source.SIDECAR: "update the server's sidecar, or look at its own verdicts",
}
_OF_TABLES = {
    Source.MYSQLD_EXPORTER: frozenset(
        {"index_sizes", "table_scans", "table_files", "table_io", "table_statements", "file_sizes"}
    ),
    Source.SIDECAR: frozenset(
        {"index_sizes", "table_scans", "table_files", "count_statements", "indexes", "key_bytes"}
    ),
}
"""By source, the sections that are asked for only where a rule depends on them."""
_OF_LIST = {"statistics": ("table_statements", "file_sizes")}
"""By list, what its items take of mysqld_exporter's series; the rules on it do not need them of a sidecar's."""
_SHUT = frozenset({"disabled", "failed"})
_SECTIONS = {"machine": "machine", "ibuf": "innodb_metrics", "ddl": "ddl", "setting": "variables", "pool": "pools"}
"""By the first part of a fact's name, the section that it comes from."""
_ITSELF = frozenset({"blind_spots", "harms"})
"""Lists of what a sidecar knows of itself and of its own advice."""
_ROW_ERROR = 1.5
"""Factor that rows of INFORMATION_SCHEMA.TABLES may be off by: a day old, they were 0.67 of those that were there."""
_ESTIMATED = "the rows of its table are an estimate up to a day old"
_WAITING_SERVERS = 32
"""Servers that wait for a model at a time: the budget serves hardly more, and each holds its window."""


@dataclass(frozen=True, slots=True)
class JudgedServer:
    """The verdicts of the rules on a server.

    Attributes:
        findings: The most severe first. Those that rest on an estimate have half of their confidence.
        blind: One for each rule and lack, with its cure.
        undecided: Rules that could not be judged: blind, failed, or waiting for a model.
        waiting: Of these, the rules whose conditions hold as far as no model has to answer.
        suppressed: Findings that the configuration does not want.
        notes: By a finding's fingerprint, what to know of it.
        trace: The evaluations behind all that.
        wants_tables: Whether sections of tables that the window has not may settle a rule.
    """

    findings: tuple[Recommendation, ...]
    blind: tuple[Blind, ...]
    undecided: tuple[str, ...]
    waiting: tuple[str, ...]
    suppressed: int
    notes: Mapping[str, tuple[str, ...]]
    trace: tuple[Evaluation, ...]
    wants_tables: bool = False


def judge(
    rules: Sequence[Rule],
    window: Window,
    source: Source,
    suppressions: Sequence[Suppression] = (),
    *,
    before: JudgedServer | None = None,
    seconds: float | None = None,
) -> JudgedServer:
    """The verdicts of the rules.

    Args:
        rules: Those in force. Rules on what only a sidecar knows, of itself and of its advice, are left out.
        window: Of the server, with partly known sections.
        source: Of the window's series.
        suppressions: Findings that are not wanted.
        before: The verdicts without models, or without the window's sections of tables too. A rule that these cannot
            change is not asked again: what is known settles its silence.
        seconds: CPU time for models; None to ask none.
    """
    asked, evaluations = _open(rules, before, models=seconds is not None)
    evaluator = Evaluator(asked, window, models=seconds is not None, seconds=math.inf if seconds is None else seconds)
    notes = dict(before.notes) if before else {}
    for rule in asked:
        for evaluation in _evaluated(evaluator, rule, window):
            certain = _certain(evaluation, window, rule, source)
            if certain is not evaluation and certain.finding is not None:
                notes[certain.finding.fingerprint] = (_ESTIMATED,)
            evaluations.append(certain)
    wants_tables = False
    if before is None:
        coming = _coming(window, source)
        curable = _curable(evaluations, coming)
        # The tables would not cure the other rules: these name what else is missing.
        evaluations = [
            evaluation for evaluation in evaluations if evaluation.rule in curable or evaluation.lacks not in coming
        ]
        wants_tables = bool(curable)
    verdicts = advice(evaluations, window, suppressions)
    lacks = {(blind.rule, blind.lacks): blind for blind in reversed(verdicts.blind)}
    return JudgedServer(
        findings=verdicts.recommendations,
        blind=tuple(_cured(lacks[key], window, source) for key in sorted(lacks) if key[1] != NO_MODEL),
        undecided=tuple(sorted({blind.rule for blind in verdicts.blind} | {failed.rule for failed in verdicts.failed})),
        waiting=tuple(sorted({rule for rule, lack in lacks if lack == NO_MODEL})),
        suppressed=len(verdicts.suppressed),
        notes=notes,
        trace=tuple(evaluations),
        wants_tables=wants_tables,
    )


def _open(
    rules: Sequence[Rule], before: JudgedServer | None, *, models: bool
) -> tuple[Sequence[Rule], list[Evaluation]]:
    """The rules to ask, and the evaluations of those that are settled."""
    trace = before.trace if before else ()
    if before and models:
        asked = [rule for rule in rules if rule.id in before.waiting]
    else:
        open_rules = {evaluation.rule for evaluation in trace if evaluation.verdict is not None}
        settled = {evaluation.rule for evaluation in trace} - open_rules
        asked = [rule for rule in rules if rule.file.for_each not in _ITSELF and rule.id not in settled]
    names = {rule.id for rule in asked}
    return asked, [evaluation for evaluation in trace if evaluation.rule not in names]


def _curable(evaluations: Sequence[Evaluation], coming: frozenset[str]) -> set[str]:
    """The rules that lack nothing but the sections that are coming."""
    lacks: dict[str, set[str]] = {}
    for evaluation in evaluations:
        if evaluation.lacks is not None:
            lacks.setdefault(evaluation.rule, set()).add(evaluation.lacks)
    return {rule for rule, names in lacks.items() if names <= coming}


def _coming(window: Window, source: Source) -> frozenset[str]:
    """The sections that tables may bring: not those whose collector is known to be off, or to fail."""
    latest = window.latest
    shut = {name for name, outcome in latest.outcomes.items() if outcome.failure in _SHUT}
    return _OF_TABLES[source] - latest.sections.keys() - shut


def _evaluated(evaluator: Evaluator, rule: Rule, window: Window) -> Iterator[Evaluation]:
    """The evaluations of a rule; where it is blind, also for want of collectors that its list takes."""
    evaluations = [*evaluator.evaluations(rule)]
    yield from evaluations
    if any(evaluation.lacks is not None for evaluation in evaluations):
        for name in _OF_LIST.get(rule.file.for_each or "", ()):
            outcome = window.latest.outcomes.get(name)
            if outcome is not None and outcome.failure in _SHUT:
                yield Evaluation(rule.id, {}, Blind(rule=rule.id, lacks=name, reason=outcome.reason, cure=outcome.cure))


class Budget(Generic[Waiting]):
    """CPU time for models, for the servers that read the most pages. It holds the windows of a few servers only.

    Attributes:
        left: The servers that there was no time for.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.process_time) -> None:
        """No server waits yet.

        Args:
            seconds: For all servers together.
            clock: CPU seconds, of the whole process: the models run in threads of a pool.
        """
        self._seconds, self._clock = seconds, clock
        self._waiting: dict[str, tuple[float, Window, Waiting]] = {}
        self.left: set[str] = set()

    def keep(self, server: str, window: Window, waiting: Waiting) -> None:
        """Let a server wait for a model. One that waits already begins anew.

        Args:
            server: Its name, unique.
            window: As it was judged.
            waiting: What is known of it without a model.
        """
        read = ratio(window.delta(over_pools("pages_read")), window.seconds) or 0.0
        self._waiting[server] = read, window, waiting
        if len(self._waiting) > _WAITING_SERVERS:
            least = min(self._waiting, key=lambda server: (self._waiting[server][0], server))
            del self._waiting[least]
            self.left.add(least)

    def spend(self) -> Iterator[tuple[str, Window, Waiting, float]]:
        """The servers that may ask a model, the busiest first, and the CPU seconds that are left for it."""
        until = self._clock() + self._seconds
        for server, (_, window, waiting) in sorted(self._waiting.items(), key=lambda item: (-item[1][0], item[0])):
            seconds = until - self._clock()
            if seconds > 0.0:
                yield server, window, waiting, seconds
            else:
                self.left.add(server)


def _cured(blind: Blind, window: Window, source: Source) -> Blind:
    """A lack with a cure: of the section that its fact comes from, or else the sidecar."""
    if blind.cure:
        return blind
    outcome = window.latest.outcomes.get(_SECTIONS.get(blind.lacks.partition(".")[0], ""))
    cure = None if outcome is None or outcome.failure is None else outcome.cure
    return blind.model_copy(update={"cure": cure or _CURES[source]})


def _certain(evaluation: Evaluation, window: Window, rule: Rule, source: Source) -> Evaluation:
    """The evaluation, with less confidence where it rests on estimated rows, or blind where these decide it.

    Rows from mysqld_exporter's series are estimates: information_schema.TABLES keeps them for a day.
    """
    estimated = source is Source.MYSQLD_EXPORTER and window.latest[INDEX_SIZES] is not None
    if not estimated or evaluation.finding is None:
        return evaluation
    others = [_with_rows(window, factor) for factor in (_ROW_ERROR, 1.0 / _ROW_ERROR)]
    if not all(_finds(rule, other, evaluation.subject) for other in others):
        reason = f"with half as many rows more or a third less nothing would be found: {_ESTIMATED}"
        return replace(evaluation, verdict=Blind(rule=rule.id, lacks="rows of the table", reason=reason))
    values = _values(rule, window, evaluation.subject)
    if all(_values(rule, other, evaluation.subject) == values for other in others):
        return evaluation
    return evaluation.with_finding(confidence=round(evaluation.finding.confidence / 2, 3))


def _with_rows(window: Window, factor: float) -> Window:
    """The window, if each table had so many times the rows that are estimated."""

    def changed(snapshot: Snapshot) -> Snapshot:
        sizes = snapshot[INDEX_SIZES]
        if sizes is None:
            return snapshot
        rows = {
            index: size if size.rows is None else replace(size, rows=round(size.rows * factor))
            for index, size in sizes.sizes.items()
        }
        return snapshot.with_section(INDEX_SIZES, replace(sizes, sizes=rows))

    return Window(tuple(map(changed, window.snapshots)))


def _finds(rule: Rule, window: Window, subject: Mapping[str, str]) -> bool:
    """Whether the rule finds something at a subject, as far as no model has to answer."""
    evaluator = Evaluator([rule], window, models=False)
    return any(
        evaluation.finding is not None or evaluation.lacks == NO_MODEL
        for evaluation in evaluator.evaluations(rule, lambda item: item == subject)
    )


def _values(rule: Rule, window: Window, subject: Mapping[str, str]) -> FactValues:
    """The values of the facts that the rule's conditions and its effect name, but for a model's."""
    known = facts.facts(window)
    items = () if rule.file.for_each is None else known.lists[rule.file.for_each]
    values = values_of(rule, known, next((item for item in items if item.subject == subject), None))
    effect = rule.file.effect
    parts = () if effect is None else (effect.now, effect.predicted, effect.read_bytes_saved_per_second)
    texts = [text for text in (*rule.file.when, *rule.file.unless, *parts) if text is not None]
    return {name: values.get(name) for text in texts for name in rule.expressions[text].names}
