"""Who answers: a sidecar for its server, or a fleet's service for many. Both are asked by their HTTP API."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from typing import Protocol, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from advisor.advice.silence import Silence, Silences
from advisor.advice.state import State
from advisor.contract.fleet import FleetAdvice, FleetFinding, FleetServer, ServedReport
from advisor.contract.plan import Plan, TargetName
from advisor.contract.recommendation import Advice, Recommendation, Severity
from advisor.contract.settings import SettingValue
from advisor.contract.upgrade import UpgradeForecast
from advisor.ledger.history import GoneFinding, GradedRecommendation, GradedSetAside, History
from advisor.mcp.answers import (
    FindingAnswer,
    FindingLine,
    FindingList,
    ServerList,
    WatchedServer,
    finding_answer,
    fleet_finding_answer,
)
from advisor.mcp.endpoint import MARKDOWN, Endpoint, HttpQuestion, NotAnswered, segment
from advisor.mcp.readings import FleetReadings
from advisor.outgoing.sidecar import JSON
from advisor.pool.curve import MissCurve
from advisor.pool.what_if import WhatIf
from advisor.render import fleet as documents
from advisor.render.markdown import markdown

Answer = TypeVar("Answer", bound=BaseModel)
Parsed = TypeVar("Parsed")
_FINDING: TypeAdapter[GradedRecommendation | GradedSetAside | GoneFinding] = TypeAdapter(
    GradedRecommendation | GradedSetAside | GoneFinding
)
_LOOK_SECONDS = 0.2
"""Time between two looks whether the first reading is over. A client has its own limit for an answer."""


class AnswerSource(Protocol):
    """Who answers questions about servers. Every method raises NotAnswered."""

    async def servers(self) -> ServerList:
        """The servers."""

    async def findings(self, server: str | None, severity: Severity | None, rules: Sequence[str]) -> FindingList:
        """The findings, the worst first."""

    async def finding(self, fingerprint: str, server: str | None) -> FindingAnswer:
        """One finding."""

    async def what_if(self, changes: Mapping[str, SettingValue], server: str | None) -> WhatIf:
        """What a change of settings would do."""

    async def curve(self, server: str | None) -> MissCurve:
        """The miss curve."""

    async def plan(self, fingerprint: str, target: TargetName, manifest: str | None, server: str | None) -> Plan:
        """The change that a finding asks for, for the owner of the settings."""

    async def forecast(self, to: str, server: str | None) -> UpgradeForecast:
        """What an upgrade would do."""

    async def history(self, selection: Mapping[str, object], server: str | None) -> History:
        """What became of changes; the names of the selection are those of `/history`."""

    async def silence(self, rules: Collection[str], server: str | None) -> Silences:
        """Why rules are silent."""

    async def rule(self, name: str) -> str:
        """The page of a rule, in markdown."""

    async def runbook(self, alert: str) -> str:
        """What to do about an alert of Prometheus, in markdown."""

    async def report(self) -> str:
        """The newest report, in markdown."""


class SidecarAnswers:
    """The answers of a sidecar."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Ask this sidecar."""
        self._endpoint = endpoint

    async def servers(self) -> ServerList:
        """The server."""
        state = parsed(State, await self._get("/state"))
        return ServerList(
            servers=(
                WatchedServer(
                    name=_name(state),
                    version=state.server,
                    source=f"its sidecar, {state.sidecar}: {state.state}",
                    problem=state.problem,
                    at=state.at,
                    findings={severity: count for severity, count in state.counts.items() if count},
                ),
            )
        )

    async def findings(self, server: str | None, severity: Severity | None, rules: Sequence[str]) -> FindingList:
        """The findings, the worst first."""
        name = await self._require(server)
        advice = parsed(Advice, await self._get("/advise", {"severity": severity and severity.value, "rule": [*rules]}))
        return FindingList(
            at=advice.at,
            blind=len({blind.rule for blind in advice.blind} | {failed.rule for failed in advice.failed}),
            set_aside=len(advice.suppressed) + len(advice.overruled),
            findings=tuple(_line(name, finding) for finding in advice.recommendations),
        )

    async def finding(self, fingerprint: str, server: str | None) -> FindingAnswer:
        """One finding."""
        name = await self._require(server)
        text = await self._get(f"/advise/{segment(fingerprint)}")
        return finding_answer(name, _parsed(_FINDING.validate_json, text))

    async def what_if(self, changes: Mapping[str, SettingValue], server: str | None) -> WhatIf:
        """What a change of settings would do."""
        await self._require(server)
        return parsed(WhatIf, await self._endpoint.ask(HttpQuestion("/whatif", {}, {"set": dict(changes)})))

    async def curve(self, server: str | None) -> MissCurve:
        """The miss curve."""
        await self._require(server)
        return parsed(MissCurve, await self._get("/curve"))

    async def plan(self, fingerprint: str, target: TargetName, manifest: str | None, server: str | None) -> Plan:
        """The change that a finding asks for, for the owner of the settings."""
        await self._require(server)
        question = HttpQuestion(f"/advise/{segment(fingerprint)}/plan", {"for": target}, manifest or None)
        return parsed(Plan, await self._endpoint.ask(question))

    async def forecast(self, to: str, server: str | None) -> UpgradeForecast:
        """What an upgrade would do."""
        await self._require(server)
        return parsed(UpgradeForecast, await self._get("/upgrade", {"to": to}))

    async def history(self, selection: Mapping[str, object], server: str | None) -> History:
        """What became of changes."""
        await self._require(server)
        return parsed(History, await self._get("/history", selection))

    async def silence(self, rules: Collection[str], server: str | None) -> Silences:
        """Why rules are silent."""
        await self._require(server)
        return parsed(Silences, await self._get("/silence", {"rule": [*rules]}))

    async def rule(self, name: str) -> str:
        """The page of a rule."""
        return await self._get(f"/rules/{segment(name)}", form=MARKDOWN)

    async def runbook(self, alert: str) -> str:
        """What to do about an alert."""
        return await self._get(f"/runbooks/{segment(alert)}", form=MARKDOWN)

    async def report(self) -> str:
        """The advice as it is."""
        return await self._get("/advise", form=MARKDOWN)

    async def _get(self, path: str, query: Mapping[str, object] | None = None, form: str = JSON) -> str:
        return await self._endpoint.ask(HttpQuestion(path, query or {}, form=form))

    async def _require(self, server: str | None) -> str:
        """The name of the server. Raises NotAnswered where it is another one."""
        name = _name(parsed(State, await self._get("/state")))
        if server not in (None, "", name):
            raise NotAnswered(f"no server {server}: there is only {name}, and server may be left out")
        return name


class FleetAnswers:
    """The answers of a fleet's service."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        is_read: Callable[[], bool] = lambda: True,
        readings: FleetReadings | None = None,
    ) -> None:
        """Ask this service.

        Args:
            endpoint: Asks it.
            is_read: Whether the first reading of the fleet is over.
            readings: Read about one server; None where no Prometheus is named.
        """
        self._endpoint, self._is_read, self._readings = endpoint, is_read, readings

    async def servers(self) -> ServerList:
        """All of them, those with the most findings first."""
        report = parsed(ServedReport, await self._get("/fleet"))
        findings: dict[str, Counter[Severity]] = {}
        for finding in report.findings:
            findings.setdefault(finding.server, Counter())[finding.severity] += 1
        servers = [self._server(server, findings.get(server.name, Counter()), report) for server in report.servers]
        servers += [
            WatchedServer(name=name, source="nothing is known", problem=group.reason)
            for group in report.not_asked
            for name in group.servers
        ]
        ranked = sorted(servers, key=lambda server: (-_weight(server.findings), server.name))
        return ServerList(servers=tuple(ranked), warnings=(*_stale(report.problem), *report.warnings))

    async def findings(self, server: str | None, severity: Severity | None, rules: Sequence[str]) -> FindingList:
        """The findings, the worst first."""
        advice = await self._advice(server, severity, rules)
        undecided = advice.server.undecided if advice.server else ()
        return FindingList(
            at=advice.at, blind=len(undecided), findings=tuple(_fleet_line(finding) for finding in advice.findings)
        )

    async def finding(self, fingerprint: str, server: str | None) -> FindingAnswer:
        """One finding."""
        advice = await self._advice(server, None, ())
        findings = [finding for finding in advice.findings if finding.fingerprint == fingerprint]
        if not findings:
            raise NotAnswered(
                f"no finding {fingerprint} in the last report: list_findings has all; its sidecar knows what is gone"
            )
        if len(findings) > 1:
            names = ", ".join(finding.server for finding in findings[:5])
            raise NotAnswered(f"{len(findings)} servers have a finding {fingerprint}: name the server, such as {names}")
        return fleet_finding_answer(findings[0])

    async def what_if(self, changes: Mapping[str, SettingValue], server: str | None) -> WhatIf:  # noqa: ARG002
        """Refuse: it needs a sidecar."""
        raise await self._refusal(server)

    async def curve(self, server: str | None) -> MissCurve:
        """Refuse: it needs a sidecar."""
        raise await self._refusal(server)

    async def plan(self, fingerprint: str, target: TargetName, manifest: str | None, server: str | None) -> Plan:
        """The change of a finding about a server, by its series."""
        if self._readings is None:
            raise await self._refusal(server)
        if not server:
            server = (await self.finding(fingerprint, None)).server
        return await self._readings.plan(fingerprint, target, manifest, server)

    async def forecast(self, to: str, server: str | None) -> UpgradeForecast:
        """What an upgrade would do to a server, by its series."""
        if self._readings is None:
            raise NotAnswered("this service does not forecast upgrades: start `innodb-advisor mcp --prometheus URL`")
        if not server:
            raise NotAnswered("name the server: list_servers has the names")
        return await self._readings.forecast(to, server)

    async def history(self, selection: Mapping[str, object], server: str | None) -> History:  # noqa: ARG002
        """Refuse: it needs a sidecar."""
        raise await self._refusal(server)

    async def silence(self, rules: Collection[str], server: str | None) -> Silences:
        """What could not be judged on a server, by the report."""
        report = parsed(ServedReport, await self._get("/fleet"))
        known = next((one for one in report.servers if one.name == server), None)
        if known is None:
            reason = next((group.reason for group in report.not_asked if server in group.servers), None)
            raise NotAnswered(f"nothing is known of {server}: {reason or 'list_servers has the names'}")
        rows = [
            Silence(rule=rule, state="blind", reasons=(spot.lacks,), cure=spot.cure)
            for rule in known.undecided
            if not rules or rule in rules
            for spot in report.blind
            if spot.rule == rule and spot.source is known.source
        ]
        return Silences(server=known.name, at=report.at, watched_seconds=report.window_seconds, silences=tuple(rows))

    async def rule(self, name: str) -> str:
        """The page of a rule."""
        return await self._get(f"/rules/{segment(name)}", form=MARKDOWN)

    async def runbook(self, alert: str) -> str:
        """What to do about an alert."""
        return await self._get(f"/runbooks/{segment(alert)}", form=MARKDOWN)

    async def report(self) -> str:
        """The last report."""
        report = parsed(ServedReport, await self._get("/fleet"))
        return markdown(documents.report(report, documents.MARKDOWN, stale=report.problem or ""))

    async def _advice(self, server: str | None, severity: Severity | None, rules: Sequence[str]) -> FleetAdvice:
        query = {"server": server or None, "severity": severity and severity.value, "rule": [*rules]}
        return parsed(FleetAdvice, await self._get("/advise", query))

    async def _refusal(self, server: str | None) -> NotAnswered:
        """Why a fleet has no answer, and where there is one."""
        advice = await self._advice(server, None, ())
        page = next((finding.page_url for finding in advice.findings if server and finding.page_url), None)
        of = f" (its page: {page})" if page else ""
        return NotAnswered(
            f"the series of a fleet do not answer this: ask the server's own sidecar{of}, by `innodb-advisor mcp --url`"
            " with its address; a server without one needs `innodb-advisor serve` first"
        )

    async def _get(self, path: str, query: Mapping[str, object] | None = None, form: str = JSON) -> str:
        while not self._is_read():  # noqa: ASYNC110 - the watch has no event
            await asyncio.sleep(_LOOK_SECONDS)
        return await self._endpoint.ask(HttpQuestion(path, query or {}, form=form))

    def _server(self, server: FleetServer, findings: Counter[Severity], report: ServedReport) -> WatchedServer:
        down = "its exporter does not reach it" if server.up is False else None
        return WatchedServer(
            name=server.name,
            version=" ".join(filter(None, (server.flavour, server.version))) or None,
            source=documents.SOURCES[server.source],
            problem="; ".join(filter(None, (down, *server.notes))) or None,
            at=report.at,
            findings=dict(findings),
        )


async def answers_at(endpoint: Endpoint) -> SidecarAnswers | FleetAnswers:
    """Who answers there: a sidecar has /state, and a fleet's service has none. Raises NotAnswered."""
    try:
        await endpoint.ask(HttpQuestion("/state", {}))
    except NotAnswered as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        await endpoint.ask(HttpQuestion("/fleet", {}))
        return FleetAnswers(endpoint)
    return SidecarAnswers(endpoint)


def parsed(model: type[Answer], text: str) -> Answer:
    """An answer. Fields that a newer sidecar added are left out.

    Raises:
        NotAnswered: It is none.
    """
    return _parsed(model.model_validate_json, text)


def _parsed(parse: Callable[..., Parsed], text: str) -> Parsed:
    try:
        return parse(text, extra="ignore")
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(map(str, wrong["loc"]))
        raise NotAnswered(
            f"another version of innodb-advisor answers: {where}: {wrong['msg']}; use the same version for both"
        ) from None


def _name(state: State) -> str:
    """The server's name: its address, or that of the recording's file."""
    return state.target or (state.recording.name if state.recording else "") or "server"


def _line(server: str, finding: Recommendation) -> FindingLine:
    return FindingLine(
        server=server,
        fingerprint=finding.fingerprint,
        rule=finding.rule,
        severity=finding.severity,
        subject=finding.subject,
        summary=finding.summary,
        settings={change.setting: change.to for change in finding.changes},
        actions=len(finding.actions),
        read_bytes_saved_per_second=finding.effect.read_bytes_saved_per_second if finding.effect else None,
        trend=finding.trend,
        since=finding.since,
    )


def _fleet_line(finding: FleetFinding) -> FindingLine:
    return FindingLine(
        server=finding.server,
        fingerprint=finding.fingerprint,
        rule=finding.rule,
        severity=finding.severity,
        subject=finding.subject,
        summary=finding.summary,
        settings={change.setting: change.to for change in finding.changes},
        actions=len(finding.actions),
        read_bytes_saved_per_second=finding.read_bytes_saved_per_second,
    )


def _stale(problem: str | None) -> tuple[str, ...]:
    return () if problem is None else (f"the report is old: {problem}",)


def _weight(findings: Mapping[Severity, int]) -> int:
    """More for severe findings: a critical one outweighs any number of warnings that a server has."""
    return sum(count * 1000**severity.rank for severity, count in findings.items())
