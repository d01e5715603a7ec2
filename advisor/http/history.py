"""/history: what became of changes and of advice, filtered, as JSON, markdown or plain text."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from advisor.advice.service import Service
from advisor.contract.settings import SETTINGS
from advisor.http import examples, pages
from advisor.http.answers import as_asked, negotiated
from advisor.http.foundation import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented, near
from advisor.ledger.history import History, HistoryFilter
from advisor.render import html, outcomes

_FORMS = ("application/json", "text/plain", "text/markdown", "text/html")

router = APIRouter(tags=["advice"])


@router.get(
    "/history",
    dependencies=[costly(2, only_with="limit")],
    summary="What became of changes",
    description="For each change of a setting, advised or not: what the finding that asked for it had predicted, what "
    "was measured once the pool had settled, and what else got worse; the newest first. And the findings that stood. "
    "The answer comes from memory: it costs the server nothing, and is there while the server is away. JSON, markdown "
    "or plain text, as the Accept header asks; a browser gets a page.",
    response_model=History,
    response_description="Outcomes and findings.",
    responses=documented(
        {
            406: f"there are {', '.join(_FORMS)}",
            422: "no setting innodb_old_block_pct; did you mean innodb_old_blocks_pct?",
        },
        content=examples.history(),
    ),
)
def history(  # in a thread: a thousand outcomes take a while to write
    request: Request, selection: Annotated[HistoryFilter, Query()], service: TheService
) -> Response:
    """The part of the history that is asked for."""
    form = negotiated(request, _FORMS)
    _refuse_unknown(selection, service)
    answer = service.history(selection)
    if form == "text/html":
        return pages.read("History", html.html(outcomes.history(answer)))
    return as_asked(form, answer, outcomes.history)


def _refuse_unknown(selection: HistoryFilter, service: Service) -> None:
    """Raise HTTPException, 422, for what nothing can have. A rule that is gone may still have outcomes."""
    ledger = service.ledger
    findings = (finding.rule for finding in ledger.findings.values())
    outcomes = (outcome.rule for outcome in ledger.outcomes.values() if outcome.rule is not None)
    rules = dict.fromkeys((*service.rules.rule_set.origins, *findings, *outcomes))
    for what, names, known in (("rule", selection.rule, rules), ("setting", selection.setting, SETTINGS)):
        for name in names:
            if name not in known:
                raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"no {what} {name}; {near(name, known)}")
