"""Rules over the windows of a fleet's servers: what takes no model first, then models as long as their budget lasts.

Known conditions settle nearly all rules of nearly all servers, in some 1.5 ms a server. Rules that a model still has to
answer wait: the budget is for the servers that read the most pages.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor import facts
from advisor.advice.evaluation import advice
from advisor.advice.interpreter import NO_MODEL, Evaluator
from advisor.advice.trace import Evaluation, Verdict
from advisor.advice.values import FactValues, values_of
from advisor.contract.fleet import Source
from advisor.contract.recommendation import Blind, Recommendation
from advisor.facts.base import over_pools, ratio
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.configuration import Suppression
from exporter.collectors import COLLECTORS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.snapshot import ReadOutcome, Snapshot

SIDECAR = "run innodb-advisor as the server's sidecar"
_CURES = {Source.MYSQLD_EXPORTER: SIDECAR, Source.SIDECAR: "update the server's sidecar, or look at its own verdicts"}
_OF_TABLES = {
    Source.MYSQLD_EXPORTER: frozenset(
        {"index_sizes", "table_scans", "table_files", "table_io", "table_statements", "file_sizes"}
    ),
    Source.SIDECAR: frozenset({"index_sizes", "table_scans", "table_files", "count_statements", "indexes"}),
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

Estimable = tuple[Evaluation, bool]
"""An evaluation, and whether it rests on an estimate."""


@dataclass(frozen=True, slots=True)
class JudgedServer:
    """What the rules say of a server.

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
    trace: tuple[Estimable, ...]
    wants_tables: bool = False


def judge(
    rules: Sequence[Rule],
    window: Window,
    source: Source,
    suppressions: Sequence[Suppression] = (),
    before: JudgedServer | None = None,
) -> JudgedServer:
    """What the rules say without a model.

    Args:
        rules: Those in force. Rules on what only a sidecar knows, of itself and of its advice, are left out.
        window: Of the server, with partly known sections.
        source: Of the window's series.
        suppressions: Findings that are not wanted.
        before: What they say without the window's sections of tables. A rule that these cannot change is not asked
            again: what is known settles its silence.
    """
    trace = before.trace if before else ()
    spoken = {evaluation.rule for evaluation, _ in trace if evaluation.verdict is not None}
    settled = [estimable for estimable in trace if estimable[0].rule not in spoken]
    silent = {evaluation.rule for evaluation, _ in settled}
    asked = [rule for rule in rules if rule.file.for_each not in _ITSELF and rule.id not in silent]
    window = _explained(window, source)
    evaluator = Evaluator(asked, window, models=False)
    new = [_certain(each, window, rule, source) for rule in asked for each in _evaluated(evaluator, rule, window)]
    if before is not None:
        return _judged([*settled, *new], window, source, suppressions)
    coming = _coming(window, source)
    lacks: dict[str, set[str]] = {}
    for evaluation, _ in new:
        if isinstance(evaluation.verdict, Blind):
            lacks.setdefault(evaluation.rule, set()).add(evaluation.verdict.lacks)
    curable = {rule for rule, names in lacks.items() if names <= coming}
    # The tables would not cure the others, so that they tell what else is missing.
    kept = [
        estimable
        for estimable in new
        if not isinstance(verdict := estimable[0].verdict, Blind)
        or verdict.rule in curable
        or verdict.lacks not in coming
    ]
    return replace(_judged(kept, window, source, suppressions), wants_tables=bool(curable))


def _coming(window: Window, source: Source) -> frozenset[str]:
    """The sections that tables may bring: not those whose collector is known to be off, or to fail."""
    latest = window.latest
    shut = {name for name, outcome in latest.outcomes.items() if outcome.failure in _SHUT}
    return _OF_TABLES[source] - latest.sections.keys() - shut


def _evaluated(evaluator: Evaluator, rule: Rule, window: Window) -> Iterator[Evaluation]:
    """The evaluations of a rule; where it is blind, also for want of collectors that its list takes."""
    evaluations = [*evaluator.evaluations(rule)]
    yield from evaluations
    if any(isinstance(evaluation.verdict, Blind) for evaluation in evaluations):
        for name in _OF_LIST.get(rule.file.for_each or "", ()):
            outcome = window.latest.outcomes.get(name)
            if outcome is not None and outcome.failure in _SHUT:
                yield Evaluation(rule.id, {}, Blind(rule=rule.id, lacks=name, reason=outcome.reason, cure=outcome.cure))


class Budget:
    """CPU time for models, for the servers that read the most pages. It holds the windows of a few servers only."""

    def __init__(
        self, seconds: float, suppressions: Sequence[Suppression] = (), clock: Callable[[], float] = time.thread_time
    ) -> None:
        """Nobody waits yet.

        Args:
            seconds: For all servers together.
            suppressions: Findings that are not wanted.
            clock: CPU seconds.
        """
        self._seconds, self._suppressions, self._clock = seconds, suppressions, clock
        self._waiting: list[tuple[float, str, Window, Source, JudgedServer]] = []
        self._left: list[str] = []

    def keep(self, server: str, window: Window, source: Source, judged: JudgedServer) -> None:
        """Let a server wait whose rules wait for a model.

        Args:
            server: Its name, unique.
            window: As it was judged.
            source: Of the window's series.
            judged: With rules that wait.
        """
        read = ratio(window.delta(over_pools("pages_read")), window.seconds) or 0.0
        heapq.heappush(self._waiting, (read, server, window, source, judged))
        if len(self._waiting) > _WAITING_SERVERS:
            self._left.append(heapq.heappop(self._waiting)[1])

    def spend(self, rules: Sequence[Rule]) -> Iterator[tuple[str, Source, JudgedServer]]:
        """Ask the models: the servers that got an answer, with what their rules say now."""
        until = self._clock() + self._seconds
        for _, server, window, source, judged in sorted(self._waiting, key=lambda waiting: (-waiting[0], waiting[1])):
            seconds = until - self._clock()
            if seconds <= 0.0:
                self._left.append(server)
                continue
            explained = _explained(window, source)
            asked = [rule for rule in rules if rule.id in judged.waiting]
            evaluator = Evaluator(asked, explained, seconds=seconds)
            new = [_certain(each, explained, rule, source) for rule in asked for each in evaluator.evaluations(rule)]
            if any(isinstance(each.verdict, Blind) and each.verdict.lacks == "time" for each, _ in new):
                self._left.append(server)
            settled = [estimable for estimable in judged.trace if estimable[0].rule not in judged.waiting]
            yield server, source, _judged([*settled, *new], explained, source, self._suppressions)
        self._waiting = []

    @property
    def left(self) -> tuple[str, ...]:
        """The servers that there was no time for, in part or at all."""
        return tuple(sorted(self._left))


def _explained(window: Window, source: Source) -> Window:
    """The window with a reason and a cure for every section that its newest snapshot lacks."""
    latest = window.latest
    lacking = {
        collector.name: ReadOutcome(latest.at, 0.0, "absent", "no series of the server have it", _CURES[source])
        for collector in COLLECTORS
        if collector.name not in latest.sections and collector.name not in latest.outcomes
    }
    return Window((*window.snapshots[:-1], replace(latest, outcomes={**latest.outcomes, **lacking})))


def _judged(
    trace: Sequence[Estimable], window: Window, source: Source, suppressions: Sequence[Suppression]
) -> JudgedServer:
    said = advice((evaluation for evaluation, _ in trace), window, suppressions)
    lacks = {(blind.rule, blind.lacks): blind for blind in reversed(said.blind)}
    estimated = {
        evaluation.verdict.fingerprint
        for evaluation, rests in trace
        if rests and isinstance(evaluation.verdict, Recommendation)
    }
    return JudgedServer(
        findings=said.recommendations,
        blind=tuple(
            blind if blind.cure else blind.model_copy(update={"cure": _cure(window, source, blind.lacks)})
            for _, blind in sorted(lacks.items())
            if blind.lacks != NO_MODEL
        ),
        undecided=tuple(sorted({blind.rule for blind in said.blind} | {failed.rule for failed in said.failed})),
        waiting=tuple(sorted({rule for rule, lack in lacks if lack == NO_MODEL})),
        suppressed=len(said.suppressed),
        notes={
            finding.fingerprint: (_ESTIMATED,) for finding in said.recommendations if finding.fingerprint in estimated
        },
        trace=tuple(trace),
    )


def _cure(window: Window, source: Source, lacks: str) -> str:
    """What opens the section that a fact comes from, or else the sidecar."""
    outcome = window.latest.outcomes.get(_SECTIONS.get(lacks.partition(".")[0], ""))
    shut = None if outcome is None or outcome.failure is None else outcome.cure
    return shut or _CURES[source]


def _certain(evaluation: Evaluation, window: Window, rule: Rule, source: Source) -> Estimable:
    """The evaluation, with less confidence where it rests on estimated rows, or blind where these decide it.

    Rows from mysqld_exporter's series are estimates: information_schema.TABLES keeps them for a day.
    """
    finding = evaluation.verdict
    if (
        source is not Source.MYSQLD_EXPORTER
        or window.latest[INDEX_SIZES] is None
        or not isinstance(finding, Recommendation)
    ):
        return evaluation, False
    others = [_with_rows(window, factor) for factor in (_ROW_ERROR, 1.0 / _ROW_ERROR)]
    if not all(_finds(rule, other, evaluation.subject) for other in others):
        reason = f"with half as many rows more or a third less nothing would be found: {_ESTIMATED}"
        return replace(evaluation, verdict=Blind(rule=rule.id, lacks="rows of the table", reason=reason)), False
    seen = _seen(rule, window, evaluation.subject)
    if all(_seen(rule, other, evaluation.subject) == seen for other in others):
        return evaluation, False
    less = finding.model_copy(update={"confidence": round(finding.confidence / 2, 3)})
    return replace(evaluation, verdict=less), True


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
    verdicts = (evaluation.verdict for evaluation in evaluator.evaluations(rule, lambda each: each == subject))
    return any(isinstance(verdict, Recommendation) or _waits(verdict) for verdict in verdicts)


def _waits(verdict: Verdict | None) -> bool:
    return isinstance(verdict, Blind) and verdict.lacks == NO_MODEL


def _seen(rule: Rule, window: Window, subject: Mapping[str, str]) -> FactValues:
    """The values of what the rule's conditions and its effect name, but for a model's."""
    known = facts.facts(window)
    items = () if rule.file.for_each is None else known.lists[rule.file.for_each]
    values = values_of(rule, known, next((item for item in items if item.subject == subject), None))
    file, effect = rule.file, rule.file.effect
    parts = () if effect is None else (effect.now, effect.predicted, effect.read_bytes_saved_per_second)
    texts = [text for text in (*file.when, *file.unless, *parts) if text is not None]
    named = {name for text in texts for name in rule.expressions[text].names}
    return {name: values.get(name) for name in named}
