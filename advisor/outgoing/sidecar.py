"""Questions to a running sidecar: one request, and its answer or the sentence that it refuses with."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus

import httpcore

from advisor.outgoing import connections
from advisor.outgoing.connections import Connections
from advisor.outgoing.settings import ClientSettings

JSON, YAML = "application/json", "application/yaml"
_MOST_BYTES = 16 << 20
"""Of an answer. The advice on a server with a thousand findings has 3 MiB."""


class SidecarError(Exception):
    """There is no answer; the text says why, in the sidecar's own words where it has any.

    Attributes:
        status: Of HTTP; None where there is no answer of HTTP.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


async def ask(
    url: str, path: str, settings: ClientSettings, content: str | None = None, *, accept: str = JSON, form: str = YAML
) -> str:
    """The text that a sidecar answers.

    Args:
        url: Of the sidecar's page, without a slash at its end.
        path: From there, with its query.
        settings: Login, TLS and the limit for the request.
        content: A body, which makes it a POST.
        accept: The media type of the answer.
        form: That of the body.

    Raises:
        SidecarError: There is no answer, or it is an error.
    """
    pool = Connections(lambda: settings)
    method, body = ("GET", None) if content is None else ("POST", content.encode())
    headers = [("Accept", accept), *(() if content is None else (("Content-Type", form),))]
    try:
        # A timeout limits each step, and an answer that drips has many steps.
        async with asyncio.timeout(settings.timeout), pool.request(method, url + path, headers, body) as answer:
            text = await _text(answer)
            if answer.status != HTTPStatus.OK:
                raise SidecarError(_detail(answer, text), answer.status)
            return text
    except (TimeoutError, httpcore.TimeoutException):
        raise SidecarError(f"no answer within {settings.timeout:g} s") from None
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise SidecarError(connections.reason(error)) from error
    finally:
        await pool.aclose()


async def _text(answer: httpcore.Response) -> str:
    content = bytearray()
    async for part in answer.aiter_stream():
        content += part
        if len(content) > _MOST_BYTES:
            raise SidecarError(f"the answer is longer than {_MOST_BYTES >> 20} MiB")
    return content.decode(errors="replace")


def _detail(answer: httpcore.Response, text: str) -> str:
    """The sentence of a problem document (RFC 9457); else the status and the beginning of the answer."""
    try:
        detail = json.loads(text)["detail"]
    except (ValueError, LookupError, TypeError):
        detail = None
    if isinstance(detail, str):
        return detail
    if answer.status in connections.REDIRECTS:
        return f"HTTP {connections.status_line(answer)}: redirects are not followed"
    return f"HTTP {connections.status_line(answer)}: {connections.shown(text[:300])}"
