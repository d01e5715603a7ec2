"""How the HTTP API is asked: a sidecar or a fleet's service elsewhere, or the same application in this process."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import quote, urlencode

import httpx2

from advisor.http.foundation import Application
from advisor.outgoing import sidecar
from advisor.outgoing.settings import ClientSettings
from advisor.outgoing.sidecar import JSON, YAML, SidecarError

MARKDOWN = "text/markdown"

logging.getLogger("httpx2").setLevel(logging.WARNING)  # else a line for each question


class NotAnswered(Exception):
    """A question has no answer; the text says why, and what to do.

    Attributes:
        status: Of HTTP; None where there is no answer of HTTP.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


def segment(name: str) -> str:
    """A name as a part of a path."""
    return quote(name, safe="")


def located(path: str, query: Mapping[str, object]) -> str:
    """A path with its query.

    Args:
        path: With a slash at its beginning; a part of it that is data is quoted by `segment`.
        query: Names and values; a value that is None is left out.
    """
    parameters = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{path}?{parameters}" if parameters else path


class LocalEndpoint:
    """An application in this process: what `serve` or `fleet --listen` would serve."""

    def __init__(self, app: Application) -> None:
        """Ask this application, which runs already."""
        self._client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url="http://localhost", headers={"Accept-Encoding": "identity"}
        )

    async def ask(self, path: str, content: str | None = None, *, accept: str = JSON, form: str = YAML) -> str:
        """The text of an answer.

        Args:
            path: With its query.
            content: A body, which makes it a POST.
            accept: The media type of the answer.
            form: That of the body.

        Raises:
            NotAnswered: It is a problem (RFC 9457), whose detail is the reason.
        """
        method, headers = "GET", {"Accept": accept}
        if content is not None:
            method, headers = "POST", {"Accept": accept, "Content-Type": form}
        answer = await self._client.request(method, path, content=content, headers=headers)
        if answer.status_code != HTTPStatus.OK:
            raise NotAnswered(str(answer.json()["detail"]), answer.status_code)
        return answer.text


class RemoteEndpoint:
    """A sidecar, or the service of a fleet, at a URL."""

    def __init__(self, url: str, settings: ClientSettings) -> None:
        """Open nothing yet.

        Args:
            url: Of its page, without a slash at its end.
            settings: Login, TLS, and the limit for an answer.
        """
        self._url, self._settings = url, settings

    async def ask(self, path: str, content: str | None = None, *, accept: str = JSON, form: str = YAML) -> str:
        """The text of an answer, as `LocalEndpoint` has it. Raises NotAnswered where there is none."""
        try:
            return await sidecar.ask(self._url, path, self._settings, content, accept=accept, form=form)
        except SidecarError as error:
            raise NotAnswered(f"{self._url}: {error}{_cure(error)}", error.status) from error


Endpoint = LocalEndpoint | RemoteEndpoint


def _cure(error: SidecarError) -> str:
    """What to do about an error that does not say it itself; in brackets."""
    if error.status is None:
        return " (is `innodb-advisor serve` running there?)"
    login = error.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
    return " (--url-config has a place for the login)" if login else ""
