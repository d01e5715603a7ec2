"""Metric families as an answer to a scrape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fastapi import Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from advisor.http.negotiation import NEGOTIATED, accept, best

_CLASSIC = "text/plain; version=0.0.4"
_ENCODERS: Mapping[str, tuple[Callable[[CollectorRegistry], bytes], str]] = {
    _CLASSIC: (generate_latest, CONTENT_TYPE_PLAIN_0_0_4),
    "application/openmetrics-text; version=1.0.0": (openmetrics.generate_latest, openmetrics.CONTENT_TYPE_LATEST),
    "text/plain; version=1.0.0": (generate_latest, CONTENT_TYPE_LATEST),  # the same: all names are plain
}
"""Encoder and content type of each form."""


class _Families(Collector):
    """Finished families, for the registry that prometheus_client's encoders take."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def render(families: Sequence[Metric], accepted: str) -> tuple[bytes, str]:
    """The exposition text and its content type: the form that the header Accept prefers, else the classic one."""
    encode, content_type = _ENCODERS[best(accepted, tuple(_ENCODERS)) or _CLASSIC]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    return encode(registry), content_type


def exposed(request: Request, families: Sequence[Metric]) -> Response:
    """The families in the form that the request accepts best."""
    content, content_type = render(families, accept(request))
    return Response(content, headers={"Content-Type": content_type, **NEGOTIATED})
