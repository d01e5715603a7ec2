"""Entries of the ledger as JSON: the journal and recordings share it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from advisor.ledger.entry import Baseline, Entry, Found, Outcome
from exporter.recording.bounds import moment

_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


def line(entry: Entry) -> dict[str, Any]:
    """An entry as JSON values."""
    return entry.model_dump(mode="json")


def entry(line: object) -> Entry:
    """The entry of JSON values.

    Raises:
        ValueError: They are no entry of this version; the text says why.
    """
    try:
        found = _ENTRY.validate_python(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}" if where else first["msg"]) from None
    for at in _times(found):
        moment(at)
    return found


def _times(entry: Entry) -> tuple[float, ...]:
    match entry:
        case Found():
            times: tuple[float | None, ...] = (entry.first_seen, entry.last_seen, entry.resolved_at)
        case Outcome():
            times = (entry.at, entry.closed_at)
        case Baseline():
            times = (entry.reading.began, entry.reading.at)
    return tuple(each for each in times if each is not None)


def readable(lines: Iterable[object]) -> Iterator[Entry]:
    """The entries that this version can read. A recording may come from a later one, which knows more kinds."""
    for each in lines:
        try:
            yield entry(each)
        except ValueError:
            continue
