"""/metrics, /snapshot, /healthz, /readyz, and /whatif, which asks the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from advisor.advice.service import App
from advisor.contract.settings import SettingValue
from advisor.http import examples
from advisor.http.advice import LookBack
from advisor.http.problems import documented
from advisor.whatif.answer import WhatIf
from advisor.whatif.errors import Refused, Unanswerable
from exporter.json_values import jsonable

_UNSEEN = "cannot connect to 127.0.0.1:3306: Connection refused"


def _setting(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('must be a number, or a text such as "4G"')  # noqa: TRY004 - pydantic takes this one
    return value


class Question(BaseModel):
    """What to change: settings and new values, 80 as well as "80" or "4G"."""

    model_config = ConfigDict(extra="forbid", strict=True)

    set: dict[str, Annotated[SettingValue, BeforeValidator(_setting)]] = Field(
        min_length=1, examples=[{"innodb_old_blocks_pct": 80}]
    )


class _Ready(Collector):
    """Families that are there already, as the registry that prometheus_client's encoders want."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def render(families: Sequence[Metric], accept: str) -> tuple[bytes, str]:
    """The exposition text and its content type: OpenMetrics for those who accept it, else the classic format."""
    encode, content_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Ready(families))
    return encode(registry), content_type


def add(app: FastAPI, parts: App) -> None:
    """Add the endpoints."""

    @app.get(
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
        tags=["server"],
    )
    async def metrics(request: Request) -> Response:
        content, content_type = render(await parts.families(), request.headers.get("accept", ""))
        return Response(content, headers={"Content-Type": content_type, "Vary": "Accept"})

    @app.post(
        "/whatif",
        summary="What a change of settings would do",
        description="Asks the model of the LRU list, fitted to what was watched. Nothing is changed.",
        response_description="For every scanned table the pages read now and then, and what the hot set would lose.",
        responses={
            200: {"content": {"application/json": {"example": examples.WHAT_IF}}},
            **documented(
                {
                    400: "There was an error parsing the body",
                    422: "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95",
                    503: "the model has no answer: which tables are scanned is not known: performance_schema is OFF",
                }
            ),
        },
        tags=["advice"],
    )
    async def whatif(question: Question, wanted: Annotated[LookBack, Query()]) -> WhatIf:
        try:
            return await parts.what_if(question.set, wanted.window)
        except Refused as error:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
        except Unanswerable as error:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, f"the model has no answer: {error}") from error

    @app.get(
        "/snapshot",
        summary="Everything known, and why the rest is not",
        description="The newest collection: every section that could be read, and for each of the others the reason "
        "and the cure.",
        response_description="The newest snapshot.",
        responses={
            200: {"content": {"application/json": {"example": examples.SNAPSHOT}}},
            **documented({503: _UNSEEN}),
        },
        tags=["server"],
    )
    async def snapshot() -> JSONResponse:
        if parts.source.latest is None:
            raise parts.unseen
        return JSONResponse(jsonable(parts.source.latest))

    @app.get(
        "/healthz",
        summary="Whether the sidecar lives",
        description="For a liveness probe: it does not depend on the server.",
        response_class=PlainTextResponse,
        response_description="It does.",
        responses={200: {"content": {"text/plain": {"example": "ok\n"}}}, **documented()},
        tags=["server"],
    )
    async def healthz() -> str:
        return "ok\n"

    @app.get(
        "/readyz",
        summary="Whether it sees the server",
        description="For a readiness probe: ready once a collection reached the server, until one does not.",
        response_class=PlainTextResponse,
        response_description="It does.",
        responses={200: {"content": {"text/plain": {"example": "ok\n"}}}, **documented({503: _UNSEEN})},
        tags=["server"],
    )
    async def readyz() -> str:
        if parts.source.latest is None:
            raise parts.unseen
        return "ok\n"
