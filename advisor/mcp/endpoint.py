"""How the HTTP API is asked: a sidecar or a fleet's service elsewhere, or the same application in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlencode

from advisor.outgoing import sidecar
from advisor.outgoing.settings import ClientSettings
from advisor.outgoing.sidecar import JSON, YAML, SidecarError

MARKDOWN = "text/markdown"

Application = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]
"""An ASGI application."""


class NotAnswered(Exception):
    """A question has no answer; the text says why, and what to do.

    Attributes:
        status: Of HTTP; None where there is no answer of HTTP.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class HttpQuestion:
    """A request.

    Attributes:
        path: With a slash at its beginning; a part of it that is data is quoted by `segment`.
        query: Names and values; a value that is None is left out, one that is a list is repeated.
        content: What to post: a text in YAML, or a value as JSON; None for GET.
        form: The media type to accept.
    """

    path: str
    query: Mapping[str, object]
    content: object = None
    form: str = JSON

    @property
    def parameters(self) -> str:
        """The query as a URL has it."""
        return urlencode({name: value for name, value in self.query.items() if value is not None}, doseq=True)

    @property
    def body(self) -> str | None:
        """What is posted; None for GET."""
        return self.content if self.content is None or isinstance(self.content, str) else json.dumps(self.content)

    @property
    def body_form(self) -> str:
        """The media type of what is posted."""
        return YAML if isinstance(self.content, str) else JSON


class Endpoint(Protocol):
    """Where questions are asked."""

    async def ask(self, question: HttpQuestion) -> str:
        """The text of the answer.

        Raises:
            NotAnswered: There is none.
        """


def segment(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


class LocalEndpoint:
    """An application in this process: what `serve` or `fleet --listen` would serve."""

    def __init__(self, app: Application) -> None:
        """Ask this application, which runs already."""
        self._app = app

    async def ask(self, question: HttpQuestion) -> str:
        """The text of the answer."""
        status, content = HTTPStatus.INTERNAL_SERVER_ERROR, bytearray()
        parts = [{"type": "http.request", "body": (question.body or "").encode(), "more_body": False}]

        async def receive() -> MutableMapping[str, Any]:
            if parts:
                return dict(parts.pop())
            await asyncio.Event().wait()  # the client stays until it has its answer
            raise AssertionError

        async def send(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = HTTPStatus(message["status"])
            else:
                content.extend(message.get("body", b""))

        await self._app(_scope(question), receive, send)
        return _text(status, bytes(content))


class RemoteEndpoint:
    """A sidecar, or the service of a fleet, at a URL."""

    def __init__(self, url: str, settings: ClientSettings) -> None:
        """Open nothing yet.

        Args:
            url: Of its page, without a slash at its end.
            settings: Login, TLS, and the limit for an answer.
        """
        self._url, self._settings = url, settings

    async def ask(self, question: HttpQuestion) -> str:
        """The text of the answer."""
        path = f"{question.path}?{question.parameters}" if question.parameters else question.path
        try:
            return await sidecar.ask(
                self._url, path, self._settings, question.body, accept=question.form, form=question.body_form
            )
        except SidecarError as error:
            raise NotAnswered(f"{self._url}: {error}{_cure(error)}", error.status) from error


def _cure(error: SidecarError) -> str:
    """What to do about an error that does not say it itself; in brackets."""
    if error.status is None:
        return " (is `innodb-advisor serve` running there?)"
    login = error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    return " (--url-config has a place for the login)" if login else ""


def _scope(question: HttpQuestion) -> MutableMapping[str, Any]:
    headers = {"host": "localhost", "accept": question.form}
    if question.body is not None:
        headers |= {"content-type": question.body_form, "content-length": str(len(question.body.encode()))}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET" if question.body is None else "POST",
        "scheme": "http",
        "path": unquote(question.path),
        "raw_path": question.path.encode(),
        "query_string": question.parameters.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 0),
        "server": ("localhost", 0),
    }


def _text(status: int, content: bytes) -> str:
    """The text of a successful answer.

    Raises:
        NotAnswered: It is a problem (RFC 9457), whose detail is the reason.
    """
    text = content.decode("utf-8", "replace")
    if status != HTTPStatus.OK:
        raise NotAnswered(str(json.loads(text)["detail"]), status)
    return text
