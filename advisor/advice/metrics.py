"""Advice, and the rules behind it, as metric families, for alert rules in Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from prometheus_client import Metric

from advisor.advice.service import Service
from advisor.contract.links import Links
from advisor.contract.recommendation import Advice, Recommendation, Trend, about
from advisor.ledger.metrics import OutcomeMetrics
from advisor.pool import metrics as curve_metrics
from advisor.rules.check import Rule
from advisor.rules.rulebook import Rulebook
from exporter.exposition import Sample, Spec, assemble
from exporter.sampling.metrics import SnapshotFamilies
from exporter.snapshot import Snapshot

SPECS = {
    spec.name: spec
    for spec in (
        Spec(
            "innodb_advisor_recommendation",
            "gauge",
            "A recommendation; always 1. setting is the setting to change, or empty for another action. See /advise.",
            ("rule", "severity", "subject", "setting"),
        ),
        Spec(
            "innodb_advisor_recommendation_info",
            "gauge",  # OpenMetrics cuts _info off the family of an info, and innodb_advisor_recommendation is taken
            "A change that a recommendation advises, for those who write it as SQL. from and value are the setting's "
            "value and the advised one where they are words, such as ON; numbers are in innodb_advisor_setting_value "
            "and innodb_advisor_recommended_value. setting is empty for another action.",
            ("rule", "subject", "setting", "from", "value", "fingerprint"),
        ),
        Spec(
            "innodb_advisor_recommended_value",
            "gauge",
            "The value that a recommendation advises for a setting that is a number, in the setting's own unit.",
            ("rule", "subject", "setting"),
        ),
        Spec(
            "innodb_advisor_setting_value",
            "gauge",
            "The value that this setting had when the recommendation was made: the one to go back to.",
            ("rule", "subject", "setting"),
        ),
        Spec(
            "innodb_advisor_confidence",
            "gauge",
            "How sure a recommendation is, from 0 to 1: by its rule and its evidence.",
            ("rule", "subject"),
        ),
        Spec(
            "innodb_advisor_recommendation_since_timestamp_seconds",
            "gauge",
            "When what a recommendation is about began.",
            ("rule", "subject"),
            "seconds",
        ),
        Spec(
            "innodb_advisor_recommendation_judged_timestamp_seconds",
            "gauge",
            "Time of the snapshot that last showed what a recommendation is about.",
            ("rule", "subject"),
            "seconds",
        ),
        Spec(
            "innodb_advisor_recommendation_trend",
            "gauge",
            "The last five minutes beside the whole window: 1 is worse, 0 steady, -1 better.",
            ("rule", "subject"),
        ),
        Spec(
            "innodb_advisor_advice_timestamp_seconds",
            "gauge",
            "When the newest verdict of a rule was made.",
            (),
            "seconds",
        ),
        Spec(
            "innodb_advisor_next_advice_timestamp_seconds",
            "gauge",
            "When verdicts are made anew at the earliest.",
            (),
            "seconds",
        ),
        Spec(
            "innodb_advisor_suppressed",
            "gauge",
            "A recommendation that the configuration suppresses; always 1.",
            ("rule", "subject"),
        ),
        Spec("innodb_advisor_page_info", "info", "The address of the sidecar's page for people.", ("url",)),
        Spec(
            "innodb_advisor_recommendation_page_info",
            "info",
            "The address of a recommendation on the page, also of one that is suppressed.",
            ("rule", "subject", "fingerprint", "url"),
        ),
        Spec("innodb_advisor_rule_blind", "gauge", "Whether a rule lacked data that it needs.", ("rule",)),
        Spec("innodb_advisor_rule_failed", "gauge", "Whether a rule broke while it was evaluated.", ("rule",)),
        Spec(
            "innodb_advisor_predicted_read_bytes_saved_per_second",
            "gauge",
            "Predicted saving of reads from disk if a recommendation is followed.",
            ("rule", "subject"),
        ),
        Spec("innodb_advisor_rules", "gauge", "Rules in force by origin.", ("origin",)),
        Spec(
            "innodb_advisor_rules_last_reload_successful",
            "gauge",
            "Whether the last attempt to load the rules succeeded; otherwise the previous rules stay in force.",
        ),
        Spec(
            "innodb_advisor_rules_last_reload_success_timestamp_seconds",
            "gauge",
            "When the rules in force were loaded.",
            (),
            "seconds",
        ),
    )
}


class Exposition:
    """Everything that /metrics shows."""

    def __init__(
        self,
        service: Service,
        exposed: Callable[[Snapshot | None], Iterable[Metric]] | None = None,
        own: Sequence[Callable[[], Iterable[Metric]]] = (),
    ) -> None:
        """Begin with no outcome counted.

        Args:
            service: Has the snapshot, the advice and the page's address.
            exposed: The families of a snapshot, and of None while the server is away; by default the exporter's.
            own: More families, of the sidecar itself.
        """
        self._service, self._exposed, self._own = service, exposed or SnapshotFamilies(), own
        self._outcomes = OutcomeMetrics()

    async def families(self) -> list[Metric]:
        """The families now."""
        service = self._service
        snapshot = await service.snapshot()
        verdict = await service.first_verdict()
        advice = families(None if verdict is None else verdict.advice, service.rules, service.links)
        own = [family for some in self._own for family in some()]
        curve = curve_metrics.families(service.last_curve)
        outcomes = self._outcomes.families(service.ledger.outcomes.values())
        return [*self._exposed(snapshot), *advice, *curve, *outcomes, *own]


def families(advice: Advice | None, rules: Rulebook, links: Links | None = None) -> Iterator[Metric]:
    """The metric families of the rules and of their advice; only of the rules while there is no advice."""
    series: dict[tuple[str, tuple[str, ...]], float] = {}
    for name, labels, value in (*_samples(advice, rules), *_addresses(advice, links)):
        # Two subjects may read the same (a.b and c, a and b.c). Prometheus refuses a series that is there twice: the
        # larger value stays.
        series[name, labels] = max(value, series.get((name, labels), value))
    yield from assemble(SPECS, ((name, labels, value) for (name, labels), value in series.items()))


def _samples(advice: Advice | None, rules: Rulebook) -> Iterator[Sample]:
    rule_set = rules.rule_set
    own = sum(origin != "built-in" for origin in rule_set.origins.values())
    yield "innodb_advisor_rules", ("built-in",), len(rule_set.rules) - own
    yield "innodb_advisor_rules", ("user",), own
    yield "innodb_advisor_rules_last_reload_successful", (), float(rules.problem is None)
    yield "innodb_advisor_rules_last_reload_success_timestamp_seconds", (), rule_set.loaded_at
    if advice is not None:
        yield from _advice(advice, rule_set.rules)


def _addresses(advice: Advice | None, links: Links | None) -> Iterator[Sample]:
    """The page, and each recommendation on it: one for each rule and subject, for queries that join them."""
    if links is None:
        return
    yield "innodb_advisor_page_info", (links.page,), 1.0
    if advice is None:
        return
    findings = (*advice.recommendations, *(aside.recommendation for aside in advice.suppressed))
    first = {(finding.rule, about(finding.subject)): finding.fingerprint for finding in reversed(findings)}
    for labels, fingerprint in first.items():
        yield "innodb_advisor_recommendation_page_info", (*labels, fingerprint, links.finding(fingerprint)), 1.0


_TRENDS: dict[Trend, float] = {"worse": 1.0, "steady": 0.0, "better": -1.0}


def _advice(advice: Advice, rules: Sequence[Rule]) -> Iterator[Sample]:
    if advice.computed_at is not None:
        yield "innodb_advisor_advice_timestamp_seconds", (), advice.computed_at
    if advice.next_at is not None:
        yield "innodb_advisor_next_advice_timestamp_seconds", (), advice.next_at
    for finding in advice.recommendations:
        yield from _recommendation(finding)
    for aside in advice.suppressed:
        yield "innodb_advisor_suppressed", (aside.recommendation.rule, about(aside.recommendation.subject)), 1.0
    blind, failed = ({verdict.rule for verdict in verdicts} for verdicts in (advice.blind, advice.failed))
    for rule in rules:
        yield "innodb_advisor_rule_blind", (rule.id,), float(rule.id in blind)
        yield "innodb_advisor_rule_failed", (rule.id,), float(rule.id in failed)


def _recommendation(finding: Recommendation) -> Iterator[Sample]:
    subject = about(finding.subject)
    for setting in [change.setting for change in finding.changes] or [""]:
        yield "innodb_advisor_recommendation", (finding.rule, finding.severity.value, subject, setting), 1.0
    yield "innodb_advisor_confidence", (finding.rule, subject), float(finding.confidence)
    yield from _changes(finding)
    if finding.since is not None:
        yield "innodb_advisor_recommendation_since_timestamp_seconds", (finding.rule, subject), finding.since
    if finding.judged_at is not None:
        yield "innodb_advisor_recommendation_judged_timestamp_seconds", (finding.rule, subject), finding.judged_at
    if finding.trend is not None:
        yield "innodb_advisor_recommendation_trend", (finding.rule, subject), _TRENDS[finding.trend]
    saved = None if finding.effect is None else finding.effect.read_bytes_saved_per_second
    if saved is not None:
        yield "innodb_advisor_predicted_read_bytes_saved_per_second", (finding.rule, subject), saved


def _changes(finding: Recommendation) -> Iterator[Sample]:
    """What each change is from and to. Numbers are values of series: as labels, each new fit would be a new series."""
    name, fingerprint = (finding.rule, about(finding.subject)), finding.fingerprint
    for change in finding.changes:
        words = [value if isinstance(value, str) else "" for value in (change.from_, change.to)]
        yield "innodb_advisor_recommendation_info", (*name, change.setting, *words, fingerprint), 1.0
        for metric, value in (("recommended", change.to), ("setting", change.from_)):
            if value is not None and not isinstance(value, str):
                yield f"innodb_advisor_{metric}_value", (*name, change.setting), float(value)
    if not finding.changes:
        yield "innodb_advisor_recommendation_info", (*name, "", "", "", fingerprint), 1.0
