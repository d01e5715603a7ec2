"""What rules may speak of: named facts, drawn from a window. A fact that is None is not known.

The fields of these classes are the names in rule expressions: ``pool.free_pages``, ``scan.passes``. Numbers are
floats (CEL doubles); each class says their units. One file a subject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from advisor.contract.settings import SETTINGS, SettingValue
from advisor.facts.base import named, vocabulary
from advisor.facts.blind_spots import BlindSpot, blind_spots
from advisor.facts.change_buffer import ChangeBuffer, change_buffer
from advisor.facts.counted import Counted, counted
from advisor.facts.ddl import Ddl, ddl
from advisor.facts.io import Io, io
from advisor.facts.machine import Machine, machine
from advisor.facts.parallel import Parallel, Read, parallel, parallel_reads
from advisor.facts.pool import Pool, pool
from advisor.facts.scans import Scan, scans
from advisor.facts.server import ServerFacts, server
from advisor.observe.window import Window

__all__ = ["GROUPS", "LISTS", "Facts", "Scan", "facts", "named", "setting_vocabulary", "vocabulary"]


@dataclass(frozen=True, slots=True)
class Observed:
    """The window itself.

    Attributes:
        seconds: How long has been watched.
        snapshots: Collections in it.
    """

    seconds: float
    snapshots: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts of a window; ``setting`` by name, the lists by the name that ``for_each`` takes."""

    window: Observed
    setting: dict[str, SettingValue | None]
    server: ServerFacts
    machine: Machine
    pool: Pool
    ibuf: ChangeBuffer
    io: Io
    parallel: Parallel
    ddl: Ddl
    lists: dict[str, Sequence[Any]] = field(default_factory=dict)


GROUPS: dict[str, type] = {
    "window": Observed,
    "server": ServerFacts,
    "machine": Machine,
    "pool": Pool,
    "ibuf": ChangeBuffer,
    "io": Io,
    "parallel": Parallel,
    "ddl": Ddl,
}
LISTS: dict[str, tuple[str, type]] = {
    "scans": ("scan", Scan),
    "counted": ("counted", Counted),
    "parallel_reads": ("read", Read),
    "blind_spots": ("blind_spot", BlindSpot),
}
"""What ``for_each`` may name: the name of one item in expressions, and its class."""


def setting_vocabulary() -> dict[str, type]:
    """``setting.<name>`` for every known setting."""
    return {f"setting.{name}": float if setting.kind == "number" else str for name, setting in SETTINGS.items()}


def facts(window: Window, needed_by: Mapping[str, Sequence[str]] | None = None) -> Facts:
    """Everything rules may speak of.

    Args:
        window: What has been watched.
        needed_by: By section of a snapshot, the rules that need it.
    """
    latest, scanned, here = window.latest, scans(window), machine(window)
    return Facts(
        window=Observed(window.seconds, float(len(window.snapshots))),
        setting={name: setting.read(latest.setting(name)) for name, setting in SETTINGS.items()},
        server=server(window),
        machine=here,
        pool=pool(window, scanned),
        ibuf=change_buffer(window),
        io=io(window),
        parallel=parallel(window),
        ddl=ddl(window),
        lists={
            "scans": scanned,
            "counted": counted(window),
            "parallel_reads": parallel_reads(window, scanned, here),
            "blind_spots": blind_spots(window, needed_by or {}),
        },
    )
