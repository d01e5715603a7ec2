"""The configuration file: the server's machine, where the sidecar cannot see it, suppressions, own rules."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from advisor.files import yaml_file
from advisor.files.yaml_file import Bytes, FileModel
from exporter.snapshot import ConfiguredMachine, Storage

_SHAPE = "a configuration is a mapping with server, suppress, rules"


def _path(written: object) -> object:
    if written == "":
        raise ValueError("must not be empty")
    return written


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

    def covers(self, rule: str, fingerprint: str, today: date) -> bool:
        """Whether it suppresses the finding of this rule and fingerprint today."""
        if self.until is not None and today > self.until:
            return False
        return self.rule == rule or self.fingerprint == fingerprint

    @property
    def text(self) -> str:
        """The reason in words."""
        named = f"the rule {self.rule}" if self.rule else f"the fingerprint {self.fingerprint}"
        until = f" until {self.until}" if self.until else ""
        return f"{named} is suppressed{until}" + (f": {self.reason}" if self.reason else "")


class ServerMachine(FileModel):
    """The machine or container that the server runs in, where the sidecar cannot see it; bytes, cores."""

    cores: float | None = Field(None, gt=0, allow_inf_nan=False, strict=True)
    memory: Bytes | None = None
    storage: Storage | None = None

    @property
    def configured(self) -> ConfiguredMachine:
        """As the sampler takes it."""
        return ConfiguredMachine(self.cores, self.memory, self.storage)


class Configuration(FileModel):
    """What the file says; ``rules`` is a directory, relative to the file's own."""

    server: ServerMachine = ServerMachine()
    suppress: tuple[Suppression, ...] = ()
    rules: Annotated[Path, BeforeValidator(_path)] | None = None


def load(path: Path) -> Configuration:
    """A configuration file.

    Raises:
        FileError: It cannot be read, or anything in it is wrong.
    """
    configuration = yaml_file.read(path, Configuration, _SHAPE).content
    rules = configuration.rules
    return configuration if rules is None else configuration.model_copy(update={"rules": path.parent / rules})


def suppression(named: str, reason: str) -> Suppression:
    """Of a rule by its id, or of one recommendation by its fingerprint, sixteen hexadecimal digits."""
    key = "fingerprint" if re.fullmatch(r"[0-9a-f]{16}", named) else "rule"
    return Suppression.model_validate({key: named, "reason": reason})
