"""/advise: what to change, filtered, as JSON, markdown or plain text."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field

from advisor.advice import resolution
from advisor.advice.service import Service, Unseen
from advisor.contract.recommendation import Advice, Recommendation, SetAside, Severity
from advisor.http import examples, pages
from advisor.http.answers import DOCUMENT, HTML, NEGOTIATED, as_asked, negotiated
from advisor.http.foundation import LookBack, TheFingerprint, TheLookBack, TheService
from advisor.http.limits import costly
from advisor.http.problems import documented, require_known
from advisor.ledger.history import GoneFinding, GradedRecommendation, GradedSetAside, graded
from advisor.render import advice as documents
from advisor.render import outcomes

router = APIRouter(tags=["advice"])


class Filter(LookBack):
    """Which findings are wanted; by default all."""

    severity: Severity | None = Field(None, description="This severity and above.", examples=["warning"])
    rule: list[str] = Field([], description="These rules; may be repeated.", examples=[["scan-exceeds-old-sublist"]])
    schema_: str | None = Field(None, alias="schema", min_length=1, description="About this schema.", examples=["shop"])
    table: str | None = Field(None, min_length=1, description="About tables of this name.", examples=["orders"])
    last: bool = Field(
        False,
        description="The last advice over the longest window, as it is: nothing is collected or judged for it, and it "
        "is there while the server is away.",
        examples=[True],
    )

    def part(self, advice: Advice) -> Advice:
        """A part of the advice. Blind and failed rules have no subject: only ``rule`` leaves them out."""

        def aside(findings: Sequence[SetAside]) -> tuple[SetAside, ...]:
            return tuple(finding for finding in findings if self._matches(finding.recommendation))

        return advice.model_copy(
            update={
                "recommendations": tuple(filter(self._matches, advice.recommendations)),
                "blind": tuple(blind for blind in advice.blind if self._matches_rule(blind.rule)),
                "failed": tuple(failed for failed in advice.failed if self._matches_rule(failed.rule)),
                "suppressed": aside(advice.suppressed),
                "overruled": aside(advice.overruled),
            }
        )

    def _matches_rule(self, rule: str) -> bool:
        return not self.rule or rule in self.rule

    def _matches(self, finding: Recommendation) -> bool:
        return (
            self._matches_rule(finding.rule)
            and (self.severity is None or finding.severity.rank >= self.severity.rank)
            and (self.schema_ is None or finding.subject.get("schema") == self.schema_)
            and (self.table is None or finding.subject.get("table") == self.table)
        )


@router.get(
    "/advise",
    dependencies=[costly(2, only_with="window", model=True)],
    summary="What to change",
    response_model=Advice,
    response_description="What the rules say of the window.",
    responses=documented(
        {
            422: "no rule scan-exceeds-old; did you mean scan-exceeds-old-sublist?",
            503: "cannot connect to 127.0.0.1:3306: Connection refused",
        },
        offers=DOCUMENT,
        content=examples.advice(),
    ),
)
async def advise(request: Request, query: Annotated[Filter, Query()], service: TheService) -> Response:
    """Every recommendation with its evidence, its predicted effect and its SQL, the most severe first.

    Also what the rules could not see, and what is set aside, with the reason. JSON, markdown or plain text, as the
    Accept header asks; a browser gets the page.
    """
    form = negotiated(request, DOCUMENT)
    if form == HTML:
        return pages.opened()
    require_known("rule", query.rule, service.rules.rule_set.origins)
    advice = _last_advice(service) if query.last else (await service.assessment(query.window)).advice
    return as_asked(form, query.part(advice), documents.advice)


@router.get(
    "/advise/{fingerprint}",
    dependencies=[costly(2, only_with="window", model=True)],
    summary="One finding",
    response_model=GradedRecommendation | GradedSetAside | GoneFinding,
    response_description="The recommendation, what is set aside and why, or what is gone and since when; and what "
    "became of it before.",
    responses={
        303: {"description": "To a browser: the page, at this finding."},
        **documented(
            {
                404: "nothing that is found now has the fingerprint 9f2c; /advise has all there is",
                422: "window must be greater than 0",
                503: "nothing has been collected yet",
            },
            offers=DOCUMENT,
            content=examples.finding(),
        ),
    },
)
async def finding(request: Request, fingerprint: TheFingerprint, query: TheLookBack, service: TheService) -> Response:
    """A recommendation by its fingerprint, and what became of the settings that it asks for.

    The fingerprint stays the same as long as rule and subject do. A finding that is suppressed or overruled comes with
    the reason. One that was found earlier and is gone comes with since when, and because of what. JSON, markdown or
    plain text, as the Accept header asks; a browser is sent to the page.
    """
    form = negotiated(request, DOCUMENT)
    if form == HTML:  # relative: a proxy may have put a path before it
        return RedirectResponse(f"../#{quote(fingerprint, safe='')}", HTTPStatus.SEE_OTHER, NEGOTIATED)
    ledger = service.ledger
    before = ledger.findings.get(fingerprint)
    try:
        last = await service.assessment(query.window)
    except Unseen as unseen:
        if before is None:
            raise
        return as_asked(form, resolution.gone(before, ledger, None, str(unseen)), outcomes.gone)
    current = last.advice.by_fingerprint(fingerprint)
    if current is not None:
        return as_asked(form, graded(current, ledger), documents.finding)
    if before is not None:
        return as_asked(form, resolution.gone(before, ledger, last), outcomes.gone)
    raise not_found(fingerprint)


def not_found(fingerprint: str) -> HTTPException:
    """The problem of a fingerprint that nothing has."""
    return HTTPException(
        HTTPStatus.NOT_FOUND,
        f"nothing that is found now has the fingerprint {fingerprint}; /advise has all there is",
    )


def _last_advice(service: Service) -> Advice:
    """The last advice, also while the server is away; the same until it says something new.

    Raises:
        Unseen: No rule was evaluated.
    """
    verdict = service.last_verdict
    if verdict is None:
        raise service.unseen
    return verdict.advice.model_copy(update={"age_seconds": None, "next_at": None})
