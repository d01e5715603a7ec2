"""/whatif and /curve: what the model of the LRU list says of other settings, and of other sizes of the pool."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from advisor.contract.settings import SettingValue
from advisor.http import examples
from advisor.http.answers import HTML, JSON, NEGOTIATED, PLAIN, as_asked, negotiated, written
from advisor.http.foundation import TheLookBack, TheService
from advisor.http.limits import costly
from advisor.http.problems import UNSEEN, documented
from advisor.observe.window import Window
from advisor.pool import sweep as sweeps
from advisor.pool.curve import MissCurve
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.pool.ranges import MOST_POINTS, POINTS, SettingRanges, ranges
from advisor.pool.settings import SETTINGS_OF_MODEL
from advisor.pool.sweep import LONGEST_SECONDS, SECONDS, Sweep
from advisor.pool.what_if import WhatIf, what_if
from advisor.render import curve_svg, html, models

SVG = "image/svg+xml"
_FORMS = (JSON, SVG, PLAIN)

router = APIRouter(tags=["advice"])


def _setting(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError('must be a number, or a text such as "4G"')  # noqa: TRY004 - pydantic takes this one
    return value


Value = Annotated[SettingValue, BeforeValidator(_setting)]


class Question(BaseModel):
    """What to change: settings and new values, 80 as well as "80" or "4G"."""

    model_config = ConfigDict(extra="forbid", strict=True)

    set: dict[str, Value] = Field(min_length=1, examples=[{"innodb_old_blocks_pct": 80}])


class SweepQuestion(BaseModel):
    """The setting to sweep, and others that are moved already."""

    model_config = ConfigDict(extra="forbid", strict=True)

    setting: str = Field(examples=["innodb_old_blocks_pct"])
    set: dict[str, Value] = Field(
        {},
        max_length=len(SETTINGS_OF_MODEL),
        description="Other settings, with values that they have in all predictions.",
    )
    values: list[Value] = Field(
        [], max_length=MOST_POINTS, description="To be among those that are swept. They come first, in this order."
    )
    points: int = Field(
        POINTS,
        ge=2,
        le=MOST_POINTS,
        description="Values at most that spread over the range, beside these and the value now.",
    )
    seconds: float = Field(
        SECONDS,
        gt=0,
        le=LONGEST_SECONDS,
        strict=False,
        description="Seconds of a core that predictions may take. The same question again goes on with the others.",
    )


@router.post(
    "/whatif",
    dependencies=[costly(2, model=True)],
    summary="What a change of settings would do",
    response_description="For every scanned table the pages read now and then, and what the hot set would lose.",
    responses=documented(
        {
            400: "There was an error parsing the body",
            422: "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95",
            503: "the model has no answer: what is read of each table is not known: performance_schema is OFF",
        },
        answer=examples.WHAT_IF,
    ),
)
async def whatif(question: Question, query: TheLookBack, service: TheService) -> WhatIf:
    """Asks the model of the pool, with the load that explains what was watched.

    Nothing is changed.
    """
    return await service.ask(lambda window, loads: what_if(window, question.set, loads), query.window)


@router.post(
    "/whatif/sweep",
    dependencies=[costly(1, model=True)],
    summary="What each value of a setting would do",
    response_description="For every scanned table, and for everything else, a number for each of the values.",
    responses=documented(
        {
            400: "There was an error parsing the body",
            422: "unknown setting innodb_old_block_pct; did you mean innodb_old_blocks_pct?",
            503: "the model has no answer: what is read of each table is not known: performance_schema is OFF",
        },
        answer=examples.SWEEP,
    ),
)
async def sweep(question: SweepQuestion, query: TheLookBack, service: TheService) -> Sweep:
    """Asks the model for values that spread over the setting's range, coarse at first.

    Predictions are kept while the fit holds, so the same question again costs next to nothing. Nothing is changed.
    """

    def ask(window: Window, loads: Loads) -> Sweep:
        return sweeps.sweep(
            window,
            question.setting,
            beside=question.set,
            values=question.values,
            points=question.points,
            seconds=question.seconds,
            loads=loads,
        )

    return await service.ask(ask, query.window)


@router.get(
    "/whatif/settings",
    dependencies=[costly(1, model=True)],
    summary="The settings that the model answers for",
    response_description="The settings that this server has.",
    responses=documented({422: "window must be greater than 0", 503: UNSEEN}, answer=examples.SETTINGS),
)
async def settings(query: TheLookBack, service: TheService) -> SettingRanges:
    """Each with its value now, and the range of a sweep.

    The model itself is not asked.
    """
    return await asyncio.to_thread(ranges, await service.window(query.window))


@router.get(
    "/curve",
    dependencies=[costly(2, model=True)],
    summary="Reads with other sizes of the buffer pool",
    response_model=MissCurve,
    response_description="The miss curve.",
    responses=documented(
        {
            422: "window must be greater than 0",
            503: "there is no miss curve: the accesses to tables are not known: performance_schema is OFF",
        },
        offers=_FORMS,
        content=examples.curve(),
    ),
)
async def curve(request: Request, query: TheLookBack, service: TheService) -> Response:
    """For a row of sizes the pages read a second to expect, with the fewest and the most, by table and in all.

    The fewest and the most are those that explain what was watched. The last answer for some minutes, else worked out
    anew. JSON, an SVG picture or plain text, as the Accept header asks; the picture to a browser.
    """
    form = negotiated(request, (*_FORMS, HTML))
    form = SVG if form == HTML else form
    try:
        answer = await service.curve(query.window)
    except Unanswerable as error:
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, f"there is no miss curve: {error}") from error
    if form == SVG:
        policy = f"{html.policy(curve_svg.STYLE)}; frame-ancestors 'none'; sandbox"
        return written(curve_svg.svg(answer), form, {**NEGOTIATED, "Content-Security-Policy": policy})
    return as_asked(form, answer, models.curve)
