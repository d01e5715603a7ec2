"""/state and /events: what the sidecar watches, and what happened lately. All of it comes from memory."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from advisor.advice import state as states
from advisor.advice.service import LONGEST_WINDOW
from advisor.advice.state import State
from advisor.contract.recommendation import Frozen
from advisor.http import examples
from advisor.http.dependencies import TheService
from advisor.http.problems import documented
from advisor.timeline.events import Event

router = APIRouter(tags=["server"])


class Events(Frozen):
    """What happened lately."""

    events: tuple[Event, ...]


@router.get(
    "/state",
    summary="The server, and how the watch goes",
    description="Which server is watched, whether it can be seen, what the first verdicts wait for, and the number of "
    "findings. The answer comes from memory: it costs the server nothing, and is there while the server is away.",
    response_description="The state now.",
    responses={200: {"content": {"application/json": {"example": examples.STATE}}}, **documented()},
)
async def state(service: TheService) -> State:
    """The state."""
    return states.state(service)


@router.get(
    "/events",
    summary="What happened lately",
    description="Restarts, changed settings, rules that were loaded anew, and the server's absences, over the last "
    "hour; oldest first. The answer comes from memory.",
    response_description="The events.",
    responses={200: {"content": {"application/json": {"example": examples.EVENTS}}}, **documented()},
)
async def events(
    service: TheService,
    window: Annotated[
        float, Query(gt=0, le=LONGEST_WINDOW, description="Seconds to look back; by default the last hour.")
    ] = LONGEST_WINDOW,
) -> Events:
    """The events of the window."""
    newest = service.source.history[-1].at if service.source.interval is None else service.now()
    return Events(events=tuple(service.timeline.events(newest - window)))
