"""/history: what became of changes and of advice, filtered, as JSON, markdown or plain text."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from advisor.advice.service import Service
from advisor.contract.settings import SETTINGS
from advisor.http import examples, pages
from advisor.http.answers import HTML, JSON, MARKDOWN, PLAIN, as_asked, negotiated
from advisor.http.foundation import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented, unknown
from advisor.ledger.history import History, HistoryFilter
from advisor.render import html, outcomes

_FORMS = (JSON, PLAIN, MARKDOWN, HTML)

router = APIRouter(tags=["advice"])


@router.get(
    "/history",
    dependencies=[costly(2, only_with="limit")],
    summary="What became of changes",
    response_model=History,
    response_description="Outcomes and findings.",
    responses=documented(
        {422: "no setting innodb_old_block_pct; did you mean innodb_old_blocks_pct?"},
        offers=_FORMS,
        content=examples.history(),
    ),
)
def history(  # in a thread: a thousand outcomes take a while to write
    request: Request, selection: Annotated[HistoryFilter, Query()], service: TheService
) -> Response:
    """For each change of a setting, advised or not: what was predicted, and what was measured.

    The prediction is that of the finding that asked for the change; it is compared once the pool has settled, and what
    else got worse is named. The newest come first. Findings that stood are listed, too. The answer comes from memory:
    it costs the server nothing, and is there while the server is away. JSON, markdown or plain text, as the Accept
    header asks; a browser gets a page.
    """
    form = negotiated(request, _FORMS)
    _refuse_unknown(selection, service)
    answer = service.history(selection)
    if form == HTML:
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
                raise unknown(what, name, known)
