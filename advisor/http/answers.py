"""Answers: in the form that the client prefers, in characters that show, and 304 where the client has the text."""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TypeVar

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from advisor.contract.visible import json_of, visible_json, visible_lines
from advisor.render import text
from advisor.render.blocks import TextDocument
from advisor.render.markdown import markdown

Shown = TypeVar("Shown", bound=BaseModel)
JSON, HTML, PLAIN, MARKDOWN = "application/json", "text/html", "text/plain", "text/markdown"
DOCUMENT = (JSON, PLAIN, MARKDOWN, HTML)
"""The forms of an answer that is also a document for people."""
NEGOTIATED: Mapping[str, str] = types.MappingProxyType({"Vary": "Accept"})
"""Headers of an answer whose form the header Accept chose: caches keep each form apart."""
MOST_RANGES = 64
"""Media ranges that are read. Browsers and Prometheus send ten at most, and 16 KiB of them would take 20 ms."""


class Json(JSONResponse):
    """JSON in which each character shows."""

    def render(self, content: object) -> bytes:
        """The body."""
        written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return visible_json(written).encode()


def written(content: str, form: str, headers: Mapping[str, str] = NEGOTIATED) -> Response:
    """A text in the form that was negotiated.

    Args:
        content: The whole answer.
        form: Its media type.
        headers: Beside those of the content.
    """
    text_of_form = visible_lines(content) if form in (PLAIN, MARKDOWN) else content  # JSON and pages show already
    body = text_of_form.encode("utf-8", "replace")
    # It is weak: the answer may be compressed on its way.
    etag = f'W/"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'
    return Response(body, media_type=form, headers={**headers, "ETag": etag})


def as_asked(form: str, content: Shown, document: Callable[[Shown], TextDocument]) -> Response:
    """A model in the form that was negotiated: as JSON, or its document as plain text or markdown."""
    if form == PLAIN:
        return written(text.text(document(content)), form)
    if form == MARKDOWN:
        return written(markdown(document(content)), form)
    return written(json_of(content, by_alias=True), form)


def as_json(content: BaseModel) -> Response:
    """The answer of an endpoint that has JSON alone."""
    return written(json_of(content, by_alias=True), JSON, {})


def negotiated(request: Request, offers: Sequence[str]) -> str:
    """The best offer for a request.

    Raises:
        HTTPException: 406; the client accepts none of them.
    """
    form = best(request.headers.get("accept", ""), offers)
    if form is None:
        raise HTTPException(HTTPStatus.NOT_ACCEPTABLE, unacceptable(offers), headers=dict(NEGOTIATED))
    return form


def unacceptable(offers: Sequence[str]) -> str:
    """The detail of a 406."""
    return f"not acceptable; available: {', '.join(offers)}"


def wants_page(request: Request) -> bool:
    """Whether a client prefers a page to JSON: a browser does; a program that accepts anything does not."""
    return best(request.headers.get("accept", ""), (JSON, HTML)) == HTML


def best(accept: str, offers: Sequence[str]) -> str | None:
    """The offered media type with the highest weight (RFC 9110, section 12.5.1); None if none is acceptable.

    The most specific range that matches an offer gives its weight. On a tie the one that the header names first is
    chosen, and of those that one range names, the one that is offered first. Malformed weights are none.
    """
    if not accept.strip(", \t"):
        return offers[0]
    ranges = [_media_range(element) for element in accept.split(",")[:MOST_RANGES]]

    def weight(offer: str) -> tuple[float, int]:
        name, parameters = _media_range(offer)
        matches = [
            (specificity, _weight(accepted[1]), -position)
            for position, accepted in enumerate(ranges)
            if (specificity := _specificity(accepted, name, parameters)) is not None
        ]
        return max(matches)[1:] if matches else (0.0, 0)

    chosen = max(offers, key=weight)
    return chosen if weight(chosen)[0] > 0 else None


def _media_range(element: str) -> tuple[str, dict[str, str]]:
    """Its name and its parameters, in lower case."""
    name, *written_parameters = (part.strip() for part in element.lower().split(";"))
    pairs = (part.partition("=") for part in written_parameters)
    return name, {key.strip(): value.strip(' \t"') for key, _, value in pairs}


def _specificity(accepted: tuple[str, Mapping[str, str]], name: str, parameters: Mapping[str, str]) -> int | None:
    """How precisely a media range names a media type, from 0 for any; None where it does not.

    Only parameters that the media type has are compared: ``text/plain; version=0.0.4; escaping=dots`` is
    ``text/plain; version=0.0.4``, and not ``version=1.0.0``.
    """
    names = ("*/*", f"{name.partition('/')[0]}/*", name)
    compared = [parameters[key] == value for key, value in accepted[1].items() if key in parameters]
    return names.index(accepted[0]) + len(compared) if accepted[0] in names and all(compared) else None


def _weight(parameters: Mapping[str, str]) -> float:
    try:
        weight = float(parameters.get("q", 1))
    except ValueError:
        return 0.0
    return weight if 0 <= weight <= 1 else 0.0


class Validation:
    """Answers 304 where the client has the answer already: its If-None-Match names the answer's ETag."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer (RFC 9110, sections 13.1.2 and 15.4.5)."""
        none_match = Headers(scope=scope).get("if-none-match") if scope["type"] == "http" else None
        if none_match is None or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        tags = {tag.strip().removeprefix("W/") for tag in none_match.split(",")}
        is_same = False

        async def without_content(message: Message) -> None:
            nonlocal is_same
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
                headers = MutableHeaders(scope=message)
                is_same = headers.get("etag", "").removeprefix("W/") in tags
                if is_same:
                    message["status"] = HTTPStatus.NOT_MODIFIED
                    for name in ("content-length", "content-type"):
                        del headers[name]
            elif message["type"] == "http.response.body" and is_same:
                message = {**message, "body": b""}
            await send(message)

        await self._app(scope, receive, without_content)
