"""The HTTP face: advice, rules and what-if, /metrics and the probes, a page that shows the advice, and /docs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable

from fastapi import FastAPI
from prometheus_client.core import Metric
from starlette.middleware.gzip import GZipMiddleware

from advisor.api import advice, pages, problems, rules, status
from advisor.api.parts import App
from advisor.rulebook import Rulebook
from advisor.source import Source
from exporter import __version__

_WORTH_IT = 1024
"""Bytes of an answer from which on it is compressed, for those who accept it: Prometheus does."""


def create(source: Source, book: Rulebook, own: Callable[[], Iterable[Metric]] = tuple) -> FastAPI:
    """The ASGI application. It watches ``source`` while it runs; ``own`` gives more of the sidecar's own metrics."""
    parts = App(source, book, own)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(source.run())
        yield
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    app = FastAPI(
        title="innodb-advisor",
        version=__version__,
        summary="What InnoDB is doing, and which setting to change",
        description="Errors are application/problem+json (RFC 9457). Nothing here changes the server.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,  # what generated clients call their functions
    )
    app.add_middleware(GZipMiddleware, minimum_size=_WORTH_IT, compresslevel=1)  # the first level does nearly all
    problems.install(app)
    advice.add(app, parts)
    rules.add(app, parts)
    status.add(app, parts)
    pages.add(app)
    return app
