"""The live messages: one producer makes each of them once for all streams, and works only while a stream is open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import NamedTuple

from advisor.advice import state as states
from advisor.advice.difference import says_the_same
from advisor.advice.service import Service, Unseen
from advisor.advice.state import State
from advisor.contract.json_text import json_of
from advisor.contract.recommendation import Advice
from advisor.timeline.series import QUANTITIES, series, split

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
"""Messages that may wait for a client while it reads what it missed, or is slow; with more its stream ends."""
_HEARTBEAT = b":\n\n"
_FIRST = b"retry: 2000\n\n"
"""Milliseconds until a browser opens a stream again."""


class Crowded(Exception):
    """Too many streams are open."""


class Mark(NamedTuple):
    """How far a stream has told: the ``id`` of its messages. It holds for another start of the sidecar, too."""

    at: float
    """Time of the newest snapshot that was told, Unix seconds."""
    noticed: float
    """The mark of the newest event that was told."""

    @classmethod
    def read(cls, text: str) -> Mark | None:
        """The mark of an ``id``; None where it is none."""
        at, _, noticed = text.partition("-")
        with contextlib.suppress(ValueError):
            return cls(float(at), float(noticed))
        return None

    def __str__(self) -> str:
        return f"{self.at!r}-{self.noticed!r}"


class Stream:
    """The messages for one client."""

    def __init__(self, first: AsyncIterator[bytes]) -> None:
        """It begins with these messages."""
        self._first = first
        self._waiting = asyncio.Queue[bytes | None](_WAITING)
        self.open = True

    @property
    def waiting(self) -> int:
        """Number of messages that wait for the client."""
        return self._waiting.qsize()

    def tell(self, message: bytes) -> None:
        """Add a message; a client that is too slow for it gets no more, and its stream ends."""
        if not self.open:
            return
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
        async for message in self._first:
            yield message
            sent()
        while (waiting := await self._waiting.get()) is not None:
            yield waiting
            sent()


class Broadcast:
    """The streams, and what they are told.

    Attributes:
        producing: Whether messages are made.
    """

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
        self._told = Mark(0.0, 0.0)
        self._told_at = 0.0

    @property
    def producing(self) -> bool:
        """Whether messages are made."""
        return self._producer is not None

    @contextlib.contextmanager
    def stream(self, since: Mark | None = None) -> Iterator[Stream]:
        """A stream, while it is open.

        Args:
            since: Of the last message that the client got; None for a client that comes first.

        Raises:
            Crowded: Too many are open.
        """
        if len(self._streams) >= STREAMS:
            raise Crowded
        if self._producer is None:
            self._begin()
            self._producer = asyncio.create_task(self._produce())
        stream = Stream(self._first(since or self._before_newest(), self._told))
        self._streams[stream] = self._clock() + LONGEST_SECONDS
        try:
            yield stream
        finally:
            self._streams.pop(stream, None)
            if not self._streams and self._producer is not None:
                self._producer.cancel()
                self._producer = None

    def _begin(self) -> None:
        """Take what is known for told: a stream begins with it."""
        self._service.look()
        history, last = self._service.source.history, self._service.last_verdict
        self._state = states.state(self._service)
        self._advice = None if last is None else last.advice
        self._told = Mark(history[-1].at if history else 0.0, self._service.timeline.mark)
        self._told_at = self._clock()

    def _before_newest(self) -> Mark:
        """The mark of a client that wants the newest snapshot, and no event of before."""
        history = self._service.source.history
        return Mark(history[-2].at if len(history) > 1 else 0.0, self._told.noticed)

    async def _first(self, since: Mark, until: Mark) -> AsyncIterator[bytes]:
        """Everything as it is now, and what came between two marks."""
        yield _FIRST
        yield _message("state", since, json_of(states.state(self._service), by_alias=True))
        last = self._service.last_verdict
        if last is not None:
            yield _message("advice", since, json_of(last.advice, by_alias=True))
        overview = await self._overview(since)
        if overview is not None:
            yield overview
        for message in self._events(since, until):
            yield message
        since = Mark(since.at, until.noticed)
        for message in await self._series(since, until.at):
            yield message

    async def _produce(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                await self._look()
            except Exception:  # the next look may go well
                log.exception("open pages miss something new")

    async def _look(self) -> None:
        """Tell what is new since the last look. The past comes first: the others have no part in the mark."""
        service, told = self._service, self._told
        service.look()  # so that all that follows is of one moment
        state, last = states.state(service), service.last_verdict
        advice = None if last is None else last.advice
        until = Mark(service.source.history[-1].at if service.source.history else told.at, service.timeline.mark)
        messages = list(self._events(told, until))
        if until.at != told.at:
            messages += await self._series(Mark(told.at, until.noticed), until.at)
            overview = await self._overview(until)
            messages += [] if overview is None else [overview]
        if self._state is None or state != self._state.model_copy(update={"now": state.now}):
            messages.append(_message("state", until, json_of(state, by_alias=True)))
        if advice is not None and (self._advice is None or not says_the_same(advice, self._advice)):
            messages.append(_message("advice", until, json_of(advice, by_alias=True)))
        self._state, self._advice, self._told = state, advice, until
        self._tell(messages)

    def _tell(self, messages: list[bytes]) -> None:
        now = self._clock()
        if messages:
            self._told_at = now
        elif now - self._told_at >= HEARTBEAT_SECONDS - self._look_seconds / 2:
            self._told_at, messages = now, [_HEARTBEAT]
        for stream, ends_at in list(self._streams.items()):
            for message in messages:
                stream.tell(message)
            if stream.open and now >= ends_at:
                stream.end()
            if not stream.open:
                del self._streams[stream]

    def _events(self, since: Mark, until: Mark) -> Iterator[bytes]:
        for noticed, event in self._service.timeline.noticed_after(since.noticed):
            if noticed <= until.noticed:
                yield _message("event", Mark(since.at, noticed), json_of(event))

    async def _series(self, since: Mark, until: float) -> list[bytes]:
        """The points of snapshots between two times."""
        history = [each for each in self._service.source.history if each.at <= until]
        if not history or history[-1].at <= since.at:
            return []
        found = await asyncio.to_thread(series, history, tuple(QUANTITIES), since.at, ranked_since=0.0)
        return [
            _message("series", Mark(each.at[0], since.noticed), json_of(each, by_alias=True)) for each in split(found)
        ]

    async def _overview(self, mark: Mark) -> bytes | None:
        try:
            found = await self._service.overview()
        except Unseen:
            return None
        return _message("overview", mark, json_of(found, by_alias=True))


def _message(event: str, mark: Mark, data: str) -> bytes:
    return f"event: {event}\nid: {mark}\ndata: {data}\n\n".encode()
