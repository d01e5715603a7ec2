"""The ledger: findings that stood, and what became of changes of settings. Immutable: it may be handed to threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.contract.changes import change_on, refuses
from advisor.contract.recommendation import Advice, Effect, Number, Recommendation, tidy
from advisor.contract.settings import SETTINGS, SettingValue
from advisor.ledger.comparison import LEAST_WINDOWS, matters
from advisor.ledger.entry import Baseline, Changed, Compared, Entry, Found, Outcome, Promise, Result, key, outcome_id
from advisor.ledger.grading import grade, measurable, wanted
from advisor.ledger.reading import SLICES, WINDOW_SECONDS, Reading, Subject, reading
from advisor.ledger.settling import LIMIT, Settling, is_steady, settling
from advisor.observe.window import Window
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot

MOST_FOUND, MOST_OUTCOMES = 500, 1_000
"""Entries that are kept: the oldest go first."""
MOST_PROMISES = 16
"""Promises of a finding that are kept: the newest ones come first."""
STANDS_SECONDS = 86_400.0
"""A finding that was last seen earlier did not ask for a change."""
_SAME = 0.01
"""Share by which a number may differ from the advised one: a server rounds the size of its pool."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Who predicted.

    Attributes:
        model: The version of innodb-advisor.
        rules: A digest of each rule's file, by its id.
    """

    model: str = ""
    rules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is remembered.

    Attributes:
        found: By fingerprint; the one that was told last comes last.
        outcomes: By id, oldest first.
        before: By the id of an open outcome, what was measured before its change.
        window_seconds: Length of a window that counts as one.
        seen: By fingerprint, when a finding was last seen, Unix seconds. Entries tell it less often.
    """

    found: Mapping[str, Found] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    before: Mapping[str, Reading] = field(default_factory=dict)
    window_seconds: float = WINDOW_SECONDS
    seen: Mapping[str, float] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Ledger:
        """The ledger that entries make, oldest first."""
        ledger = cls()
        for entry in entries:
            ledger = ledger.with_entry(entry)
        return ledger

    def with_entry(self, entry: Entry) -> Ledger:
        """The ledger with one more entry, or with another state of one that it has."""
        match entry:
            case Found():
                others = {name: each for name, each in self.found.items() if name != entry.fingerprint}
                return replace(self, found=_newest({**others, entry.fingerprint: entry}, MOST_FOUND))
            case Outcome():
                outcomes = _fewer({**self.outcomes, entry.id: entry})
                return replace(self, outcomes=outcomes, before=_of_open(self.before, outcomes))
            case Baseline():
                return replace(self, before=_of_open({**self.before, entry.of: entry.reading}, self.outcomes))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries of which `with_entry` makes the same ledger, in this order."""
        before = (Baseline(of=name, reading=reading) for name, reading in self.before.items())
        return (*self.found.values(), *self.outcomes.values(), *before)

    @property
    def by_key(self) -> Mapping[str, Entry]:
        """The entries by what names them."""
        return {key(entry): entry for entry in self.entries}

    @property
    def open(self) -> tuple[Outcome, ...]:
        """Outcomes that are not closed yet, oldest first."""
        return tuple(each for each in self.outcomes.values() if each.result is Result.OPEN)

    def last_seen(self, found: Found) -> float:
        """When a finding was last seen, Unix seconds."""
        return max(found.last_seen, self.seen.get(found.fingerprint, found.last_seen))

    def observe(
        self,
        history: Sequence[Snapshot],
        advice: Advice | None,
        versions: Versions = Versions(),
        is_gone: Callable[[Found], bool] = lambda _: False,
    ) -> tuple[Ledger, tuple[Entry, ...]]:
        """The ledger after the newest snapshot, and the entries that are new or changed.

        Call it after each collection: a change of settings is seen if it is the newest one.

        Args:
            history: Snapshots of the server, oldest first; of both sides of a change.
            advice: The last advice; None where there is none.
            versions: Who predicted.
            is_gone: Whether the rule of a finding was judged anew, and no longer makes it.
        """
        ledger, told = self, list[Entry]()

        def tell(entries: Iterable[Entry]) -> None:
            nonlocal ledger
            for entry in entries:
                ledger = ledger.with_entry(entry)
                told.append(entry)

        if advice is not None:
            tell(_seen(self, advice, history, versions))
            now = {each.fingerprint: each.judged_at or advice.at for each in _standing(advice)}
            tell(_resolved(ledger, advice.at, now, is_gone))
            ledger = replace(
                ledger, seen={each: at for each, at in {**self.seen, **now}.items() if each in ledger.found}
            )
        if len(history) > 1:
            window = Window.of(history, math.inf)
            tell(_opened(ledger, history, window))
            tell(_measured(ledger, window))
        return ledger, tuple(told)


def _seen(ledger: Ledger, advice: Advice, history: Sequence[Snapshot], versions: Versions) -> Iterator[Found]:
    """Findings that are new or say something new, and those that were not told of for a window."""
    latest = next((each for each in reversed(history) if each.at <= advice.at), None)
    if latest is None:
        return
    for each in _standing(advice):
        before = ledger.found.get(each.fingerprint)
        settings = {change.setting: _value(latest, change.setting) for change in _changes_of(each)}
        settings = {name: value for name, value in settings.items() if value is not None}
        seen_at = each.judged_at or advice.at
        new = Found(
            fingerprint=each.fingerprint,
            rule=each.rule,
            subject=each.subject,
            severity=each.severity.value,
            summary=each.summary,
            first_seen=seen_at if before is None else before.first_seen,
            last_seen=seen_at,
            settings=settings,
            promises=tuple(_promised(_promises(each), before, settings)),
            rule_version=versions.rules.get(each.rule, ""),
            model_version=versions.model,
        )
        if before is None or _differs(before, new, ledger.window_seconds):
            yield new


def _standing(advice: Advice) -> tuple[Recommendation, ...]:
    """The findings that are remembered: suppressed ones are not wanted."""
    return (*advice.recommendations, *(aside.recommendation for aside in advice.overruled))


def _resolved(ledger: Ledger, at: float, now: Collection[str], is_gone: Callable[[Found], bool]) -> Iterator[Found]:
    """Findings that stood until now."""
    for each in ledger.found.values():
        if each.resolved_at is None and each.fingerprint not in now and is_gone(each):
            yield each.model_copy(update={"last_seen": ledger.last_seen(each), "resolved_at": at})


def _differs(before: Found, now: Found, seconds: float) -> bool:
    """Whether it has to be told of: numbers in the summary change with each collection."""
    asked = [{(each.setting, each.to, each.quantity) for each in found.promises} for found in (before, now)]
    same = {name: getattr(before, name) for name in ("last_seen", "summary", "promises")}
    return asked[0] != asked[1] or now.model_copy(update=same) != before or now.last_seen - before.last_seen >= seconds


def _changes_of(finding: Recommendation) -> Iterator[Changed]:
    for change in (*finding.changes, *(each.change for each in finding.alternatives)):
        yield Changed(setting=change.setting, before=change.from_, after=change.to)


def _promises(finding: Recommendation) -> Iterator[Promise]:
    own = [(change, finding.effect) for change in finding.changes]
    for change, effect in (*own, *((each.change, each.effect) for each in finding.alternatives)):
        if (promised := _measurable(effect, finding.cost)) is not None and promised.now is not None:
            yield Promise(
                setting=change.setting,
                to=change.to,
                quantity=promised.quantity,
                unit=promised.unit,
                now=promised.now,
                predicted=promised.predicted,
                error=promised.error,
            )


def _promised(new: Iterable[Promise], before: Found | None, settings: Mapping[str, object]) -> list[Promise]:
    """Promises, and those of before with other values: who follows advice has read it some time ago."""
    found = {(each.setting, each.to): each for each in new}
    if before is not None:
        same = [each for each in before.promises if before.settings.get(each.setting) == settings.get(each.setting)]
        found |= {(each.setting, each.to): each for each in same if (each.setting, each.to) not in found}
    return list(found.values())[:MOST_PROMISES]


def _measurable(effect: Effect | None, cost: Effect | None) -> Effect | None:
    """The effect; its cost where only that is measured."""
    known = [each for each in (effect, cost) if each is not None and each.now is not None]
    return next((each for each in known if measurable(each.quantity)), known[0] if known else None)


def _opened(ledger: Ledger, history: Sequence[Snapshot], window: Window) -> Iterator[Entry]:
    """Outcomes of settings that changed where the window begins; what was still open joins them."""
    after = window.snapshots[0]
    earlier = [each for each in history if each.at < after.at]
    before = next((each for each in reversed(earlier) if each[VARIABLES] is not None), None)
    now = next((each for each in window.snapshots if each[VARIABLES] is not None), None)
    known = any(each.at >= after.at or each.closed_at == after.at for each in ledger.outcomes.values())
    if before is None or now is None or known:
        return
    changes = tuple(_changes(before, now))
    if not changes or any(_is_of(each, changes, before.at) for each in ledger.outcomes.values()):
        return
    joined, names = ledger.open, ", ".join(each.setting for each in changes)
    changes = tuple(_net([*(change for each in joined[:1] for change in each.changes), *changes], now))
    for each in joined:
        why = f"{names} changed, too" if changes else f"{names} was taken back"
        yield _ended(each, f"{why} before it could be measured", after.at)
    if not changes:
        return
    asked: list[Found | None] = [each for each in ledger.found.values() if _asked(each, changes, after.at)]
    reading_before = _before(ledger, joined, Window.of(earlier, LIMIT * ledger.window_seconds), asked)
    for found in asked or [None]:
        outcome = _outcome(found, changes, after.at)
        yield outcome
        if reading_before is not None:
            yield Baseline(of=outcome.id, reading=reading_before)


def _is_of(outcome: Outcome, changes: Iterable[Changed], since: float) -> bool:
    """Whether it is already of these changes: a sidecar that was killed saw them, and kept no snapshot of it."""
    known = {(each.setting, each.after) for each in outcome.changes}
    return outcome.at > since and all((each.setting, each.after) in known for each in changes)


def _ended(outcome: Outcome, why: str, at: float) -> Outcome:
    """An outcome that cannot be measured any more. Harm that was told was measured before."""
    result = Result.UNPROMISED if outcome.harm else Result.NOT_COMPARABLE
    update = {"result": result, "why": f"{outcome.why}; then {why}" if outcome.harm else why, "closed_at": at}
    return outcome.model_copy(update=update)


def _net(changes: Iterable[Changed], now: Snapshot) -> Iterator[Changed]:
    """Changes in order as one for each setting, with what takes it back; none where it has its first value again."""
    first: dict[str, Number | str | None] = {}
    last: dict[str, Number | str | None] = {}
    for each in changes:
        first.setdefault(each.setting, each.before)
        last[each.setting] = each.after
    for setting, before in first.items():
        if before != last[setting]:
            yield _changed(now, setting, before, last[setting])


def _before(
    ledger: Ledger, joined: Collection[Outcome], window: Window, asked: Iterable[Found | None]
) -> Reading | None:
    """What was measured before the changes: before the first of those that were still open."""
    if joined:
        return ledger.before.get(next(iter(joined)).id)
    promised = {}
    for found in asked:
        for promise in found.promises if found else ():
            quantity, subject = wanted(promise, found.subject if found else {})
            promised[quantity, tuple(subject.items())] = (quantity, subject)
    return reading(window, ledger.window_seconds, tuple(promised.values()))


def _asked(found: Found, changes: Collection[Changed], at: float) -> bool:
    """Whether a finding that stood would change one of the settings, from the value that it had."""
    return found.last_seen >= at - STANDS_SECONDS and any(
        each.setting in found.settings and _same(found.settings[each.setting], each.before) for each in changes
    )


def _outcome(found: Found | None, changes: tuple[Changed, ...], at: float) -> Outcome:
    if found is None:
        return Outcome(id=outcome_id(at, changes), at=at, changes=changes, why="it settles")
    values = {each.setting: each.after for each in changes}
    promise = next((each for each in found.promises if _same(each.to, values.get(each.setting))), None)
    return Outcome(
        id=outcome_id(at, changes, found.fingerprint),
        at=at,
        changes=changes,
        rule=found.rule,
        fingerprint=found.fingerprint,
        subject=found.subject,
        followed=promise is not None,
        promise=promise,
        why="it settles",
        rule_version=found.rule_version,
        model_version=found.model_version,
    )


def _measured(ledger: Ledger, window: Window) -> Iterator[Outcome]:
    """Open outcomes that are measured now: once a slice, from LEAST_WINDOWS windows after the change on."""
    latest, seconds = window.latest, ledger.window_seconds
    slice_ = seconds / SLICES
    for outcome in ledger.open:
        since = Window(tuple(each for each in window.snapshots if each.at >= outcome.at) or (latest,))
        before = ledger.before.get(outcome.id)
        if before is None:
            yield grade(outcome, None, _nothing(latest))
        elif since.seconds >= LEAST_WINDOWS * seconds - slice_ / 2 and _is_due(outcome, since, slice_):
            limit = latest.at - outcome.at >= LIMIT * seconds - slice_ / 2
            yield from _graded(ledger, outcome, before, since, limit=limit)


def _is_due(outcome: Outcome, since: Window, slice_: float) -> bool:
    """Whether a slice ended with the newest snapshot."""
    last, latest = (round((each.at - outcome.at) / slice_) for each in since.snapshots[-2:])
    return last != latest


def _graded(ledger: Ledger, outcome: Outcome, before: Reading, since: Window, *, limit: bool) -> Iterator[Outcome]:
    """An outcome that did harm, or that is closed."""
    seconds = ledger.window_seconds
    state = settling(outcome, since, seconds)
    promised = () if outcome.promise is None else (wanted(outcome.promise, outcome.subject),)
    spared = _spared(ledger, outcome)

    def measured(after: Reading) -> Outcome:
        return grade(outcome, before, after, spared=spared, window_seconds=seconds)

    settled = _settled(since, state, seconds)
    if limit and settled is None:
        settled = since.recent((LEAST_WINDOWS + 0.5 / SLICES) * seconds)
    after = None if settled is None else reading(settled, seconds, promised, before)
    if after is not None and (limit or is_steady(after, promised, seconds)):
        closed = measured(after)
        if limit or closed.result is not Result.NOT_COMPARABLE:
            yield _said(outcome, closed, state)
            return
    if not (state.warms or outcome.harm) and (sofar := reading(since, seconds, promised, before)) is not None:
        harmed = measured(sofar)
        if harmed.harm:
            yield outcome.model_copy(update={"others": harmed.others, "why": "it did harm"})


def _settled(since: Window, state: Settling, seconds: float) -> Window | None:
    """The window since the pool settled; None until it has LEAST_WINDOWS windows."""
    if state.since is None:
        return None
    found = Window(tuple(each for each in since.snapshots if each.at >= state.since))
    return found if found.seconds >= (LEAST_WINDOWS - 0.5 / SLICES) * seconds else None


def _said(outcome: Outcome, closed: Outcome, state: Settling) -> Outcome:
    """A closed outcome, with what is to be said of its measurement."""
    if closed.result is Result.NOT_COMPARABLE:
        return _ended(outcome, closed.why, closed.closed_at or outcome.at)
    update: dict[str, object] = {"others": _with_told(outcome, closed)}
    if state.since is None:
        update |= {"why": f"{closed.why}; not settled within {LIMIT} windows: {state.why}"}
    return closed.model_copy(update=update)


def _with_told(outcome: Outcome, closed: Outcome) -> tuple[Compared, ...]:
    """What was compared at last. Harm that was told stays told while the rise matters."""
    told = {(each.quantity, tuple(each.subject.items())) for each in outcome.harm}
    return tuple(
        each.model_copy(update={"worse": True})
        if (each.quantity, tuple(each.subject.items())) in told
        and float(each.after) - float(each.before) > matters(each.unit, float(each.before))
        else each
        for each in closed.others
    )


def _spared(ledger: Ledger, outcome: Outcome) -> list[Subject]:
    """Tables that the change was made for, by all findings that were followed with it."""
    same = [each for each in ledger.outcomes.values() if (each.at, each.changes) == (outcome.at, outcome.changes)]
    return [each.subject for each in same if each.followed and each.subject]


def _nothing(latest: Snapshot) -> Reading:
    return Reading(began=latest.at, at=latest.at, seconds=(), work=(), measures=())


def _changes(before: Snapshot, after: Snapshot) -> Iterator[Changed]:
    for name in SETTINGS:
        if before.setting(name) != after.setting(name):
            yield _changed(after, name, _value(before, name), _value(after, name))


def _changed(latest: Snapshot, name: str, before: Number | str | None, after: Number | str | None) -> Changed:
    """A change with what takes it back: nothing where the server does not accept the old value."""
    old = _as_set(before)
    if old is None or refuses(latest.server, name, old) is not None:
        return Changed(setting=name, before=before, after=after)
    back = change_on(latest.server, name, _as_set(after), old)
    return Changed(setting=name, before=before, after=after, undo=back.apply, undo_config=back.config)


def _as_set(value: Number | str | None) -> SettingValue | None:
    return float(value) if isinstance(value, int | float) else value


def _value(snapshot: Snapshot, name: str) -> Number | str | None:
    found = SETTINGS[name].read(snapshot.setting(name))
    return tidy(found) if isinstance(found, float) else found


def _same(one: Number | str | None, other: Number | str | None) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_SAME)
    return one == other


def _newest(found: Mapping[str, Found], most: int) -> Mapping[str, Found]:
    return dict(list(found.items())[-most:])


def _fewer(outcomes: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    """At most MOST_OUTCOMES, without the oldest closed ones."""
    closed = [name for name, each in outcomes.items() if each.result is not Result.OPEN]
    gone = {*closed[: max(0, len(outcomes) - MOST_OUTCOMES)]}
    return {name: each for name, each in outcomes.items() if name not in gone}


def _of_open(before: Mapping[str, Reading], outcomes: Mapping[str, Outcome]) -> Mapping[str, Reading]:
    still = {name for name, each in outcomes.items() if each.result is Result.OPEN}
    return {name: each for name, each in before.items() if name in still}
