"""The HTTP face: advice, rules and what-if, /metrics and the probes, a page that shows the advice, and /docs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI

from advisor.api import advice, pages, problems, rules, status
from advisor.api.parts import App
from advisor.rulebook import Rulebook
from advisor.source import Source
from exporter import __version__


def create(source: Source, book: Rulebook) -> FastAPI:
    """The ASGI application. It watches ``source`` while it runs."""
    parts = App(source, book)

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
    problems.install(app)
    advice.add(app, parts)
    rules.add(app, parts)
    status.add(app, parts)
    pages.add(app)
    return app
