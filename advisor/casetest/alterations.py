"""What a case alters in its recording: for servers that cannot be had, and machines that are not here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from advisor.contract.settings import SETTINGS
from advisor.rules.file import VersionText
from exporter.server import IDENTITY_SQL, identify, identity
from exporter.snapshot import Machine, Snapshot


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _as_printed(value: object) -> object:
    """As SHOW GLOBAL VARIABLES prints it: ON for true, and no fraction where there is none."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return f"{value:.15g}" if isinstance(value, int | float) else value


def _as_counter(value: object) -> object:
    return {"value": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class Count(_Part):
    """A number of the server's own: ``value`` in the newest snapshot, and how it grew up to there.

    Without ``per_second`` the older snapshots keep their distance from the newest, so that what happened in between
    stays.
    """

    value: float | None = Field(None, allow_inf_nan=False, strict=True)
    per_second: float | None = Field(None, ge=0, allow_inf_nan=False, strict=True)


Printed = Annotated[str | None, BeforeValidator(_as_printed)]
Counter = Annotated[Count, BeforeValidator(_as_counter)]

_COUNTERS = ("cpu_seconds", "disk_busy_seconds", "disk_queue_seconds")
MachinePart: type[BaseModel] = create_model(  # type: ignore[call-overload]
    "MachinePart",
    __base__=_Part,
    **{name: (Counter if name in _COUNTERS else kind, None) for name, kind in get_type_hints(Machine).items()},
)
"""Any part of exporter.snapshot.Machine."""


class Altered(_Part):
    """What every snapshot of a recording has instead of what was recorded.

    Attributes:
        version: Of the server.
        settings: Global variables by name; null for one that the server does not have.
        status, innodb_metrics: Numbers of SHOW GLOBAL STATUS, in lower case, and of INNODB_METRICS.
        machine: Parts of exporter.snapshot.Machine.
    """

    version: VersionText | None = None
    settings: dict[str, Printed] = Field(default_factory=dict)
    status: dict[str, Counter] = Field(default_factory=dict)
    innodb_metrics: dict[str, Counter] = Field(default_factory=dict)
    machine: MachinePart | None = None

    @property
    def said(self) -> str:
        """What it alters, in words."""
        parts = [f"version {self.version}"] if self.version else []
        parts += [f"{name} = {'none' if value is None else value}" for name, value in self.settings.items()]
        parts += [*self.status, *self.innodb_metrics]
        given = self.machine.model_fields_set if self.machine else ()
        parts += [f"machine.{name}" for name in MachinePart.model_fields if name in given]
        return ", ".join(parts)

    def unknown(self, recorded: Snapshot) -> Iterator[tuple[tuple[str, str], str]]:
        """The keys that name nothing that ``recorded``, the newest snapshot, or a rule knows; and why."""
        for name in self.settings:
            known = name in SETTINGS or name in (recorded.variables or {}) or f"'{name}'" in IDENTITY_SQL
            if not known:
                yield ("settings", name), "no such variable in the recording, nor among the settings that rules know"
        for section in ("status", "innodb_metrics"):
            for name in getattr(self, section):
                if name not in (getattr(recorded, section) or {}):
                    yield (section, name), "no such name in the recording"

    def apply(self, snapshots: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
        """The snapshots, oldest first, as the case wants them."""
        return tuple(self._altered(each, snapshots[-1]) for each in snapshots)

    def _altered(self, snapshot: Snapshot, newest: Snapshot) -> Snapshot:
        sections: dict[str, Any] = {}
        settings = dict(self.settings) | ({"version": self.version} if self.version else {})
        if settings:
            identified = _with(identity(snapshot.server), settings)
            sections["server"] = identify(identified)
            sections["variables"] = None if snapshot.variables is None else _with(snapshot.variables, settings)
        if self.machine is not None:
            sections["machine"] = _machine(self.machine, snapshot, newest)
        for section in ("status", "innodb_metrics"):
            counts, recorded = getattr(self, section), getattr(snapshot, section)
            if counts and recorded is not None:
                last = getattr(newest, section) or recorded
                ago = newest.at - snapshot.at
                sections[section] = {
                    **recorded,
                    **{name: _count(count, recorded[name], last[name], ago) for name, count in counts.items()},
                }
        return dataclasses.replace(snapshot, **sections)


def _with(variables: Mapping[str, str], settings: Mapping[str, str | None]) -> dict[str, str]:
    kept = {name: value for name, value in variables.items() if name not in settings}
    return kept | {name: value for name, value in settings.items() if value is not None}


def _machine(part: BaseModel, snapshot: Snapshot, newest: Snapshot) -> Machine:
    recorded, last = snapshot.machine or Machine(), newest.machine or Machine()
    values = {name: getattr(part, name) for name in part.model_fields_set}
    for name in _COUNTERS:
        if isinstance(values.get(name), Count):
            before, end = getattr(recorded, name) or 0.0, getattr(last, name) or 0.0
            values[name] = _count(values[name], before, end, newest.at - snapshot.at)
    sources = {f"{name}_source": "configuration" for name in ("cores", "memory") if {name, f"{name}_bytes"} & {*values}}
    return dataclasses.replace(recorded, **(sources | values))


def _count(count: Count, recorded: float, last: float, ago: float) -> float:
    end = last if count.value is None else count.value
    return end - (last - recorded if count.per_second is None else count.per_second * ago)
