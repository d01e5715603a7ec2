"""Answers whose text is about a server: what a recording has of it need not be valid text."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response
from pydantic import BaseModel

from advisor.http.negotiation import NEGOTIATED

JSON, HTML = "application/json", "text/html"


def encoded(text: str) -> bytes:
    """UTF-8, with a question mark for what has no UTF-8: lone surrogates, in a name or in a client's statement."""
    return text.encode("utf-8", "replace")


def written(text: str, form: str, headers: Mapping[str, str] = NEGOTIATED) -> Response:
    """A text in the form that was negotiated.

    Args:
        text: The whole answer.
        form: Its media type.
        headers: Beside those of the content.
    """
    return Response(encoded(text), media_type=form, headers=headers)


def as_json(content: BaseModel) -> Response:
    """The answer of an endpoint that has JSON alone."""
    return written(content.model_dump_json(by_alias=True), JSON, {})
