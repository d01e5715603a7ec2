"""The HTTP face: /metrics, /advise, /snapshot, /healthz, /readyz, and a page that shows the advice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
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
from starlette.exceptions import HTTPException as StarletteHTTPException

from advisor import engine
from advisor import metrics as advice_metrics
from advisor.recommendation import Advice
from advisor.rule import Rule
from advisor.source import Source, window
from exporter import __version__, metrics
from exporter.jsonable import jsonable
from exporter.mysql import ServerError
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)

FRESH_SECONDS = 1.0
"""Scrapes within this time of each other get the same collection."""
LONGEST_WINDOW = 3600.0
_PAGE = Path(__file__).parent / "page"
_PAGE_FILES = {"index.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}


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
        self._last: tuple[Snapshot, float, Advice] | None = None

    def advice(self, longest: float = LONGEST_WINDOW) -> Advice | None:
        """What the rules say now; None while there is nothing to look at. Worked out once for a snapshot."""
        seen = window(self.source, longest)
        if seen is None:
            return None
        if self._last is None or self._last[0] is not seen.latest or self._last[1] != longest:
            self._last = (seen.latest, longest, engine.advise(self.rules, seen))
        return self._last[2]

    async def families(self) -> list[Metric]:
        """Everything for /metrics."""
        snapshot: Snapshot | None = None
        with contextlib.suppress(ServerError):
            snapshot = await self.source.collect(max_age=FRESH_SECONDS)
        advice = self.advice()
        return [*metrics.families(snapshot), *advice_metrics.families(advice, self.rules)]


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
    _add_page(app)
    return app


def _add_routes(app: FastAPI, parts: App) -> None:
    @app.get("/metrics", response_class=PlainTextResponse, summary="Prometheus metrics")
    async def metrics_(request: Request) -> Response:
        text, content_type = render(await parts.families(), request.headers.get("accept", ""))
        return Response(text, headers={"Content-Type": content_type})

    @app.get("/advise", summary="What to change", response_model=Advice)
    async def advise(
        window: Annotated[float, Query(gt=0, le=LONGEST_WINDOW, description="Seconds to look back.")] = LONGEST_WINDOW,
    ) -> Advice:
        with contextlib.suppress(ServerError):
            await parts.source.collect(max_age=FRESH_SECONDS)
        advice = parts.advice(window)
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
