"""What both services stand on: an application with background tasks, problems, compression, ETags, HEAD and /docs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Annotated, Any

from anyio import to_thread
from fastapi import Depends, FastAPI, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware

from advisor.advice.service import LONGEST_WINDOW, Service
from advisor.http import examples, problems
from advisor.http.answers import Json, Validation
from advisor.http.limits import Limits
from advisor.rules.rulebook import Rulebook
from exporter import __version__

log = logging.getLogger(__name__)

_COMPRESSED = 1024
"""An answer of so many bytes or more is compressed for clients that accept it, as Prometheus does."""
_THREADS = 2
"""That answer requests. Each more would take the interpreter lock from the event loop, and make nothing faster."""

Application = Starlette
Background = Callable[[], Coroutine[Any, Any, None]]


class LookBack(BaseModel):
    """How far to look back."""

    model_config = ConfigDict(extra="forbid")

    window: float | None = Field(
        None,
        gt=0,
        le=LONGEST_WINDOW,
        description="Seconds to look back; by default the last hour, and for findings its last five minutes beside it.",
        examples=[600],
    )


def of_application(name: str) -> Any:
    """What the application has under this name in its state."""

    async def attribute(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(attribute)


TheRules = Annotated[Rulebook, of_application("rules")]
TheService = Annotated[Service, of_application("service")]
TheLookBack = Annotated[LookBack, Query()]
TheFingerprint = Annotated[str, Path(description="Sixteen hexadecimal digits.", examples=[examples.FINGERPRINT])]


def application(summary: str, description: str, background: Sequence[Background]) -> FastAPI:
    """An ASGI application without endpoints.

    Args:
        summary: One line for /docs.
        description: Of the API, for /docs.
        background: Runs while the application does; ``state.running`` has the tasks.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        running = [asyncio.create_task(run()) for run in background]
        app.state.running += running
        for task in running:
            task.add_done_callback(_log_failure)
        yield
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    app = FastAPI(
        title="innodb-advisor",
        version=__version__,
        summary=summary,
        description=description,
        lifespan=lifespan,
        default_response_class=Json,
        docs_url=None,  # FastAPI's own would load scripts from another host
        redoc_url=None,
        openapi_url=None,  # pages.py: FastAPI's own would hold up scrapes
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,  # generated clients name their functions so
        # FastAPI 0.165 would send traces wherever the environment says, and ask for it with each request.
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
    )
    app.state.running, app.state.limits = [], Limits()
    app.add_middleware(Validation)
    app.add_middleware(GZipMiddleware, minimum_size=_COMPRESSED, compresslevel=1)  # higher levels save little more
    problems.install(app)
    return app


def _log_failure(task: asyncio.Task[None]) -> None:
    """The service would answer on with old advice, and nobody would know why it is old."""
    if not task.cancelled() and task.exception() is not None:
        log.critical("what runs in the background has failed; /healthz says so", exc_info=task.exception())
