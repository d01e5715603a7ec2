"""The alerts of a fleet's findings, about servers that have no sidecar to send them.

A finding that is missing has ended only where its rule could be judged on its server. While Prometheus is away, or
could not be asked about the server, or the rule lacks something, the alert stays active, and says that it is not new.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlencode

from advisor.alerting.alert import Alert, described, labels_of, shortened, told, valid
from advisor.alerting.timetable import Timetable
from advisor.contract.fleet import FleetFinding, FleetReport, Source
from advisor.contract.links import Links
from advisor.render import phrases

ABSENT_REPORTS = 3
"""A server that is in none of so many reports in a row is gone, also if none of them saw it vanish."""
_Key = tuple[str, str]


class FleetAlerts:
    """The active alerts by server and fingerprint."""

    def __init__(
        self,
        labels: Callable[[], Mapping[str, str]],
        links: Links,
        why: Callable[[str], str],
        resend_seconds: float,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """No alert is active yet.

        Args:
            labels: The configured labels of all alerts.
            links: Of the service.
            why: The text of a rule, by its id; empty for one that is not known.
            resend_seconds: Time between two sendings of an active alert.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
        """
        self._labels, self._links, self._why = labels, links, why
        self._alerts: Timetable[_Key] = Timetable(resend_seconds, clock, ticks)
        self._absent: dict[str, int] = {}
        self._last: FleetReport | None = None

    def update(self, report: FleetReport | None, away: str = "") -> list[Alert]:
        """The alerts to send now.

        Args:
            report: The last one; None before the first.
            away: Why there is none newer, with since when; empty while there is.
        """
        new = report is not None and report is not self._last
        due = self._judged(report) if report is not None and new else self._kept(away)
        self._last = report
        return [*self._alerts.ended(), *due]

    def _judged(self, report: FleetReport) -> list[Alert]:
        """By a new report."""
        servers = {each.name: each for each in report.servers}
        due: list[Alert] = []
        found: set[_Key] = set()
        for each in report.findings:
            if each.source is not Source.VERDICT and each.server in servers:
                found.add((each.server, each.fingerprint))
                due += self._found(each, servers[each.server].identity)
        not_asked = {name: some.reason for some in report.not_asked for name in some.servers}
        vanished = {each.server for each in report.vanished}
        undecided = {each.name: frozenset(each.undecided) for each in report.servers}
        known = undecided.keys() | not_asked.keys()
        active = tuple(self._alerts)
        self._absent = {name: self._absent.get(name, 0) + 1 for name, _ in dict.fromkeys(active) if name not in known}
        for key in active:
            if key in found:
                continue
            server, rule = key[0], self._alerts.alert(key).labels["rule"]
            if server in not_asked:
                due += self._unseen(key, f"not asked: {not_asked[server]}")
            elif rule in undecided.get(server, ()):
                due += self._unseen(key, "the rule cannot be judged now")
            elif server not in known and server not in vanished and self._absent[server] < ABSENT_REPORTS:
                due += self._unseen(key, "no series is of the server now")
            else:
                self._alerts.resolve(key)
        return due

    def _kept(self, away: str) -> list[Alert]:
        """Without a new report."""
        due: list[Alert] = []
        for key in self._alerts:
            due += self._unseen(key, away) if away else self._alerts.keep(key)
        return due

    def _found(self, found: FleetFinding, identity: Mapping[str, str]) -> list[Alert]:
        key = found.server, found.fingerprint
        labels = labels_of(found, {**self._labels(), **identity})
        return self._alerts.hold(key, labels, self._annotations(found), self._data(found))

    def _unseen(self, key: _Key, why: str) -> list[Alert]:
        self._alerts.amend(key, {**self._alerts.alert(key).annotations, "unseen": told(why)})
        return self._alerts.keep(key)

    def _annotations(self, found: FleetFinding) -> dict[str, str]:
        known = self._why(found.rule)
        description = "\n".join(described(_lines(found), found.evidence, known))
        return {
            "summary": told(f"{found.summary or found.rule} ({found.server})"),
            "description": shortened(description),
            **({} if found.confidence is None else {"confidence": f"{found.confidence:g}"}),
            "fingerprint": found.fingerprint,
            "source": found.source.value,
            "page_url": self._data(found),
            **({"runbook_url": self._links.rule(found.rule)} if known else {}),
        }

    def _data(self, found: FleetFinding) -> str:
        query = urlencode({"server": valid(found.server), "rule": found.rule})
        return f"{self._links.page}/advise?{query}"


def _lines(found: FleetFinding) -> Iterator[tuple[str, str]]:
    yield from phrases.instructions(found)
    yield from _details(found)


def _details(found: FleetFinding) -> Iterator[tuple[str, str]]:
    if found.effect is not None:
        yield "effect", phrases.effect(found.effect)
    yield from (("note", note) for note in found.notes)
    confidence = "" if found.confidence is None else f", confidence {found.confidence:g}"
    yield "rule", f"{found.rule}{confidence}, {found.fingerprint}"
