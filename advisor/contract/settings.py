"""The settings that rules may read and advise: their type and what a server accepts, from exporter/knowledge.toml."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from exporter import knowledge
from exporter.server import Server

SettingValue = float | str
_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SWITCH = ("OFF", "ON")
_SWITCHED = {"0": "OFF", "FALSE": "OFF", "1": "ON", "TRUE": "ON"}


@dataclass(frozen=True, slots=True)
class Setting:
    """A global variable. What is asked without a server is answered for all versions together.

    Attributes:
        name: As in SHOW GLOBAL VARIABLES.
        known: Its entry in the knowledge file.
    """

    name: str
    known: knowledge.Setting

    @property
    def kind(self) -> Literal["number", "text"]:
        """``number`` (whole numbers in ``unit``, as the server has them) or ``text`` (words; ON and OFF among them)."""
        return self.known.kind

    @property
    def unit(self) -> knowledge.Unit:
        """What a number counts; empty for a text or where it counts nothing."""
        return self.known.unit

    def exists_on(self, server: Server) -> bool:
        """Whether that server has it."""
        return self.known.exists.on(server.family, server.version)

    def dynamic_on(self, server: Server) -> bool:
        """Whether SET GLOBAL takes effect there without a restart."""
        return self.known.dynamic.on(server.family, server.version) is True

    def minimum_on(self, server: Server | None) -> int | None:
        """The smallest number taken; None where nothing is known."""
        known = self.known.minimum
        return min(known.values(), default=None) if server is None else known.on(server.family, server.version)

    def maximum_on(self, server: Server | None) -> int | None:
        """The largest number taken; None where nothing is known."""
        known = self.known.maximum
        return max(known.values(), default=None) if server is None else known.on(server.family, server.version)

    def words_on(self, server: Server | None) -> tuple[str, ...]:
        """What a text may be; empty for numbers."""
        known = self.known
        if server is not None and server.windows and known.windows_words is not None:
            return known.windows_words
        if server is not None:
            return known.words.on(server.family, server.version) or ()
        return tuple(dict.fromkeys(word for words in known.words.values() for word in words))

    def parse(self, written: SettingValue, server: Server | None = None) -> SettingValue:
        """The value that a person wrote, as the server prints it.

        Numbers may have one of the suffixes K, M, G and T, as in option files; switches may be 1, 0, TRUE and FALSE
        too, and words may be in any case.

        Raises:
            ValueError: It is no whole number where one is needed, or out of range; the text says what is taken.
        """
        value = self._number(written) if self.kind == "number" else self._word(written, self.words_on(server))
        if not self.accepts(value, server):
            shown = written if isinstance(written, str) else f"{written:g}"
            raise ValueError(f"{shown} is not {self.range_on(server)}")
        return value

    def range_on(self, server: Server | None) -> str:
        """What it takes, in words."""
        if self.kind == "text":
            words = self.words_on(server)
            return f"one of {', '.join(words)}" if words else "a text"
        minimum, maximum = self.minimum_on(server) or 0, self.maximum_on(server)
        return f"a whole number from {minimum} " + ("on" if maximum is None else f"to {maximum}")

    def read(self, printed: str | None) -> SettingValue | None:
        """The value from what the server prints; None where there is none or it is no number."""
        if printed is None or self.kind == "text":
            return printed
        try:
            return float(printed)
        except ValueError:
            return None

    def accepts(self, value: SettingValue, server: Server | None = None) -> bool:
        """Whether a server that has the setting takes ``value``."""
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
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", written.strip(), re.IGNORECASE)
        return float(found[1]) * _SIZES[found[2].upper()] if found else written

    def _word(self, written: SettingValue, words: tuple[str, ...]) -> SettingValue:
        if words == _SWITCH:
            number = written if isinstance(written, str) else f"{written:g}"
            written = _SWITCHED.get(number.strip().upper(), written)
        if not isinstance(written, str):
            return written
        return next((word for word in words if word.upper() == written.strip().upper()), written)


SETTINGS = {name: Setting(name, known) for name, known in knowledge.SETTINGS.items()}
