"""The settings that rules may read and advise: their types and accepted values, from exporter/knowledge.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, overload

from advisor.contract.recommendation import Number, tidy
from advisor.contract.templates import exact_binary, value_text
from exporter import knowledge
from exporter.server import Server

SettingValue = float | str
_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SWITCH = ("OFF", "ON")
_SWITCHED = {"0": "OFF", "FALSE": "OFF", "1": "ON", "TRUE": "ON"}


@dataclass(frozen=True, slots=True)
class Setting:
    """A global variable. Without a server, its methods answer for all versions together.

    Attributes:
        name: Its name in SHOW GLOBAL VARIABLES.
        entry: In the knowledge file.
    """

    name: str
    entry: knowledge.SettingEntry

    @property
    def kind(self) -> Literal["number", "text"]:
        """``number``, for whole numbers in ``unit``, or ``text``, for words such as ON and OFF."""
        return self.entry.kind

    @property
    def unit(self) -> knowledge.Unit:
        """The unit of a number; empty for a text or a number without one."""
        return self.entry.unit

    def exists_on(self, server: Server) -> bool:
        """Whether the server has it."""
        return self.entry.exists.on(server.family, server.version) is True

    def dynamic_on(self, server: Server) -> bool:
        """Whether SET GLOBAL takes effect there without a restart."""
        return self.entry.dynamic.on(server.family, server.version) is True

    def minimum_on(self, server: Server | None) -> int | None:
        """The smallest accepted number; None where not known."""
        minimum = self.entry.minimum
        return min(minimum.values(), default=None) if server is None else minimum.on(server.family, server.version)

    def maximum_on(self, server: Server | None) -> int | None:
        """The largest accepted number; None where not known."""
        maximum = self.entry.maximum
        return max(maximum.values(), default=None) if server is None else maximum.on(server.family, server.version)

    def words_on(self, server: Server | None) -> tuple[str, ...]:
        """The accepted words of a text; empty for numbers."""
        entry = self.entry
        if server is None:
            return tuple(dict.fromkeys(word for words in entry.words.values() for word in words))
        if server.windows and entry.windows_words is not None:
            return entry.windows_words
        return entry.words.on(server.family, server.version) or ()

    def parse(self, written: SettingValue, server: Server | None = None) -> SettingValue:
        """The value that a person wrote, in the form that the server prints.

        Numbers may have a suffix K, M, G or T, as in option files. Switches may also be 1, 0, TRUE or FALSE. Words may
        be in any case.

        Raises:
            ValueError: It is not a whole number where one is needed, or out of range. The text names the accepted
                values.
        """
        value = self._number(written) if self.kind == "number" else self._word(written, self.words_on(server))
        if not self.accepts(value, server):
            shown = written if isinstance(written, str) else f"{written:g}"
            raise ValueError(f"{shown} is not {self.range_on(server)}")
        return value

    def range_on(self, server: Server | None) -> str:
        """The accepted values, in words."""
        if self.kind == "text":
            words = self.words_on(server)
            return f"one of {', '.join(words)}" if words else "a text"
        minimum, maximum = self.minimum_on(server) or 0, self.maximum_on(server)
        return f"a whole number from {minimum} " + ("on" if maximum is None else f"to {maximum}")

    def read(self, printed: str | None) -> SettingValue | None:
        """The value of what the server prints; None where it is missing, or is not a number where one is needed."""
        if printed is None or self.kind == "text":
            return printed
        try:
            return float(printed)
        except ValueError:
            return None

    def accepts(self, value: SettingValue, server: Server | None = None) -> bool:
        """Whether a server that has the setting accepts ``value``."""
        if isinstance(value, str):
            words = self.words_on(server)
            return self.kind == "text" and (not words or value in words)
        if self.kind == "text" or not float(value).is_integer():
            return False
        minimum, maximum = self.minimum_on(server), self.maximum_on(server)
        return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)

    def _number(self, written: SettingValue) -> SettingValue:
        if not isinstance(written, str):
            return written
        size = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", written.strip(), re.IGNORECASE)
        return float(size[1]) * _SIZES[size[2].upper()] if size else written

    def _word(self, written: SettingValue, words: tuple[str, ...]) -> SettingValue:
        if words == _SWITCH:
            number = written if isinstance(written, str) else f"{written:g}"
            written = _SWITCHED.get(number.strip().upper(), written)
        if not isinstance(written, str):
            return written
        return next((word for word in words if word.upper() == written.strip().upper()), written)


SETTINGS = {name: Setting(name, entry) for name, entry in knowledge.SETTINGS.items()}


@overload
def json_value(value: SettingValue) -> Number | str: ...
@overload
def json_value(value: SettingValue | None) -> Number | str | None: ...
def json_value(value: SettingValue | None) -> Number | str | None:
    """A setting's value as JSON and option files have it: whole numbers as integers."""
    return value if value is None or isinstance(value, str) else tidy(value)


def setting_text(setting: str, value: SettingValue | None) -> str:
    """A value of a setting for people, also of one that only another version of innodb-advisor knows."""
    if value is None:
        return "unknown"
    return exact_binary(value) if is_size(setting) and not isinstance(value, str) else value_text(value)


def is_size(setting: str) -> bool:
    """Whether the values of a setting are bytes."""
    return setting in SETTINGS and SETTINGS[setting].unit == "bytes"
