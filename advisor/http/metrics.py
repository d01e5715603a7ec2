"""/metrics, /healthz and /readyz: what a Prometheus and probes ask for."""

from __future__ import annotations

import asyncio
import functools
import gzip
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import Metric

from advisor.http import examples
from advisor.http.answers import best
from advisor.http.foundation import TheService, of_application
from advisor.http.problems import UNSEEN, documented
from exporter.exposition import classic, openmetrics
from exporter.refreshed import Refreshed

_CLASSIC = "text/plain; version=0.0.4"
_ENCODERS: Mapping[str, Callable[[Sequence[Metric]], bytes]] = {
    _CLASSIC: classic,
    "application/openmetrics-text; version=1.0.0": openmetrics,
    "text/plain; version=1.0.0": classic,  # the same: all names are plain
}
"""By content type."""
_LEVEL = 1
"""Of gzip: higher levels save little more."""
KEPT_SECONDS = 0.1
"""A crowd of scrapers gets the same text: one takes some milliseconds of a core."""
_TEXTS = 4
"""Kept at a time: two forms, before and after a collection. Each may have some hundred KB."""
_DIED = "what runs in the background has failed: the log says why"
OK: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"example": "ok\n"}}}}

liveness = APIRouter(tags=["server"], default_response_class=PlainTextResponse)
router = APIRouter(tags=["server"], default_response_class=PlainTextResponse)


def form_of(accept: str) -> str:
    """The exposition's content type that the header Accept prefers, else the classic one: no scrape is refused."""
    return best(accept, tuple(_ENCODERS)) or _CLASSIC


class Exposed:
    """The text of /metrics, encoded once for all scrapes that come meanwhile or within KEPT_SECONDS."""

    def __init__(
        self, families: Callable[[], Awaitable[Sequence[Metric]]], state: Callable[[], Hashable] = lambda: None
    ) -> None:
        """Encode nothing before the first scrape.

        Args:
            families: The families now.
            state: What the families are of: after it changes no scrape gets an old text.
        """
        self._families, self._state = families, state
        self._texts = functools.lru_cache(_TEXTS)(self._text)

    async def answer(self, request: Request) -> Response:
        """The exposition in the form that the request accepts best."""
        form = form_of(request.headers.get("accept", ""))
        compressed = "gzip" in request.headers.get("accept-encoding", "")
        headers = {"Content-Type": f"{form}; charset=utf-8", "Vary": "Accept, Accept-Encoding"}
        headers |= {"Content-Encoding": "gzip"} if compressed else {}
        return Response(await self._texts(form, compressed, self._state()).get(KEPT_SECONDS), headers=headers)

    def _text(self, form: str, compressed: bool, _: Hashable) -> Refreshed[bytes]:  # noqa: FBT001 - of a key
        async def encoded() -> bytes:
            content = _ENCODERS[form](await self._families())
            return gzip.compress(content, _LEVEL) if compressed else content

        return Refreshed(encoded, clock=asyncio.get_running_loop().time)


TheExposed = Annotated[Exposed, of_application("exposed")]


@liveness.get(
    "/healthz",
    summary="Whether the sidecar lives",
    response_description="It does.",
    responses={**OK, **documented({503: _DIED})},
)
async def healthz(request: Request) -> str:
    """For a liveness probe: it does not depend on the server.

    A failure of what runs in the background ends it.
    """
    running: list[asyncio.Task[None]] = request.app.state.running
    if any(task.done() and not task.cancelled() and task.exception() is not None for task in running):
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _DIED)
    return "ok\n"


@router.get(
    "/readyz",
    summary="Whether it sees the server",
    response_description="It does.",
    responses={**OK, **documented({503: UNSEEN})},
)
async def readyz(service: TheService) -> str:
    """For a readiness probe: ready once a collection reached the server, until one does not."""
    if service.source.latest is None:
        raise service.unseen
    return "ok\n"


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    summary="Prometheus metrics",
    response_description="The exposition.",
    responses=documented(
        content={
            "text/plain": {"example": examples.METRICS},
            "application/openmetrics-text": {"example": examples.METRICS + "# EOF\n"},
        }
    ),
)
async def metrics(request: Request, exposed: TheExposed) -> Response:
    """What the server is doing, and what the rules say, for Prometheus.

    OpenMetrics for those who prefer it, else the classic text format. Does not wait for the models.
    """
    return await exposed.answer(request)
