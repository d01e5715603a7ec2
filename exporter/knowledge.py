"""The settings, behaviours and bugs of MySQL and MariaDB by version, read from knowledge.toml.

A value that differs between versions is given for each family by the first version that has it:
``default.mysql = {"0" = "all", "8.4" = "none"}``. A value that is the same in all versions is given alone. What only
some versions have is true in these: ``exists.mysql = {"8.0.14" = true, "8.0.26" = false}``.
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
Consequence = Literal["refuse", "restart", "warn"]
Scalar = int | float | str

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


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ByVersion(_Part, Generic[T]):
    """A value by family and version: a version has the value of the newest floor that is not newer.

    A family that is not named has no value.
    """

    mysql: Annotated[tuple[tuple[Version, T], ...], BeforeValidator(_in_order)] = ()
    mariadb: Annotated[tuple[tuple[Version, T], ...], BeforeValidator(_in_order)] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_both(cls, written: Any) -> Any:
        return written if isinstance(written, Mapping) else {"mysql": written, "mariadb": written}

    def on(self, family: Family, version: Version) -> T | None:
        """The value for a version; None if the file gives none."""
        floors = self.mysql if family == "mysql" else self.mariadb
        return next((value for floor, value in floors if floor <= version), None)

    def floors(self, family: Family) -> tuple[Version, ...]:
        """The versions from which on a family has another value, the newest first."""
        return tuple(floor for floor, _ in (self.mysql if family == "mysql" else self.mariadb))

    def values(self) -> tuple[T, ...]:
        """Every value, of all versions."""
        return tuple(value for _, value in (*self.mysql, *self.mariadb))


class Behaviour(_Part):
    """A behaviour of some versions."""

    what: str = Field(min_length=1)
    """One sentence."""
    on: ByVersion[bool]
    """Whether a version has it."""
    windows: ByVersion[bool] | None = None
    """The same on Windows, if it differs."""
    not_on: frozenset[Flavour] = frozenset()
    """Flavours without it, although their family has it."""
    references: tuple[str, ...] = Field(min_length=1)
    """Manual pages, release notes, bugs."""

    def ends_after(self, family: Family, version: Version) -> Version | None:
        """The first version after this one without it; None where none is known."""
        floors = self.on.mysql if family == "mysql" else self.on.mariadb
        return min((floor for floor, has in floors if floor > version and not has), default=None)


class NumberedBug(Behaviour):
    """A behaviour that is a bug."""

    bug: str = Field(pattern=r"^(MDEV-|MySQL bug )\d+$")
    """Its number."""


class UpgradeBug(NumberedBug):
    """A bug that an upgrade meets on its way."""

    version: Literal["old", "new"]
    """Of the version that the upgrade starts from, or of the one that it ends at."""
    loses: str | None = None
    """The behaviour that an upgrade must lose to meet it; None for every upgrade."""


class Bug(NumberedBug):
    """A behaviour that makes a change of a setting dangerous."""

    setting: str
    """The setting whose change is dangerous."""
    direction: Literal["up", "down"] | None = None
    """The dangerous direction of the change; None for both."""
    safe: tuple[Scalar, ...] = ()
    """Values that it does not concern."""
    bounded: bool = False
    """Whether values up to the largest that the running server accepts are safe."""
    consequence: Consequence
    """The change is refused; or needs the option file and a restart; or is advised with a warning.

    ``refuse`` is for the value itself, the others are for a change at runtime.
    """

    def concerns(self, before: Scalar | None, after: Scalar, most: float | None = None) -> bool:
        """Whether it concerns a change between two values. One from an unknown value it may concern.

        Args:
            before: The present value.
            after: The new value.
            most: The largest value that the running server accepts; None where not known.
        """
        if after in self.safe:
            return False
        if isinstance(after, str) or self.direction is None:
            return True
        if self.bounded and most is not None and after <= most:
            return False
        if before is None or isinstance(before, str):
            return True
        return after > before if self.direction == "up" else after < before


class Computed(_Part):
    """A default that the server computes from the machine or from other settings."""

    computed: str
    """The name of the formula in advisor/upgrade/defaults.py."""


class SettingEntry(_Part):
    """A global variable."""

    kind: Literal["number", "text"]
    """A whole number in ``unit``, as the server prints it, or a text: one of ``words``."""
    unit: Unit = ""
    scope: Literal["global", "session"] = "global"
    """``session`` if each session also has its own value: SET GLOBAL then affects new sessions only."""
    exists: ByVersion[bool] = Field(default=True, validate_default=True)
    """Whether a version has it."""
    ignored: ByVersion[bool] = ByVersion()
    """Whether a version that no longer has it ignores its line in an option file; the others do not start with it."""
    dynamic: ByVersion[bool]
    """Whether SET GLOBAL takes effect without a restart."""
    persisted: bool = True
    """Whether servers with SET PERSIST, or SET PERSIST_ONLY if a restart is needed, accept it there."""
    minimum: ByVersion[int] = ByVersion()
    """The smallest value that the server takes unchanged in every case."""
    maximum: ByVersion[int] = ByVersion()
    """The largest such value."""
    words: ByVersion[tuple[str, ...]] = ByVersion()
    """The possible texts; ON and OFF for a switch."""
    windows_words: tuple[str, ...] | None = None
    """The possible texts on Windows, if they differ."""
    default: ByVersion[Scalar | Computed]
    """As the server prints it, or its formula."""
    empty: str | None = None
    """The text that it stands for where the server prints an empty one."""
    refused: Mapping[Literal["anywhere", Managed], str] = Field(default_factory=dict)
    """Why it cannot be changed: ``anywhere``, or on a managed service."""
    reference: str = Field(pattern="^https://")
    """Its page in the manual."""


class Replacement(_Part):
    """What takes the place of a removed variable."""

    by: str
    """The name of the other variable."""
    times: int = 1
    """Its value for 1 of the removed variable."""


def _named(replacement: object) -> object:
    """A name alone as a Replacement."""
    return {"by": replacement} if isinstance(replacement, str) else replacement


Renamed = Annotated[Replacement, BeforeValidator(_named)]


class Knowledge(_Part):
    """The whole file."""

    series: Mapping[Family, tuple[str, ...]]
    """The series of each family whose behaviour is known, oldest first; a newer one is assumed to behave like the last.
    """
    steps: Mapping[Family, tuple[str, ...]]
    """Series that an upgrade of the data folder must not skip."""
    settings: Mapping[str, SettingEntry]
    behaviours: Mapping[str, Behaviour]
    bugs: Mapping[str, Bug] = Field(default_factory=dict)
    upgrade_bugs: Mapping[str, UpgradeBug] = Field(default_factory=dict)
    removed: ByVersion[frozenset[str]] = ByVersion()
    """The variables beside the settings that a version is the first not to know: a line of one stops its start."""
    replaced: Mapping[Family, Mapping[str, Annotated[Replacement, BeforeValidator(_named)]]] = Field(
        default_factory=dict
    )
    """What takes the place of some of them, by name."""


def load(path: Path = PATH) -> Knowledge:
    """Read the file.

    Raises:
        ValueError: It is not TOML, or does not match these types; the text says what and where.
    """
    try:
        return Knowledge.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise ValueError(f"{path}: {error}") from error


_KNOWLEDGE = load()
SERIES: Mapping[Family, tuple[str, ...]] = _KNOWLEDGE.series
STEPS: Mapping[Family, tuple[str, ...]] = _KNOWLEDGE.steps
NEWEST: Mapping[Family, str] = {family: series[-1] for family, series in SERIES.items()}
SETTINGS = _KNOWLEDGE.settings
BUGS = _KNOWLEDGE.bugs
UPGRADE_BUGS = _KNOWLEDGE.upgrade_bugs
REMOVED = _KNOWLEDGE.removed
REPLACED = _KNOWLEDGE.replaced
BEHAVIOURS: Mapping[str, Behaviour] = {**_KNOWLEDGE.behaviours, **BUGS, **UPGRADE_BUGS}
"""Those of the table of that name, and the bugs."""


def refused_since(name: str, family: Family, version: Version) -> Version | None:
    """The first version, up to this one, that does not start with a line of the variable; None where this one starts.

    Args:
        name: Of a variable that an older version has.
        family: Of the version.
        version: Of the server that reads the option file.
    """
    if name in SETTINGS:
        entry = SETTINGS[name]
        if entry.exists.on(family, version) or entry.ignored.on(family, version):
            return None
        return max((floor for floor in entry.exists.floors(family) if floor <= version), default=None)
    floors = REMOVED.mysql if family == "mysql" else REMOVED.mariadb
    return min((floor for floor, names in floors if name in names and floor <= version), default=None)


def newest_patch(family: Family, series: tuple[int, int]) -> Version:
    """The first patch of a series that differs in nothing from the later ones, as far as the file tells."""
    entries = (*SETTINGS.values(), *BEHAVIOURS.values())
    by_version = (value for entry in entries for _, value in entry if isinstance(value, ByVersion))
    floors = (floor for value in by_version for floor in value.floors(family))
    return max((floor for floor in floors if floor[:2] == series), default=(*series, 0))
