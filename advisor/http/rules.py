"""/rules and /-/reload: the rules in force, and what they say now."""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus

from fastapi import APIRouter, HTTPException, Request, Response
from pydantic import Field

from advisor.advice.judgement import Assessment
from advisor.advice.service import Service, Unseen
from advisor.advice.trace import StateName
from advisor.contract.recommendation import Frozen, Severity
from advisor.files.yaml_file import FileError
from advisor.http import examples, pages
from advisor.http.answers import NEGOTIATED, wants_page
from advisor.http.foundation import TheService
from advisor.http.limits import costly
from advisor.http.problems import documented
from advisor.render import html
from advisor.render.blocks import Link, Paragraph, TextDocument, TextTable
from advisor.render.phrases import moment
from advisor.rules.check import Rule
from advisor.rules.rulebook import Origin

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
    response_model=Rules,
    response_description="The rules, by id.",
    responses=documented(answer=examples.RULES, content={"text/html": examples.PAGE}),
)
async def rules(request: Request, response: Response, service: TheService) -> Rules | Response:
    """Every rule with its severity, where it comes from, and what it says of the server now.

    A browser gets a page.
    """
    assessment: Assessment | None = None
    with contextlib.suppress(Unseen):
        assessment = await service.assessment()
    rule_set, problem = service.rules.rule_set, service.rules.problem
    answer = Rules(
        rules=tuple(_rule_now(rule, service, assessment) for rule in rule_set.rules),
        loaded_at=rule_set.loaded_at,
        problem=None if problem is None else str(problem),
    )
    if wants_page(request):
        return pages.read("Rules", html.html(_document(answer)))
    response.headers.update(NEGOTIATED)
    return answer


class Reloaded(Frozen):
    """What was loaded."""

    rules: int = Field(description="Rules in force.")
    loaded_at: float = Field(description="Unix seconds.")


@router.post(
    "/-/reload",
    dependencies=[costly(4)],
    summary="Load the rules anew",
    response_description="They are in force.",
    responses=documented({400: "rules/my-rule.yaml:7:3: whn: there is no such key"}, answer=examples.RELOADED),
)
async def reload(service: TheService) -> Reloaded:
    """Reads the rule files and the configuration again.

    If anything in them is wrong nothing changes, and the answer says where: file, line and column. SIGHUP does the
    same, and so, within ten seconds, does a change of the files.
    """
    try:
        await asyncio.to_thread(service.rules.reload)
    except FileError as error:
        raise HTTPException(HTTPStatus.BAD_REQUEST, str(error)) from error
    rule_set = service.rules.rule_set
    return Reloaded(rules=len(rule_set.rules), loaded_at=rule_set.loaded_at)


def _document(answer: Rules) -> TextDocument:
    columns = ("rule", "severity", "now", "what it finds", "lacks", "origin")
    rows = tuple(
        (
            Link(rule.id, f"/rules/{rule.id}"),
            rule.severity.value,
            Link("firing", "/") if rule.state == "firing" else _state_in_words(rule),
            rule.title,
            ", ".join(rule.lacks),
            rule.origin,
        )
        for rule in answer.rules
    )
    blocks = [Paragraph(f"{len(answer.rules)} rules, loaded at {moment(answer.loaded_at)}.", "quiet")]
    blocks += [] if answer.problem is None else [Paragraph(f"Not loaded anew: {answer.problem}", "problem")]
    return TextDocument("Rules", (*blocks, TextTable(columns, rows)))


def _state_in_words(rule: RuleNow) -> str:
    return rule.state or ("does not apply" if rule.applies is False else "not known")


def _rule_now(rule: Rule, service: Service, assessment: Assessment | None) -> RuleNow:
    latest, state = service.source.latest, assessment and assessment.states.get(rule.id)
    return RuleNow(
        id=rule.id,
        title=rule.file.title,
        severity=rule.file.severity,
        origin=service.rules.rule_set.origins[rule.id],
        applies=None if latest is None else latest.server in rule.file.applies,
        state=state.state if state else None,
        lacks=state.lacks if state else (),
        judged_at=assessment.judged_at.get(rule.id) if assessment else None,
    )
