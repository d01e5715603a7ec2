"""The sections of a snapshot that series become, whatever exporter they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar, get_type_hints

from advisor.contract.settings import SETTINGS
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import Labels, ServerSeries
from advisor.fleet.series import Grid
from exporter.collectors.pools import BufferPool
from exporter.server import Server
from exporter.snapshot import ReadOutcome, Snapshot

Item = TypeVar("Item")

UNKNOWN: Any = None
"""A field of a section that no series tells, whatever its type: facts and models take None as not known."""
CHECKPOINT_AGE = "innodb_checkpoint_age"
"""Of the status: here of every server, as a mean since the point before."""
_SWITCH = ("OFF", "ON")


@dataclass(frozen=True, slots=True)
class SeriesSource:
    """How the series of an exporter become windows.

    Attributes:
        at: Has a value, the time of the newest sample, wherever the server has a sample.
        scrapes: Samples since the point before; asked only for servers with findings.
        window: The queries for all servers, `at` among them.
        count: How many series of tables a server has.
        tables: The queries about tables, for single servers.
        snapshots: A snapshot for each point of the grid; None where the server has no sample. One None if the end has
            none. Raises ValueError where not exactly one series says what server it is.
        still: Sections of tables that hardly move, as of the window's end; None for one that is not known.
        moving: Counters of tables, at each of the points of a window; None for a section that is not known.
    """

    at: FleetQuery
    scrapes: FleetQuery
    window: tuple[FleetQuery, ...]
    count: FleetQuery
    tables: tuple[FleetQuery, ...]
    snapshots: Callable[[ServerSeries, Grid], list[Snapshot | None]]
    still: Callable[[ServerSeries, float, Snapshot], dict[str, Any]]
    moving: Callable[[ServerSeries, Sequence[float], Snapshot], Iterator[dict[str, Any]]]


def snapshot(at: float, server: Server, sections: Mapping[str, Any], failures: Mapping[str, ReadOutcome]) -> Snapshot:
    """A snapshot of the sections that are known.

    Args:
        at: Time of the samples, Unix seconds.
        server: Whose it is.
        sections: By collector; None for one that is not known.
        failures: By collector, why its section is not known.
    """
    known = {name: section for name, section in sections.items() if section is not None}
    read = {name: ReadOutcome(at, 0.0) for name in known}
    return Snapshot(at, server, "", {**failures, **read}, dict.fromkeys(known, at), known)


def only(series: ServerSeries, query: str, end: float) -> Labels:
    """The labels of the one series that tells what server it is.

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


def rounded(values: Mapping[Any, float]) -> dict[Any, int]:
    """Counts as whole numbers."""
    return {name: round(value) for name, value in values.items()}


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
