"""The record of the attacks: lab/records/attacks.json."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

from pydantic import BaseModel

from lab.attacks.attack import Line
from lab.campaign import records

NAME = "attacks"


class AttackRecord(BaseModel):
    """What became of an attack.

    Attributes:
        date: ISO 8601.
        machine: As from `records.machine`.
        version: The server's.
        lines: Of the table.
    """

    date: str
    machine: dict[str, float | str]
    version: str
    lines: tuple[Line, ...]


class AttackRecords(BaseModel):
    """All of them, by the attack's name."""

    attacks: dict[str, AttackRecord] = {}


def load() -> AttackRecords:
    """The record; an empty one while there is none."""
    found = records.load(NAME)
    return AttackRecords() if found is None else AttackRecords.model_validate(found)


def save(found: Mapping[str, Sequence[Line]], version: str, known: Sequence[str]) -> None:
    """Write what was measured over the old record of the same attacks.

    Args:
        found: The lines, by the attack's name.
        version: The server's.
        known: The names of all attacks, in order; others are dropped.
    """
    date, machine = dt.datetime.now(tz=dt.UTC).date().isoformat(), records.machine()
    new = {
        name: AttackRecord(date=date, machine=machine, version=version, lines=tuple(lines))
        for name, lines in found.items()
    }
    both = load().attacks | new
    kept = AttackRecords(attacks={name: both[name] for name in known if name in both})
    path = records.FOLDER / f"{NAME}.json"
    path.write_text(kept.model_dump_json(indent=1) + "\n", encoding="utf-8")
