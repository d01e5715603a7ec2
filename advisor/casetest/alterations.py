"""Alterations of recordings, for servers and machines that no capture exists of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, get_type_hints

from pydantic import BaseModel, BeforeValidator, Field, create_model

from advisor.advice.interpreter import Remembered
from advisor.contract.settings import SETTINGS
from advisor.files.yaml_file import Bytes, FileModel
from advisor.ledger.entry import Changed, Compared, Outcome, Result, outcome_id
from advisor.observe.limits import MAY_READ
from advisor.observe.window import Window
from advisor.pool.hours import Hour, ReadsAtSize, settings_digest, started, with_hour
from advisor.rules.file import VersionText
from exporter.collectors.machine import MACHINE, Machine
from exporter.collectors.variables import VARIABLES
from exporter.server import IDENTITY_SQL, identify, identity
from exporter.snapshot import Snapshot


def _printed(value: object) -> object:
    """As SHOW GLOBAL VARIABLES prints it: ON for true, and no fraction where there is none."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return f"{value:.15g}" if isinstance(value, int | float) else value


def _counter(value: object) -> object:
    """A bare number is the value."""
    return {"value": value} if isinstance(value, int | float) and not isinstance(value, bool) else value


class CounterAlteration(FileModel):
    """A counter's value and growth.

    Attributes:
        value: In the newest snapshot; by default as recorded.
        per_second: Growth up to the newest snapshot; by default as recorded.
    """

    value: float | None = Field(None, allow_inf_nan=False, strict=True)
    per_second: float | None = Field(None, ge=0, allow_inf_nan=False, strict=True)


SettingText = Annotated[str | None, BeforeValidator(_printed)]
Counter = Annotated[CounterAlteration, BeforeValidator(_counter)]

_COUNTERS = ("cpu_seconds", "disk_busy_seconds", "disk_queue_seconds")
MachineAlteration: type[BaseModel] = create_model(  # type: ignore[call-overload]
    "MachineAlteration",
    __base__=FileModel,
    **{name: (Counter if name in _COUNTERS else kind, None) for name, kind in get_type_hints(Machine).items()},
)
"""Any fields of exporter.collectors.machine.Machine."""


_HOUR = 3600.0
_RESIZED = 24
"""Hours before the newest snapshot at which a pool of another size ended."""


class MemoryAlteration(FileModel):
    """A memory of days, which no recording has: hours that are all alike, up to the newest snapshot.

    Attributes:
        days: How far it goes back.
        reads: Pages read a second by size of the pool, at most; with today's size as measured.
        nightly: The same for one hour of each day, 03:00 UTC.
        earlier: Size of the pool until a day before the newest snapshot; by default today's.
        may_read: As --may-read.
    """

    days: float = Field(gt=0, allow_inf_nan=False)
    reads: dict[Bytes, Annotated[float, Field(ge=0, allow_inf_nan=False)]]
    nightly: dict[Bytes, Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = None
    earlier: Bytes | None = None
    may_read: float = Field(MAY_READ, ge=0, allow_inf_nan=False)

    def remembered(self, window: Window) -> Remembered:
        """The memory at the end of a window."""
        latest, count = window.latest, round(self.days * 24)
        hours: tuple[Hour, ...] = ()
        # Hours begin on the hour, as days are counted by them.
        end = latest.at // _HOUR * _HOUR
        for ago in reversed(range(count)):
            hours = with_hour(hours, self._hour(window, end - ago * _HOUR, before=ago >= _RESIZED))
        return Remembered(hours, self.may_read)

    def _hour(self, window: Window, at: float, *, before: bool) -> Hour:
        begin = at - _HOUR
        today = float(window.latest.setting("innodb_buffer_pool_size") or 0)
        pool = float(self.earlier) if self.earlier and before else today
        reads = self.nightly if self.nightly and begin // _HOUR % 24 == 3 else self.reads
        booted = started(window.latest) or 0.0
        return Hour(
            at=at,
            seconds=_HOUR,
            started=booted if booted <= begin else -math.inf,
            pool_bytes=pool,
            settings=settings_digest(window.latest),
            settled=True,
            reads=max((rate for size, rate in reads.items() if size >= pool), default=0.0),
            sizes=tuple(ReadsAtSize(float(size), rate, rate) for size, rate in sorted(reads.items()) if size < pool),
        )


_Rise = Annotated[tuple[float, float], Field(strict=False)]


class ChangeAlteration(FileModel):
    """What became of a change, which a recording of one side of it cannot show.

    Attributes:
        before: Values that settings had before it.
        after: Values that it left them with; by default today's.
        seconds: Time from the change to the newest snapshot.
        rose: Quantities before and after it, by name; each rose beyond noise.
        unit: Their unit.
        comparable: Whether the same work was done after it.
        rule: Rule whose finding was followed; by default none.
    """

    before: dict[str, float | str]
    after: dict[str, float | str] = Field(default_factory=dict)
    seconds: float = Field(900.0, gt=0, allow_inf_nan=False)
    rose: dict[str, _Rise] = Field(default_factory=dict)
    unit: str = "pages per second"
    comparable: bool = True
    rule: str | None = None

    def outcome(self, latest: Snapshot) -> Outcome:
        """The closed outcome, by the time of the newest snapshot."""
        at = latest.at - self.seconds
        changes = tuple(
            Changed(setting=name, before=value, after=self.after.get(name, SETTINGS[name].read(latest.setting(name))))
            for name, value in self.before.items()
        )
        rose = tuple(
            Compared(quantity=name, unit=self.unit, before=low, after=high, noise=0.1 * (high - low), worse=True)
            for name, (low, high) in self.rose.items()
        )
        return Outcome(
            id=outcome_id(at, changes),
            at=at,
            changes=changes,
            rule=self.rule,
            followed=self.rule is not None,
            result=Result.UNPROMISED if self.comparable else Result.NOT_COMPARABLE,
            closed_at=latest.at,
            others=rose,
        )


class Alteration(FileModel):
    """What every snapshot of a recording has instead of the recorded values.

    Attributes:
        version: The server's version.
        settings: Global variables by name; null for a variable that the server does not have.
        status: Counters of SHOW GLOBAL STATUS, by name in lower case.
        innodb_metrics: Counters of INNODB_METRICS, by name.
        machine: Fields of exporter.collectors.machine.Machine.
        memory: A memory of days beside the recording.
        changed: A change of settings, and what became of it, beside the recording.
    """

    version: VersionText | None = None
    settings: dict[str, SettingText] = Field(default_factory=dict)
    status: dict[str, Counter] = Field(default_factory=dict)
    innodb_metrics: dict[str, Counter] = Field(default_factory=dict)
    machine: MachineAlteration | None = None
    memory: MemoryAlteration | None = None
    changed: ChangeAlteration | None = None

    @property
    def summary(self) -> str:
        """What it alters, in one line."""
        parts = [f"version {self.version}"] if self.version else []
        parts += [f"{name} = {'none' if value is None else value}" for name, value in self.settings.items()]
        parts += [*self.status, *self.innodb_metrics]
        given = self.machine.model_fields_set if self.machine else ()
        parts += [f"machine.{name}" for name in MachineAlteration.model_fields if name in given]
        parts += [f"a memory of {self.memory.days:g} days"] if self.memory else []
        parts += [f"a change of {' and '.join(self.changed.before)}"] if self.changed else []
        return ", ".join(parts)

    def unknown(self, recorded: Snapshot) -> Iterator[tuple[tuple[str, ...], str]]:
        """Keys with unknown names, and why each is unknown.

        Args:
            recorded: The newest snapshot of the recording.
        """
        for name in self.changed.before if self.changed else ():
            if name not in SETTINGS:
                yield ("changed", "before", name), "no such setting among those that rules know"
        for name in self.settings:
            known = name in SETTINGS or name in (recorded[VARIABLES] or {}) or f"'{name}'" in IDENTITY_SQL
            if not known:
                yield ("settings", name), "no such variable in the recording, nor among the settings that rules know"
        for section in ("status", "innodb_metrics"):
            for name in getattr(self, section):
                if name not in (recorded.sections.get(section) or {}):
                    yield (section, name), "no such name in the recording"

    def remembered(self, window: Window) -> Remembered:
        """What is known beside the altered recording."""
        remembered = Remembered() if self.memory is None else self.memory.remembered(window)
        return replace(remembered, outcomes=(self.changed.outcome(window.latest),)) if self.changed else remembered

    def apply(self, snapshots: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
        """The altered snapshots. They come and go oldest first."""
        return tuple(self._apply(snapshot, snapshots[-1]) for snapshot in snapshots)

    def _apply(self, snapshot: Snapshot, newest: Snapshot) -> Snapshot:
        sections = dict(snapshot.sections)
        server = snapshot.server
        settings = dict(self.settings) | ({"version": self.version} if self.version else {})
        if settings:
            server = identify(_updated(identity(snapshot.server), settings))
            if (variables := snapshot[VARIABLES]) is not None:
                sections[VARIABLES.name] = _updated(variables, settings)
        if self.machine is not None:
            sections[MACHINE.name] = _altered_machine(self.machine, snapshot, newest)
        for section in ("status", "innodb_metrics"):
            counts, recorded = getattr(self, section), snapshot.sections.get(section)
            if counts and recorded is not None:
                last = newest.sections.get(section) or recorded
                ago = newest.at - snapshot.at
                sections[section] = {
                    **recorded,
                    **{name: _altered_count(count, recorded[name], last[name], ago) for name, count in counts.items()},
                }
        return replace(snapshot, server=server, sections=sections)


def _updated(variables: Mapping[str, str], settings: Mapping[str, str | None]) -> dict[str, str]:
    unaltered = {name: value for name, value in variables.items() if name not in settings}
    return unaltered | {name: value for name, value in settings.items() if value is not None}


def _altered_machine(alteration: BaseModel, snapshot: Snapshot, newest: Snapshot) -> Machine:
    recorded, last = snapshot[MACHINE] or Machine(), newest[MACHINE] or Machine()
    values = {name: getattr(alteration, name) for name in alteration.model_fields_set}
    for name in _COUNTERS:
        if isinstance(values.get(name), CounterAlteration):
            before, end = getattr(recorded, name) or 0.0, getattr(last, name) or 0.0
            values[name] = _altered_count(values[name], before, end, newest.at - snapshot.at)
    sources = {f"{name}_source": "configuration" for name in ("cores", "memory") if {name, f"{name}_bytes"} & {*values}}
    return replace(recorded, **(sources | values))


def _altered_count(alteration: CounterAlteration, recorded: float, last: float, ago: float) -> float:
    """A counter ``ago`` seconds before the newest snapshot; ``recorded`` there, and ``last`` in the newest."""
    end = last if alteration.value is None else alteration.value
    return end - (last - recorded if alteration.per_second is None else alteration.per_second * ago)
