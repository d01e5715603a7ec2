"""An owner of settings: an operator, a chart, a tool, an option file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from advisor.contract.changes import BY_SERVICE
from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.contract.settings import SettingValue
from exporter.knowledge import Family
from exporter.server import Managed, Server

_FAMILIES: Mapping[Family, str] = {"mysql": "MySQL", "mariadb": "MariaDB"}


class PlanRefused(Exception):
    """There is no plan; the text says why, and what to do."""


class NothingToPatch(PlanRefused):
    """The manifest has the lines already."""

    def __init__(self) -> None:
        super().__init__(
            "The manifest has these values already, and the running server has not: a restart is due, or another "
            "place wins over the manifest."
        )


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting that a plan changes.

    Attributes:
        setting: Its name.
        before: The present value, as the server says it.
        after: The new one.
        dynamic: Whether the running server takes it.
    """

    setting: str
    before: SettingValue
    after: SettingValue
    dynamic: bool

    @property
    def back(self) -> SettingLine:
        """The way back."""
        return replace(self, before=self.after, after=self.before)


@dataclass(frozen=True, slots=True)
class MemorySize:
    """Memory of the server's container, in bytes. None: as it is."""

    request: int | None
    limit: int | None


@dataclass(frozen=True, slots=True)
class Patches:
    """A patch, and the one that takes it back."""

    patch: Patch
    undo: Patch


@dataclass(frozen=True, slots=True)
class Reach:
    """The servers that an owner can have.

    Attributes:
        families: What it runs.
        services: The cloud services whose settings it holds; empty where it runs servers of its own.
    """

    families: tuple[Family, ...] = ("mysql", "mariadb")
    services: tuple[Managed, ...] = ()

    def refuse(self, name: TargetName, server: Server) -> None:
        """Refuse a server that is none of these.

        Raises:
            PlanRefused: The owner cannot have the server.
        """
        if self.services and server.managed not in self.services:
            place = f"the {BY_SERVICE[server.managed]}" if server.managed else "no such group"
            raise PlanRefused(
                f"--for {name} is for parameter groups of Amazon RDS and Aurora; {server}'s settings are in {place}."
            )
        if server.managed is not None and not self.services:
            raise PlanRefused(
                f"{server} is run by a cloud service: its settings are in the {BY_SERVICE[server.managed]}, where "
                f"--for {name} cannot put them."
            )
        if server.family not in self.families:
            run = " and ".join(_FAMILIES[family] for family in self.families)
            raise PlanRefused(f"--for {name} is for {run}; this server is {server}.")


class Target(Protocol):
    """An owner. A ``manifest`` is its object or file of today, as text; None where it was not given."""

    @property
    def name(self) -> TargetName:
        """The name that a plan is asked for by."""

    @property
    def memory_applied(self) -> Applied:
        """How it brings another size of memory to the server's container."""

    def settings(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> Patches:
        """The lines, and their way back.

        Raises:
            PlanRefused: The owner cannot hold such a line, or the manifest is none of its objects.
        """

    def memory(self, before: MemorySize, after: MemorySize, manifest: str | None) -> Patches | None:
        """The memory of the server's container; None where the owner holds none.

        Raises:
            PlanRefused: The manifest is none of its objects.
        """

    def roll_out(self, server: Server, lines: tuple[SettingLine, ...], manifest: str | None) -> RollOut:
        """What the owner does with the lines, without cold starts.

        Raises:
            PlanRefused: The manifest is none of its objects.
        """
