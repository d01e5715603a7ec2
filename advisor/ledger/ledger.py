"""The ledger: findings that stood, and what became of changes of settings. Immutable: it may be handed to threads."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.contract.recommendation import Advice, Effect, Recommendation
from advisor.ledger.changes import changes_between, is_same, net_changes
from advisor.ledger.entry import (
    Baseline,
    Changed,
    Entry,
    Outcome,
    Promise,
    RememberedFinding,
    Result,
    outcome_id,
)
from advisor.ledger.grading import measurable, promised_quantity
from advisor.ledger.measurement import measured
from advisor.ledger.reading import WINDOW_SECONDS, Reading, Subject, reading
from advisor.ledger.settling import LIMIT
from advisor.observe.window import Window, setting_value
from advisor.rules.check import Rule
from exporter import __version__
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot

MOST_FINDINGS, MOST_OUTCOMES = 500, 1_000
"""Entries at most: the oldest go first."""
MOST_PROMISES = 16
"""Promises of a finding at most: the newest come first."""
STANDS_SECONDS = 86_400.0
"""A finding that was last seen earlier did not ask for a change."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries by kind.

    Attributes:
        findings: By fingerprint; the one with the newest entry comes last.
        outcomes: By id, oldest first.
        before: By the id of an open outcome, what was measured before its change.
        window_seconds: Length of a window that counts as one.
        seen: By fingerprint, when a finding was last seen, Unix seconds. Entries have it less often.
    """

    findings: Mapping[str, RememberedFinding] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    before: Mapping[str, Reading] = field(default_factory=dict)
    window_seconds: float = WINDOW_SECONDS
    seen: Mapping[str, float] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Ledger:
        """The ledger that entries make, oldest first."""
        return cls().with_entries(entries)

    def with_entries(self, entries: Iterable[Entry]) -> Ledger:
        """The ledger with more entries, or with another state of some that it has."""
        findings, outcomes, before = dict(self.findings), dict(self.outcomes), dict(self.before)
        for entry in entries:
            match entry:
                case RememberedFinding():
                    findings.pop(entry.fingerprint, None)  # it comes last
                    findings[entry.fingerprint] = entry
                case Outcome():
                    outcomes[entry.id] = entry
                case Baseline():
                    before[entry.of] = entry.reading
        outcomes = _without_oldest_closed(outcomes)
        still_open = {name for name, outcome in outcomes.items() if outcome.result is Result.OPEN}
        return replace(
            self,
            findings=dict(list(findings.items())[-MOST_FINDINGS:]),
            outcomes=outcomes,
            before={name: reading for name, reading in before.items() if name in still_open},
        )

    @property
    def by_key(self) -> Mapping[str, Entry]:
        """The entries of which `of` makes the same ledger, by what names them."""
        return {
            **{f"found {name}": finding for name, finding in self.findings.items()},
            **{f"outcome {name}": outcome for name, outcome in self.outcomes.items()},
            **{f"baseline {name}": Baseline(of=name, reading=reading) for name, reading in self.before.items()},
        }

    @property
    def open(self) -> tuple[Outcome, ...]:
        """Outcomes that are not closed yet, oldest first."""
        return tuple(outcome for outcome in self.outcomes.values() if outcome.result is Result.OPEN)

    def last_seen(self, finding: RememberedFinding) -> float:
        """When a finding was last seen, Unix seconds."""
        return max(finding.last_seen, self.seen.get(finding.fingerprint, finding.last_seen))

    def observe(
        self,
        history: Sequence[Snapshot],
        advice: Advice | None,
        rules: Sequence[Rule] = (),
        is_gone: Callable[[RememberedFinding], bool] = lambda _: False,
    ) -> tuple[Ledger, tuple[Entry, ...]]:
        """The ledger after the newest snapshot, and the entries that are new or changed.

        Call it after each collection: a change of settings is seen if it is the newest one.

        Args:
            history: Snapshots of the server, oldest first; of both sides of a change.
            advice: The last advice; None before the first.
            rules: Those that it comes from.
            is_gone: Whether the rule of a finding was judged anew, and no longer makes it.
        """
        ledger, new = self, list[Entry]()
        if advice is not None:
            new += _remembered(self, advice, history, rules)
            ledger = self.with_entries(new)
            now = {finding.fingerprint: finding.judged_at or advice.at for finding in _standing(advice)}
            new += _resolved(ledger, advice.at, now, is_gone)
            seen = {name: at for name, at in {**self.seen, **now}.items() if name in ledger.findings}
            ledger = replace(ledger.with_entries(new), seen=seen)
        if len(history) > 1:
            window = Window.of(history, math.inf)
            opened = tuple(_opened(ledger, history, window))
            ledger = ledger.with_entries(opened)
            closed = tuple(_measured(ledger, window))
            ledger = ledger.with_entries(closed)
            new += (*opened, *closed)
        return ledger, tuple(new)


def rule_version(rule: Rule) -> str:
    """A digest of a rule's file, without its layout and comments."""
    return hashlib.sha256(rule.file.model_dump_json(by_alias=True).encode()).hexdigest()[:16]


# Findings that stand


def _standing(advice: Advice) -> tuple[Recommendation, ...]:
    """The findings that get an entry: suppressed ones get none."""
    return (*advice.recommendations, *(aside.recommendation for aside in advice.overruled))


def _remembered(
    ledger: Ledger, advice: Advice, history: Sequence[Snapshot], rules: Sequence[Rule]
) -> Iterator[RememberedFinding]:
    """Entries of findings that are new or have changed, and of those whose entry is a window old."""
    latest = next((snapshot for snapshot in reversed(history) if snapshot.at <= advice.at), None)
    if latest is None:
        return
    standing = _standing(advice)
    rule_ids = {finding.rule for finding in standing}
    versions = {rule.id: rule_version(rule) for rule in rules if rule.id in rule_ids}
    for finding in standing:
        before = ledger.findings.get(finding.fingerprint)
        names = [change.setting for change in (*finding.changes, *(other.change for other in finding.alternatives))]
        settings = {name: value for name in names if (value := setting_value(latest, name)) is not None}
        seen_at = finding.judged_at or advice.at
        remembered = RememberedFinding(
            fingerprint=finding.fingerprint,
            rule=finding.rule,
            subject=finding.subject,
            severity=finding.severity.value,
            summary=finding.summary,
            first_seen=seen_at if before is None else before.first_seen,
            last_seen=seen_at,
            settings=settings,
            promises=tuple(_with_earlier(_promises(finding), before, settings)),
            rule_version=versions.get(finding.rule, ""),
            model_version=__version__,
        )
        if before is None or _differs(before, remembered, ledger.window_seconds):
            yield remembered


def _resolved(
    ledger: Ledger, at: float, now: Collection[str], is_gone: Callable[[RememberedFinding], bool]
) -> Iterator[RememberedFinding]:
    """Findings that stood until now."""
    for finding in ledger.findings.values():
        if finding.resolved_at is None and finding.fingerprint not in now and is_gone(finding):
            yield finding.model_copy(update={"last_seen": ledger.last_seen(finding), "resolved_at": at})


def _differs(before: RememberedFinding, now: RememberedFinding, seconds: float) -> bool:
    """Whether a finding needs another entry: numbers in its summary and promises change with each collection."""
    promised = [
        {(promise.setting, promise.to, promise.quantity) for promise in finding.promises} for finding in (before, now)
    ]
    same = {name: getattr(before, name) for name in ("last_seen", "summary", "promises")}
    return (
        promised[0] != promised[1]
        or now.model_copy(update=same) != before
        or now.last_seen - before.last_seen >= seconds
    )


def _promises(finding: Recommendation) -> Iterator[Promise]:
    own = [(change, finding.effect) for change in finding.changes]
    others = [(alternative.change, alternative.effect) for alternative in finding.alternatives]
    for change, effect in (*own, *others):
        promised = _measurable(effect, finding.cost)
        if promised is not None and promised.now is not None:
            yield Promise(
                setting=change.setting,
                to=change.to,
                quantity=promised.quantity,
                unit=promised.unit,
                now=promised.now,
                predicted=promised.predicted,
                error=promised.error,
            )


def _with_earlier(
    new: Iterable[Promise], before: RememberedFinding | None, settings: Mapping[str, object]
) -> list[Promise]:
    """Promises, and those of before with other values: who follows advice has read it some time ago."""
    promises = {(promise.setting, promise.to): promise for promise in new}
    if before is not None:
        for promise in before.promises:
            if before.settings.get(promise.setting) == settings.get(promise.setting):
                promises.setdefault((promise.setting, promise.to), promise)
    return list(promises.values())[:MOST_PROMISES]


def _measurable(effect: Effect | None, cost: Effect | None) -> Effect | None:
    """The effect; its cost where only that is measured."""
    known = [promised for promised in (effect, cost) if promised is not None and promised.now is not None]
    return next((promised for promised in known if measurable(promised.quantity)), known[0] if known else None)


# Changes of settings


def _opened(ledger: Ledger, history: Sequence[Snapshot], window: Window) -> Iterator[Entry]:
    """Outcomes of settings that changed where the window begins; what was still open joins them."""
    at = window.snapshots[0].at
    earlier = [snapshot for snapshot in history if snapshot.at < at]
    before = next((snapshot for snapshot in reversed(earlier) if snapshot[VARIABLES] is not None), None)
    now = next((snapshot for snapshot in window.snapshots if snapshot[VARIABLES] is not None), None)
    known = any(outcome.at >= at or outcome.closed_at == at for outcome in ledger.outcomes.values())
    if before is None or now is None or known:
        return
    changes = tuple(changes_between(before, now))
    if not changes or any(_is_of(outcome, changes, before.at) for outcome in ledger.outcomes.values()):
        return
    joined, names = ledger.open, ", ".join(change.setting for change in changes)
    taken_back = {name for name, outcome in ledger.outcomes.items() if _takes_back(changes, outcome)}
    for outcome in ledger.outcomes.values():
        if outcome.result is not Result.OPEN and outcome.taken_back_at is None and outcome.id in taken_back:
            yield outcome.model_copy(update={"taken_back_at": at})
    changes = tuple(net_changes([*(change for outcome in joined[:1] for change in outcome.changes), *changes], now))
    for outcome in joined:
        why = f"{names} changed, too" if changes else f"{names} was taken back"
        ended = outcome.ended(f"{why} before it could be measured", at)
        yield ended.model_copy(update={"taken_back_at": at}) if outcome.id in taken_back else ended
    if not changes:
        return
    findings: list[RememberedFinding | None] = [
        finding for finding in ledger.findings.values() if _asks(finding, changes, at)
    ]
    if joined:
        baseline = ledger.before.get(joined[0].id)  # before the first of the changes
    else:
        baseline = _baseline(Window.of(earlier, LIMIT * ledger.window_seconds), findings, ledger.window_seconds)
    for finding in findings or [None]:
        outcome = _outcome(finding, changes, at, str(now.server))
        yield outcome
        if baseline is not None:
            yield Baseline(of=outcome.id, reading=baseline)


def _is_of(outcome: Outcome, changes: Iterable[Changed], since: float) -> bool:
    """Whether it is already of these changes: a sidecar that was killed saw them, and stored no snapshot of it."""
    known = {(change.setting, change.after) for change in outcome.changes}
    return outcome.at > since and all((change.setting, change.after) in known for change in changes)


def _takes_back(changes: Iterable[Changed], outcome: Outcome) -> bool:
    """Whether one of the changes gives a setting the value of before an outcome's change."""
    values = {change.setting: (change.after, change.before) for change in outcome.changes}
    return any(
        change.setting in values and all(map(is_same, values[change.setting], (change.before, change.after)))
        for change in changes
    )


def _baseline(window: Window, findings: Iterable[RememberedFinding | None], window_seconds: float) -> Reading | None:
    """The measurement before a change, of what the findings that advised it promise too."""
    quantities = [
        promised_quantity(promise, finding.subject)
        for finding in findings
        if finding is not None
        for promise in finding.promises
    ]
    distinct = {(quantity, *subject.items()): (quantity, subject) for quantity, subject in quantities}
    return reading(window, window_seconds, tuple(distinct.values()))


def _asks(finding: RememberedFinding, changes: Collection[Changed], at: float) -> bool:
    """Whether a finding that stood would change one of the settings, from the value that it had."""
    return finding.last_seen >= at - STANDS_SECONDS and any(
        change.setting in finding.settings and is_same(finding.settings[change.setting], change.before)
        for change in changes
    )


def _outcome(finding: RememberedFinding | None, changes: tuple[Changed, ...], at: float, server: str) -> Outcome:
    if finding is None:
        return Outcome(id=outcome_id(at, changes), at=at, changes=changes, why="it settles", server=server)
    values = {change.setting: change.after for change in changes}
    promise = next((offer for offer in finding.promises if is_same(offer.to, values.get(offer.setting))), None)
    return Outcome(
        id=outcome_id(at, changes, finding.fingerprint),
        at=at,
        changes=changes,
        rule=finding.rule,
        fingerprint=finding.fingerprint,
        subject=finding.subject,
        followed=promise is not None,
        promise=promise,
        why="it settles",
        server=server,
        rule_version=finding.rule_version,
        model_version=finding.model_version,
    )


# Measurements after a change


def _measured(ledger: Ledger, window: Window) -> Iterator[Outcome]:
    """Open outcomes that did harm, or that are closed now."""
    latest = window.latest
    for outcome in ledger.open:
        since = Window(tuple(snapshot for snapshot in window.snapshots if snapshot.at >= outcome.at) or (latest,))
        before = ledger.before.get(outcome.id)
        if before is None:
            yield outcome.ended("too little was seen before the change", latest.at)
        elif (news := measured(outcome, before, since, _spared(ledger, outcome), ledger.window_seconds)) is not None:
            yield news


def _spared(ledger: Ledger, outcome: Outcome) -> list[Subject]:
    """Tables that the change was made for, by all findings that were followed with it."""
    same = [other for other in ledger.outcomes.values() if (other.at, other.changes) == (outcome.at, outcome.changes)]
    return [other.subject for other in same if other.followed and other.subject]


def _without_oldest_closed(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    closed = [name for name, outcome in outcomes.items() if outcome.result is not Result.OPEN]
    gone = {*closed[: max(0, len(outcomes) - MOST_OUTCOMES)]}
    return {name: outcome for name, outcome in outcomes.items() if name not in gone}
