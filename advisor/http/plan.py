"""/advise/{fingerprint}/plan: the change of a finding, ready to merge, for whoever owns the setting."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import Field

from advisor.advice.service import Service
from advisor.contract.plan import Plan, TargetName
from advisor.http import examples, pages
from advisor.http.advice import not_found
from advisor.http.answers import DOCUMENT, HTML, as_asked, negotiated
from advisor.http.foundation import LookBack, TheFingerprint, TheService
from advisor.http.limits import costly
from advisor.http.problems import documented
from advisor.observe.window import Window
from advisor.plan import plan as planning
from advisor.pool.fitting import Loads
from advisor.render import html
from advisor.render import plan as documents

MODEL_SECONDS = 30.0
"""CPU time for the model of a filling pool: half of what a question may take. What it leaves out is named."""
_RESPONSES = documented(
    {
        404: "nothing that is found now has the fingerprint 9f2c; /advise has all there is",
        422: "for is missing: an owner of settings such as percona-ps",
        503: "nothing has been collected yet",
    },
    offers=DOCUMENT,
    content=examples.plan(),
)

router = APIRouter(tags=["advice"])


class PlanQuestion(LookBack):
    """Whose settings are to be changed."""

    target: TargetName | None = Field(
        None,
        alias="for",
        description="The owner of the settings. A page without it lists the owners.",
        examples=["percona-ps"],
    )


@router.get(
    "/advise/{fingerprint}/plan",
    dependencies=[costly(2, only_with="for", model=True)],
    summary="The change, ready to merge",
    response_model=Plan,
    response_description="The plan.",
    responses=_RESPONSES,
)
async def plan(
    request: Request, fingerprint: TheFingerprint, query: Annotated[PlanQuestion, Query()], service: TheService
) -> Response:
    """A patch for the place that owns the setting, the steps with their checks, and the way back.

    Also what the roll-out costs, when to abort it, and when it is done. Nothing is changed. What would not last, or is
    dangerous on this version, is refused with the reason. JSON, markdown or plain text, as the Accept header asks; a
    browser gets a page.
    """
    return await _answer(request, fingerprint, query, service, None)


@router.post(
    "/advise/{fingerprint}/plan",
    dependencies=[costly(2, model=True)],
    summary="The change of an object",
    response_model=Plan,
    response_description="The plan.",
    responses=_RESPONSES,
    openapi_extra={"requestBody": {"required": True, "content": {"application/yaml": {"schema": {"type": "string"}}}}},
)
async def plan_for_manifest(
    request: Request, fingerprint: TheFingerprint, query: Annotated[PlanQuestion, Query()], service: TheService
) -> Response:
    """The same for the owner's object or file of today, which is the body: the patch keeps everything else in it.

    Such as what `kubectl get … -o yaml` prints. It is not kept, and nothing is changed.
    """
    try:
        manifest = (await request.body()).decode()
    except UnicodeDecodeError:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "the body is not UTF-8 text") from None
    if not manifest:
        raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "the body is empty: without an object of today, use GET")
    return await _answer(request, fingerprint, query, service, manifest)


async def _answer(
    request: Request, fingerprint: str, query: PlanQuestion, service: Service, manifest: str | None
) -> Response:
    form = negotiated(request, DOCUMENT)
    advice = (await service.assessment(query.window)).advice
    finding = advice.by_fingerprint(fingerprint)
    if finding is None:
        raise not_found(fingerprint)
    target = query.target
    if target is None:
        if form != HTML:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "for is missing: an owner of settings such as cnf")
        return pages.read("Plan", html.html(documents.targets(planning.proposal(finding))), depth=2)

    def ask(window: Window, loads: Loads) -> Plan:
        return planning.plan(
            finding, window, target, manifest, beside=advice.recommendations, loads=loads, seconds=MODEL_SECONDS
        )

    answer = await service.ask(ask, query.window)
    if form == HTML:
        return pages.read(f"Plan for {target}", html.html(documents.plan(answer)), depth=2)
    return as_asked(form, answer, documents.plan)
