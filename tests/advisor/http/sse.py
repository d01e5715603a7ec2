"""Server-sent events, read as the standard has it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from lab.processes.service import PLAIN
from tests.advisor.sidecar import Sidecar
from tests.waiting import DEADLINE


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


@contextmanager
def stream(sidecar: Sidecar, last: str | None = None, **options: Any) -> Iterator[httpx.Response]:
    """/live, after the event of this id."""
    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
    with (
        httpx.Client(timeout=DEADLINE, **{**PLAIN, **options}) as client,
        client.stream("GET", f"{sidecar.url}/live", headers=headers) as response,
    ):
        yield response


def events(response: httpx.Response) -> Iterator[Told]:
    """The events of a stream; the one that reads them must be kept, or the stream is closed."""
    assert response.status_code == 200
    return told(response.iter_lines())


def until(found: Iterator[Told], wanted: Callable[[Told], bool]) -> Told:
    """The next event that is wanted."""
    return next(each for each in found if wanted(each))
