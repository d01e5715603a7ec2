"""/healthz and /readyz, for probes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse

from advisor.http.dependencies import TheService
from advisor.http.problems import UNSEEN, documented

router = APIRouter(tags=["server"], default_response_class=PlainTextResponse)
_OK: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"example": "ok\n"}}}}


@router.get(
    "/healthz",
    summary="Whether the sidecar lives",
    description="For a liveness probe: it does not depend on the server.",
    response_description="It does.",
    responses={**_OK, **documented()},
)
async def healthz() -> str:
    """The process answers."""
    return "ok\n"


@router.get(
    "/readyz",
    summary="Whether it sees the server",
    description="For a readiness probe: ready once a collection reached the server, until one does not.",
    response_description="It does.",
    responses={**_OK, **documented({503: UNSEEN})},
)
async def readyz(service: TheService) -> str:
    """The server can be reached."""
    if service.source.latest is None:
        raise service.unseen
    return "ok\n"
