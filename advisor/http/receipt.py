"""/advise/{fingerprint}/receipt: what became of the change that a finding asked for."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import APIRouter, HTTPException, Request, Response

from advisor.http import examples, pages
from advisor.http.answers import DOCUMENT, HTML, as_asked, negotiated
from advisor.http.foundation import TheFingerprint, TheService
from advisor.http.problems import documented
from advisor.plan.receipt import Receipt
from advisor.plan.receipt import receipt as receipt_of
from advisor.render import html
from advisor.render import receipt as documents

router = APIRouter(tags=["advice"])


@router.get(
    "/advise/{fingerprint}/receipt",
    summary="What became of a finding",
    response_model=Receipt,
    response_description="The receipt.",
    responses=documented(
        {404: "no finding and no outcome has the fingerprint 9f2c; /history has all there are"},
        offers=DOCUMENT,
        content=examples.receipt(),
    ),
)
def receipt(  # in a thread: a document takes a while to write
    request: Request, fingerprint: TheFingerprint, service: TheService
) -> Response:
    """What was predicted of the newest change that followed a finding, what was measured, and what else moved.

    It also says when, and under which versions. The answer comes from memory, as that of /history does, and is there
    while the server is away. JSON, markdown or plain text, as the Accept header asks; a browser gets a page.
    """
    form = negotiated(request, DOCUMENT)
    answer = receipt_of(service.ledger, fingerprint)
    if answer is None:
        raise HTTPException(
            HTTPStatus.NOT_FOUND,
            f"no finding and no outcome has the fingerprint {fingerprint}; /history has all there are",
        )
    if form == HTML:
        return pages.read("Receipt", html.html(documents.receipt(answer)), depth=2)
    return as_asked(form, answer, documents.receipt)
