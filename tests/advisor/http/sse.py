"""Server-sent events, read as the standard has it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Told:
    """An event."""

    kind: str
    id: str
    data: Any


def told(lines: Iterable[str]) -> Iterator[Told]:
    """The events of lines; comments and the time to wait are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif "data" in fields:
            yield Told(fields["event"], fields["id"], json.loads(fields["data"]))
            fields = {}
