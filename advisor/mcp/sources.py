"""Who answers: a sidecar for its server, or a fleet's service for many. Both are asked by their HTTP API."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from advisor.advice.silence import Silence, Silences
from advisor.advice.state import State
from advisor.contract.fleet import FleetAdvice, FleetServer, ServedReport
from advisor.contract.plan import Plan, TargetName
from advisor.contract.recommendation import Advice, Severity
from advisor.contract.settings import SettingValue
from advisor.contract.upgrade import UpgradeForecast
from advisor.ledger.history import GoneFinding, GradedRecommendation, GradedSetAside, History
from advisor.mcp.answers import (
    CurveAnswer,
    FindingAnswer,
    FindingList,
    ServerList,
    WatchedServer,
    curve_answer,
    finding_answer,
    finding_line,
    fleet_finding_answer,
)
from advisor.mcp.endpoint import MARKDOWN, Endpoint, NotAnswered, located, segment
from advisor.mcp.readings import FleetReadings
from advisor.outgoing.sidecar import JSON, YAML
from advisor.pool.curve import MissCurve
from advisor.pool.what_if import WhatIf
from advisor.render import fleet as documents
from advisor.render.markdown import markdown

Answer = TypeVar("Answer", bound=BaseModel)
Parsed = TypeVar("Parsed")
_FINDING: TypeAdapter[GradedRecommendation | GradedSetAside | GoneFinding] = TypeAdapter(
    GradedRecommendation | GradedSetAside | GoneFinding
)


class SidecarAnswers:
    """The answers of a sidecar. Every method raises NotAnswered."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Ask this sidecar."""
        self._endpoint = endpoint

    async def servers(self) -> ServerList:
        """The server."""
        state = await self._state()
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

    async def findings(self, server: str | None, severity: Severity | None, rule: str | None) -> FindingList:
        """The findings, the worst first."""
        name = await self._require(server)
        query = {"severity": severity and severity.value, "rule": rule}
        advice = _parsed(Advice.model_validate_json, await self._endpoint.ask(located("/advise", query)))
        return FindingList(
            at=advice.at,
            blind=len({blind.rule for blind in advice.blind} | {failed.rule for failed in advice.failed}),
            set_aside=len(advice.suppressed) + len(advice.overruled),
            findings=tuple(
                finding_line(
                    finding,
                    server=name,
                    read_bytes_saved_per_second=finding.effect and finding.effect.read_bytes_saved_per_second,
                )
                for finding in advice.recommendations
            ),
        )

    async def finding(self, fingerprint: str, server: str | None) -> FindingAnswer:
        """One finding."""
        name = await self._require(server)
        text = await self._endpoint.ask(f"/advise/{segment(fingerprint)}")
        return finding_answer(name, _parsed(_FINDING.validate_json, text))

    async def what_if(self, changes: Mapping[str, SettingValue], server: str | None) -> WhatIf:
        """What a change of settings would do."""
        return await self._of(server, WhatIf, "/whatif", json.dumps({"set": changes}), form=JSON)

    async def curve(self, server: str | None) -> CurveAnswer:
        """The miss curve."""
        return curve_answer(await self._of(server, MissCurve, "/curve"))

    async def plan(self, fingerprint: str, target: TargetName, manifest: str | None, server: str) -> Plan:
        """The change that a finding asks for, for the owner of the settings."""
        path = located(f"/advise/{segment(fingerprint)}/plan", {"for": target})
        return await self._of(server, Plan, path, manifest or None)

    async def forecast(self, to: str, server: str | None) -> UpgradeForecast:
        """What an upgrade would do."""
        return await self._of(server, UpgradeForecast, located("/upgrade", {"to": to}))

    async def history(self, selection: Mapping[str, str | None], server: str | None) -> History:
        """What became of changes; the names of the selection are those of `/history`."""
        return await self._of(server, History, located("/history", selection))

    async def silence(self, rule: str | None, server: str | None) -> Silences:
        """Why rules are silent."""
        return await self._of(server, Silences, located("/silence", {"rule": rule}))

    async def page(self, path: str) -> str:
        """The page of a rule or an alert, in markdown."""
        return await self._endpoint.ask(path, accept=MARKDOWN)

    async def report(self) -> str:
        """The advice as it is, in markdown."""
        return await self.page("/advise")

    async def _of(
        self, server: str | None, model: type[Answer], path: str, content: str | None = None, *, form: str = YAML
    ) -> Answer:
        """An answer about the server, as this model has it. Raises NotAnswered where the server is another one."""
        await self._require(server)
        return _parsed(model.model_validate_json, await self._endpoint.ask(path, content, form=form))

    async def _require(self, server: str | None) -> str:
        """The name of the server. Raises NotAnswered where it is another one."""
        name = _name(await self._state())
        if server not in (None, "", name):
            raise NotAnswered(f"no server {server}: there is only {name}, and server may be left out")
        return name

    async def _state(self) -> State:
        return _parsed(State.model_validate_json, await self._endpoint.ask("/state"))


class FleetAnswers:
    """The answers of a fleet's service. Every method raises NotAnswered."""

    def __init__(self, endpoint: Endpoint, readings: FleetReadings | None = None) -> None:
        """Ask this service.

        Args:
            endpoint: Asks it.
            readings: Of the same fleet, where this process reads it.
        """
        self._endpoint, self._readings = endpoint, readings

    async def servers(self) -> ServerList:
        """All of them, those with the most findings first."""
        report = await self._report()
        findings: dict[str, Counter[Severity]] = {}
        for finding in report.findings:
            findings.setdefault(finding.server, Counter())[finding.severity] += 1
        servers = [_watched(server, findings.get(server.name, Counter()), report.at) for server in report.servers]
        servers += [
            WatchedServer(name=name, source="nothing is known", problem=group.reason)
            for group in report.not_asked
            for name in group.servers
        ]
        ranked = sorted(servers, key=lambda server: (-_weight(server.findings), server.name))
        stale = () if report.problem is None else (f"the report is old: {report.problem}",)
        return ServerList(servers=tuple(ranked), warnings=(*stale, *report.warnings))

    async def findings(self, server: str | None, severity: Severity | None, rule: str | None) -> FindingList:
        """The findings, the worst first."""
        advice = await self._advice(server, severity, rule)
        undecided = advice.server.undecided if advice.server else ()
        return FindingList(
            at=advice.at, blind=len(undecided), findings=tuple(finding_line(finding) for finding in advice.findings)
        )

    async def finding(self, fingerprint: str, server: str | None) -> FindingAnswer:
        """One finding."""
        advice = await self._advice(server)
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

    async def curve(self, server: str | None) -> CurveAnswer:
        """Refuse: it needs a sidecar."""
        raise await self._refusal(server)

    async def plan(self, fingerprint: str, target: TargetName, manifest: str | None, server: str) -> Plan:
        """The change of a finding about a server, by its series."""
        if self._readings is None:
            raise await self._refusal(server)
        return await self._readings.plan(fingerprint, target, manifest, server)

    async def forecast(self, to: str, server: str | None) -> UpgradeForecast:
        """What an upgrade would do to a server, by its series."""
        if self._readings is None:
            raise NotAnswered("this service does not forecast upgrades: start `innodb-advisor mcp --prometheus URL`")
        if not server:
            raise NotAnswered("name the server: list_servers has the names")
        return await self._readings.forecast(to, server)

    async def history(self, selection: Mapping[str, str | None], server: str | None) -> History:  # noqa: ARG002
        """Refuse: it needs a sidecar."""
        raise await self._refusal(server)

    async def silence(self, rule: str | None, server: str | None) -> Silences:
        """What could not be judged on a server, by the report."""
        report = await self._report()
        known = next((one for one in report.servers if one.name == server), None)
        if known is None:
            reason = next((group.reason for group in report.not_asked if server in group.servers), None)
            raise NotAnswered(f"nothing is known of {server}: {reason or 'list_servers has the names'}")
        rows = [
            Silence(rule=undecided, state="blind", reasons=(spot.lacks,), cure=spot.cure)
            for undecided in known.undecided
            if rule in (None, undecided)
            for spot in report.blind
            if spot.rule == undecided and spot.source is known.source
        ]
        return Silences(server=known.name, at=report.at, watched_seconds=report.window_seconds, silences=tuple(rows))

    async def page(self, path: str) -> str:
        """The page of a rule or an alert, in markdown."""
        return await self._ask(path, accept=MARKDOWN)

    async def report(self) -> str:
        """The last report, in markdown."""
        report = await self._report()
        return markdown(documents.report(report, documents.MARKDOWN, stale=report.problem or ""))

    async def _report(self) -> ServedReport:
        return _parsed(ServedReport.model_validate_json, await self._ask("/fleet"))

    async def _advice(
        self, server: str | None, severity: Severity | None = None, rule: str | None = None
    ) -> FleetAdvice:
        query = {"server": server or None, "severity": severity and severity.value, "rule": rule}
        return _parsed(FleetAdvice.model_validate_json, await self._ask(located("/advise", query)))

    async def _refusal(self, server: str | None) -> NotAnswered:
        """Why a fleet has no answer, and where there is one."""
        advice = await self._advice(server)
        page = next((finding.page_url for finding in advice.findings if server and finding.page_url), None)
        of = f" (its page: {page})" if page else ""
        return NotAnswered(
            f"the series of a fleet do not answer this: ask the server's own sidecar{of}, by `innodb-advisor mcp --url`"
            " with its address; a server without one needs `innodb-advisor serve` first"
        )

    async def _ask(self, path: str, accept: str = JSON) -> str:
        if self._readings is not None:
            await self._readings.first()
        return await self._endpoint.ask(path, accept=accept)


AnswerSource = SidecarAnswers | FleetAnswers


class RemoteSource:
    """A service elsewhere: a sidecar or a fleet's; its first answer tells which."""

    def __init__(self, endpoint: Endpoint) -> None:
        """Ask nothing yet."""
        self._endpoint = endpoint
        self._answers: AnswerSource | None = None

    async def answers(self) -> AnswerSource:
        """Who answers there: a sidecar has /state, and a fleet's service has none. Raises NotAnswered."""
        if self._answers is None:
            try:
                await self._endpoint.ask("/state")
                self._answers = SidecarAnswers(self._endpoint)
            except NotAnswered as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                await self._endpoint.ask("/fleet")
                self._answers = FleetAnswers(self._endpoint)
        return self._answers


def _parsed(parse: Callable[..., Parsed], text: str) -> Parsed:
    """An answer. Fields that a newer sidecar added are left out.

    Raises:
        NotAnswered: It is none.
    """
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


def _watched(server: FleetServer, findings: Counter[Severity], at: float) -> WatchedServer:
    down = "its exporter does not reach it" if server.up is False else None
    return WatchedServer(
        name=server.name,
        version=" ".join(filter(None, (server.flavour, server.version))) or None,
        source=documents.SOURCES[server.source],
        problem="; ".join(filter(None, (down, *server.notes))) or None,
        at=at,
        findings=dict(findings),
    )


def _weight(findings: Mapping[Severity, int]) -> int:
    """More for severe findings: a critical one outweighs any number of warnings that a server has."""
    return sum(count * 1000**severity.rank for severity, count in findings.items())
