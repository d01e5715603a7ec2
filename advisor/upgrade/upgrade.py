"""An upgrade: the server as it was watched, and the same server with another version and its defaults. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.contract.settings import SettingValue
from advisor.facts import Facts
from advisor.observe.window import Window
from advisor.pool.model import PoolModel
from exporter.server import Server


@dataclass(frozen=True, slots=True)
class SettingForecast:
    """A setting of knowledge.toml before and after the upgrade.

    Attributes:
        name: Of the setting.
        before: Its value today; None where this version has no such setting, or the value is not known.
        after: Its value on the new version with the option file of today; None where it has no such setting, or
            computes a default from what is not known.
        is_set: Whether it is set, or has another value than its default today: its new value is then no new default.
    """

    name: str
    before: SettingValue | None
    after: SettingValue | None
    is_set: bool

    @property
    def moves(self) -> bool:
        """Whether the upgrade changes the value."""
        return self.before is not None and self.after is not None and self.before != self.after


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A server that was watched, and what it becomes.

    Attributes:
        window: What has been watched.
        facts: The window's.
        model: The pool's, of the window; it raises Unanswerable where the evidence is not enough.
        before: The server as it is.
        after: The same with the new version: ``after.has(behaviour)`` tells what it does.
        settings: Those of knowledge.toml that one of the two has, by name.
    """

    window: Window
    facts: Facts
    model: PoolModel
    before: Server
    after: Server
    settings: Mapping[str, SettingForecast]

    def value(self, name: str, *, after: bool) -> SettingValue | None:
        """A setting's value, before or after; None where it is not known, or not in ``settings``."""
        setting = self.settings.get(name)
        return None if setting is None else setting.after if after else setting.before

    def number(self, name: str, *, after: bool) -> float | None:
        """The same of a number."""
        value = self.value(name, after=after)
        return value if isinstance(value, float) else None

    def gains(self, behaviour: str) -> bool:
        """Whether only the new version has a behaviour of knowledge.toml."""
        return self.after.has(behaviour) and not self.before.has(behaviour)

    def loses(self, behaviour: str) -> bool:
        """Whether only the old version has it."""
        return self.before.has(behaviour) and not self.after.has(behaviour)
