"""An owner of settings: an operator, a chart, a tool, an option file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from advisor.contract.plan import Patch, RollOut, TargetName
from advisor.contract.settings import SettingValue
from exporter.server import Server


class PlanRefused(Exception):
    """There is no plan; the text says why, and what to do."""


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


class Target(Protocol):
    """An owner. A ``manifest`` is its object or file of today, as text; None where it was not given."""

    name: TargetName

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
