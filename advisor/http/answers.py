"""Answers whose text is about a server, in characters that all show."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from advisor.contract.json_text import json_of
from advisor.contract.visible import visible_json, visible_lines
from advisor.http.negotiation import NEGOTIATED
from advisor.http.validation import etag

JSON, HTML, PLAIN, MARKDOWN = "application/json", "text/html", "text/plain", "text/markdown"


class Json(JSONResponse):
    """JSON in which everything shows."""

    def render(self, content: object) -> bytes:
        """The body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return visible_json(text).encode()


def written(text: str, form: str, headers: Mapping[str, str] = NEGOTIATED) -> Response:
    """A text in the form that was negotiated.

    Args:
        text: The whole answer.
        form: Its media type.
        headers: Beside those of the content.
    """
    shows = visible_lines(text) if form in (PLAIN, MARKDOWN) else text  # JSON and pages show already
    content = shows.encode("utf-8", "replace")
    return Response(content, media_type=form, headers={**headers, "ETag": etag(content)})


def as_json(content: BaseModel) -> Response:
    """The answer of an endpoint that has JSON alone."""
    return written(json_of(content, by_alias=True), JSON, {})
