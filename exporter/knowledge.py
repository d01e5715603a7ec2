"""What is known of MySQL and MariaDB by version: their settings and their behaviours, read from knowledge.toml.

A value that changed over the versions is written by family and by the first version that has it:
``default.mysql = {"0" = "all", "8.4" = "none"}``; one that never changed stands alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

Version = tuple[int, int, int]
Family = Literal["mysql", "mariadb"]
Flavour = Literal["mysql", "percona", "aurora", "mariadb"]
Managed = Literal["aurora", "rds", "azure", "cloudsql"]
Unit = Literal["", "bytes", "percent", "milliseconds", "pages", "threads", "iops", "instances"]
Scalar = int | float | str
COMPUTED = "computed"
"""Stands for a default that the server works out from the machine or from other settings."""

PATH = Path(__file__).with_name("knowledge.toml")
T = TypeVar("T")


def _version(text: object) -> object:
    """``8.0.14``, ``8.4`` or ``0`` as three numbers."""
    if not isinstance(text, str):
        return text
    numbers = [int(number) for number in text.split(".")]
    return (*numbers, 0, 0)[:3]


def _in_order(floors: object) -> object:
    """``{"8.4" = x}`` as pairs of version and value, the newest first."""
    if isinstance(floors, Mapping):
        return sorted(((_version(version), value) for version, value in floors.items()), reverse=True)
    return [((0, 0, 0), floors)]


_VersionText = Annotated[Version, BeforeValidator(_version)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ByVersion(_Part, Generic[T]):
    """A value by family and version; the newest floor at or before a version holds there."""

    mysql: Annotated[tuple[tuple[Version, T], ...], BeforeValidator(_in_order)] = ()
    mariadb: Annotated[tuple[tuple[Version, T], ...], BeforeValidator(_in_order)] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_both(cls, written: Any) -> Any:
        return written if isinstance(written, Mapping) else {"mysql": written, "mariadb": written}

    def on(self, family: Family, version: Version) -> T | None:
        """The value there; None where nothing is said."""
        floors = self.mysql if family == "mysql" else self.mariadb
        return next((value for floor, value in floors if floor <= version), None)

    def values(self) -> tuple[T, ...]:
        """Every value there is."""
        return tuple(value for _, value in (*self.mysql, *self.mariadb))


class VersionRange(_Part):
    """Versions: ``from`` included, ``below`` not."""

    from_: _VersionText = Field((0, 0, 0), alias="from")
    below: _VersionText | None = None

    def __contains__(self, version: Version) -> bool:
        return self.from_ <= version and (self.below is None or version < self.below)


class Ranges(_Part):
    """The versions of each family in which something is so; a family that is not named is out."""

    mysql: tuple[VersionRange, ...] = ()
    mariadb: tuple[VersionRange, ...] = ()

    def on(self, family: Family, version: Version) -> bool:
        """Whether it is so there."""
        return any(version in each for each in (self.mysql if family == "mysql" else self.mariadb))


class Behaviour(_Part):
    """Something that servers of some versions do or have.

    Attributes:
        what: One sentence.
        windows: Where the versions differ on Windows, those.
        not_on: Flavours that differ from their family.
        references: Manual pages, release notes, bugs.
    """

    what: str = Field(min_length=1)
    on: Ranges
    windows: Ranges | None = None
    not_on: frozenset[Flavour] = frozenset()
    references: tuple[str, ...] = Field(min_length=1)


class SettingEntry(_Part):
    """A global variable.

    Attributes:
        kind: A whole number in ``unit``, as the server prints it, or a text: one of ``words``.
        scope: ``session`` where each session has its own too, so that SET GLOBAL reaches new ones only.
        exists: Where it is; everywhere if nothing is said.
        dynamic: Whether SET GLOBAL takes effect without a restart.
        persisted: Whether SET PERSIST, or SET PERSIST_ONLY where a restart is needed, takes it, on servers that have
            them.
        minimum, maximum: What is taken as it stands; a server may go further.
        words: What a text may be; ON and OFF where it is a switch.
        windows_words: The same on Windows, where it differs.
        default: As the server prints it; ``computed`` where it depends on the machine or on other settings.
        refused: Why it cannot be changed: ``anywhere``, or on a flavour or a managed service.
        reference: Its place in the manual.
    """

    kind: Literal["number", "text"]
    unit: Unit = ""
    scope: Literal["global", "session"] = "global"
    exists: Ranges = Ranges(mysql=(VersionRange(),), mariadb=(VersionRange(),))
    dynamic: ByVersion[bool]
    persisted: bool = True
    minimum: ByVersion[int] = ByVersion()
    maximum: ByVersion[int] = ByVersion()
    words: ByVersion[tuple[str, ...]] = ByVersion()
    windows_words: tuple[str, ...] | None = None
    default: ByVersion[Scalar]
    refused: Mapping[Literal["anywhere", Managed], str] = Field(default_factory=dict)
    reference: str = Field(pattern="^https://")


class Knowledge(_Part):
    """The whole file."""

    settings: Mapping[str, SettingEntry]
    behaviours: Mapping[str, Behaviour]


def load(path: Path = PATH) -> Knowledge:
    """Read the file.

    Raises:
        ValueError: It is no TOML, or something in it is not as described here; the text says what and where.
    """
    try:
        return Knowledge.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ValueError(f"{path}: {error}") from error


_KNOWN = load()
SETTINGS = _KNOWN.settings
BEHAVIOURS = _KNOWN.behaviours
