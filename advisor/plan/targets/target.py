"""An owner of settings: an operator, a chart, a tool, an option file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, Self

from advisor.contract.changes import BY_SERVICE
from advisor.contract.plan import Applied, Patch, RollOut, TargetName
from advisor.contract.recommendation import Change, Number
from advisor.contract.sql import option
from exporter.knowledge import Family
from exporter.server import Managed, Server

NOTHING_TO_PATCH = (
    "The manifest has these values already, and the running server has not: a restart is due, or another place wins "
    "over the manifest."
)
"""Why there is no plan for a manifest that has the lines already."""
_FAMILIES: Mapping[Family, str] = {"mysql": "MySQL", "mariadb": "MariaDB"}


class PlanRefused(Exception):
    """There is no plan; the text says why, and what to do."""


def written(value: Number | str) -> str:
    """A value as an option file has it."""
    return option(value) if isinstance(value, str) else str(value)


def taken_back(change: Change) -> Change:
    """The change that takes another one back: its values and statements exchanged.

    Raises:
        PlanRefused: The present value is not known.
    """
    if change.from_ is None:
        raise PlanRefused(f"the present value of {change.setting} is not known: there would be no way back")
    return change.model_copy(
        update={
            "from_": change.to,
            "to": change.from_,
            "apply": change.rollback,
            "rollback": change.apply,
            "persist": (),
            "config": f"{change.setting} = {written(change.from_)}",
        }
    )


@dataclass(frozen=True, slots=True)
class Patches:
    """A patch, and the one that takes it back."""

    patch: Patch
    undo: Patch

    @classmethod
    def of(
        cls, file: str, form: str, texts: tuple[str, str], *, command: str | None = None, whole: bool = True
    ) -> Self:
        """The patches of two texts; the second one's file is named ``undo-`` and the file's name.

        Args:
            file: Name of the first one's file.
            form: What the texts are.
            texts: Of the patch, and of the one that takes it back.
            command: Applies either by hand, with the name of its file as the end.
            whole: As in ``Patch``.
        """
        patch, undo = (
            Patch(file=name, form=form, text=text, command=command and f"{command}{name}", whole=whole)
            for name, text in zip((file, f"undo-{file}"), texts, strict=True)
        )
        return cls(patch, undo)


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
    """An owner of the settings of servers within its reach.

    A ``manifest`` is its object or file of today, as text; None where it was not given.
    """

    @property
    def name(self) -> TargetName:
        """The name that a plan is asked for by."""

    @property
    def reach(self) -> Reach:
        """The servers that it can have."""

    @property
    def memory_applied(self) -> Applied:
        """How it brings another size of memory to the server's container."""

    def settings(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> Patches:
        """The lines of the settings, and their way back.

        Raises:
            PlanRefused: The owner cannot hold such a line, or the manifest is none of its objects.
        """

    def memory(self, before: int, after: int, manifest: str | None) -> Patches | None:
        """The limit of the memory of the server's container in bytes, with its request; None where it holds none.

        Raises:
            PlanRefused: The manifest is none of its objects.
        """

    def roll_out(self, server: Server, changes: tuple[Change, ...], manifest: str | None) -> RollOut:
        """What the owner does with the lines, without cold starts.

        Raises:
            PlanRefused: The manifest is none of its objects.
        """
