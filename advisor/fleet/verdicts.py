"""Findings of sidecars, from their series. They are never worked out again.

SQL is made here from setting, value and version, by the same function as the sidecar's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from advisor.contract.changes import SIZE_MAX, change_on, most_at_runtime
from advisor.contract.fleet import FleetFinding, Source
from advisor.contract.recommendation import Change, Severity, fingerprint
from advisor.contract.settings import SETTINGS
from advisor.contract.templates import duration
from advisor.fleet.client import QueryError
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader, ServerSeries
from advisor.fleet.report import Lack, ServerFindings
from advisor.fleet.shards import LeftOut, Shard, over, patiently
from advisor.rules.rulebook import RuleSet

FINDINGS = FleetQuery(
    "verdict",
    "max by ($I, __name__, rule, severity, subject, setting) ({__name__=~"
    '"innodb_advisor_(recommendation|recommended_value|setting_value|confidence|suppressed'
    '|predicted_read_bytes_saved_per_second)",$S})',
    ("rule", "severity", "subject", "setting"),
    at_end=True,
)
CHANGES = FleetQuery(
    "verdict-changes",
    "group by ($I, rule, subject, setting, from, value, fingerprint) (innodb_advisor_recommendation_info{$S})",
    ("rule", "subject", "setting", "from", "value", "fingerprint"),
    at_end=True,
)
PAGES = FleetQuery(
    "verdict-pages",
    "group by ($I, rule, subject, fingerprint, url) (innodb_advisor_recommendation_page_info{$S})",
    ("rule", "subject", "fingerprint", "url"),
    at_end=True,
)
BLIND = FleetQuery(
    "verdict-blind",
    'max by ($I, __name__, rule) ({__name__=~"innodb_advisor_rule_(blind|failed)",$S}) > 0',
    ("rule",),
    at_end=True,
)
BESIDE = FleetQuery(
    "verdict-beside",
    "max by ($I, __name__, name, collector, failure) "
    '({__name__=~"innodb_setting|innodb_exporter_collector_failure_info",name=~"|innodb_buffer_pool_size_max",$S})',
    ("name", "collector", "failure"),
    at_end=True,
)
QUERIES = (FINDINGS, CHANGES, PAGES, BLIND, BESIDE)
_PREFIX = "innodb_advisor_"
_OLD_SECONDS = 900.0
"""A sidecar judges each minute; rules that need minutes for a model are behind by a few of them."""
_SUBJECTS = ((), ("schema", "table"), ("setting",), ("cure",), ("schema", "table", "index"))
"""The keys of a subject, whose values a series joins with dots. The fingerprint shows which are meant."""
_OLDER = "its sidecar is of an older version, which does not tell the advised value: its page does"
_ORDER = "a rule that is not known here: the order of its changes may be another one on the sidecar's page"
_FAILED = "an error in the rule, which the sidecar's log has"
_NOT_TOLD = "what its sidecar's /advise says"
_ACTION = "what to do is no setting: its sidecar's page says it"
_CURES = {
    "privilege": "the GRANT that `innodb-advisor check` names on the server",
    "disabled": "the setting that `innodb-advisor check` names on the server",
    "deadline": "a longer --statement-timeout of the sidecar",
}

_Finding = tuple[str, str]
"""Rule, and subject as series have it."""


async def verdicts(
    reader: FleetReader, servers: Mapping[ServerKey, InventoryEntry], rules: RuleSet, *, whole: bool = True
) -> tuple[Mapping[ServerKey, ServerFindings], LeftOut]:
    """Ask for the verdicts of all sidecars: five queries, or five a shard where a limit is hit.

    Args:
        reader: Asks at the end of its grid.
        servers: Those that have a sidecar.
        rules: The rules in force: what a blind rule needs, the order of changes, and the findings to suppress.
        whole: Whether these are all servers that the selector finds.

    Returns:
        A verdict of each server, and the servers that could not be asked about.
    """

    async def ask(shard: Shard, *, everyone: bool = False) -> Mapping[ServerKey, ServerFindings]:
        answer = await reader.ask(QUERIES, None if everyone else shard)
        series = {key: answer.servers.get(key, ServerSeries()) for key in shard}
        sidecars = {key: _Sidecar(servers[key], series[key], rules, reader.grid.end) for key in shard}
        return {key: sidecar.verdict(answer.incomplete) for key, sidecar in sidecars.items()}

    if whole and servers:
        try:
            return await patiently(lambda: ask(tuple(servers), everyone=True)), {}
        except QueryError as error:
            if error.kind not in ("limit", "slow"):  # shards are smaller
                return {}, {str(error): [key.name for key in servers]}
    return await over(servers, ask)


class _Sidecar:
    """A server's sidecar, by the series of its verdict."""

    def __init__(self, entry: InventoryEntry, series: ServerSeries, rules: RuleSet, at: float) -> None:
        self._entry, self._series, self._rules, self._at = entry, series, rules, at
        changes = [labels for labels, _ in series.values(CHANGES.name, at)]
        pages = [labels for labels, _ in series.values(PAGES.name, at)]
        self._words = {
            (rule, subject, setting): (before, after) for rule, subject, setting, before, after, _ in changes
        }
        self._urls = {(rule, subject): url for rule, subject, _, url in pages if url}
        # A suppressed finding may have an address, too: fingerprints of the changes win.
        self._fingerprints = {(rule, subject): printed for rule, subject, printed, _ in pages}
        self._fingerprints |= {(rule, subject): printed for rule, subject, *_, printed in changes}

    def verdict(self, incomplete: str) -> ServerFindings:
        """The verdict.

        Args:
            incomplete: Why there may be more; empty where there is no more.
        """
        findings = [self._fleet_finding(*item) for item in self._recommendations().items()]
        wanted = tuple(finding for finding in findings if not self._is_suppressed(finding))
        lacks = tuple(self._lacks())
        undecided = {rule for rule, _, _ in lacks}
        if incomplete:  # a rule without a finding may have one in the part that lacks
            undecided = {rule.id for rule in self._rules.rules} - {finding.rule for finding in findings}
        return ServerFindings(
            findings=wanted,
            lacks=lacks,
            undecided=tuple(sorted(undecided)),
            suppressed=len(self._labels("suppressed")) + len(findings) - len(wanted),
            notes=(f"incomplete answer: {incomplete}",) if incomplete else (),
        )

    def _is_suppressed(self, finding: FleetFinding) -> bool:
        """Whether the configuration of this program suppresses a finding that its sidecar's does not."""
        today = datetime.now(UTC).date()
        suppressions = self._rules.suppressions
        return any(suppression.covers(finding.rule, finding.fingerprint, today) for suppression in suppressions)

    def _labels(self, metric: str) -> list[tuple[str, ...]]:
        return [labels for labels, _ in self._series.values(f"{_PREFIX}{metric}", self._at)]

    def _recommendations(self) -> Mapping[_Finding, tuple[Severity, list[str]]]:
        """By finding, its severity, and the settings that it wants to change."""
        recommendations: dict[_Finding, tuple[Severity, list[str]]] = {}
        for rule, word, subject, setting in self._labels("recommendation"):
            severity = next((severity for severity in Severity if severity.value == word), Severity.INFO)
            before, settings = recommendations.get((rule, subject), (severity, []))
            worst = max(severity, before, key=lambda severity: severity.rank)
            recommendations[rule, subject] = worst, [*settings, *([setting] if setting else [])]
        return recommendations

    def _number(self, metric: str, finding: _Finding, setting: str = "") -> float | None:
        rule, subject = finding
        return self._series.value(f"{_PREFIX}{metric}", self._at, rule, "", subject, setting)

    def _lacks(self) -> Iterator[Lack]:
        """What a blind or failed rule lacked, each with a cure where there is one."""
        failures = {
            collector: failure
            for (_, collector, failure), _ in self._series.values("innodb_exporter_collector_failure_info", self._at)
        }
        for (rule_id,) in self._labels("rule_blind"):
            rule = self._rules.rule(rule_id)
            needs = [name for name in (rule.file.needs if rule else ()) if name in failures]
            for name in needs:
                yield rule_id, f"{name} ({failures[name]})", _CURES.get(failures[name])
            if not needs:
                yield rule_id, _NOT_TOLD, None
        for (rule_id,) in self._labels("rule_failed"):
            yield rule_id, _FAILED, None

    def _fleet_finding(self, finding: _Finding, recommendation: tuple[Severity, list[str]]) -> FleetFinding:
        severity, settings = recommendation
        rule = self._rules.rule(finding[0])  # a sidecar may have rules that are not known here
        order = [change.setting for change in rule.file.change] if rule else []
        changes = [change for setting in settings for change in self._change(finding, setting)]
        changes.sort(
            key=lambda change: (order.index(change.setting) if change.setting in order else len(order), change.setting)
        )
        subject, printed = _subject(*finding, self._fingerprints.get(finding, ""))
        return FleetFinding(
            server=self._entry.key.name,
            source=Source.VERDICT,
            rule=finding[0],
            severity=severity,
            subject=subject,
            fingerprint=printed,
            confidence=self._number("confidence", finding),
            changes=tuple(changes),
            read_bytes_saved_per_second=self._number("predicted_read_bytes_saved_per_second", finding),
            notes=tuple(self._notes(settings, changes, ordered=bool(order))),
            page_url=self._urls.get(finding),
        )

    def _notes(self, settings: Sequence[str], changes: Sequence[Change], *, ordered: bool) -> Iterator[str]:
        judged_at = self._entry.judged_at
        if judged_at is not None and self._at - judged_at > _OLD_SECONDS:
            yield f"its sidecar judged last {duration(self._at - judged_at)} ago"
        if len(changes) < len(settings):
            yield _OLDER if self._entry.server else "its version is not known, so its SQL is not either"
        if not settings:
            yield _ACTION
        if len(changes) > 1 and not ordered:
            yield _ORDER

    def _change(self, finding: _Finding, setting: str) -> Iterator[Change]:
        """The change of a setting, as the sidecar makes it; none where series lack."""
        server = self._entry.server
        from_word, to_word = self._words.get((*finding, setting), ("", ""))
        before = from_word or self._number("setting_value", finding, setting)
        after = to_word or self._number("recommended_value", finding, setting)
        if server is None or setting not in SETTINGS or after is None:
            return
        if before is None and isinstance(after, str) and SETTINGS[setting].kind == "text":
            before = ""  # an empty label: innodb_flush_method of MySQL 5.6, where nobody set it
        size_max = self._series.value("innodb_setting", self._at, SIZE_MAX, "", "")
        yield change_on(server, setting, before, after, most_at_runtime(setting, size_max))


def _subject(rule: str, subject: str, printed: str) -> tuple[Mapping[str, str], str]:
    """The subject and the fingerprint. Where no split of the text has the fingerprint, the text is its only value."""
    whole = {"subject": subject} if subject else {}
    if not printed:
        return whole, fingerprint(rule, whole)
    parts = subject.split(".")
    for names in _SUBJECTS:
        for values in _splits(parts, len(names)) if subject else [()] if not names else []:
            split = dict(zip(names, values, strict=True))
            if fingerprint(rule, split) == printed:
                return split, printed
    return whole, printed


def _splits(parts: Sequence[str], count: int) -> Iterator[tuple[str, ...]]:
    """The ways to read a text with dots as so many values."""
    for cuts in itertools.combinations(range(1, len(parts)), max(0, count - 1)):
        edges = (0, *cuts, len(parts))
        if count:
            yield tuple(".".join(parts[begin:end]) for begin, end in itertools.pairwise(edges))
