"""The HTTP face: /metrics, /advise, /whatif, /snapshot, /healthz, /readyz, and a page that shows the advice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from advisor import engine
from advisor import metrics as advice_metrics
from advisor.fitted import Unanswerable
from advisor.recommendation import Advice
from advisor.rule import Rule
from advisor.settings import SettingValue
from advisor.source import Source, window
from advisor.whatif import Refused, WhatIf, what_if
from exporter import __version__, metrics
from exporter.jsonable import jsonable
from exporter.mysql import ServerError
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)

FRESH_SECONDS = 1.0
"""Scrapes within this time of each other get the same collection."""
LONGEST_WINDOW = 3600.0
WINDOWS = 4
"""Of so many, advice is kept: one for /metrics, others for those who look."""
PATIENCE = 1.0
"""Seconds that a scrape waits for new advice."""
_REST = 9.0
"""Times as long as working out advice took, until it is worked out anew."""
_PAGE = Path(__file__).parent / "page"
_PAGE_FILES = {"index.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


LookBack = Annotated[float, Query(gt=0, le=LONGEST_WINDOW, description="Seconds to look back.")]


class Question(BaseModel):
    """What to change: settings and new values, 80 as well as "80" or "4G"."""

    model_config = ConfigDict(extra="forbid", strict=True)

    set: dict[str, float | str] = Field(min_length=1, examples=[{"innodb_old_blocks_pct": 80}])


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


class App:
    """The parts behind the endpoints."""

    def __init__(self, source: Source, rules: Sequence[Rule]) -> None:
        self.source = source
        self.rules = rules
        self._last: dict[float, tuple[Snapshot, Advice, float]] = {}  # by window; when there may be new advice
        self._coming: asyncio.Task[Advice | None] | None = None
        self._thinking = asyncio.Lock()  # one model at a time: it takes a core

    async def advice(self, longest: float = LONGEST_WINDOW) -> Advice | None:
        """What the rules say; None while there is nothing to look at.

        Worked out once for a snapshot, and no more often than leaves a core idle for nine tenths of the time.
        """
        async with self._thinking:
            seen = window(self.source, longest)
            if seen is None:
                return None
            if longest in self._last:
                snapshot, advice, rested = self._last[longest]
                if snapshot is seen.latest or time.monotonic() < rested:
                    return advice
            began = time.monotonic()
            advice = await asyncio.to_thread(engine.advise, self.rules, seen)
            now = time.monotonic()
            self._last.pop(longest, None)
            self._last[longest] = (seen.latest, advice, now + _REST * (now - began))
            while len(self._last) > WINDOWS:
                del self._last[next(iter(self._last))]
            return advice

    async def what_if(self, changes: Mapping[str, SettingValue], longest: float) -> WhatIf | None:
        """What a change of settings would do; None while there is nothing to look at. Raises as ``what_if`` does."""
        async with self._thinking:
            seen = window(self.source, longest)
            return None if seen is None else await asyncio.to_thread(what_if, seen, changes)

    async def families(self) -> list[Metric]:
        """Everything for /metrics."""
        snapshot: Snapshot | None = None
        with contextlib.suppress(ServerError):
            snapshot = await self.source.collect(max_age=FRESH_SECONDS)
        return [*metrics.families(snapshot), *advice_metrics.families(await self._advice_by_now(), self.rules)]

    async def _advice_by_now(self) -> Advice | None:
        """The advice, or the last one where the model takes its time: no scrape waits for it, nor fails with it."""
        if self._coming is None or self._coming.done():
            self._coming = asyncio.create_task(self.advice())
        await asyncio.wait({self._coming}, timeout=PATIENCE)
        if self._coming.done() and self._coming.exception() is not None:
            log.error("no advice: %s", self._coming.exception())
        last = self._last.get(LONGEST_WINDOW)
        return last[1] if last else None


def create(source: Source, rules: Sequence[Rule]) -> FastAPI:
    """The ASGI application. It watches ``source`` while it runs."""
    parts = App(source, rules)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(source.run())
        yield
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    # No /docs and /redoc: they would load scripts from elsewhere.
    app = FastAPI(
        title="innodb-advisor",
        version=__version__,
        summary="What InnoDB is doing, and which setting to change",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.add_exception_handler(StarletteHTTPException, _http_problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _unexpected)
    _add_routes(app, parts)
    _add_model(app, parts)
    _add_page(app)
    return app


def _add_routes(app: FastAPI, parts: App) -> None:
    @app.get("/metrics", response_class=PlainTextResponse, summary="Prometheus metrics")
    async def metrics_(request: Request) -> Response:
        text, content_type = render(await parts.families(), request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    @app.get("/advise", summary="What to change", response_model=Advice)
    async def advise(
        window: LookBack = LONGEST_WINDOW,
    ) -> Advice:
        with contextlib.suppress(ServerError):
            await parts.source.collect(max_age=FRESH_SECONDS)
        advice = await parts.advice(window)
        if advice is None:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _why(parts.source))
        return advice

    @app.get("/snapshot", summary="Everything known, and why the rest is not")
    async def snapshot() -> JSONResponse:
        latest = parts.source.latest
        if latest is None:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _why(parts.source))
        return JSONResponse(jsonable(latest))

    @app.get("/healthz", summary="Whether the sidecar lives", response_class=PlainTextResponse)
    async def healthz() -> str:
        return "ok\n"

    @app.get("/readyz", summary="Whether it sees the server", response_class=PlainTextResponse)
    async def readyz() -> str:
        if parts.source.latest is None:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _why(parts.source))
        return "ok\n"


def _add_model(app: FastAPI, parts: App) -> None:
    @app.post("/whatif", summary="What a change of settings would do", response_model=WhatIf)
    async def whatif(question: Question, window: LookBack = LONGEST_WINDOW) -> WhatIf:
        with contextlib.suppress(ServerError):
            await parts.source.collect(max_age=FRESH_SECONDS)
        try:
            answer = await parts.what_if(question.set, window)
        except Refused as error:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
        except Unanswerable as error:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, f"the model has no answer: {error}") from error
        if answer is None:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, _why(parts.source))
        return answer


def _add_page(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    async def index() -> FileResponse:
        return _page("index.html")

    @app.get("/page/{name}", include_in_schema=False)
    async def page(name: str) -> FileResponse:
        if name not in _PAGE_FILES:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return _page(name)


def _page(name: str) -> FileResponse:
    return FileResponse(_PAGE / name, media_type=_PAGE_FILES[name], headers=_PAGE_HEADERS)


def _why(source: Source) -> str:
    return str(source.problem) if source.problem else "nothing has been collected yet"


def _problem(status: int, detail: str, **more: Any) -> JSONResponse:
    """RFC 9457."""
    title = HTTPStatus(status).phrase
    detail = detail.encode("utf-8", "replace").decode()  # it may name what was sent, and that may be no text
    return JSONResponse(
        {"type": "about:blank", "title": title, "status": status, "detail": detail, **more},
        status,
        media_type="application/problem+json",
    )


async def _http_problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)  # noqa: S101 - registered for it
    response = _problem(error.status_code, error.detail)
    response.headers.update(error.headers or {})
    return response


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return _problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{where}: {first['msg']}")


async def _unexpected(_: Request, error: Exception) -> Response:
    log.error("unexpected error", exc_info=error)
    return _problem(HTTPStatus.INTERNAL_SERVER_ERROR, "an unexpected error; the sidecar's log has the details")
