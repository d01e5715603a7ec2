"""A rule's cases: recordings, and what the rule must say of each. They stand beside the rule, in <id>.cases.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from advisor import engine
from advisor.recommendation import Advice
from advisor.rule import CASES_SUFFIX, SUFFIX, Rule
from advisor.source import Replayed
from advisor.window import Window
from advisor.yamlfile import FileError


class Finding(BaseModel):
    """A recommendation as a case expects it; what it does not name may be anything."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    subject: dict[str, str] = Field(default_factory=dict)
    changes: dict[str, float | str] = Field(default_factory=dict)


class Case(BaseModel):
    """One case.

    Attributes:
        name: What it shows.
        recording: A file, relative to the cases' own folder.
        expect: The findings, in the engine's order; none for silence.
        blind: What the rule lacks there; a rule that is blind has no findings.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    recording: Path
    expect: tuple[Finding, ...] = ()
    blind: frozenset[str] = frozenset()


_CASES = TypeAdapter(tuple[Case, ...])


@dataclass(frozen=True, slots=True)
class Difference:
    """What a case expected and did not get."""

    what: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


def load(rule: Rule) -> tuple[Case, ...]:
    """The cases beside a rule.

    Raises:
        FileError: There are none, or they cannot be used.
    """
    path = rule.path.with_name(rule.path.name.removesuffix(SUFFIX) + CASES_SUFFIX)
    try:
        cases = _CASES.validate_python(YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise FileError(f"{path}: cannot read the cases: {error.strerror}") from error
    except (ValidationError, YAMLError) as error:
        raise FileError(f"{path}: {error}") from error
    return tuple(case.model_copy(update={"recording": path.parent / case.recording}) for case in cases)


def run(rule: Rule, case: Case) -> list[Difference]:
    """Replay a case; what differs from what it expects.

    Raises:
        RecordingError: The recording cannot be used.
    """
    advice = engine.advise([rule], Window.of(Replayed(case.recording).history, float("inf")))
    return [*_findings(case, advice), *_blindness(case, advice)]


def _findings(case: Case, advice: Advice) -> list[Difference]:
    found = advice.recommendations
    if len(found) != len(case.expect):
        return [Difference("findings", len(case.expect), [each.summary for each in found] or 0)]
    differences = []
    for expected, recommendation in zip(case.expect, found, strict=True):
        changes = {change.setting: change.to for change in recommendation.changes}
        if expected.subject != recommendation.subject:
            differences.append(Difference("subject", expected.subject, recommendation.subject))
        if expected.changes != changes:
            differences.append(Difference("changes", expected.changes, changes))
    return differences


def _blindness(case: Case, advice: Advice) -> list[Difference]:
    lacks = {each.lacks for each in advice.blind}
    return [] if lacks == case.blind else [Difference("blind", sorted(case.blind), sorted(lacks))]
