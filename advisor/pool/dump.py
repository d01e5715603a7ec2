"""The dump of the pool: the part that a restart brings back, and how fast it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from advisor.contract.settings import SettingValue
from exporter.server import Server

IO_CAPACITY, DUMP_PCT = "innodb_io_capacity", "innodb_buffer_pool_dump_pct"
SWITCHES = ("innodb_buffer_pool_dump_at_shutdown", "innodb_buffer_pool_load_at_startup")
THROTTLED = "load_throttled_by_io_capacity"


@dataclass(frozen=True, slots=True)
class _Order:
    """Time of a page of a dump, as a share of that of a random read: a dump is loaded in the order of the files.

    Measured on one disk, and another one differs: the least is no time, the most that of a random read.

    Attributes:
        one_by_one: On MySQL 9.7.4.
        in_parallel: On MariaDB 11.8.8.
    """

    one_by_one: float = 0.3
    in_parallel: float = 0.05


_ORDER = _Order()


@dataclass(frozen=True, slots=True)
class DumpLoad:
    """The load of a dump at the start of a server.

    Attributes:
        share: Of the LRU list, from its head, that a dump brings back; 0 where one of the two is switched off.
        pages_per_second: That the load is throttled to beside writes; None where it is not.
        in_parallel: Whether it waits for none of its reads.
    """

    share: float
    pages_per_second: float | None
    in_parallel: bool = False

    @classmethod
    def of(cls, server: Server, setting: Callable[[str], SettingValue | None]) -> Self | None:
        """The load of a server with some settings; None where one of them is not known."""
        switches = [setting(name) for name in SWITCHES]
        io_capacity, pct = setting(IO_CAPACITY), setting(DUMP_PCT)
        if None in switches or not isinstance(io_capacity, float):
            return None
        dumped = pct / 100.0 if isinstance(pct, float) else 1.0  # a server without the setting dumps all: MySQL 5.6
        return cls(
            dumped if all(switch == "ON" for switch in switches) else 0.0,
            io_capacity if server.has(THROTTLED) else None,
            server.has("load_reads_in_parallel"),
        )

    def page_seconds(self, read_seconds: float | None) -> tuple[float, float, float]:
        """Of a page: likely, the least and the most; 0 for what only the disk limits where its time is not known."""
        throttle, read = (1.0 / self.pages_per_second if self.pages_per_second else 0.0), read_seconds or 0.0
        ordered = read * (_ORDER.in_parallel if self.in_parallel else _ORDER.one_by_one)
        return max(throttle, ordered), throttle, max(throttle, read)

    def seconds(self, list_pages: float, read_seconds: float | None) -> float | None:
        """Of the whole load at most; None where only the disk limits it, whose time is not known."""
        return self.share * list_pages * self.page_seconds(read_seconds)[-1] or None
