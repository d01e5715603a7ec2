"""/upgrade: what another version of the server does to the workload that was watched."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field

from advisor.contract.upgrade import UpgradeForecast
from advisor.http import examples, pages
from advisor.http.answers import DOCUMENT, HTML, as_asked, negotiated
from advisor.http.foundation import LookBack, TheService
from advisor.http.limits import costly
from advisor.http.problems import documented
from advisor.observe.window import Window
from advisor.pool.fitting import Loads
from advisor.render import html
from advisor.render import upgrade as documents
from advisor.upgrade.forecast import forecast
from advisor.upgrade.target import releases

MODEL_SECONDS = 30.0
"""CPU time for the model of the pool: half of what a question may take. What it leaves out is named."""

router = APIRouter(tags=["advice"])


class UpgradeQuestion(LookBack):
    """The version to upgrade to."""

    to: str | None = Field(
        None,
        description="The new version, such as 8.4.6; a series alone stands for its newest release that is known. A page"
        " without it lists the versions.",
        examples=["8.4"],
    )


@router.get(
    "/upgrade",
    dependencies=[costly(2, only_with="to", model=True)],
    summary="What an upgrade would do",
    response_model=UpgradeForecast,
    response_description="The forecast.",
    responses=documented(
        {
            422: "8.4 is older than the server's 9.7.4: the forecast knows MySQL 9.7, and takes a later one for it",
            503: "cannot connect to 127.0.0.1:3306: Connection refused",
        },
        offers=DOCUMENT,
        content=examples.upgrade(),
    ),
)
async def upgrade(request: Request, query: Annotated[UpgradeQuestion, Query()], service: TheService) -> Response:
    """What would not start, what changes for this workload and what gets better, with option lines and SQL.

    Effects are predicted by the models, with their error, from what was watched; what cannot be said is named, with
    what to record so that it can. Nothing is changed. JSON, markdown or plain text, as the Accept header asks; a
    browser gets a page.
    """
    form = negotiated(request, DOCUMENT)
    if query.to is None:
        if form != HTML:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "to is missing: a version such as 8.4")
        seen = await service.window(query.window)
        versions = await asyncio.to_thread(releases, seen.latest.server)
        return pages.read("Upgrade", html.html(documents.versions(seen.latest.server, versions)))
    answer = await _forecast(query.to, query.window, service)
    if form == HTML:
        return pages.read(f"Upgrade to {answer.to}", html.html(documents.forecast(answer)))
    return as_asked(form, answer, documents.forecast)


async def _forecast(to: str, longest: float | None, service: TheService) -> UpgradeForecast:
    assessment = await service.assessment()
    findings, rules = assessment.advice.recommendations, assessment.rule_set.rules

    def ask(window: Window, loads: Loads) -> UpgradeForecast:
        return forecast(window, to, findings=findings, rules=rules, loads=loads, seconds=MODEL_SECONDS)

    return await service.ask(ask, longest)
