"""/whatif: what the model of the LRU list says of a change of settings."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from advisor.contract.settings import SettingValue
from advisor.http import examples
from advisor.http.dependencies import TheLookBack, TheService
from advisor.http.problems import documented
from advisor.whatif.answer import WhatIf
from advisor.whatif.errors import Refused, Unanswerable

router = APIRouter(tags=["advice"])


def _setting(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('must be a number, or a text such as "4G"')  # noqa: TRY004 - pydantic takes this one
    return value


class Question(BaseModel):
    """What to change: settings and new values, 80 as well as "80" or "4G"."""

    model_config = ConfigDict(extra="forbid", strict=True)

    set: dict[str, Annotated[SettingValue, BeforeValidator(_setting)]] = Field(
        min_length=1, examples=[{"innodb_old_blocks_pct": 80}]
    )


@router.post(
    "/whatif",
    summary="What a change of settings would do",
    description="Asks the model of the LRU list, fitted to what was watched. Nothing is changed.",
    response_description="For every scanned table the pages read now and then, and what the hot set would lose.",
    responses={
        200: {"content": {"application/json": {"example": examples.WHAT_IF}}},
        **documented(
            {
                400: "There was an error parsing the body",
                422: "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95",
                503: "the model has no answer: which tables are scanned is not known: performance_schema is OFF",
            }
        ),
    },
)
async def whatif(question: Question, wanted: TheLookBack, service: TheService) -> WhatIf:
    """The model's answer."""
    try:
        return await service.what_if(question.set, wanted.window)
    except Refused as error:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error
    except Unanswerable as error:
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, f"the model has no answer: {error}") from error
