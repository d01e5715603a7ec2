"""What endpoints share: the service, the rules, and parameters of the query."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from advisor.advice.service import LONGEST_WINDOW, Service
from advisor.rules.rulebook import Rulebook


class LookBack(BaseModel):
    """How far to look back."""

    model_config = ConfigDict(extra="forbid")

    window: float | None = Field(
        None,
        gt=0,
        le=LONGEST_WINDOW,
        description="Seconds to look back; by default the last hour, and its last five minutes beside it.",
        examples=[600],
    )


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _book(request: Request) -> Rulebook:
    book: Rulebook = request.app.state.book
    return book


TheBook = Annotated[Rulebook, Depends(_book)]
TheService = Annotated[Service, Depends(_service)]
TheLookBack = Annotated[LookBack, Query()]
