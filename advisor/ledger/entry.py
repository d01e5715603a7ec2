"""The entries of the ledger: findings, outcomes and what outcomes compare. They are stored as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from advisor.contract.recommendation import Frozen, Number
from advisor.ledger.reading import READ, WAITED, Reading
from advisor.observe.window import setting_value
from exporter.recording.bounds import moment
from exporter.snapshot import Snapshot

Moment = Annotated[float, AfterValidator(moment)]
"""Unix seconds that have a date."""


class Result(StrEnum):
    """What became of a change."""

    OPEN = "open"
    """The pool has not settled yet."""
    KEPT = "kept"
    """The promise was kept: what was measured is within its error."""
    MISSED = "missed"
    """The promise was not kept."""
    UNPROMISED = "unpromised"
    """No promise: the change was not advised, or its effect is not measured in production."""
    NOT_COMPARABLE = "not comparable"
    """The work changed, or the server or another setting changed before it could be measured."""


class Promise(Frozen):
    """What a finding, or an alternative of it, predicts of a change."""

    setting: str
    to: Number | str
    quantity: str
    unit: str = ""
    now: Number
    predicted: Number
    error: Number | None = Field(None, description="What it may be off, relative to now.")


class RememberedFinding(Frozen):
    """A finding that stood."""

    kind: Literal["found"] = "found"
    fingerprint: str
    rule: str
    subject: Mapping[str, str]
    severity: str
    summary: str
    first_seen: Moment = Field(description="Unix seconds.")
    last_seen: Moment = Field(description="Unix seconds.")
    resolved_at: Moment | None = Field(
        None, description="When its rule no longer made it, Unix seconds; null while it stands, or is not known to."
    )
    settings: Mapping[str, Number | str] = Field(description="The values of the settings that it would change.")
    promises: tuple[Promise, ...] = Field(
        description="Of its own changes, then of its alternatives, then those that it made with other values."
    )
    rule_version: str = Field(description="A digest of the rule's file.")
    model_version: str = Field(description="The version of innodb-advisor.")


class Changed(Frozen):
    """A setting that took another value."""

    setting: str
    before: Number | str | None
    after: Number | str | None
    undo: tuple[str, ...] = Field((), description="Statements that take it back; empty where only a restart does.")
    undo_config: str = Field("", description="The line for the option file that takes it back.")

    def is_in_force(self, latest: Snapshot) -> bool:
        """Whether the setting has the value that the change left it with."""
        return setting_value(latest, self.setting) == self.after


class Compared(Frozen):
    """A quantity before and after a change, by the same work."""

    quantity: str
    unit: str = ""
    subject: Mapping[str, str] = Field({}, description="Empty for the whole server.")
    before: Number
    after: Number
    noise: Number = Field(
        description="What chance may make of the difference, in the unit: two standard errors, or more where many "
        "quantities are compared."
    )
    worse: bool = Field(False, description="Whether it rose beyond noise, and by enough to matter.")


class Outcome(Frozen):
    """What became of a change, for one finding that asked for the setting, or for none."""

    kind: Literal["outcome"] = "outcome"
    id: str
    at: Moment = Field(description="When the change was first seen, Unix seconds.")
    changes: tuple[Changed, ...]
    rule: str | None = Field(None, description="Whose finding asked for the setting; null where none did.")
    fingerprint: str | None = None
    subject: Mapping[str, str] = {}
    followed: bool = Field(False, description="Whether the value is the advised one, or that of an alternative.")
    promise: Promise | None = None
    result: Result = Result.OPEN
    why: str = Field("", description="In words: what is waited for, why it is not comparable, or what was found.")
    closed_at: Moment | None = None
    taken_back_at: Moment | None = Field(None, description="When a setting got its earlier value again, Unix seconds.")
    measured: Compared | None = Field(None, description="The promised quantity.")
    error: Number | None = Field(None, description="Measured less predicted, relative to now.")
    others: tuple[Compared, ...] = Field((), description="What else was compared.")
    server: str = Field("", description="The server's version after the change; empty where it was not noted.")
    rule_version: str = ""
    model_version: str = ""

    @property
    def harm(self) -> tuple[Compared, ...]:
        """Reads and waits that got worse, but for those of the tables that the change was for."""
        return tuple(other for other in self.others if other.worse and other.quantity in (READ, WAITED))

    def ended(self, why: str, at: float) -> Outcome:
        """The outcome where it cannot be measured any more. Its harm was measured before."""
        result = Result.UNPROMISED if self.harm else Result.NOT_COMPARABLE
        reason = f"{self.why}; then {why}" if self.harm else why
        return self.model_copy(update={"result": result, "why": reason, "closed_at": at})


class Baseline(Frozen):
    """What was measured before the change of an open outcome."""

    kind: Literal["baseline"] = "baseline"
    of: str = Field(description="The outcome's id.")
    reading: Reading


Entry = Annotated[RememberedFinding | Outcome | Baseline, Field(discriminator="kind")]
"""What is stored, and what recordings carry."""
ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


def outcome_id(at: float, changes: tuple[Changed, ...], fingerprint: str | None = None) -> str:
    """Sixteen hexadecimal digits: of the time, the settings and the finding that advised them."""
    text = json.dumps(
        [round(at, 3), sorted((change.setting, str(change.after)) for change in changes), fingerprint],
        ensure_ascii=False,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]
