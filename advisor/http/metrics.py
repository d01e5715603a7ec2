"""/metrics, and /snapshot, which has the same in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from advisor.http import examples
from advisor.http.dependencies import TheExposition, TheService
from advisor.http.problems import UNSEEN, documented
from exporter.json_values import jsonable

router = APIRouter(tags=["server"])


class _Families(Collector):
    """Finished families, for the registry that prometheus_client's encoders take."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def render(families: Sequence[Metric], accept: str) -> tuple[bytes, str]:
    """The exposition text and its content type: OpenMetrics where ``accept`` has it, else the classic format."""
    encode, content_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families(families))
    return encode(registry), content_type


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    summary="Prometheus metrics",
    description="What the server is doing, and what the rules say, for Prometheus: OpenMetrics for those who "
    "accept it, else the classic text format. Does not wait for the models.",
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
    content, content_type = render(await exposition.families(), request.headers.get("accept", ""))
    return Response(content, headers={"Content-Type": content_type, "Vary": "Accept"})


@router.get(
    "/snapshot",
    summary="Everything known, and why the rest is not",
    description="The newest collection: every section that could be read, and for each of the others the reason "
    "and the cure.",
    response_description="The newest snapshot.",
    responses={
        200: {"content": {"application/json": {"example": examples.SNAPSHOT}}},
        **documented({503: UNSEEN}),
    },
)
async def snapshot(service: TheService) -> JSONResponse:
    """The newest snapshot."""
    if service.source.latest is None:
        raise service.unseen
    return JSONResponse(jsonable(service.source.latest))
