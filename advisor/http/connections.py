"""Connections, with limits on their number and deadlines for each phase."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Literal

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from advisor.http.crowd import Crowd

SECURITY_HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cache-control": "no-store",
}
"""Headers of every response; an endpoint may set its own instead."""
GONE = "gone"
"""Key in the state of a request: a function that says whether the client has gone."""
CROWDED = "crowded"
"""Key in the state of a request whose connection is above the limit."""
SECONDS: Mapping[str, float] = {"reading": 10.0, "answering": 60.0, "sending": 30.0}
"""Limits for receiving a request, answering it and sending the response; then the connection is closed."""
HANDSHAKE_SECONDS = 5.0
_Phase = Literal["reading", "answering", "sending"]
_MALFORMED = json.dumps(
    {
        "type": "about:blank",
        "title": HTTPStatus.BAD_REQUEST.phrase,
        "status": HTTPStatus.BAD_REQUEST,
        "detail": "this is no HTTP request, or its header is longer than 16 KiB",
    }
).encode()

log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)  # malformed requests from strangers would fill the log


class Connection(H11Protocol):
    """uvicorn's connection, with deadlines, one of a crowd. ``admits`` checks the client's certificate."""

    def __init__(self, *arguments: Any, admits: Callable[[Any], bool], crowd: Crowd, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.logger = log
        self._admits, self._crowd = admits, crowd
        self._phase: _Phase | None = None
        self.answered = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Accept the connection if there is room and its certificate is allowed."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        if not (self._crowd.enter(self) and (tls is None or self._admits(tls.getpeercert()))):
            transport.abort()
            return
        self.app_state = {**self.app_state, CROWDED: self._crowd.is_large, GONE: transport.is_closing}
        self._within("reading")

    @property
    def address(self) -> str:
        """The client's."""
        return str(self.client and self.client[0])

    def drop(self) -> None:
        """Close it at once."""
        self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline, and leave nothing behind."""
        self._within(None)
        self._crowd.leave(self)
        super().connection_lost(exc)
        self.app_state = {}  # it refers to this connection: without it the memory is free at once

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        if self.transport.is_closing():  # it was not accepted
            return
        super().data_received(data)
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            if self._phase != "reading":
                self._within("reading")
        elif self._phase == "reading":
            self._within("answering")

    def on_response_complete(self) -> None:
        """The response is written. The client may still be slow to receive it, or to finish its request."""
        super().on_response_complete()
        self.answered = True
        if self.transport.get_write_buffer_size():
            self._within("sending")
        elif self.conn.their_state is h11.SEND_BODY:
            self._within("reading")
        elif self.conn.their_state is h11.IDLE:
            self._within(None)  # uvicorn closes idle connections
        else:
            self._within("answering")  # the next request had already arrived

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - one message for all
        """Answer bytes that are not HTTP."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        headers = {
            **SECURITY_HEADERS,
            "content-type": "application/problem+json",
            "content-length": str(len(_MALFORMED)),
            "connection": "close",
        }
        status = HTTPStatus.BAD_REQUEST
        for event in (
            h11.Response(status_code=status, headers=list(headers.items()), reason=status.phrase),
            h11.Data(data=_MALFORMED),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _within(self, phase: _Phase | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._phase = phase
        if phase in (None, "reading"):
            self._crowd.falls_silent(self)
        else:
            self._crowd.speaks(self)
        self._deadline = None if phase is None else self.loop.call_later(SECONDS[phase], self.transport.abort)
