"""The ranges of the settings that the model answers for, and the values of a sweep that spread over one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number, tidy
from advisor.contract.settings import SETTINGS
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.errors import Refused, Unanswerable
from advisor.pool.evidence import evidence
from advisor.pool.settings import SETTINGS_OF_MODEL, refuse_unknown, size_as_set
from exporter.collectors.pools import POOLS

POINTS, MOST_POINTS = 19, 100
"""Values of a sweep: by default, and at most."""
_SMALLEST, _LARGEST = 0.25, 4.0
"""Sizes of the pool, times today's: those of the miss curve."""
_LONGEST_MS = 10_000.0
"""Ten times the default of innodb_old_blocks_time, or today's where that is more."""
_DIGITS = 2
"""Of a value between the ends of a wide range: nobody sets a delay to 1,274 ms."""


class SettingRange(Frozen):
    """A setting that the model answers for."""

    setting: str
    unit: str
    now: Number
    low: Number
    high: Number
    values: tuple[Number, ...] = Field(description="Those that a sweep has by default, in rising order.")
    dynamic: bool = Field(description="Whether the server takes another value without a restart.")


class SettingRanges(Frozen):
    """The settings that the model answers for on this server."""

    settings: tuple[SettingRange, ...]
    lacks: str | None = Field(description="Why the model has no answer now; null where it has.")


def ranges(window: Window) -> SettingRanges:
    """The settings, without a question to the model. Raises Unanswerable where those of the server are not known."""
    known = facts(window)
    lacks = None
    try:
        evidence(window.snapshots, window, known)
    except Unanswerable as error:
        lacks = str(error)
    return SettingRanges(settings=tuple(_ranges(window, known.pool.most_bytes)), lacks=lacks)


def _ranges(window: Window, most_bytes: float | None) -> Iterator[SettingRange]:
    for name in SETTINGS_OF_MODEL:
        try:
            refuse_unknown(window, name)
        except Refused:
            continue
        now = SETTINGS[name].read(window.latest.setting(name))
        if not isinstance(now, float):
            continue
        values = sorted({now, *spread(window, name, POINTS, most_bytes)})
        yield SettingRange(
            setting=name,
            unit=SETTINGS[name].unit,
            now=tidy(now),
            low=tidy(values[0]),
            high=tidy(values[-1]),
            values=tuple(map(tidy, values)),
            dynamic=SETTINGS[name].dynamic_on(window.latest.server),
        )


def spread(window: Window, setting: str, points: int, most_bytes: float | None) -> list[float]:
    """Values that spread over a setting's range, in an order of which each beginning spreads over it, too.

    Args:
        window: Its newest snapshot has the server's settings.
        setting: One that the model answers for on this server.
        points: At most so many, and at least two where the range has them.
        most_bytes: The largest pool that the machine has memory for; None where not known.
    """
    now = SETTINGS[setting].read(window.latest.setting(setting))
    if not isinstance(now, float):
        return []
    return list(_coarse_first(sorted({*_values(window, setting, now, max(points, 2), most_bytes)})))


def _values(window: Window, setting: str, now: float, points: int, most_bytes: float | None) -> Iterator[float]:
    server = window.latest.server
    least = float(SETTINGS[setting].minimum_on(server) or 0)
    most = float(SETTINGS[setting].maximum_on(server) or 0)
    match setting:
        case "innodb_old_blocks_pct":
            yield from (float(round(least + (most - least) * number / (points - 1))) for number in range(points))
        case "innodb_old_blocks_time":
            yield 0.0
            yield from map(_rounded, _geometric(10.0, max(now, _LONGEST_MS), points - 1))
        case "innodb_buffer_pool_size":
            largest = min(_LARGEST * now, max(now, most_bytes or _LARGEST * now))
            for size in _geometric(max(least, _SMALLEST * now), largest, points):
                yield size_as_set(window, size, up=size < now)
        case "innodb_parallel_read_threads":  # the model tells one thread from several
            yield from (1.0, max(now, 4.0))
        case _:
            pools = window.latest[POOLS] or ()
            largest = max(now, *(instance.size_pages / 2 for instance in pools), least)
            yield from map(_rounded, _geometric(least, largest, points))


def _geometric(low: float, high: float, points: int) -> Iterator[float]:
    """Values from low to high, each as many times the one before."""
    for number in range(points):
        yield low * (high / low) ** (number / max(points - 1, 1))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _coarse_first(values: Sequence[float]) -> Iterator[float]:
    """The ends, then the middle of each gap between those that came before."""
    yield from dict.fromkeys((*values[:1], *values[-1:]))
    gaps = [(0, len(values) - 1)]
    for low, high in gaps:  # grows on the way
        middle = (low + high) // 2
        if low < middle < high:
            yield values[middle]
            gaps += [(low, middle), (middle, high)]
