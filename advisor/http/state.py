"""/snapshot, /state, /events, /series, /overview and /statements: what the server does, without a verdict."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from advisor.advice import state as states
from advisor.advice.service import LONGEST_WINDOW, Service
from advisor.advice.state import State
from advisor.contract.recommendation import Frozen
from advisor.http import examples, pages
from advisor.http.answers import NEGOTIATED, Json, as_json, wants_page
from advisor.http.foundation import LookBack, TheLookBack, TheService
from advisor.http.limits import costly
from advisor.http.problems import UNSEEN, documented, require_known
from advisor.observe.limits import RECENT_SECONDS
from advisor.overview.overview import Overview
from advisor.overview.statements import TableStatements
from advisor.render import html
from advisor.render.snapshot import snapshot as snapshot_document
from advisor.timeline import series as numbers
from advisor.timeline.events import Event
from advisor.timeline.series import MOST_POINTS, QUANTITIES, SeriesAnswer
from exporter.json_values import jsonable
from exporter.snapshot import Table

router = APIRouter(tags=["server"])
pictures = APIRouter(tags=["advice"])


class SeriesQuery(LookBack):
    """Which series, and of when."""

    names: str | None = Field(
        None, description="Names of series with commas between them; by default all.", examples=["pages_read,old_pages"]
    )
    points: int = Field(
        MOST_POINTS, ge=1, le=3601, description="Points at most; more are thinned to means.", examples=[120]
    )


class Events(Frozen):
    """What happened lately."""

    events: tuple[Event, ...]


class StatementsQuery(BaseModel):
    """The table that they read."""

    model_config = ConfigDict(extra="forbid")

    schema_: str = Field(alias="schema", min_length=1, max_length=64, description="Its schema.", examples=["shop"])
    table: str = Field(min_length=1, max_length=64, description="Its name.", examples=["orders"])


@router.get(
    "/snapshot",
    summary="Everything known, and why the rest is not",
    response_description="The newest snapshot.",
    responses=documented({503: UNSEEN}, answer=examples.SNAPSHOT, content={"text/html": examples.PAGE}),
)
def snapshot(request: Request, service: TheService) -> Response:  # in a thread: of many tables it takes a while
    """The newest collection: every section that could be read, and the reason and the cure for the others.

    A browser gets a page.
    """
    latest = service.source.latest
    if latest is None:
        raise service.unseen
    if wants_page(request):
        return pages.read("Snapshot", html.html(snapshot_document(latest)))
    return Json(jsonable(latest), headers=NEGOTIATED)


@router.get(
    "/state",
    summary="The server, and how the watch goes",
    response_model=State,
    response_description="The state now.",
    responses=documented(answer=examples.STATE),
)
async def state(service: TheService) -> Response:
    """Which server is watched, what the first verdicts wait for, and the number of findings.

    Also whether the server can be seen. The answer comes from memory: it costs the server nothing, and is there while
    the server is away.
    """
    return as_json(states.state(service))


@router.get(
    "/events",
    summary="What happened lately",
    response_model=Events,
    response_description="The events.",
    responses=documented({422: "window must be greater than 0"}, answer=examples.EVENTS),
)
async def events(query: TheLookBack, service: TheService) -> Response:
    """Restarts, changed settings, loaded rules and the server's absences of the last hour, oldest first.

    The answer comes from memory.
    """
    return as_json(Events(events=tuple(service.timeline.events(_begin(query, service)))))


@router.get(
    "/series",
    dependencies=[costly(1)],
    summary="What the server did lately, as series",
    response_model=SeriesAnswer,
    response_description="Series over the same times.",
    responses=documented({422: "no series made_yung; did you mean made_young?"}, answer=examples.SERIES),
)
async def series(query: Annotated[SeriesQuery, Query()], service: TheService) -> Response:
    """Numbers of the snapshots of the last hour, oldest first; what the server counts, as a rate.

    The answer comes from memory.
    """
    names = tuple(QUANTITIES) if query.names is None else tuple(name.strip() for name in query.names.split(","))
    require_known("series", names, QUANTITIES)
    history, since = tuple(service.source.history), _begin(query, service)
    return as_json(await asyncio.to_thread(numbers.series, history, names, since, query.points))


@pictures.get(
    "/overview",
    dependencies=[costly(2, only_with="window")],
    summary="What the server does now",
    response_model=Overview,
    response_description="Null where a source is not known; lacks says why.",
    responses=documented(
        {422: "window must be greater than 0", 503: "nothing has been collected yet"}, answer=examples.OVERVIEW
    ),
)
async def overview(query: TheLookBack, service: TheService) -> Response:
    """What the newest snapshots say of the pool, the indexes in it, tables, change buffer, readers and builds.

    By buffer pool instance, and for tables that are read and scanned. Rates are over the last minutes, or the window.
    The answer comes from memory: it costs the server nothing, and while the server is away it is the last one.
    """
    return as_json(await service.overview(query.window or RECENT_SECONDS))


@pictures.get(
    "/statements",
    dependencies=[costly(2)],
    summary="The statements behind a table",
    response_model=TableStatements,
    response_description="Empty where no statement is known; lacks says why.",
    responses=documented({422: "table is missing"}, content=examples.statements()),
)
async def statements(query: Annotated[StatementsQuery, Query()], service: TheService) -> Response:
    """The normalised statements that name the table, by performance_schema's digests.

    Those without an index come first, then the ones that take the most time. The server is asked at most once in ten
    seconds for a table.
    """
    return as_json(await service.statements(Table(query.schema_, query.table)))


def _begin(query: LookBack, service: Service) -> float:
    """The begin of the window that ends now, or at the end of a recording; Unix seconds."""
    recorded = service.source.interval is None and service.source.history
    end = service.source.history[-1].at if recorded else service.now()
    return end - (query.window or LONGEST_WINDOW)
