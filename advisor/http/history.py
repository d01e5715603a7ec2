"""/history: what became of changes and of advice, filtered, as JSON, markdown or plain text."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from advisor.advice.service import Service
from advisor.contract.settings import SETTINGS
from advisor.http import examples, pages
from advisor.http.answers import DOCUMENT, HTML, as_asked, negotiated
from advisor.http.foundation import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented, require_known
from advisor.ledger.history import History, HistoryFilter
from advisor.render import html, outcomes

router = APIRouter(tags=["advice"])


@router.get(
    "/history",
    dependencies=[costly(2, only_with="limit")],
    summary="What became of changes",
    response_model=History,
    response_description="Outcomes and findings.",
    responses=documented(
        {422: "no setting innodb_old_block_pct; did you mean innodb_old_blocks_pct?"},
        offers=DOCUMENT,
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
    form = negotiated(request, DOCUMENT)
    require_known("rule", selection.rule, _rules(service))
    require_known("setting", selection.setting, SETTINGS)
    answer = service.history(selection)
    if form == HTML:
        return pages.read("History", html.html(outcomes.history(answer)))
    return as_asked(form, answer, outcomes.history)


def _rules(service: Service) -> Collection[str]:
    """The rules in force, and those of findings and outcomes: a rule that is gone may still have some."""
    ledger = service.ledger
    findings = (finding.rule for finding in ledger.findings.values())
    outcomes = (outcome.rule for outcome in ledger.outcomes.values() if outcome.rule is not None)
    return dict.fromkeys((*service.rules.rule_set.origins, *findings, *outcomes))
