"""The settings that rules may read and advise: their type and what a server accepts.

Ranges and scopes: the reference manuals of MySQL 8.4 and MariaDB ("InnoDB Startup Options and System Variables",
"InnoDB System Variables"); the tests apply what is advised to real servers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from exporter.server import Server, Version

SettingValue = float | str
_SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True, slots=True)
class Setting:
    """A global variable.

    Attributes:
        kind: ``number`` (whole numbers; bytes, percent, milliseconds … as the server has them) or ``text``
            (words; ON and OFF among them).
        dynamic: Whether SET GLOBAL takes effect without a restart.
        since: The versions of MySQL and MariaDB from which on that is so; None where it always was.
        minimum, maximum: The range of a number.
        words: What a text may be; empty where any.
    """

    kind: Literal["number", "text"]
    dynamic: bool
    minimum: float | None = None
    maximum: float | None = None
    words: tuple[str, ...] = ()
    since: tuple[Version, Version] | None = None

    def dynamic_on(self, server: Server) -> bool:
        """Whether SET GLOBAL takes effect there without a restart."""
        return self.dynamic and (self.since is None or server.at_least(mysql=self.since[0], mariadb=self.since[1]))

    def parse(self, written: SettingValue) -> SettingValue:
        """The value that a person wrote: numbers may have one of the suffixes K, M, G and T, as in option files.

        Raises:
            ValueError: It is no whole number where one is needed, or out of range; the text says what is taken.
        """
        value = written
        if self.kind == "number" and isinstance(written, str):
            found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", written.strip(), re.IGNORECASE)
            value = float(found[1]) * _SIZES[found[2].upper()] if found else written
        if not self.accepts(value):
            shown = written if isinstance(written, str) else f"{written:g}"
            raise ValueError(f"{shown} is not {self.range}")
        return value

    @property
    def range(self) -> str:
        """What it takes, in words."""
        if self.kind == "text":
            return f"one of {', '.join(self.words)}" if self.words else "a text"
        if self.maximum is not None:
            return f"a whole number from {self.minimum or 0:.0f} to {self.maximum:.0f}"
        return f"a whole number from {self.minimum or 0:.0f} on"

    def read(self, printed: str | None) -> SettingValue | None:
        """The value from what the server prints; None where there is none or it is no number."""
        if printed is None or self.kind == "text":
            return printed
        try:
            return float(printed)
        except ValueError:
            return None

    def accepts(self, value: SettingValue) -> bool:
        """Whether a server that has the setting takes ``value``."""
        if isinstance(value, str):
            return self.kind == "text" and (not self.words or value in self.words)
        if self.kind == "text" or not float(value).is_integer():
            return False
        return (self.minimum is None or value >= self.minimum) and (self.maximum is None or value <= self.maximum)


_CHANGE_BUFFERING = ("none", "inserts", "deletes", "changes", "purges", "all")

SETTINGS = {
    "innodb_buffer_pool_instances": Setting("number", dynamic=False, minimum=1, maximum=64),
    "innodb_buffer_pool_size": Setting("number", dynamic=True, minimum=5 << 20, since=((5, 7, 5), (10, 2, 2))),
    "innodb_change_buffer_max_size": Setting("number", dynamic=True, minimum=0, maximum=50),
    "innodb_change_buffering": Setting("text", dynamic=True, words=_CHANGE_BUFFERING),
    "innodb_flush_method": Setting("text", dynamic=False),
    "innodb_lru_scan_depth": Setting("number", dynamic=True, minimum=100),
    "innodb_old_blocks_pct": Setting("number", dynamic=True, minimum=5, maximum=95),
    "innodb_old_blocks_time": Setting("number", dynamic=True, minimum=0, maximum=2**32 - 1),
    "innodb_page_size": Setting("number", dynamic=False),
    "innodb_parallel_read_threads": Setting("number", dynamic=True, minimum=1, maximum=256),
    "innodb_read_ahead_threshold": Setting("number", dynamic=True, minimum=0, maximum=64),
}
