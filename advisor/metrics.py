"""Advice as metric families, for alert rules in Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import Metric

from advisor.recommendation import Advice
from advisor.rule import Rule
from exporter.metrics import Sample, assemble
from exporter.specs import Spec

SPECS = {
    spec.name: spec
    for spec in (
        Spec(
            "innodb_advisor_recommendation",
            "gauge",
            "A setting that should be changed; always 1. See /advise.",
            ("rule", "severity", "subject", "setting"),
        ),
        Spec("innodb_advisor_rule_blind", "gauge", "Whether a rule lacked something it needs to see.", ("rule",)),
        Spec(
            "innodb_advisor_predicted_read_bytes_saved_per_second",
            "gauge",
            "Reads from disk that following a recommendation is predicted to save.",
            ("rule", "subject"),
        ),
    )
}


def families(advice: Advice | None, rules: Sequence[Rule]) -> Iterator[Metric]:
    """The metric families of what the rules say; none while there is no window to look at."""
    if advice is not None:
        yield from assemble(SPECS, _samples(advice, rules))


def _samples(advice: Advice, rules: Sequence[Rule]) -> Iterator[Sample]:
    for found in advice.recommendations:
        subject = ".".join(found.subject.values())
        for change in found.changes:
            labels = (found.rule, found.severity.value, subject, change.setting)
            yield "innodb_advisor_recommendation", labels, 1.0
        saved = found.effect.read_bytes_saved_per_second
        if saved is not None:
            yield "innodb_advisor_predicted_read_bytes_saved_per_second", (found.rule, subject), saved
    blind = {each.rule for each in advice.blind}
    for rule in rules:
        yield "innodb_advisor_rule_blind", (rule.id,), float(rule.id in blind)
