"""/metrics, /healthz and /readyz: what a Prometheus and probes ask for."""

from __future__ import annotations

import asyncio
import functools
import gzip
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import Metric

from advisor.http import examples
from advisor.http.answers import best
from advisor.http.dependencies import TheService
from advisor.http.problems import UNSEEN, documented
from exporter.exposition import classic, openmetrics
from exporter.refreshed import Refreshed

_CLASSIC = "text/plain; version=0.0.4"
_ENCODERS: Mapping[str, Callable[[Sequence[Metric]], bytes]] = {
    _CLASSIC: classic,
    "application/openmetrics-text; version=1.0.0": openmetrics,
    "text/plain; version=1.0.0": classic,  # the same: all names are plain
}
"""The encoder of each form, by its content type."""
_LEVEL = 1
"""Of gzip: higher levels save little more."""
KEPT_SECONDS = 0.1
"""A crowd of scrapers gets the same text: to make one takes some milliseconds of a core."""
_TEXTS = 4
"""Kept at a time: two forms, before and after a collection."""
_DIED = "what runs in the background has failed: the log says why"
OK: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"example": "ok\n"}}}}

liveness = APIRouter(tags=["server"], default_response_class=PlainTextResponse)
router = APIRouter(tags=["server"], default_response_class=PlainTextResponse)


def render(families: Sequence[Metric], accepted: str) -> tuple[bytes, str]:
    """The exposition text and its content type: the form that the header Accept prefers, else the classic one."""
    form = best(accepted, tuple(_ENCODERS)) or _CLASSIC
    return _ENCODERS[form](families), f"{form}; charset=utf-8"


class Exposed:
    """What /metrics shows, made once for all who ask while it is made, or within KEPT_SECONDS."""

    def __init__(
        self, families: Callable[[], Awaitable[Sequence[Metric]]], state: Callable[[], Hashable] = lambda: None
    ) -> None:
        """Nothing is asked yet.

        Args:
            families: The families now.
            state: Differs where the families are others, so that nobody gets those of before.
        """
        self._families, self._state = families, state
        self._texts = functools.lru_cache(_TEXTS)(self._text)

    async def answer(self, request: Request) -> Response:
        """The exposition in the form that the request accepts best."""
        form = best(request.headers.get("accept", ""), tuple(_ENCODERS)) or _CLASSIC
        compressed = "gzip" in request.headers.get("accept-encoding", "")
        content, content_type = await self._texts(form, compressed, self._state()).get(KEPT_SECONDS)
        headers = {"Content-Type": content_type, "Vary": "Accept, Accept-Encoding"}
        return Response(content, headers=headers | ({"Content-Encoding": "gzip"} if compressed else {}))

    def _text(self, form: str, compressed: bool, _: Hashable) -> Refreshed[tuple[bytes, str]]:  # noqa: FBT001 - of a key
        async def encoded() -> tuple[bytes, str]:
            content, content_type = render(await self._families(), form)
            return gzip.compress(content, _LEVEL) if compressed else content, content_type

        return Refreshed(encoded, clock=asyncio.get_running_loop().time)


@liveness.get(
    "/healthz",
    summary="Whether the sidecar lives",
    description="For a liveness probe: it does not depend on the server.",
    response_description="It does.",
    responses={**OK, **documented({503: _DIED})},
)
async def healthz(request: Request) -> str:
    """The process answers, and what runs in its background has not failed."""
    running: list[asyncio.Task[None]] = request.app.state.running
    if any(task.done() and not task.cancelled() and task.exception() is not None for task in running):
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _DIED)
    return "ok\n"


@router.get(
    "/readyz",
    summary="Whether it sees the server",
    description="For a readiness probe: ready once a collection reached the server, until one does not.",
    response_description="It does.",
    responses={**OK, **documented({503: UNSEEN})},
)
async def readyz(service: TheService) -> str:
    """The server can be reached."""
    if service.source.latest is None:
        raise service.unseen
    return "ok\n"


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
async def metrics(request: Request) -> Response:
    """All families."""
    exposed: Exposed = request.app.state.exposed
    return await exposed.answer(request)
