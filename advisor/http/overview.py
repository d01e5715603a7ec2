"""/overview: what the newest snapshots say, for pictures."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from advisor.advice.service import LONGEST_WINDOW
from advisor.http import examples
from advisor.http.answers import as_json
from advisor.http.dependencies import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented
from advisor.observe.limits import RECENT_SECONDS
from advisor.overview.overview import Overview

router = APIRouter(tags=["advice"])


class Span(BaseModel):
    """What rates are taken over."""

    model_config = ConfigDict(extra="forbid")

    window: float = Field(
        RECENT_SECONDS, gt=0, le=LONGEST_WINDOW, description="Seconds that rates look back at most.", examples=[3600]
    )


@router.get(
    "/overview",
    dependencies=[costly(2, only_with="window")],
    summary="What the server does now",
    description="What the newest snapshots say of the buffer pool instances, the indexes in them, the tables that are"
    " read and scanned, the change buffer, the parallel readers and index builds. The answer comes from memory: it"
    " costs the server nothing, and while the server is away it is the last one.",
    response_model=Overview,
    response_description="Null where a source is not known; lacks says why.",
    responses=documented(
        {422: "window must be greater than 0", 503: "nothing has been collected yet"}, answer=examples.OVERVIEW
    ),
)
async def overview(wanted: Annotated[Span, Query()], service: TheService) -> Response:
    """The overview."""
    return as_json(await service.overview(wanted.window))
