"""The deliveries as metric families, named and counted as Prometheus' own notifier does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import Metric

from advisor.alerting.delivery import Alertmanager
from exporter.exposition import Sample, Spec, assemble

SPECS = {
    spec.name: spec
    for spec in (
        Spec("innodb_advisor_notifications_sent_total", "counter", "Alerts that Alertmanager took.", ("alertmanager",)),
        Spec(
            "innodb_advisor_notifications_errors_total",
            "counter",
            "Alerts in failed attempts to send.",
            ("alertmanager",),
        ),
        Spec(
            "innodb_advisor_notifications_dropped_total",
            "counter",
            "Alerts that an Alertmanager refused, or that found its queue full; alerts that still hold are sent again.",
        ),
        Spec(
            "innodb_advisor_notifications_queue_length",
            "gauge",
            "Alerts that wait to be sent.",
            ("alertmanager",),
        ),
        Spec(
            "innodb_advisor_notifications_queue_capacity",
            "gauge",
            "Limit of waiting alerts for each Alertmanager.",
        ),
    )
}


def families(alertmanagers: Sequence[Alertmanager]) -> Iterator[Metric]:
    """The metric families of all of them."""
    yield from assemble(SPECS, _samples(alertmanagers))


def _samples(alertmanagers: Sequence[Alertmanager]) -> Iterator[Sample]:
    for each in alertmanagers:
        yield "innodb_advisor_notifications_sent_total", (each.url,), each.sent
        yield "innodb_advisor_notifications_errors_total", (each.url,), each.errors
        yield "innodb_advisor_notifications_queue_length", (each.url,), each.waiting
    yield "innodb_advisor_notifications_dropped_total", (), sum(each.dropped for each in alertmanagers)
    yield "innodb_advisor_notifications_queue_capacity", (), max(each.capacity for each in alertmanagers)
