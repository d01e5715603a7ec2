"""The settings that the model answers for, and the values that the server would set."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping

from advisor.contract.settings import SETTINGS, SettingValue
from advisor.observe.window import Window
from advisor.pool.errors import Refused, Unanswerable
from exporter.collectors.pools import POOLS
from exporter.collectors.variables import VARIABLES

POOL_SIZE = "innodb_buffer_pool_size"
SETTINGS_OF_MODEL = (
    "innodb_old_blocks_pct",
    "innodb_old_blocks_time",
    POOL_SIZE,
    "innodb_parallel_read_threads",
    "innodb_lru_scan_depth",
)
"""What the model has an answer for."""
MOST_BYTES = 2**50
_MIB = 2**20


def values_as_set(window: Window, changes: Mapping[str, SettingValue]) -> dict[str, float]:
    """The changes as the server would apply them, with the pool's size rounded.

    Raises:
        Refused: The server would not take a change, or the model has no answer for it.
        Unanswerable: The settings of the server are not known.
    """
    if not changes:
        raise Refused("no setting to change; try innodb_old_blocks_pct=80")
    return {name: _value_as_set(window, name, value) for name, value in changes.items()}


def refuse_unknown(window: Window, name: str) -> None:
    """Nothing, where the model answers for a setting of the server.

    Raises:
        Refused: It does not, or the server has no such setting.
        Unanswerable: The settings of the server are not known.
    """
    server = window.latest.server
    known = window.latest[VARIABLES]
    if known is None:
        raise Unanswerable("variables", "the settings of the server are not known")
    if name not in SETTINGS_OF_MODEL:
        near = difflib.get_close_matches(name, SETTINGS_OF_MODEL, n=1, cutoff=0.8)
        if near:
            raise Refused(f"unknown setting {name}; did you mean {near[0]}?")
        raise Refused(f"the model does not answer for {name}; it does for {', '.join(SETTINGS_OF_MODEL)}")
    if name not in known:
        raise Refused(f"{server} has no setting {name}")
    if name == "innodb_lru_scan_depth" and not server.has("free_list_kept"):
        raise Refused(
            "the model does not answer for innodb_lru_scan_depth here: only MariaDB 10.6+ always keeps a free list"
        )


def _value_as_set(window: Window, name: str, value: SettingValue) -> float:
    refuse_unknown(window, name)
    try:
        number = float(SETTINGS[name].parse(value))
    except ValueError as error:
        raise Refused(f"{name}: {error}") from None
    if number > MOST_BYTES:
        raise Refused(f"{name}: {value} is more than any machine has")
    return size_as_set(window, number) if name == "innodb_buffer_pool_size" else number


def size_as_set(window: Window, size: float, *, up: bool = True) -> float:
    """The pool size that the server sets for ``size``.

    MySQL from 5.7.5 and MariaDB from 10.2.2 on round up to whole chunks in each instance. Newer releases of MariaDB
    have no chunks and round down to whole MiB (reference manuals; tests/live/test_whatif.py).

    Args:
        window: Its newest snapshot tells the size of a chunk.
        size: Bytes.
        up: False for the largest possible size that is at most ``size``.
    """
    latest = window.latest
    pools = latest[POOLS]
    chunk = float(latest.setting("innodb_buffer_pool_chunk_size") or 0)
    return in_chunks(size, chunk * (len(pools) if pools else 1), up=up)


def in_chunks(size: float, step: float, *, up: bool = True) -> float:
    """The pool size that a server sets, by the bytes of a chunk in all instances; 0 where it has no chunks."""
    if not step:
        return float(size // _MIB * _MIB)
    return (math.ceil if up else math.floor)(size / step) * step
