"""The live messages: one producer makes each of them once for all streams, and works only while a stream is open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import NamedTuple

from advisor.advice import state as states
from advisor.advice.service import Service
from advisor.advice.state import State
from advisor.contract.recommendation import Advice

log = logging.getLogger(__name__)

STREAMS = 24
"""Open streams at most: fewer than the connections of one address, so that behind a proxy requests still have room."""
HEARTBEAT_SECONDS = 15.0
"""A stream that has nothing to tell for so long gets a comment, so that proxies and browsers keep it."""
LONGEST_SECONDS = 3600.0
"""A stream ends after so long; the browser opens the next one, and logs in anew."""
_LOOK_SECONDS = 1.0
"""Time between two looks for something new."""
_WAITING = 32
"""Messages that may wait for a client; one that is slower is dropped, and may come again."""
_HEARTBEAT = b":\n\n"
_FIRST = b"retry: 2000\n\n"
"""Milliseconds until a browser opens a stream again."""
_DATES = {"at", "watched_seconds", "computed_at", "age_seconds", "next_at"}
_DATES_OF_FINDING = {"watched_seconds", "judged_at"}
_SET_ASIDE = {"__all__": {"recommendation": _DATES_OF_FINDING}}
_UNLIKE = {
    **dict.fromkeys(_DATES, True),
    "recommendations": {"__all__": _DATES_OF_FINDING},
    "suppressed": _SET_ASIDE,
    "overruled": _SET_ASIDE,
}
"""What changes in advice with each verdict, though it says the same."""


class Crowded(Exception):
    """Too many streams are open."""


class Mark(NamedTuple):
    """How far a stream has told: the ``id`` of its messages."""

    at: float = 0.0
    """Time of the newest snapshot that was told, Unix seconds."""
    noticed: float = 0.0
    """When the newest event that was told was noticed, Unix seconds."""

    @classmethod
    def read(cls, text: str) -> Mark | None:
        """The mark of an ``id``; None where it is none."""
        at, _, noticed = text.partition("-")
        with contextlib.suppress(ValueError):
            return cls(float(at), float(noticed))
        return None

    def __str__(self) -> str:
        return f"{self.at:.3f}-{self.noticed:.3f}"


class Stream:
    """The messages that wait for one client."""

    def __init__(self) -> None:
        self._waiting = asyncio.Queue[bytes | None](_WAITING)
        self.open = True

    def tell(self, message: bytes) -> None:
        """Add a message; a client that is too slow for it gets no more, and its stream ends."""
        try:
            self._waiting.put_nowait(message)
        except asyncio.QueueFull:
            self.end()

    def end(self) -> None:
        """End it. What still waits is not sent."""
        self.open = False
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None)

    async def messages(self, sent: Callable[[], None]) -> AsyncIterator[bytes]:
        """What to send, until it ends; ``sent`` is called at the beginning and after each."""
        sent()
        while (message := await self._waiting.get()) is not None:
            yield message
            sent()


class Broadcast:
    """The streams, and what they are told."""

    def __init__(
        self, service: Service, *, look_seconds: float = _LOOK_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """No stream is open.

        Args:
            service: Has what is told.
            look_seconds: Time between two looks for something new.
            clock: Seconds, monotonic.
        """
        self._service, self._look_seconds, self._clock = service, look_seconds, clock
        self._streams: dict[Stream, float] = {}  # and when each ends
        self._producer: asyncio.Task[None] | None = None
        self._state: State | None = None
        self._advice: Advice | None = None
        self._told_at, self._told = 0.0, Mark()

    @contextlib.contextmanager
    def stream(self, since: Mark | None) -> Iterator[Stream]:
        """A stream that is open, from the state as it is now.

        Args:
            since: Of the last message that the client got; None for a client that comes first.

        Raises:
            Crowded: Too many are open.
        """
        if len(self._streams) >= STREAMS:
            raise Crowded
        stream = Stream()
        if self._producer is None:
            self._state, self._advice, self._told_at = None, None, self._clock()
            self._told = self._mark
            self._news()  # the first messages have it
            self._producer = asyncio.create_task(self._produce())
        for message in self._first(since):
            stream.tell(message)
        self._streams[stream] = self._clock() + LONGEST_SECONDS
        try:
            yield stream
        finally:
            self._streams.pop(stream, None)
            if not self._streams and self._producer is not None:
                self._producer.cancel()
                self._producer = None

    def _first(self, since: Mark | None) -> Iterator[bytes]:
        yield _FIRST
        yield self._message("state", states.state(self._service).model_dump_json(by_alias=True))
        last = self._service.last_verdict
        if last is not None:
            yield self._message("advice", last.advice.model_dump_json(by_alias=True))
        if since is not None:
            yield from self._events(since)

    async def _produce(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                self._tell(self._news())
            except Exception:  # the next look may go well
                log.exception("open pages miss something new")

    def _tell(self, messages: list[bytes]) -> None:
        now = self._clock()
        if messages:
            self._told_at = now
        elif now - self._told_at >= HEARTBEAT_SECONDS - self._look_seconds / 2:
            self._told_at, messages = now, [_HEARTBEAT]
        for stream, ends_at in list(self._streams.items()):
            for message in messages:
                stream.tell(message)
            if not stream.open or now >= ends_at:
                stream.end()
                del self._streams[stream]

    def _news(self) -> list[bytes]:
        """The messages about what is new since the last look."""
        messages = []
        state = states.state(self._service)
        if self._state is None or state != self._state.model_copy(update={"now": state.now}):
            self._state = state
            messages.append(self._message("state", state.model_dump_json(by_alias=True)))
        last = self._service.last_verdict
        if last is not None and _differs(last.advice, self._advice):
            messages.append(self._message("advice", last.advice.model_dump_json(by_alias=True)))
        self._advice = None if last is None else last.advice
        messages += self._events(self._told)
        self._told = self._mark
        return messages

    def _events(self, since: Mark) -> Iterator[bytes]:
        for event in self._service.timeline.noticed_after(since.noticed):
            yield self._message("event", event.model_dump_json())

    def _message(self, event: str, data: str) -> bytes:
        # Names in a recording need not be valid text.
        return f"event: {event}\nid: {self._mark}\ndata: {data}\n\n".encode("utf-8", "replace")

    @property
    def _mark(self) -> Mark:
        history = self._service.source.history
        return Mark(history[-1].at if history else 0.0, self._service.timeline.mark)


def _differs(now: Advice, before: Advice | None) -> bool:
    if before is None:
        return True
    return now.computed_at != before.computed_at and _said(now) != _said(before)


def _said(advice: Advice) -> dict[str, object]:
    return advice.model_dump(exclude=_UNLIKE)  # type: ignore[arg-type]
