"""The suppression of findings."""

from __future__ import annotations

from datetime import date
from typing import Protocol, Self

from pydantic import Field, model_validator

from advisor.files.yaml_file import FileModel


class Finding(Protocol):
    """A finding on a server, or on one of a fleet."""

    @property
    def rule(self) -> str:
        """The id of its rule."""

    @property
    def fingerprint(self) -> str:
        """Of its rule and subject."""


class Suppression(FileModel):
    """Unwanted findings: all of a rule, or one by its fingerprint.

    Attributes:
        until: The last day of the suppression.
    """

    rule: str | None = Field(None, min_length=1)
    fingerprint: str | None = Field(None, pattern="^[0-9a-f]{16}$")
    reason: str = ""
    until: date | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.rule is None) == (self.fingerprint is None):
            raise ValueError("name either a rule or a fingerprint")
        return self

    def covers(self, found: Finding, today: date) -> bool:
        """Whether it suppresses this finding today."""
        if self.until is not None and today > self.until:
            return False
        return self.rule == found.rule or self.fingerprint == found.fingerprint

    @property
    def text(self) -> str:
        """The reason in words."""
        named = f"the rule {self.rule}" if self.rule else f"the fingerprint {self.fingerprint}"
        until = f" until {self.until}" if self.until else ""
        return f"{named} is suppressed{until}" + (f": {self.reason}" if self.reason else "")
