"""Content negotiation by the Accept header (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fastapi import HTTPException, Request
from starlette import status

_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE = re.compile(rf"({_NAME})/({_NAME})")
_WEIGHT = re.compile(r"q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def best(accept: str, offers: Sequence[str]) -> str | None:
    """The offered media type with the highest weight, the first one on a tie; None if none is acceptable.

    The most specific range that matches an offer gives its weight. Other parameters are ignored:
    ``application/json; charset=utf-8`` accepts JSON. Malformed ranges are ignored too.
    """
    if not accept.strip(", \t"):
        return offers[0]
    ranges = dict(filter(None, map(_parsed, _QUOTED.sub("", accept).split(","))))
    weighed = {offer: _weight(offer, ranges) for offer in offers}
    chosen = max(offers, key=weighed.__getitem__)
    return chosen if weighed[chosen] > 0 else None


def negotiated(request: Request, offers: Sequence[str]) -> str:
    """The best offer for a request.

    Raises:
        HTTPException: 406; none is acceptable.
    """
    found = best(", ".join(request.headers.getlist("accept")), offers)
    if found is None:
        raise HTTPException(
            status.HTTP_406_NOT_ACCEPTABLE, f"there are {', '.join(offers)}", headers={"Vary": "Accept"}
        )
    return found


def _parsed(element: str) -> tuple[str, float] | None:
    """A media range in lower case, and its weight."""
    written, *parameters = (part.strip() for part in element.split(";"))
    if not _RANGE.fullmatch(written):
        return None
    for parameter in parameters:
        if parameter[:2].lower() == "q=":
            weight = _WEIGHT.fullmatch(parameter)
            return (written.lower(), float(weight[1])) if weight else None
    return written.lower(), 1.0


def _weight(offer: str, ranges: dict[str, float]) -> float:
    for matching in (offer, f"{offer.partition('/')[0]}/*", "*/*"):
        if matching in ranges:
            return ranges[matching]
    return 0.0
