"""The variables that are set on a server, and those that stop the start of the new version. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from advisor.contract.settings import SettingValue
from advisor.contract.upgrade import Blocker, NotForetold
from advisor.observe.window import Window
from exporter.server import Server


@dataclass(frozen=True, slots=True)
class ConfiguredVariable:
    """A global variable that is set other than by default.

    Attributes:
        name: As in SHOW GLOBAL VARIABLES.
        value: That the next start gives it, as the server prints it or as the option file has it; None where only the
            name is known.
        source: Where it is set, for people.
    """

    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """The variables that are set on a server.

    Attributes:
        variables: Those that are set at the next start too, by name.
        forgotten: Set by SET GLOBAL alone: a restart forgets them.
        unread: Includes of the option file, which were not read.
    """

    variables: Mapping[str, ConfiguredVariable]
    forgotten: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()

    @property
    def settings(self) -> Mapping[str, SettingValue]:
        """Those of knowledge.toml whose value is known, for ``settings_of``."""
        raise NotImplementedError


def configured(window: Window, option_file: str | None = None) -> Configuration | None:
    """The variables that are set, from the server itself and from an option file's text; None where neither tells.

    Raises:
        ValueError: The text is not an option file.
    """
    raise NotImplementedError


def blockers(window: Window, after: Server, configuration: Configuration | None) -> Iterator[Blocker | NotForetold]:
    """The variables with which the new version does not start, by name, and what cannot be said of the start."""
    raise NotImplementedError
