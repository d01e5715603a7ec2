"""What endpoints share: the service, the rules, and parameters of the query."""

from __future__ import annotations

from typing import Annotated, Any

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


def of_application(name: str) -> Any:
    """What the application has under this name in its state."""

    async def attribute(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(attribute)


TheRules = Annotated[Rulebook, of_application("rules")]
TheService = Annotated[Service, of_application("service")]
TheLookBack = Annotated[LookBack, Query()]
