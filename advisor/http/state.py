"""/state, /events and /series: what the sidecar watches, and what happened lately. All of it comes from memory."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from advisor.advice import state as states
from advisor.advice.service import LONGEST_WINDOW, Service
from advisor.advice.state import State
from advisor.contract.recommendation import Frozen
from advisor.http import examples
from advisor.http.answers import as_json
from advisor.http.dependencies import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented, near
from advisor.timeline import series as numbers
from advisor.timeline.events import Event
from advisor.timeline.series import MOST_POINTS, QUANTITIES, SeriesAnswer

router = APIRouter(tags=["server"])


class Lately(BaseModel):
    """How far to look back."""

    model_config = ConfigDict(extra="forbid")

    window: float = Field(LONGEST_WINDOW, gt=0, le=LONGEST_WINDOW, description="Seconds to look back.", examples=[600])


class WantedSeries(Lately):
    """Which series are wanted."""

    names: str | None = Field(
        None, description="Names of series with commas between them; by default all.", examples=["pages_read,old_pages"]
    )
    points: int = Field(
        MOST_POINTS, ge=1, le=3601, description="Points at most; more are thinned to means.", examples=[120]
    )


class Events(Frozen):
    """What happened lately."""

    events: tuple[Event, ...]


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
async def events(wanted: Annotated[Lately, Query()], service: TheService) -> Response:
    """The events of the window."""
    return as_json(Events(events=tuple(service.timeline.events(_now(service) - wanted.window))))


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
async def series(wanted: Annotated[WantedSeries, Query()], service: TheService) -> Response:
    """The series that are wanted."""
    names = tuple(QUANTITIES) if wanted.names is None else tuple(each.strip() for each in wanted.names.split(","))
    for name in names:
        if name not in QUANTITIES:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"no series {name}; {near(name, QUANTITIES)}")
    history, since = tuple(service.source.history), _now(service) - wanted.window
    return as_json(await asyncio.to_thread(numbers.series, history, names, since, wanted.points))


def _now(service: Service) -> float:
    """The time that a window ends: now, or at the end of a recording."""
    recorded = service.source.interval is None and service.source.history
    return service.source.history[-1].at if recorded else service.now()
