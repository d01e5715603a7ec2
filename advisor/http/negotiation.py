"""Content negotiation by the headers Accept and Accept-Encoding (RFC 9110, sections 12.5.1 and 12.5.3)."""

from __future__ import annotations

import itertools
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fastapi import HTTPException, Request
from starlette import status

NEGOTIATED: Mapping[str, str] = types.MappingProxyType({"Vary": "Accept"})
"""Headers of an answer whose form the header Accept chose: caches keep each form apart."""
MOST_RANGES = 64
"""Elements of a header that are read; browsers and Prometheus send ten at most. Each costs some microseconds."""
# Every repetition is possessive: what has matched is never tried in another way, so the time is linear in the length.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"  # noqa: S105 - RFC 9110's word, no secret
_QUOTED = r'"(?:[^"\\]|\\.)*+"'
_ELEMENT = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))++')
"""A quoted string without its end goes on to the header's end: else each of many quotes would be searched to there."""
_VALUE = re.compile(rf"[ \t]*+({_TOKEN}(?:/{_TOKEN})?)[ \t]*+")
_PARAMETER = re.compile(rf"(?:({_TOKEN})=({_TOKEN}|{_QUOTED}))?[ \t]*+(?:;[ \t]*+|$)")
_ESCAPED = re.compile(r"\\(.)")
_WEIGHT = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?")


@dataclass(frozen=True, slots=True)
class _Element:
    """One element of a header: what is accepted, in lower case, and how much."""

    value: str
    parameters: Mapping[str, str]
    weight: float

    def specificity(self, media_type: str, parameters: Mapping[str, str]) -> int | None:
        """How precisely a media range names a media type, from 0 for any; None where it does not.

        Only parameters that the media type has are compared: ``text/plain; version=0.0.4; escaping=dots`` is
        ``text/plain; version=0.0.4``, and not ``version=1.0.0``.
        """
        ranges = ("*/*", f"{media_type.partition('/')[0]}/*", media_type)
        if self.value not in ranges:
            return None
        compared = [parameters[name] == value for name, value in self.parameters.items() if name in parameters]
        return ranges.index(self.value) + sum(compared) if all(compared) else None


def best(accept: str, offers: Sequence[str]) -> str | None:
    """The offered media type with the highest weight; None if none is acceptable.

    The most specific range that matches an offer gives its weight. On a tie the one that the header names first is
    chosen, and of those that one range names, the one that is offered first. Malformed ranges are ignored, and so are
    those after the first ``MOST_RANGES``.
    """
    if not accept.strip(", \t"):
        return offers[0]
    elements = list(_elements(accept))
    weights = {offer: _weight(offer, elements) for offer in offers}
    chosen = max(offers, key=weights.__getitem__)
    return chosen if weights[chosen][0] > 0 else None


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether a client wants an answer compressed by gzip; without the header it does not."""
    weights = {element.value: element.weight for element in _elements(accept_encoding)}
    gzip = weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0)))
    return gzip > 0 and gzip >= weights.get("identity", 0.0)


def accept(request: Request) -> str:
    """The header Accept; several are one."""
    return ", ".join(request.headers.getlist("accept"))


def negotiated(request: Request, offers: Sequence[str]) -> str:
    """The best offer for a request.

    Raises:
        HTTPException: 406; none is acceptable.
    """
    found = best(accept(request), offers)
    if found is None:
        raise HTTPException(status.HTTP_406_NOT_ACCEPTABLE, f"there are {', '.join(offers)}", headers=NEGOTIATED)
    return found


def wants_page(request: Request) -> bool:
    """Whether a client prefers a page to JSON: a browser does; a program that accepts anything does not."""
    return best(accept(request), ("application/json", "text/html")) == "text/html"


def _elements(header: str) -> Iterator[_Element]:
    """The well-formed ones of the first elements of a header, in order."""
    for match in itertools.islice(_ELEMENT.finditer(header), MOST_RANGES):
        written = match[0]
        value, *rest = written.split(";", 1)
        found = _VALUE.fullmatch(value)
        parameters = None if found is None else _parameters("".join(rest).strip(" \t"))
        if found is None or parameters is None:
            continue
        weight = parameters.pop("q", "1")
        if _WEIGHT.fullmatch(weight):
            yield _Element(found[1].lower(), parameters, float(weight))


def _parameters(written: str) -> dict[str, str] | None:
    """Parameters by name, in lower case, up to the weight; None where they are malformed."""
    found: dict[str, str] = {}
    at = 0
    while at < len(written) and "q" not in found:
        match = _PARAMETER.match(written, at)
        if match is None:
            return None
        at = match.end()
        if match[1]:
            value = _ESCAPED.sub(r"\1", match[2][1:-1]) if match[2].startswith('"') else match[2]
            found[match[1].lower()] = value.lower()
    return found


def _weight(offer: str, elements: Sequence[_Element]) -> tuple[float, int]:
    """The weight of an offer, 0 where no element names it, and how early the element comes that gives it."""
    media_type, _, rest = offer.partition(";")
    parameters = _parameters(rest.strip()) or {}
    closest, weight, position = -1, 0.0, len(elements)
    for at, element in enumerate(elements):
        specificity = element.specificity(media_type, parameters)
        if specificity is not None and specificity > closest:
            closest, weight, position = specificity, element.weight, at
    return weight, -position
