"""/healthz and /readyz, for probes."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import PlainTextResponse

from advisor.http.dependencies import TheService
from advisor.http.problems import UNSEEN, documented

_DIED = "what runs in the background has failed: the log says why"

liveness = APIRouter(tags=["server"], default_response_class=PlainTextResponse)
readiness = APIRouter(tags=["server"], default_response_class=PlainTextResponse)
OK: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"example": "ok\n"}}}}


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
    if any(each.done() and not each.cancelled() and each.exception() is not None for each in running):
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _DIED)
    return "ok\n"


@readiness.get(
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
