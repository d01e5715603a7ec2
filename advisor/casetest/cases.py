"""The grammar of <id>.cases.yaml, the file of a rule's cases, and reading it."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, RootModel

from advisor.casetest.alterations import Alteration
from advisor.contract.recommendation import Effect, Severity
from advisor.files import yaml_file
from advisor.files.yaml_file import FileError, FileModel
from advisor.ledger.reading import WINDOW_SECONDS
from advisor.observe.source import Replay
from advisor.rules.check import CASES_SUFFIX, SUFFIX, Rule
from exporter.recording.file import RecordingError
from exporter.snapshot import Snapshot


def _any_texts(value: object) -> object:
    """A number of actions is as many texts that every action contains."""
    return [""] * value if isinstance(value, int) and not isinstance(value, bool) else value


class ExpectedEffect(FileModel):
    """The effect that a finding predicts.

    Attributes:
        predicted: In the effect's unit.
        within: Tolerance, as a share of ``predicted``; in its unit where that is 0.
    """

    predicted: float
    within: float = Field(0.0, ge=0)

    def __contains__(self, effect: Effect | None) -> bool:
        return effect is not None and abs(effect.predicted - self.predicted) <= self.within * (
            abs(self.predicted) or 1.0
        )

    def __str__(self) -> str:
        return f"{self.predicted:g}" + (f" within {self.within:.0%}" if self.within and self.predicted else "")


class ExpectedFinding(FileModel):
    """A recommendation: subject and changes exactly, the rest where it is given.

    Attributes:
        actions: For each action a text that it contains; a number where any text will do.
    """

    subject: dict[str, str] = Field(default_factory=dict)
    changes: dict[str, float | str] = Field(default_factory=dict)
    severity: Severity | None = None
    effect: ExpectedEffect | None = None
    actions: Annotated[tuple[str, ...] | None, BeforeValidator(_any_texts)] = None


class Case(FileModel):
    """One case.

    Attributes:
        name: What it shows.
        recording: A file; relative to the case file's own folder in YAML, complete once loaded.
        alteration: Replaces parts of the recording; ``with`` in YAML.
        expect: The findings, in the order of the advice; empty where the rule must be silent.
        blind: What the rule lacks. A blind rule has no findings.
        window_seconds: Length of a window by which changes in the recording are measured.
    """

    name: str = Field(min_length=1)
    recording: Path
    alteration: Alteration | None = Field(None, alias="with")
    expect: tuple[ExpectedFinding, ...] = ()
    blind: frozenset[str] = frozenset()
    window_seconds: float = Field(WINDOW_SECONDS, gt=0, allow_inf_nan=False)


def path_of(rule: Rule) -> Path:
    """The case file of a rule."""
    return rule.path.with_name(rule.path.name.removesuffix(SUFFIX) + CASES_SUFFIX)


def load(rule: Rule) -> tuple[Case, ...]:
    """The cases of a rule.

    Raises:
        FileError: There are none, or anything in them is wrong, or a recording cannot be used.
    """
    path = path_of(rule)
    source = yaml_file.read(
        path, RootModel[tuple[Case, ...]], "cases are a list of mappings with name, recording, expect, …", root=list
    )
    names: set[str] = set()
    cases = []
    for number, case in enumerate(source.content.root):
        if case.name in names:
            raise source.error((number, "name"), "another case has this name")
        names.add(case.name)
        recording = path.parent / case.recording
        if not recording.is_file():
            raise source.error((number, "recording"), f"there is no file {recording}")
        if case.alteration is not None:
            for keys, reason in case.alteration.unknown(recorded(recording)[-1]):
                raise source.error((number, "with", *keys), reason)
        cases.append(case.model_copy(update={"recording": recording}))
    if not cases:
        raise FileError(f"{path}:1:1: there is no case here")
    return tuple(cases)


@functools.cache
def recorded(path: Path) -> tuple[Snapshot, ...]:
    """The snapshots of a recording, oldest first; remembered, as many cases share a recording.

    Raises:
        FileError: The recording cannot be used.
    """
    try:
        return tuple(Replay(path).history)
    except RecordingError as error:
        raise FileError(str(error)) from error
