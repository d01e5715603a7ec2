"""Windows, snapshots and sections that series become, whatever exporter they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, TypeVar, get_type_hints

from advisor.contract.settings import SETTINGS
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import Labels, ServerSeries
from advisor.fleet.series import Grid
from advisor.observe.window import Window, changed_settings, restarted
from exporter.collectors.pools import POOLS, BufferPool
from exporter.collectors.status import STATUS
from exporter.snapshot import ReadOutcome, Snapshot

Item = TypeVar("Item")

UNKNOWN: Any = None
"""A field of a section without a series, whatever its type: facts and models take None as not known."""
CHECKPOINT_AGE = "innodb_checkpoint_age"
"""Of the status: here of every server, as a mean since the point before."""
LEAST_POINTS = 3
"""Two points have one growth, and no slice to compare it with."""
_CLOCK_SLACK = 15.0
"""Seconds by which a server's start may seem to move: samples have the time at which their scrape began, and a scrape
may take ten."""
_SWITCH = ("OFF", "ON")


@dataclass(frozen=True, slots=True)
class SeriesSource:
    """How the series of an exporter become windows.

    Attributes:
        at: Has a value, the time of the newest sample, wherever the server has a sample.
        scrapes: Samples since the point before; asked only for servers with findings.
        queries: For all servers, `at` among them.
        window: The window of a server that has a sample at the grid's end. Raises ValueError with the reason where its
            series make none.
        tables_count: How many series of tables a server has.
        tables_queries: About tables, for single servers.
        tables: The sections of tables at each of these points, from the window's newest snapshot; None for a section
            that is not known.
    """

    at: FleetQuery
    scrapes: FleetQuery
    queries: tuple[FleetQuery, ...]
    window: Callable[[ServerSeries, Grid], Window]
    tables_count: FleetQuery
    tables_queries: tuple[FleetQuery, ...]
    tables: Callable[[ServerSeries, Sequence[float], Snapshot], Iterable[Mapping[str, Any]]]


def newest(
    series: ServerSeries,
    at: FleetQuery,
    points: Sequence[float],
    without: Snapshot,
    sections: Callable[[float], Mapping[str, Any]],
) -> Window:
    """The newest points that belong together.

    Args:
        series: The server's.
        at: Has the time of the newest sample, and at the last point one.
        points: Of the grid, oldest first.
        without: A snapshot without sections, with the outcomes of those that are not known.
        sections: The sections at a point, by collector; None for one that is not known.

    Raises:
        ValueError: These are too few, with the reason.
    """
    together: list[Snapshot] = []  # newest first
    cut = "the first sample"
    times = [series.value(at.name, point) for point in points]
    for number, point in reversed([*enumerate(points)]):
        time = times[number]
        if time is None:
            cut = "a gap in its samples" if any(times[:number]) else cut
            break
        snapshot = with_sections(replace(without, at=time), sections(point))
        if together and (event := _between(snapshot, together[-1])):
            cut = event
            break
        if not together or time < together[-1].at:  # else the same sample is the last one of both points
            together.append(snapshot)
    if len(together) < LEAST_POINTS:
        raise ValueError(f"not long enough since {cut}")
    return Window(_without_first_means((*reversed(together),)))


def _between(before: Snapshot, after: Snapshot) -> str | None:
    """What happened between two points, in words; None where they belong together."""
    if before.server != after.server or restarted(before, after, _CLOCK_SLACK):
        return "the restart"
    if changed := changed_settings(before, after):
        return f"{', '.join(changed)} changed"
    return "its clock was set back" if before.at > after.at else None


def _without_first_means(snapshots: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Without the first point's means: they are of the time before the window."""
    first, *rest = snapshots
    if (pools := first[POOLS]) is not None:
        first = first.with_section(POOLS, tuple(replace(pool, modified_pages=UNKNOWN) for pool in pools))
    status = {name: value for name, value in (first[STATUS] or {}).items() if name != CHECKPOINT_AGE}
    return first.with_section(STATUS, status or None), *rest


def with_sections(snapshot: Snapshot, sections: Mapping[str, Any]) -> Snapshot:
    """The snapshot with more sections, where they are known."""
    known = {name: section for name, section in sections.items() if section is not None}
    return replace(
        snapshot,
        sections={**snapshot.sections, **known},
        outcomes={**snapshot.outcomes, **{name: ReadOutcome(snapshot.at, 0.0) for name in known}},
        read_at={**snapshot.read_at, **dict.fromkeys(known, snapshot.at)},
    )


def only(series: ServerSeries, query: str, end: float) -> Labels:
    """The labels of the one series about the server's version.

    Raises:
        ValueError: There is none, or more than one.
    """
    versions = [labels for labels, _ in series.values(query, end)]
    if len(versions) != 1:
        raise ValueError("no series tells its version" if not versions else "its series tell of several versions")
    return versions[0]


def partial(kind: type[Item], values: Mapping[str, Any]) -> Item:
    """A dataclass of a section from those of its fields that are known; the others are UNKNOWN."""
    return kind(
        **{
            name: UNKNOWN if (value := values.get(name)) is None else round(value) if whole else value
            for name, whole in _whole_numbers(kind).items()  # type: ignore[arg-type]  # a dataclass is hashable
        }
    )


def printed(name: str, value: float) -> str:
    """A setting as the server prints it, from its number: 1 is ON where the setting is a switch."""
    setting = SETTINGS.get(name)
    if setting is not None and setting.kind == "text" and value in (0.0, 1.0):
        return _SWITCH[int(value)]
    return str(int(value)) if value.is_integer() else repr(value)


def pools(values: Mapping[str, float | None], instances: int) -> tuple[BufferPool, ...]:
    """Buffer pool instances whose sums these are.

    InnoDB spreads pages evenly over its instances, so that each has the same share here. Facts sum over them.

    Args:
        values: By field of BufferPool, of all instances together.
        instances: Their number.
    """
    numbers = range(max(1, instances))
    shares = {name: _shares(value, len(numbers)) for name, value in values.items() if value is not None}
    return tuple(
        partial(BufferPool, {"pool": number, **{name: share[number] for name, share in shares.items()}})
        for number in numbers
    )


def _shares(value: float, instances: int) -> list[int]:
    """Whole numbers with this sum."""
    share, left = divmod(round(value), instances)
    return [share + (number < left) for number in range(instances)]


@cache
def _whole_numbers(kind: Any) -> Mapping[str, bool]:
    """The fields of a dataclass, and whether they are whole numbers."""
    types = get_type_hints(kind)
    return {field.name: types[field.name] in (int, int | None) for field in fields(kind)}
