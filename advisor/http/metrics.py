"""/metrics, and /snapshot, which has the same in full."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector

from advisor.http import examples, pages
from advisor.http.dependencies import TheExposition, TheService
from advisor.http.negotiation import accept, best, wants_page
from advisor.http.problems import UNSEEN, documented
from advisor.render import snapshot_html
from exporter.json_values import jsonable

router = APIRouter(tags=["server"])

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


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    summary="Prometheus metrics",
    description="What the server is doing, and what the rules say, for Prometheus: OpenMetrics for those who "
    "prefer it, else the classic text format. Does not wait for the models.",
    response_description="The exposition.",
    responses={
        200: {
            "content": {
                "text/plain": {"example": examples.METRICS},
                "application/openmetrics-text": {"example": examples.METRICS + "# EOF\n"},
            }
        },
        **documented(),
    },
)
async def metrics(request: Request, exposition: TheExposition) -> Response:
    """All families."""
    content, content_type = render(await exposition.families(), accept(request))
    return Response(content, headers={"Content-Type": content_type, "Vary": "Accept"})


@router.get(
    "/snapshot",
    summary="Everything known, and why the rest is not",
    description="The newest collection: every section that could be read, and for each of the others the reason "
    "and the cure. A browser gets a page.",
    response_description="The newest snapshot.",
    responses={
        200: {"content": {"application/json": {"example": examples.SNAPSHOT}, "text/html": examples.PAGE}},
        **documented({503: UNSEEN}),
    },
)
def snapshot(request: Request, service: TheService) -> Response:  # in a thread: of many tables it takes a while
    """The newest snapshot, or a page of it."""
    latest = service.source.latest
    if latest is None:
        raise service.unseen
    if wants_page(request):
        return pages.read("Snapshot", snapshot_html.content(latest))
    return JSONResponse(jsonable(latest), headers={"Vary": "Accept"})
