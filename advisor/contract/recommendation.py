"""The contract of a recommendation. The page, the command line, HTTP and Alertmanager all show these fields."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from advisor.contract.visible import uncalled, visible

Number = int | float
Trend = Literal["worse", "steady", "better"]


class Severity(StrEnum):
    """The severity, in rising order."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0, 1 or 2."""
        return list(Severity).index(self)


class Frozen(BaseModel):
    """A part of the contract."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Evidence(Frozen):
    """A measured or derived fact that the recommendation is based on."""

    name: str
    value: Number | str
    unit: str = ""
    source: str = Field(description="Where it was read: a table, a variable, a statement, or a model.")


class Change(Frozen):
    """A setting to change, with statements that this server accepts as they stand."""

    setting: str
    from_: Number | str | None = Field(alias="from", serialization_alias="from")
    to: Number | str
    dynamic: bool = Field(description="Whether it takes effect without a restart.")
    apply: tuple[str, ...] = Field(description="Empty where only a restart applies it.")
    rollback: tuple[str, ...]
    persist: tuple[str, ...] = Field(description="Empty where the server has no SET PERSIST.")
    config: str = Field(description="The line for the option file's [mysqld] section.")
    via: str = Field(
        "SQL", description="Where the change is made: SQL, the option file, or a managed server's own place."
    )
    note: str = Field("", description="What to know before the change on this server.")


class Action(Frozen):
    """An action other than a change of a setting: an index to add, an upgrade, a source to open."""

    do: str
    apply: tuple[str, ...] = Field((), description="Statements that this server accepts as they stand.")
    rollback: tuple[str, ...] = ()


class Effect(Frozen):
    """A quantity now, and its predicted value after the change."""

    quantity: str
    now: Number | None = None
    predicted: Number
    unit: str = ""
    model: str | None = Field(None, description="The model that predicts; null where the value follows by definition.")
    error: Number | None = Field(
        None, description="What the predicted value may be off, relative to the value now. Null where not estimated."
    )
    read_bytes_saved_per_second: Number | None = None


class Alternative(Frozen):
    """Another change that helps too, and its effect."""

    change: Change
    effect: Effect
    cost: Effect | None = None
    others: Effect | None = Field(None, description="Reads of everything that the change is not made for.")


class Recommendation(Frozen):
    """One recommendation: what to change, why, and the effect."""

    rule: str
    severity: Severity
    confidence: float = Field(ge=0, le=1)
    fingerprint: str = Field(description="Depends on rule and subject only, never on numbers.")
    summary: str
    why: str = Field("", description="The text of its rule, in markdown: why this is a problem, and how it is judged.")
    subject: Mapping[str, str]
    evidence: tuple[Evidence, ...]
    changes: tuple[Change, ...] = ()
    actions: tuple[Action, ...] = ()
    effect: Effect | None = Field(None, description="Null where the advice is not about a quantity.")
    cost: Effect | None = None
    others: Effect | None = Field(None, description="Reads of everything that the change is not made for.")
    alternatives: tuple[Alternative, ...] = ()
    watched_seconds: float = Field(description="Length of the window that it was judged over.")
    since: float | None = Field(
        None,
        description="When it began, Unix seconds: the start of the oldest part of the window that shows it without a "
        "break. While the finding stands, it moves back only.",
    )
    first_seen: float | None = Field(
        None,
        description="When it was first found, Unix seconds, also if it was gone in between. Null where that is not "
        "remembered: for one that was suppressed from the beginning.",
    )
    trend: Trend | None = Field(
        None,
        description="The last five minutes beside the whole window, by the rule's trend or else its effect's quantity "
        "as it is now: worse or better by more than a fifth, else steady. Null where that is not known over both.",
    )
    judged_at: float | None = Field(
        None, description="Time of the snapshot that last showed it, Unix seconds. It may be older than the advice."
    )
    references: tuple[str, ...]


class Blind(Frozen):
    """A rule that could not run: what it lacks, and the cure."""

    rule: str
    lacks: str
    reason: str
    cure: str | None = None


class Failed(Frozen):
    """A rule that failed: its verdict on this server is not known."""

    rule: str
    reason: str


class SetAside(Frozen):
    """A recommendation that is set aside, and the reason."""

    recommendation: Recommendation
    reason: str


class Advice(Frozen):
    """The advice of the rules on a window."""

    server: str
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float
    computed_at: float | None = Field(None, description="When its newest verdict was made, Unix seconds.")
    age_seconds: float | None = Field(None, description="Seconds from then to this answer.")
    next_at: float | None = Field(
        None, description="When verdicts are made anew at the earliest, Unix seconds; null for a recording."
    )
    recommendations: tuple[Recommendation, ...]
    blind: tuple[Blind, ...]
    failed: tuple[Failed, ...] = ()
    suppressed: tuple[SetAside, ...] = Field((), description="By the configuration.")
    overruled: tuple[SetAside, ...] = Field((), description="By another recommendation that they contradict.")

    def by_fingerprint(self, fingerprint: str) -> Recommendation | SetAside | None:
        """The finding of this fingerprint, also one that is set aside; None where there is none."""
        for aside in (*self.suppressed, *self.overruled):
            if aside.recommendation.fingerprint == fingerprint:
                return aside
        return next((finding for finding in self.recommendations if finding.fingerprint == fingerprint), None)


def fingerprint(rule: str, subject: Mapping[str, str]) -> str:
    """Sixteen hexadecimal digits that stay the same while rule and subject do."""
    text = json.dumps([rule, sorted(subject.items())], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def about(subject: Mapping[str, str]) -> str:
    """A subject in a word, as the label ``subject`` of metrics and alerts has it: schema.table.index.

    Alertmanager's templates for chats show labels as they are: what does not show is escaped, and so is what a chat
    would obey.
    """
    return uncalled(visible(".".join(subject.values())))


def tidy(value: float) -> Number:
    """A number for people and JSON: whole numbers as integers, others with four significant digits."""
    if value == int(value):
        return int(value)
    return float(f"{value:.4g}") if abs(value) < 1000 else round(value)


def tidy_or_none(value: float | None) -> Number | None:
    """The same of a number that may not be known."""
    return None if value is None else tidy(value)
