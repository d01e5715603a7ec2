"""The alerts of a fleet's findings, about servers that have no sidecar to send them.

A finding that is missing has ended only where its rule could be judged on its server. While Prometheus is away, or
could not be asked about the server, or the rule lacks something, the alert stays active, and says that it is not new.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlencode

from advisor.alerting.alert import Alert, description, labels_of, one_line, valid
from advisor.alerting.schedule import AlertSchedule
from advisor.contract.fleet import FleetFinding, FleetReport, Source
from advisor.contract.links import Links
from advisor.fleet.watch import FleetWatch
from advisor.render import blocks, fleet, phrases
from advisor.rules.rulebook import Rulebook

ABSENT_REPORTS = 3
"""A server that is in none of so many reports in a row is gone, also if none of them saw it vanish."""
_Key = tuple[str, str]


class FleetAlerts:
    """The active alerts by server and fingerprint."""

    def __init__(
        self,
        links: Links,
        rules: Rulebook,
        resend_seconds: float,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """No alert is active yet.

        Args:
            links: Of the service.
            rules: Have the texts of the findings.
            resend_seconds: Time between two sendings of an active alert.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
        """
        self._links, self._rules = links, rules
        self._alerts: AlertSchedule[_Key] = AlertSchedule(resend_seconds, clock, ticks)
        self._absent: dict[str, int] = {}
        self._last: FleetReport | None = None

    async def look(self, watch: FleetWatch, labels: Mapping[str, str]) -> tuple[list[Alert], bool]:
        """The alerts to send now, and whether there is a report.

        Args:
            watch: Has the last report.
            labels: The configured labels of all alerts.
        """
        # In a thread: the texts of thousands of findings take a second.
        alerts = await asyncio.to_thread(self.update, watch.report, labels, watch.stale)
        return alerts, watch.report is not None

    def update(self, report: FleetReport | None, labels: Mapping[str, str], away: str = "") -> list[Alert]:
        """The alerts to send now.

        Args:
            report: The last one; None before the first.
            labels: The configured labels of all alerts.
            away: Why there is none newer, with since when; empty while there is.
        """
        if report is not None and report is not self._last:
            self._judge(report, labels)
        else:
            for key in self._alerts:
                self._alerts.keep(key, _unseen(away) if away else None)
        self._last = report
        return self._alerts.due()

    def _judge(self, report: FleetReport, labels: Mapping[str, str]) -> None:
        """By a new report."""
        servers = {server.name: server for server in report.servers}
        held: set[_Key] = set()
        for finding in report.findings:
            if finding.source is not Source.VERDICT and finding.server in servers:
                key = finding.server, finding.fingerprint
                held.add(key)
                identity = {**labels, **servers[finding.server].identity}
                annotations = self._annotations(finding)
                self._alerts.hold(key, labels_of(finding, identity), annotations, self._data(finding))
        not_asked = {name: group.reason for group in report.not_asked for name in group.servers}
        vanished = {server.server for server in report.vanished}
        undecided = {server.name: frozenset(server.undecided) for server in report.servers}
        known = undecided.keys() | not_asked.keys()
        absent = dict.fromkeys(name for name, _ in self._alerts if name not in known)
        self._absent = {name: self._absent.get(name, 0) + 1 for name in absent}
        for key in self._alerts:
            server, rule = key[0], self._alerts[key].labels["rule"]
            if key in held:
                continue
            if server in not_asked:
                self._alerts.keep(key, _unseen(f"not asked: {not_asked[server]}"))
            elif rule in undecided.get(server, ()):
                self._alerts.keep(key, _unseen("the rule cannot be judged now"))
            elif server not in known and server not in vanished and self._absent[server] < ABSENT_REPORTS:
                self._alerts.keep(key, _unseen("no series is of the server now"))
            else:
                self._alerts.resolve(key)

    def _annotations(self, finding: FleetFinding) -> dict[str, str]:
        rule = self._rules.rule_set.rule(finding.rule)  # a sidecar may have rules that are not known here
        why = rule.file.why if rule else ""
        details = ((label, blocks.plain(line)) for label, line in fleet.details(finding))
        lines = (*phrases.instructions(finding), *details)
        return {
            "summary": one_line(f"{finding.summary or finding.rule} ({finding.server})"),
            "description": description(lines, finding.evidence, why),
            **({} if finding.confidence is None else {"confidence": f"{finding.confidence:g}"}),
            "fingerprint": finding.fingerprint,
            "source": finding.source.value,
            "page_url": self._data(finding),
            **({"runbook_url": self._links.rule(finding.rule)} if why else {}),
        }

    def _data(self, finding: FleetFinding) -> str:
        query = urlencode({"server": valid(finding.server), "rule": finding.rule})
        return f"{self._links.page}/advise?{query}"


def _unseen(why: str) -> dict[str, str]:
    return {"unseen": one_line(why)}
