"""/history: what became of changes and of advice, filtered, as JSON, markdown or plain text."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from advisor.advice.service import Service
from advisor.contract.settings import SETTINGS
from advisor.http import examples, pages
from advisor.http.answers import as_asked, negotiated
from advisor.http.dependencies import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented, near
from advisor.ledger.entry import Result
from advisor.ledger.history import SHOWN, History, Wanted
from advisor.ledger.ledger import MOST_OUTCOMES
from advisor.render import html, outcomes

_FORMS = ("application/json", "text/plain", "text/markdown", "text/html")

_TIME = WithJsonSchema(
    {"anyOf": [{"type": "string", "format": each} for each in ("date-time", "date")] + [{"type": "number"}]}
)
"""pydantic takes all of these, and documents the first."""

router = APIRouter(tags=["advice"])


class HistoryFilter(BaseModel):
    """Which outcomes and findings are wanted; by default all."""

    model_config = ConfigDict(extra="forbid")

    rule: list[str] = Field([], description="Of these rules; may be repeated.", examples=[["scan-exceeds-old-sublist"]])
    fingerprint: list[str] = Field(
        [], description="Of these findings; may be repeated.", examples=[[examples.FINGERPRINT]]
    )
    result: list[Result] = Field([], description="With these results; may be repeated.", examples=[["missed"]])
    setting: list[str] = Field(
        [], description="Of these settings; may be repeated.", examples=[["innodb_old_blocks_pct"]]
    )
    since: Annotated[datetime, _TIME] | None = Field(
        None,
        description="Changed or graded, or for findings seen, at this time or later: ISO 8601, UTC where it names no "
        "zone; or Unix seconds.",
        examples=["2026-11-23"],
    )
    limit: int = Field(SHOWN, ge=1, le=MOST_OUTCOMES, description="Outcomes at most, and findings.", examples=[20])

    @property
    def wanted(self) -> Wanted:
        """The same, as the ledger is asked."""
        since = self.since
        if since is not None and since.tzinfo is None:
            since = since.replace(tzinfo=UTC)
        return Wanted(
            rules=self.rule,
            fingerprints=self.fingerprint,
            results=self.result,
            settings=self.setting,
            since=None if since is None else since.timestamp(),
            limit=self.limit,
        )


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
    request: Request, wanted: Annotated[HistoryFilter, Query()], service: TheService
) -> Response:
    """The part of the history that is wanted."""
    form = negotiated(request, _FORMS)
    _refuse_unknown(wanted, service)
    found = service.history(wanted.wanted)
    if form == "text/html":
        return pages.read("History", html.html(outcomes.history(found)))
    return as_asked(form, found, outcomes.history)


def _refuse_unknown(wanted: HistoryFilter, service: Service) -> None:
    """Raise HTTPException, 422, for what nothing can have. A rule that is gone may still have outcomes."""
    ledger = service.books.ledger
    found = (each.rule for each in ledger.found.values())
    of_outcomes = (each.rule for each in ledger.outcomes.values() if each.rule is not None)
    rules = dict.fromkeys((*service.book.rule_set.origins, *found, *of_outcomes))
    for what, names, known in (("rule", wanted.rule, rules), ("setting", wanted.setting, SETTINGS)):
        for name in names:
            if name not in known:
                raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"no {what} {name}; {near(name, known)}")
