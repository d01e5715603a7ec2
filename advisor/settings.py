"""The settings that rules may read and advise: their type and what a server accepts.

Ranges and scopes: the reference manuals of MySQL 8.4 and MariaDB ("InnoDB Startup Options and System Variables",
"InnoDB System Variables"); the tests apply what is advised to real servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SettingValue = float | str


@dataclass(frozen=True, slots=True)
class Setting:
    """A global variable.

    Attributes:
        kind: ``number`` (whole numbers; bytes, percent, milliseconds … as the server has them) or ``text``
            (words; ON and OFF among them).
        dynamic: Whether SET GLOBAL takes effect without a restart.
        minimum, maximum: The range of a number.
        words: What a text may be; empty where any.
    """

    kind: Literal["number", "text"]
    dynamic: bool
    minimum: float | None = None
    maximum: float | None = None
    words: tuple[str, ...] = ()

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
    "innodb_buffer_pool_size": Setting("number", dynamic=True, minimum=5 << 20),
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
