"""/rules: the rules in force, and what they say now."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from advisor.advice.service import FIRST_SECONDS
from advisor.advice.trace import RuleState, StateName
from advisor.contract.recommendation import Frozen, Severity
from advisor.http import examples
from advisor.http.dependencies import TheService
from advisor.http.problems import documented
from advisor.rules.check import Rule
from advisor.rules.rulebook import Origin
from exporter.server import Server

router = APIRouter(tags=["rules"])


class RuleNow(Frozen):
    """A rule, and what it says of the server now."""

    id: str
    title: str
    severity: Severity
    origin: Origin
    applies: bool | None = Field(description="Whether it applies to this server; null while none has been seen.")
    state: StateName | None = Field(
        description="Null where it does not apply, or nothing has been seen. Set aside: suppressed or overruled."
    )
    lacks: tuple[str, ...] = Field(description="What it needs and could not see.")
    judged_at: float | None = Field(
        None, description="Time of the snapshot that it was judged on last, Unix seconds; null while there is none."
    )


class Rules(Frozen):
    """The rules in force."""

    rules: tuple[RuleNow, ...]
    loaded_at: float = Field(description="When their files were read, Unix seconds.")
    problem: str | None = Field(description="Why the last attempt to load them anew was refused.")


@router.get(
    "/rules",
    summary="The rules in force",
    description="Every rule with its severity, where it comes from, and what it says of the server now.",
    response_description="The rules, by id.",
    responses={200: {"content": {"application/json": {"example": examples.RULES}}}, **documented()},
)
async def rules(service: TheService) -> Rules:
    """The rules by id."""
    await service.collect()
    assessment = await service.assessment(patience=FIRST_SECONDS)
    states = {} if assessment is None else assessment.states
    judged_at = {} if assessment is None else assessment.judged_at
    rule_set, latest = service.book.rule_set, service.source.latest
    server = None if latest is None else latest.server
    return Rules(
        rules=tuple(
            _now(each, rule_set.origins[each.id], server, states.get(each.id)).model_copy(
                update={"judged_at": judged_at.get(each.id)}
            )
            for each in rule_set.rules
        ),
        loaded_at=rule_set.loaded_at,
        problem=None if service.book.problem is None else str(service.book.problem),
    )


def _now(rule: Rule, origin: Origin, server: Server | None, state: RuleState | None) -> RuleNow:
    return RuleNow(
        id=rule.id,
        title=rule.file.title,
        severity=rule.file.severity,
        origin=origin,
        applies=None if server is None else server in rule.file.applies,
        state=None if state is None else state.state,
        lacks=() if state is None else state.lacks,
    )
