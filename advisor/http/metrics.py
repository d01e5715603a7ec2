"""/metrics, and /snapshot, which has the same in full."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from advisor.http import examples, pages
from advisor.http.answers import Json
from advisor.http.dependencies import TheExposition, TheService
from advisor.http.negotiation import NEGOTIATED, wants_page
from advisor.http.problems import UNSEEN, documented
from advisor.render import snapshot_html
from exporter.json_values import jsonable

router = APIRouter(tags=["server"])


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    summary="Prometheus metrics",
    description="What the server is doing, and what the rules say, for Prometheus: OpenMetrics for those who "
    "prefer it, else the classic text format. Does not wait for the models.",
    response_description="The exposition.",
    responses=documented(
        content={
            "text/plain": {"example": examples.METRICS},
            "application/openmetrics-text": {"example": examples.METRICS + "# EOF\n"},
        }
    ),
)
async def metrics(request: Request, exposed: TheExposition) -> Response:
    """All families."""
    return await exposed.answer(request)


@router.get(
    "/snapshot",
    summary="Everything known, and why the rest is not",
    description="The newest collection: every section that could be read, and for each of the others the reason "
    "and the cure. A browser gets a page.",
    response_description="The newest snapshot.",
    responses=documented({503: UNSEEN}, answer=examples.SNAPSHOT, content={"text/html": examples.PAGE}),
)
def snapshot(request: Request, service: TheService) -> Response:  # in a thread: of many tables it takes a while
    """The newest snapshot, or a page of it."""
    latest = service.source.latest
    if latest is None:
        raise service.unseen
    if wants_page(request):
        return pages.read("Snapshot", snapshot_html.content(latest))
    return Json(jsonable(latest), headers=NEGOTIATED)
