"""The metrics and labels of an expression, from a real Prometheus' syntax tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from advisor.advice import metrics as advisor_metrics
from advisor.alerting import delivery as alerting_metrics
from advisor.fleet import metrics as fleet_metrics
from advisor.ledger import metrics as ledger_metrics
from advisor.pool import metrics as curve_metrics
from exporter.exposition import HistogramSpec, Spec
from exporter.recording import history as stored_history
from exporter.sampling import metrics


def _series(spec: Spec | HistogramSpec) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names and labels of its series."""
    if isinstance(spec, Spec):
        yield spec.name, spec.labels
    else:
        yield f"{spec.name}_bucket", (*spec.labels, "le")
        yield from ((f"{spec.name}_{part}", spec.labels) for part in ("count", "sum"))


TARGET = frozenset({"cluster", "namespace", "job", "instance"})
"""What Prometheus adds to every series that it scrapes; the first two only where the target has them."""
EXPOSED: Mapping[str, frozenset[str]] = {
    name: frozenset(labels) | TARGET
    for module in (metrics, stored_history, advisor_metrics, curve_metrics, ledger_metrics, alerting_metrics)
    for spec in module.SPECS.values()
    for name, labels in _series(spec)
}
"""The labels of each metric that the sidecar exposes."""
EXPOSED_BY_FLEET: Mapping[str, frozenset[str]] = {
    name: frozenset(labels) | TARGET for spec in fleet_metrics.SPECS.values() for name, labels in _series(spec)
}
"""The same of `fleet --listen`."""
OF_PEER: Mapping[str, frozenset[str]] = {
    "mysql_global_status_uptime": TARGET,
    "mysql_global_status_innodb_pages_read": TARGET,
    "mysql_global_status_innodb_buffer_pool_read_requests": TARGET,
    "mysql_global_status_buffer_pool_pages": TARGET | {"state"},
}
"""The same of mysqld_exporter, of those that a recording rule reads."""


def labels(tree: Mapping[str, Any], known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The labels of an expression's series.

    Args:
        tree: What ``Prometheus.parse`` returned for it.
        known: The labels of each metric.

    Raises:
        AssertionError: It uses an unknown metric or label.
    """
    match tree["type"]:
        case "vectorSelector" | "matrixSelector":
            name = tree["name"]
            assert name in known, f"no metric {name}"
            unknown = {matcher["name"] for matcher in tree["matchers"]} - known[name] - {"__name__"}
            assert not unknown, f"{name} has no {unknown}"
            return known[name]
        case "aggregation":
            of, by = labels(tree["expr"], known), frozenset(tree["grouping"])
            assert by <= of, f"none of the labels {by - of} is there to aggregate by"
            if tree["op"] in ("topk", "bottomk"):
                return of
            return of - by if tree["without"] else by
        case "binaryExpr":
            return _both(tree, known)
        case "call":
            return frozenset().union(*(labels(argument, known) for argument in tree["args"]))
        case "numberLiteral" | "stringLiteral":
            return frozenset()
        case "parenExpr" | "unaryExpr" | "subquery":
            return labels(tree["expr"], known)
        case other:
            raise AssertionError(f"not thought of: {other}")


def _both(tree: Mapping[str, Any], known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    left, right = labels(tree["lhs"], known), labels(tree["rhs"], known)
    if tree["matching"] is None:  # one side is a scalar
        return left | right
    matching = tree["matching"]
    if matching["on"]:
        assert set(matching["labels"]) <= left & right
    else:
        assert left - set(matching["labels"]) == right - set(matching["labels"]), "its sides never match"
    return left
