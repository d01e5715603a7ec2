"""/silence: why rules make no finding."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from advisor.advice.silence import Silences, silences
from advisor.http import examples
from advisor.http.foundation import LookBack, TheService
from advisor.http.limits import costly
from advisor.http.problems import documented, require_known

router = APIRouter(tags=["advice"])


class SilenceQuestion(LookBack):
    """Which rules are asked about; by default all that make no finding."""

    rule: list[str] = Field(
        [],
        description="These rules, with the findings that they make; may be repeated.",
        examples=[["scan-exceeds-buffer-pool"]],
    )


@router.get(
    "/silence",
    dependencies=[costly(2, only_with="window", model=True)],
    summary="Why rules are silent",
    response_description="A row for each rule and item of its list.",
    responses=documented(
        {
            422: "no rule scan-exceeds-old; did you mean scan-exceeds-old-sublist?",
            503: "cannot connect to 127.0.0.1:3306: Connection refused",
        },
        answer=examples.SILENCE,
    ),
)
async def silence(query: Annotated[SilenceQuestion, Query()], service: TheService) -> Silences:
    """What keeps each rule from a finding: what it lacks, who set it aside, or the condition that does not hold.

    Conditions come with the values that they were judged by.
    """
    require_known("rule", query.rule, service.rules.rule_set.origins)
    return silences(await service.assessment(query.window), query.rule)
