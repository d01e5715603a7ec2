"""/snapshot, /state, /events, /series, /overview and /statements: what the server does, without a verdict."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from advisor.advice import state as states
from advisor.advice.service import LONGEST_WINDOW, Service
from advisor.advice.state import State
from advisor.contract.recommendation import Frozen
from advisor.http import examples, pages
from advisor.http.answers import NEGOTIATED, Json, as_json, wants_page
from advisor.http.foundation import LookBack, TheLookBack, TheService
from advisor.http.limits import costly
from advisor.http.problems import UNSEEN, documented, near
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
    description="The newest collection: every section that could be read, and for each of the others the reason "
    "and the cure. A browser gets a page.",
    response_description="The newest snapshot.",
    responses=documented({503: UNSEEN}, answer=examples.SNAPSHOT, content={"text/html": examples.PAGE}),
)
def snapshot(request: Request, service: TheService) -> Response:  # in a thread: of many tables it takes a while
    """The newest snapshot, or a page of it."""
    latest = service.source.latest
    if latest is None:
        raise service.unseen
    if wants_page(request):
        return pages.read("Snapshot", html.html(snapshot_document(latest)))
    return Json(jsonable(latest), headers=NEGOTIATED)


@router.get(
    "/state",
    summary="The server, and how the watch goes",
    description="Which server is watched, whether it can be seen, what the first verdicts wait for, and the number of "
    "findings. The answer comes from memory: it costs the server nothing, and is there while the server is away.",
    response_model=State,
    response_description="The state now.",
    responses=documented(answer=examples.STATE),
)
async def state(service: TheService) -> Response:
    """The state."""
    return as_json(states.state(service))


@router.get(
    "/events",
    summary="What happened lately",
    description="Restarts, changed settings, rules that were loaded anew, and the server's absences, over the last "
    "hour; oldest first. The answer comes from memory.",
    response_model=Events,
    response_description="The events.",
    responses=documented({422: "window must be greater than 0"}, answer=examples.EVENTS),
)
async def events(query: TheLookBack, service: TheService) -> Response:
    """The events of the window."""
    return as_json(Events(events=tuple(service.timeline.events(_begin(query, service)))))


@router.get(
    "/series",
    dependencies=[costly(1)],
    summary="What the server did lately, as series",
    description="Numbers of the snapshots of the last hour, oldest first; what the server counts, as a rate. The "
    "answer comes from memory.",
    response_model=SeriesAnswer,
    response_description="Series over the same times.",
    responses=documented({422: "no series made_yung; did you mean made_young?"}, answer=examples.SERIES),
)
async def series(query: Annotated[SeriesQuery, Query()], service: TheService) -> Response:
    """The series that are asked for."""
    names = tuple(QUANTITIES) if query.names is None else tuple(name.strip() for name in query.names.split(","))
    for name in names:
        if name not in QUANTITIES:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"no series {name}; {near(name, QUANTITIES)}")
    history, since = tuple(service.source.history), _begin(query, service)
    return as_json(await asyncio.to_thread(numbers.series, history, names, since, query.points))


@pictures.get(
    "/overview",
    dependencies=[costly(2, only_with="window")],
    summary="What the server does now",
    description="What the newest snapshots say of the buffer pool instances, the indexes in them, the tables that are"
    " read and scanned, the change buffer, the parallel readers and index builds; rates over the last minutes, or the"
    " window. The answer comes from memory: it costs the server nothing, and while the server is away it is the last"
    " one.",
    response_model=Overview,
    response_description="Null where a source is not known; lacks says why.",
    responses=documented(
        {422: "window must be greater than 0", 503: "nothing has been collected yet"}, answer=examples.OVERVIEW
    ),
)
async def overview(query: TheLookBack, service: TheService) -> Response:
    """The overview."""
    return as_json(await service.overview(query.window or RECENT_SECONDS))


@pictures.get(
    "/statements",
    dependencies=[costly(2)],
    summary="The statements behind a table",
    description="The normalised statements that name the table, by performance_schema's digests: those without an index"
    " first, then the ones that take the most time. The server is asked, at most once in ten seconds for a table.",
    response_model=TableStatements,
    response_description="Empty where no statement is known; lacks says why.",
    responses=documented({422: "table is missing"}, content=examples.statements()),
)
async def statements(query: Annotated[StatementsQuery, Query()], service: TheService) -> Response:
    """The statements."""
    return as_json(await service.statements(Table(query.schema_, query.table)))


def _begin(query: LookBack, service: Service) -> float:
    """The begin of the window that ends now, or at the end of a recording; Unix seconds."""
    recorded = service.source.interval is None and service.source.history
    end = service.source.history[-1].at if recorded else service.now()
    return end - (query.window or LONGEST_WINDOW)
