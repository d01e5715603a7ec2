"""The forecast of an upgrade: the JSON of `innodb-advisor upgrade --format json` and of `/upgrade`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from advisor.contract.fleet import NotAsked, Source, Vanished
from advisor.contract.recommendation import Evidence, Frozen, Number


class Cause(StrEnum):
    """Why something changes with the version."""

    DEFAULT = "default"
    """A setting stands at its default, which is another one in the new version."""
    BEHAVIOUR = "behaviour"
    """The new version behaves in another way, whatever the settings."""
    REMOVAL = "removal"
    """A setting, or what it controlled, is gone."""


class OptionLine(Frozen):
    """A line for the option file's [mysqld] section on the new server."""

    line: str = Field(examples=["innodb_change_buffering = all"])
    reason: str


class UpgradeStatement(Frozen):
    """SQL to run around the upgrade."""

    sql: str
    reason: str


class Blocker(Frozen):
    """A variable that is set here and that the new version does not know: with it, the server does not start."""

    variable: str
    value: str | None = Field(None, description="As it is set here; null where only its name is known.")
    source: str = Field(description="Where it is set: an option file, the command line; not known otherwise.")
    since: str = Field(description="The first version without it.")
    replacement: OptionLine | None = Field(None, description="What takes its place, with today's value carried over.")
    references: tuple[str, ...] = ()


class UpgradeEffect(Frozen):
    """What a changed default or behaviour does to this workload."""

    cause: Cause
    name: str = Field(description="The setting, or the behaviour's key in knowledge.toml.")
    from_: Number | str | None = Field(None, alias="from", serialization_alias="from")
    to: Number | str | None = None
    subject: Mapping[str, str] = Field(default_factory=dict, description="A table or an index; empty for the server.")
    summary: str = Field(description="A sentence without its full stop.")
    evidence: tuple[Evidence, ...] = ()
    quantity: str | None = Field(None, description="Null where no model knows the effect; then there is no number.")
    unit: str = ""
    now: Number | None = None
    predicted: Number | None = None
    low: Number | None = None
    high: Number | None = None
    model: str | None = None
    pages_per_second: Number | None = Field(
        None, description="Pages read and written a second more (or fewer, if negative): the effects' order."
    )
    better: bool | None = Field(None, description="Whether the new value is better; null where that is not known.")
    keep: tuple[OptionLine, ...] = Field((), description="Lines that keep today's behaviour, where that is better.")
    before: tuple[UpgradeStatement, ...] = Field((), description="SQL to run before the upgrade, for this effect.")
    after: tuple[UpgradeStatement, ...] = Field((), description="SQL to run after it.")
    references: tuple[str, ...] = ()


class SettledAdvice(Frozen):
    """Advice that falls away with the upgrade."""

    rule: str
    fingerprint: str
    summary: str
    reason: str


class NotForetold(Frozen):
    """What cannot be said, and what to record so that it can."""

    what: str
    reason: str
    cure: str | None = None


class MovedDefault(Frozen):
    """A setting at its default that the new version has another default for, and that touches nothing that was seen."""

    setting: str
    from_: Number | str = Field(alias="from", serialization_alias="from")
    to: Number | str


class UpgradeForecast(Frozen):
    """What an upgrade does to a server."""

    server: str
    to: str = Field(description="The new version, with the flavour.")
    assumed: str | None = Field(None, description="The newest version known, where the new one is assumed to be alike.")
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float
    warnings: tuple[str, ...] = Field((), description="Bugs of the new version that concern the upgrade itself.")
    blockers: tuple[Blocker, ...]
    effects: tuple[UpgradeEffect, ...] = Field(description="Worse or not known to be better, the largest first.")
    improvements: tuple[UpgradeEffect, ...]
    settled: tuple[SettledAdvice, ...]
    other_changes: tuple[MovedDefault, ...] = Field(description="They touch nothing that was seen.")
    option_file: tuple[OptionLine, ...]
    before: tuple[UpgradeStatement, ...] = Field(description="SQL to run before the upgrade.")
    after: tuple[UpgradeStatement, ...] = Field(description="SQL to run after it.")
    not_foretold: tuple[NotForetold, ...]


class ServerUpgrade(Frozen):
    """What an upgrade does to a server of a fleet, in short."""

    server: str = Field(description="Its name in `fleet`.")
    source: Source = Field(description="Whose series it is from; never its sidecar's verdict.")
    version: str = Field(description="The version it has, with the flavour.")
    blockers: tuple[str, ...] = Field(description="Variables that are set, and with which it would not start.")
    pages_per_second: Number | None = Field(
        None, description="Pages read and written a second more, by all effects that have a number."
    )
    worse: int = Field(description="Effects that are worse.")
    changes: int = Field(description="Effects that are not known to be better or worse.")
    better: int = Field(description="Effects that are better.")
    largest: str | None = Field(None, description="The largest effect, in a sentence without its full stop.")
    settled: int = Field(description="Findings that fall away.")
    not_foretold: int = Field(description="What cannot be said of it.")
    notes: tuple[str, ...] = ()
    forecast: UpgradeForecast | None = Field(None, description="The whole forecast, where this server was asked for.")


class FleetNotForetold(Frozen):
    """What cannot be said of a number of servers: one line, not one for each."""

    what: str
    reason: str
    cure: str | None = None
    servers: int
    examples: tuple[str, ...] = Field(description="Names of at most three of them.")


class FleetUpgrade(Frozen):
    """What an upgrade does to the servers of a fleet."""

    at: float = Field(description="The grid's end, Unix seconds.")
    window_seconds: float
    prometheus: str = Field(description="The URL, without a password.")
    shard: str | None = Field(None, description="As given: 2/8.")
    to: str = Field(description="The version that was asked for.")
    took_seconds: float
    servers: tuple[ServerUpgrade, ...] = Field(
        description="The worst first: those that would not start, then by pages a second. A roll-out begins at the end."
    )
    not_foretold: tuple[FleetNotForetold, ...] = ()
    not_asked: tuple[NotAsked, ...] = Field((), description="Servers without a forecast: of another flavour, or newer.")
    vanished: tuple[Vanished, ...] = ()
    warnings: tuple[str, ...] = Field((), description="What Prometheus said beside its answers, and what is odd.")
