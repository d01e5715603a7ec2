"""/fleet, /advise, /metrics and /readyz of the service that reads a fleet. All of it is of the last report."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse
from prometheus_client import Metric
from pydantic import BaseModel, ConfigDict, Field

from advisor.contract.fleet import FleetAdvice, FleetFinding, FleetReport, NotAsked, ServedReport
from advisor.contract.links import Links
from advisor.contract.recommendation import Severity
from advisor.contract.templates import duration
from advisor.contract.visible import json_of, visible
from advisor.fleet import metrics as fleet_metrics
from advisor.fleet.watch import FleetWatch
from advisor.http import documents, metrics, pages
from advisor.http.answers import HTML, JSON, NEGOTIATED, negotiated, written
from advisor.http.foundation import Background, TheRules, application, of_application
from advisor.http.limits import costly
from advisor.http.metrics import Exposed, TheExposed
from advisor.http.problems import documented
from advisor.render import fleet as fleet_report
from advisor.render import html
from advisor.rules.rulebook import Rulebook

_FORMS = (JSON, HTML)
_STARTING = "the first reading of the fleet is not done yet"
_LINKS = {"/fleet": "fleet", "/docs": "API"}
_NAMED = 3
"""Servers that an error names at most."""

router = APIRouter(tags=["fleet"])


TheWatch = Annotated[FleetWatch, of_application("watch")]


class FleetFilter(BaseModel):
    """Which findings are wanted; by default all."""

    model_config = ConfigDict(extra="forbid")

    server: str | None = Field(None, min_length=1, description="On this server.", examples=["eu/shop/db-1"])
    rule: list[str] = Field([], description="Of these rules; may be repeated.", examples=[["scan-exceeds-buffer-pool"]])
    severity: Severity | None = Field(None, description="Of this severity and above.", examples=["warning"])

    def finds(self, finding: FleetFinding) -> bool:
        """Whether a finding is wanted."""
        return (
            (self.server is None or finding.server == self.server)
            and (not self.rule or finding.rule in self.rule)
            and (self.severity is None or finding.severity.rank >= self.severity.rank)
        )


@router.get("/", include_in_schema=False)
async def root() -> Response:
    """The page is /fleet. Relative: a proxy may have put a path before it."""
    return RedirectResponse("fleet", HTTPStatus.SEE_OTHER)


@router.get(
    "/fleet",
    dependencies=[costly(2)],
    summary="The fleet",
    description="The last report: sums by rule, the servers with the most to gain, the one change that saves most, and "
    "what could not be seen. While Prometheus is away it is the report from before, and says so. JSON, or a page for a "
    "browser.",
    response_model=ServedReport,
    response_description="The last report, and its age.",
    responses=documented({503: _STARTING}, offers=_FORMS),
)
async def fleet(request: Request, watch: TheWatch) -> Response:
    """The last report."""
    form, report = negotiated(request, _FORMS), _last(watch)
    if form == HTML:
        return await _page(report, watch)
    return await _json(lambda: ServedReport.model_construct(**dict(report), **_age(watch)))


@router.get(
    "/advise",
    dependencies=[costly(1)],
    summary="What to change, on which server",
    description="The findings of the last report, or a part of them, and of which of these servers nothing can be "
    "said. JSON, or a page for a browser.",
    response_model=FleetAdvice,
    response_description="The findings that are wanted.",
    responses=documented(
        {
            404: "no server db-1; did you mean eu/shop/db-1, or eu/shop/db-10?",
            422: "no rule scan-exceeds-old: no finding is of it, and /rules/scan-exceeds-old is not there",
            503: _STARTING,
        },
        offers=_FORMS,
    ),
)
async def advise(
    request: Request, wanted: Annotated[FleetFilter, Query()], watch: TheWatch, rules: TheRules
) -> Response:
    """The findings that are wanted."""
    form, report = negotiated(request, _FORMS), _last(watch)
    _require_known(wanted, report, rules)
    chosen = await asyncio.to_thread(_part, wanted, report)
    if form == HTML:
        return await _page(chosen, watch)
    servers = chosen.servers
    return await _json(
        lambda: FleetAdvice(
            at=report.at,
            servers=len(servers),
            server=servers[0] if wanted.server is not None and servers else None,
            findings=chosen.findings,
            not_asked=chosen.not_asked,
            not_modelled=chosen.not_modelled,
            vanished=chosen.vanished,
            **_age(watch),
        )
    )


@router.get(
    "/metrics",
    name="metrics",
    response_class=PlainTextResponse,
    summary="Prometheus metrics",
    description="How the readings go, and the fleet's sums by rule. No series is of one server or of one finding.",
    response_description="The exposition.",
    responses=documented(),
)
async def scrape(request: Request, exposed: TheExposed) -> Response:
    """All families."""
    return await exposed.answer(request)


@router.get(
    "/readyz",
    response_class=PlainTextResponse,
    summary="Whether there is a report",
    description="For a readiness probe: ready after the first reading. While Prometheus is away it stays ready, for "
    "the last report is still shown; the answer says since when.",
    response_description="There is one.",
    responses={**metrics.OK, **documented({503: _STARTING})},
)
async def readyz(watch: TheWatch) -> str:
    """There was a reading."""
    _last(watch)
    problem = stale(watch)
    return f"ok, but {problem}\n" if problem else "ok\n"


def stale(watch: FleetWatch) -> str:
    """Why the last report is old, for people; empty if it is not."""
    problem = visible(watch.stale)
    return f"{problem}; what is shown is {duration(watch.age)} old" if problem and watch.age is not None else problem


def _last(watch: FleetWatch) -> FleetReport:
    if watch.report is None:
        raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, stale(watch) or _STARTING)
    return watch.report


def _age(watch: FleetWatch) -> dict[str, Any]:
    return {
        "age_seconds": round(watch.age or 0.0, 1),
        "every_seconds": watch.every,
        "problem": watch.problem,
        "problem_since": watch.problem_since,
    }


def _require_known(wanted: FleetFilter, report: FleetReport, rules: Rulebook) -> None:
    """Refuse names of nothing. A sidecar may have rules that are not known here."""
    for rule in wanted.rule:
        if rules.rule_set.rule(rule) is None and all(total.rule != rule for total in report.rules):
            why = f"no rule {rule}: no finding is of it, and /rules/{rule} is not there"
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, why)
    if wanted.server is not None:
        known = set(_names(report))
        if wanted.server not in known:
            of = f"; this one reads shard {report.shard}" if report.shard else ""
            raise HTTPException(HTTPStatus.NOT_FOUND, f"no server {wanted.server}{_near(wanted.server, known)}{of}")


def _names(report: FleetReport) -> Iterable[str]:
    yield from (server.name for server in report.servers)
    yield from (server.server for server in report.vanished)
    for group in report.not_asked:
        yield from group.servers


def _near(name: str, known: Iterable[str]) -> str:
    """Servers with this in their names; difflib would take seconds for thousands of them."""
    close = sorted((server for server in known if name in server), key=lambda server: (len(server), server))[:_NAMED]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _part(wanted: FleetFilter, report: FleetReport) -> FleetReport:
    """The part of a report that is about the findings and servers that are wanted."""
    if wanted == FleetFilter():
        return report
    one = wanted.server

    def about(servers: Iterable[str]) -> tuple[str, ...]:
        return tuple(server for server in servers if one is None or server == one)

    findings = tuple(filter(wanted.finds, report.findings))
    rules = {finding.rule for finding in findings}
    asked = (NotAsked(servers=about(group.servers), reason=group.reason) for group in report.not_asked)
    return report.model_copy(
        update={
            "servers": tuple(server for server in report.servers if one is None or server.name == one),
            "findings": findings,
            "rules": tuple(total for total in report.rules if total.rule in rules) if one is None else (),
            "top_servers": tuple(server for server in report.top_servers if one is None or server.server == one),
            "best": report.best if report.best is not None and wanted.finds(report.best) else None,
            "blind": () if wanted.rule or one else report.blind,
            "not_asked": tuple(group for group in asked if group.servers),
            "not_modelled": about(report.not_modelled),
            "vanished": tuple(server for server in report.vanished if one is None or server.server == one),
            "capacity": None,
        }
    )


async def _json(content: Callable[[], BaseModel]) -> Response:
    """In a thread: the report of thousands of servers takes a while."""
    return await asyncio.to_thread(lambda: written(json_of(content(), by_alias=True), JSON))


async def _page(report: FleetReport, watch: FleetWatch) -> Response:
    """The page, whose own style is the only thing that its policy allows."""
    headers = {"Content-Security-Policy": f"{html.policy()}; frame-ancestors 'none'", **NEGOTIATED}

    def page() -> Response:
        problem = stale(watch)
        document = fleet_report.report(report, fleet_report.PAGE, stale=problem, advise="advise")
        return written(html.file(document, old=bool(problem)), HTML, headers)

    return await asyncio.to_thread(page)


def create(
    watch: FleetWatch,
    rules: Rulebook,
    background: Sequence[Background] = (),
    own: Sequence[Callable[[], Iterable[Metric]]] = (),
    links: Links | None = None,
) -> FastAPI:
    """The ASGI application, which runs the watch while it runs.

    Args:
        watch: Has the last report.
        rules: The rules that it is judged by; their pages are where findings lead.
        background: What else runs meanwhile.
        own: More families for /metrics.
        links: Where people reach the service; None where that is not known.
    """

    async def families() -> list[Metric]:
        return [*fleet_metrics.families(watch, links), *(family for more in own for family in more())]

    app = application(
        "What to change on a fleet of MySQL and MariaDB servers",
        "Errors are application/problem+json (RFC 9457). Nothing here changes a server, or is connected to one.",
        (watch.run, *background),
    )
    app.state.watch, app.state.rules, app.state.links, app.state.exposed = watch, rules, _LINKS, Exposed(families)
    app.include_router(router)
    app.include_router(documents.rules, responses=documents.examples_of(rules.rules[0]))
    app.include_router(documents.runbooks)
    app.include_router(metrics.liveness)
    app.include_router(pages.files)
    return app
