"""The ledger: findings that stood, and what became of changes of settings. Immutable: it may be handed to threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.contract.changes import change_on
from advisor.contract.recommendation import Advice, Effect, Recommendation
from advisor.contract.settings import SETTINGS
from advisor.ledger.entry import Baseline, Changed, Entry, Found, Outcome, Promise, Result, outcome_id
from advisor.ledger.grading import grade
from advisor.ledger.reading import Reading, reading
from advisor.ledger.settling import settled
from advisor.observe.window import Window
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot

MOST_FOUND, MOST_OUTCOMES = 500, 1_000
"""Entries that are kept: the oldest go first."""
_LONGEST = 3600.0
"""Seconds of a window that is measured."""


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
        found: By fingerprint; the one that was seen last comes last.
        outcomes: By id, oldest first.
        before: By the id of an open outcome, what was measured before its change.
        now: What was last measured under the settings of now.
    """

    found: Mapping[str, Found] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    before: Mapping[str, Reading] = field(default_factory=dict)
    now: Baseline | None = None

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
                found = {name: each for name, each in self.found.items() if name != entry.fingerprint}
                return replace(self, found=_last({**found, entry.fingerprint: entry}, MOST_FOUND))
            case Outcome():
                outcomes = _fewer({**self.outcomes, entry.id: entry})
                return replace(self, outcomes=outcomes, before=_open(self.before, outcomes))
            case Baseline(of=""):
                return replace(self, now=entry)
            case Baseline():
                return replace(self, before={**self.before, entry.of: entry.reading})

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What a journal has to hold so that `with_entry` makes the same ledger of it, in this order."""
        before = (Baseline(of=name, settings={}, reading=each) for name, each in self.before.items())
        now = () if self.now is None else (self.now,)
        return (*self.found.values(), *self.outcomes.values(), *before, *now)

    def observe(
        self, history: Sequence[Snapshot], advice: Advice | None, versions: Versions = Versions()
    ) -> tuple[Ledger, tuple[Entry, ...]]:
        """The ledger after the newest snapshot, and the entries that are new or changed.

        Args:
            history: Snapshots of the server, oldest first; of both sides of a change.
            advice: The last advice; None where there is none.
            versions: Who predicted.
        """
        ledger, told = self, list[Entry]()

        def tell(entries: Iterable[Entry]) -> None:
            nonlocal ledger
            for entry in entries:
                ledger = ledger.with_entry(entry)
                told.append(entry)

        if advice is not None:
            tell(ledger._seen(advice, history, versions))
        if history:
            tell(ledger._opened(history))
            tell(ledger._closed(history))
        return ledger, tuple(told)

    def _seen(self, advice: Advice, history: Sequence[Snapshot], versions: Versions) -> Iterable[Entry]:
        latest = next((each for each in reversed(history) if each.at <= advice.at), None)
        for each in advice.recommendations:
            before = self.found.get(each.fingerprint)
            promises = _promises(each)
            settings = {} if latest is None else {one.setting: _value(latest, one.setting) for one in promises}
            new = Found(
                fingerprint=each.fingerprint,
                rule=each.rule,
                subject=each.subject,
                severity=each.severity.value,
                summary=each.summary,
                first_seen=advice.at if before is None else before.first_seen,
                last_seen=advice.at,
                settings={name: value for name, value in settings.items() if value is not None},
                promises=promises,
                rule_version=versions.rules.get(each.rule, ""),
                model_version=versions.model,
            )
            if before is None or new.model_copy(update={"last_seen": before.last_seen}) != before:
                yield new

    def _opened(self, history: Sequence[Snapshot]) -> Iterable[Entry]:
        if len(history) < 2:
            return
        before, after = history[-2], history[-1]
        changes = tuple(_changes(before, after))
        if not changes:
            return
        measured = reading(Window.of(history[:-1], _LONGEST))
        names = {each.setting: each.after for each in changes}
        asked: list[Found | None] = [
            each for each in self.found.values() if names.keys() & {one.setting for one in each.promises}
        ]
        for found in asked or [None]:
            promise = None if found is None else _kept(found, names)
            outcome = Outcome(
                id=outcome_id(after.at, changes, found.fingerprint if found else None),
                at=after.at,
                changes=changes,
                rule=found.rule if found else None,
                fingerprint=found.fingerprint if found else None,
                subject=found.subject if found else {},
                followed=promise is not None,
                promise=promise,
                why="the pool settles",
                rule_version=found.rule_version if found else "",
                model_version=found.model_version if found else "",
            )
            yield outcome
            if measured is not None:
                yield Baseline(of=outcome.id, settings={}, reading=measured)

    def _closed(self, history: Sequence[Snapshot]) -> Iterable[Entry]:
        window = Window.of(history, _LONGEST)
        for outcome in self.outcomes.values():
            if outcome.result is Result.OPEN and settled(outcome, window):
                after, before = reading(window), self.before.get(outcome.id)
                if after is not None:
                    yield grade(outcome, before, after)


def _promises(finding: Recommendation) -> tuple[Promise, ...]:
    own = [(each.setting, each.to, finding.effect) for each in finding.changes]
    others = [(each.change.setting, each.change.to, each.effect) for each in finding.alternatives]
    return tuple(_promise(setting, to, effect) for setting, to, effect in (*own, *others) if _measurable(effect))


def _measurable(effect: Effect | None) -> bool:
    return effect is not None and effect.now is not None


def _promise(setting: str, to: float | str, effect: Effect | None) -> Promise:
    assert effect is not None  # noqa: S101 - see _measurable
    return Promise(
        setting=setting,
        to=to,
        quantity=effect.quantity,
        unit=effect.unit,
        now=effect.now or 0,
        predicted=effect.predicted,
        error=effect.error,
    )


def _kept(found: Found, names: Mapping[str, object]) -> Promise | None:
    return next((each for each in found.promises if names.get(each.setting) == each.to), None)


def _changes(before: Snapshot, after: Snapshot) -> Iterable[Changed]:
    if before[VARIABLES] is None or after[VARIABLES] is None:
        return
    for name in SETTINGS:
        if before.setting(name) != after.setting(name):
            old, new = _value(before, name), _value(after, name)
            undo = change_on(after.server, name, new, old) if old is not None else None
            yield Changed(
                setting=name,
                before=old,
                after=new,
                undo=undo.apply if undo else (),
                undo_config=undo.config if undo else "",
            )


def _value(snapshot: Snapshot, name: str) -> float | str | None:
    return SETTINGS[name].read(snapshot.setting(name))


def _last(entries: Mapping[str, Found], most: int) -> Mapping[str, Found]:
    return dict(list(entries.items())[-most:])


def _fewer(outcomes: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    closed = [name for name, each in outcomes.items() if each.result is not Result.OPEN]
    gone = set(closed[: max(0, len(outcomes) - MOST_OUTCOMES)])
    return {name: each for name, each in outcomes.items() if name not in gone}


def _open(before: Mapping[str, Reading], outcomes: Mapping[str, Outcome]) -> Mapping[str, Reading]:
    still = {name for name, each in outcomes.items() if each.result is Result.OPEN}
    return {name: each for name, each in before.items() if name in still}
