"""The HTTP face: advice, rules and what-if, /metrics and the probes, a page that shows the advice, and /docs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from prometheus_client.core import Metric
from starlette.middleware.gzip import GZipMiddleware

from advisor.advice.service import App
from advisor.http import advice, pages, problems, rules, status
from advisor.observe.source import SnapshotSource
from advisor.rules import following
from advisor.rules.rulebook import Rulebook
from exporter import __version__
from exporter.sampling.metrics import families
from exporter.snapshot import Snapshot

if TYPE_CHECKING:  # loaded where there is an Alertmanager
    from advisor.alerting.notifier import Notifier

_WORTH_IT = 1024
"""Bytes of an answer from which on it is compressed, for those who accept it: Prometheus does."""


def create(
    source: SnapshotSource,
    book: Rulebook,
    own: Callable[[], Iterable[Metric]] = tuple,
    exposed: Callable[[Snapshot | None], Iterable[Metric]] = families,
    notifier: Notifier | None = None,
) -> FastAPI:
    """The ASGI application, which watches a server while it runs.

    Args:
        source: The server.
        book: The rules.
        own: Gives more of the sidecar's own metrics.
        exposed: What becomes of a snapshot, or of None, in /metrics.
        notifier: Sends what is found to Alertmanagers.
    """
    parts = App(source, book, own if notifier is None else lambda: (*own(), *notifier.families()), exposed)
    work: list[Callable[[], Coroutine[Any, Any, None]]] = [source.run, lambda: following.follow(book)]
    if notifier:
        work.append(lambda: notifier.run(parts.given))

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        running = [asyncio.create_task(each()) for each in work]
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
