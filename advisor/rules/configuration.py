"""The configuration file: what the sidecar cannot see of the server's machine, what is suppressed, more rules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from advisor.files import yaml_file
from advisor.files.yaml_file import Bytes, FileModel
from advisor.rules.suppression import Suppression
from exporter.snapshot import ConfiguredMachine, Storage

_SHAPE = "a configuration is a mapping with server, suppress, rules"


def _path(written: object) -> object:
    if written == "":
        raise ValueError("must not be empty")
    return written


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
    found = yaml_file.read(path, Configuration, _SHAPE).content
    return found if found.rules is None else found.model_copy(update={"rules": path.parent / found.rules})


def suppression(named: str, reason: str) -> Suppression:
    """Of a rule by its id, or of one recommendation by its fingerprint, sixteen hexadecimal digits."""
    key = "fingerprint" if re.fullmatch(r"[0-9a-f]{16}", named) else "rule"
    return Suppression.model_validate({key: named, "reason": reason})
