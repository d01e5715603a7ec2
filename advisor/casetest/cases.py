"""A rule's cases: recordings, and what the rule must say of each. They stand beside the rule, in <id>.cases.yaml."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel

from advisor.advice import evaluation
from advisor.advice.interpreter import evaluate
from advisor.advice.trace import Evaluation
from advisor.casetest.alterations import Altered
from advisor.contract.recommendation import Advice, Effect, Recommendation, Severity
from advisor.files import yaml_file
from advisor.files.yaml_file import FileError
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.rules.check import CASES_SUFFIX, SUFFIX, Rule
from advisor.rules.rulebook import own_rules
from exporter.recording.file import RecordingError
from exporter.snapshot import Snapshot

PATIENCE = 60.0
"""Seconds that a rule may take in a case."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _scalar_as_list(value: object) -> object:
    """A number of actions stands for so many that may say anything."""
    return [""] * value if isinstance(value, int) and not isinstance(value, bool) else value


class ExpectedEffect(_Part):
    """What a finding predicts, ``within`` a share of it; where it predicts 0, within that much of its unit."""

    predicted: float
    within: float = Field(0.0, ge=0)

    def __contains__(self, effect: Effect | None) -> bool:
        return effect is not None and abs(effect.predicted - self.predicted) <= self.within * (
            abs(self.predicted) or 1.0
        )

    def __str__(self) -> str:
        return f"{self.predicted:g}" + (f" within {self.within:.0%}" if self.within and self.predicted else "")


class Finding(_Part):
    """A recommendation as a case expects it: subject and changes as they are, the rest where it is named.

    Attributes:
        actions: A text for each, which it says or does; a number where they may be any.
    """

    subject: dict[str, str] = Field(default_factory=dict)
    changes: dict[str, float | str] = Field(default_factory=dict)
    severity: Severity | None = None
    effect: ExpectedEffect | None = None
    actions: Annotated[tuple[str, ...] | None, BeforeValidator(_scalar_as_list)] = None


class Case(_Part):
    """One case.

    Attributes:
        name: What it shows.
        recording: A file, relative to the cases' own folder.
        altered: What is to be seen in place of what the recording holds.
        expect: The findings, in the engine's order; none for silence.
        blind: What the rule lacks there; a rule that is blind has no findings.
    """

    name: str = Field(min_length=1)
    recording: Path
    altered: Altered | None = Field(None, alias="with")
    expect: tuple[Finding, ...] = ()
    blind: frozenset[str] = frozenset()


class _Cases(RootModel[tuple[Case, ...]]):
    """The file."""


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """What a case expected and did not get, as texts for people."""

    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


def path_of(rule: Rule) -> Path:
    """Where a rule's cases are."""
    return rule.path.with_name(rule.path.name.removesuffix(SUFFIX) + CASES_SUFFIX)


def load(rule: Rule) -> tuple[Case, ...]:
    """The cases beside a rule.

    Raises:
        FileError: There are none, or anything in them is wrong, or a recording cannot be used.
    """
    path = path_of(rule)
    source = yaml_file.read(path, _Cases, "cases are a list of mappings with name, recording, expect, …", root=list)
    names: set[str] = set()
    cases = []
    for number, case in enumerate(source.content.root):
        if case.name in names:
            raise source.error((number, "name"), "another case has this name")
        names.add(case.name)
        recording = path.parent / case.recording
        if not recording.is_file():
            raise source.error((number, "recording"), f"there is no file {recording}")
        if case.altered is not None:
            for keys, why in case.altered.unknown(_recorded(recording)[-1]):
                raise source.error((number, "with", *keys), why)
        cases.append(case.model_copy(update={"recording": recording}))
    if not cases:
        raise FileError(f"{path}:1:1: there is no case here")
    return tuple(cases)


def window(case: Case) -> Window:
    """What the rule gets to see.

    Raises:
        FileError: The recording cannot be used.
    """
    snapshots = _recorded(case.recording)
    return Window.of(snapshots if case.altered is None else case.altered.apply(snapshots), float("inf"))


def run(rule: Rule, case: Case) -> list[Difference]:
    """Replay a case; what differs from what it expects.

    Raises:
        FileError: The recording cannot be used.
    """
    seen = window(case)
    return differences(case, evaluation.advice(trace(rule, seen), seen))


def trace(rule: Rule, seen: Window) -> tuple[Evaluation, ...]:
    """What comes of the rule, however long it takes: a case must not depend on how busy the machine is."""
    patient = dataclasses.replace(rule, file=rule.file.model_copy(update={"budget_seconds": PATIENCE}))
    return tuple(evaluate([patient], seen, beside=_beside(rule), every_reason=True))


def _beside(rule: Rule) -> tuple[Rule, ...]:
    """The other rules of the folder, for a rule that tells what blinds them."""
    return _folder(rule.path.parent) if rule.file.for_each == "blind_spots" else ()


@functools.cache
def _folder(folder: Path) -> tuple[Rule, ...]:
    return own_rules(folder)


def differences(case: Case, advice: Advice) -> list[Difference]:
    """What the rule says, beside what the case expects of it."""
    lacks = {each.lacks for each in advice.blind}
    return [
        *_findings(case, advice),
        *([] if lacks == case.blind else [Difference("blind", _listed(sorted(case.blind)), _listed(sorted(lacks)))]),
        *(Difference("the rule", "works", each.reason) for each in advice.failed),
    ]


@functools.cache
def _recorded(path: Path) -> tuple[Snapshot, ...]:
    """Replaying is what cases cost, and many share a recording."""
    try:
        return tuple(Replay(path).history)
    except RecordingError as error:
        raise FileError(str(error)) from error


def _findings(case: Case, advice: Advice) -> Iterator[Difference]:
    found = advice.recommendations
    if len(found) != len(case.expect):
        summaries = "; ".join(each.summary for each in found)
        yield Difference("findings", _count(len(case.expect)), _count(len(found)) + (f": {summaries}" if found else ""))
        return
    for expected, recommendation in zip(case.expect, found, strict=True):
        yield from _compared(expected, recommendation)


def _compared(expected: Finding, found: Recommendation) -> Iterator[Difference]:
    changes = {change.setting: change.to for change in found.changes}
    if expected.subject != found.subject:
        yield Difference("subject", _pairs(expected.subject), _pairs(found.subject))
    if expected.changes != changes:
        yield Difference("changes", _pairs(expected.changes), _pairs(changes))
    if expected.severity not in (None, found.severity):
        yield Difference("severity", str(expected.severity), found.severity)
    if expected.effect is not None and found.effect not in expected.effect:
        yield Difference("effect", str(expected.effect), f"{found.effect.predicted:g}" if found.effect else "none")
    if expected.actions is not None and not _acts(expected.actions, found):
        wanted = [each or "any" for each in expected.actions]
        yield Difference("actions", _listed(wanted), _listed([each.do for each in found.actions]))


def _acts(wanted: tuple[str, ...], found: Recommendation) -> bool:
    return len(wanted) == len(found.actions) and all(
        any(text in said for said in (action.do, *action.apply))
        for text, action in zip(wanted, found.actions, strict=True)
    )


def _count(number: int) -> str:
    return f"{number} finding{'' if number == 1 else 's'}" if number else "silence"


def _pairs(values: Mapping[str, float | str]) -> str:
    return ", ".join(f"{key} = {_shown(value)}" for key, value in values.items()) or "none"


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values) or "none"
