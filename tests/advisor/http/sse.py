"""Server-sent events, read as the standard has it; of a process, and of a sidecar in this one."""

from __future__ import annotations

import asyncio
import json
import queue
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import httpx

from lab.processes.service import PLAIN
from tests.advisor.in_process import ADDRESS, PORT, InProcess
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


class Live:
    """/live of a sidecar in this process, which httpx would read to its end."""

    def __init__(self, sidecar: InProcess, last: str | None = None) -> None:
        """Open it, after the event of this id."""
        headers = [(b"host", f"{ADDRESS}:{PORT}".encode()), (b"accept-encoding", b"gzip")]
        headers += [] if last is None else [(b"last-event-id", last.encode())]
        self._scope = {"type": "http", "method": "GET", "path": "/live", "query_string": b"", "headers": headers}
        self._scope |= {"scheme": "http", "client": (ADDRESS, 1), "server": (ADDRESS, PORT), "http_version": "1.1"}
        self._scope["raw_path"], self._scope["root_path"] = b"/live", ""
        self._sidecar, self._sent = sidecar, queue.SimpleQueue[dict[str, Any]]()
        self._closed = sidecar.portal.call(_event)
        self._answering = sidecar.portal.start_task_soon(self._answer)
        start = self._next()
        self.status_code: int = start["status"]
        self.headers = httpx.Headers(start["headers"])

    async def _answer(self) -> None:
        asked = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            if asked:
                return asked.pop()
            await self._closed.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self._sent.put(message)

        await self._sidecar.guarded(self._scope, receive, send)

    def _next(self) -> dict[str, Any]:
        return self._sent.get(timeout=DEADLINE)

    def iter_lines(self) -> Iterator[str]:
        """The lines so far, and those to come."""
        rest = ""
        while (message := self._next()).get("more_body"):
            *lines, rest = (rest + message["body"].decode()).split("\n")
            yield from lines

    def whole(self) -> httpx.Response:
        """An answer that has an end."""
        body = self._next()
        assert not body.get("more_body")
        return httpx.Response(self.status_code, headers=self.headers, content=body["body"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sidecar.portal.call(self._closed.set)
        self._answering.result(DEADLINE)


async def _event() -> asyncio.Event:
    return asyncio.Event()


@contextmanager
def stream(sidecar: Sidecar, last: str | None = None, **options: Any) -> Iterator[httpx.Response]:
    """/live, after the event of this id."""
    headers = {"Accept": "text/event-stream"} | ({} if last is None else {"Last-Event-ID": last})
    with (
        httpx.Client(timeout=DEADLINE, **{**PLAIN, **options}) as client,
        client.stream("GET", f"{sidecar.url}/live", headers=headers) as response,
    ):
        yield response


def events(response: httpx.Response | Live) -> Iterator[Told]:
    """The events of a stream; the one that reads them must be kept, or the stream is closed."""
    assert response.status_code == 200
    return told(response.iter_lines())


def until(found: Iterator[Told], wanted: Callable[[Told], bool]) -> Told:
    """The next event that is wanted."""
    return next(each for each in found if wanted(each))
