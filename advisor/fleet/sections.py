"""What the sections of a snapshot are made of, whatever series they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from advisor.contract.settings import SETTINGS
from exporter.collectors.pools import BufferPool
from exporter.server import Server
from exporter.snapshot import Outcome, Snapshot

CHECKPOINT_AGE = "innodb_checkpoint_age"
"""Of the status: here of every server, as a mean since the point before."""
UNKNOWN: Any = None
"""A field of a section that no series tells, whatever its type: facts and models take None as not known."""
_SWITCH = ("OFF", "ON")


def snapshot(at: float, server: Server, sections: Mapping[str, Any], failures: Mapping[str, Outcome]) -> Snapshot:
    """A snapshot of the sections that are known.

    Args:
        at: Time of the samples, Unix seconds.
        server: Whose it is.
        sections: By collector; None for one that is not known.
        failures: By collector, why its section is not known.
    """
    known = {name: section for name, section in sections.items() if section is not None}
    read = {name: Outcome(at, 0.0) for name in known}
    return Snapshot(at, server, "", {**failures, **read}, dict.fromkeys(known, at), known)


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
        values: By field of BufferPool, of all instances together. None is not known.
        instances: Their number.
    """
    shares = {name: _shares(value, max(1, instances)) for name, value in values.items()}
    return tuple(
        BufferPool(pool=number, **{name: share[number] for name, share in shares.items()})
        for number in range(max(1, instances))
    )


def _shares(value: float | None, instances: int) -> list[Any]:
    """Whole numbers with this sum."""
    if value is None:
        return [None] * instances
    each, left = divmod(round(value), instances)
    return [each + (number < left) for number in range(instances)]
