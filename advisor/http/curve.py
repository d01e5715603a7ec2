"""/curve: the reads to expect with buffer pools of other sizes, as JSON, as a picture or as plain text."""

from __future__ import annotations

import base64
import hashlib
from http import HTTPStatus

from fastapi import APIRouter, HTTPException, Request, Response

from advisor.contract.json_text import json_of
from advisor.http import examples
from advisor.http.answers import HTML, JSON, written
from advisor.http.dependencies import TheLookBack, TheService
from advisor.http.limits import costly
from advisor.http.negotiation import NEGOTIATED, negotiated
from advisor.http.problems import documented
from advisor.pool.answer import MissCurve
from advisor.pool.errors import Unanswerable
from advisor.render import curve_svg, curve_text

SVG, PLAIN = "image/svg+xml", "text/plain"
_FORMS = (JSON, SVG, PLAIN)

router = APIRouter(tags=["advice"])


@router.get(
    "/curve",
    dependencies=[costly(2, model=True)],
    summary="Reads with other sizes of the buffer pool",
    description="For a row of sizes the pages read a second to expect, with the fewest and the most that explain what"
    " was watched, in all and by table. The last answer for some minutes, else worked out anew. JSON, an SVG picture or"
    " plain text, as the Accept header asks; the picture to a browser.",
    response_model=MissCurve,
    response_description="The miss curve.",
    responses=documented(
        {
            406: f"there are {', '.join(_FORMS)}",
            422: "window must be greater than 0",
            503: "there is no miss curve: the accesses to tables are not known: performance_schema is OFF",
        },
        content=examples.curve(),
    ),
)
async def curve(request: Request, wanted: TheLookBack, service: TheService) -> Response:
    """The curve."""
    form = negotiated(request, (*_FORMS, HTML))
    form = SVG if form == HTML else form
    try:
        found = await service.curve(wanted.window)
    except Unanswerable as error:
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, f"there is no miss curve: {error}") from error
    policy = {"Content-Security-Policy": _policy()} if form == SVG else {}
    return written(_written(found, form), form, {**NEGOTIATED, **policy})


def _policy() -> str:
    """A picture has its style in itself, and needs nothing else."""
    style = base64.b64encode(hashlib.sha256(curve_svg.STYLE.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "sandbox"
    )


def _written(found: MissCurve, form: str) -> str:
    match form:
        case "image/svg+xml":
            return curve_svg.svg(found)
        case "text/plain":
            return curve_text.plain(found)
        case _:
            return json_of(found)
