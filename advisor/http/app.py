"""The HTTP application: advice, rules, what-if, the miss curve, /metrics and the probes, the page, /docs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

from fastapi import FastAPI

from advisor.advice.metrics import Exposition
from advisor.advice.service import Service
from advisor.http import (
    advice,
    curve,
    health,
    history,
    live,
    metrics,
    overview,
    pages,
    problems,
    reload,
    rule,
    rules,
    runbooks,
    state,
    statements,
    whatif,
)
from advisor.http.broadcast import Broadcast
from advisor.http.compression import Compression
from advisor.http.head import Head
from exporter import __version__

log = logging.getLogger(__name__)

_COMPRESSED = 1024
"""An answer of so many bytes or more is compressed for clients that accept it, as Prometheus does."""


def _say_if_it_died(task: asyncio.Task[None]) -> None:
    """The sidecar would answer on with what it knew last, and nobody would be told why it is old."""
    if not task.cancelled() and task.exception() is not None:
        log.critical("what runs in the background has failed; /healthz says so", exc_info=task.exception())


def create(
    service: Service,
    exposition: Exposition | None = None,
    background: Sequence[Callable[[], Coroutine[Any, Any, None]]] = (),
) -> FastAPI:
    """The ASGI application, which runs the service while it runs.

    Args:
        service: Has the advice.
        exposition: What /metrics shows; by default the families of snapshot and advice.
        background: What else runs meanwhile.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        running = [asyncio.create_task(each()) for each in (service.run, *background)]
        app.state.running += running
        for each in running:
            each.add_done_callback(_say_if_it_died)
        yield
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    app = FastAPI(
        title="innodb-advisor",
        version=__version__,
        summary="What InnoDB is doing, and which setting to change",
        description="Errors are application/problem+json (RFC 9457). Nothing here changes the server.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's own would load scripts from another host
        redoc_url=None,
        openapi_url=None,  # a file (pages.py)
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,  # generated clients name their functions so
    )
    app.state.service, app.state.exposition = service, exposition or Exposition(service)
    app.state.broadcast = Broadcast(service)
    app.state.running = []
    app.add_middleware(Compression, minimum_size=_COMPRESSED, compresslevel=1)  # higher levels save little more
    app.add_middleware(Head)
    problems.install(app)
    app.include_router(advice.router)
    app.include_router(history.router)
    app.include_router(rules.router)
    app.include_router(rule.router, responses=rule.examples_of(service.book.rules[0]))
    app.include_router(runbooks.router)
    app.include_router(reload.router)
    app.include_router(state.router)
    app.include_router(live.router)
    app.include_router(metrics.router)
    app.include_router(whatif.router)
    app.include_router(curve.router)
    app.include_router(overview.router)
    app.include_router(statements.router)
    app.include_router(health.router)
    app.include_router(pages.router)
    return app
