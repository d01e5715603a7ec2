"""What became of advice as metric families."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import Counter, Histogram, Metric

from advisor.ledger.entry import Outcome, Result
from exporter.exposition import HistogramSpec, Spec

_OUTCOMES = Spec(
    "innodb_advisor_outcomes_total",
    "counter",
    "Closed outcomes of changes of settings. rule is empty where no finding asked for the setting; result is kept,"
    " missed, unpromised or not comparable. See /history.",
    ("rule", "result"),
)
_ERROR = HistogramSpec(
    "innodb_advisor_outcome_error_ratio",
    "Difference between measured and predicted after advice was followed, without its sign, relative to the value"
    " before.",
    ("rule",),
    buckets=(0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0),
)
SPECS: dict[str, Spec | HistogramSpec] = {spec.name: spec for spec in (_OUTCOMES, _ERROR)}


class OutcomeMetrics:
    """The closed outcomes of a ledger, each counted once.

    The ledger forgets the oldest ones, but a counter must not fall. What is stored counts from the start.
    """

    def __init__(self) -> None:
        """Begin with no outcome counted."""
        self._outcomes = Counter(_OUTCOMES.name, _OUTCOMES.help, _OUTCOMES.labels, registry=None)
        self._error = Histogram(_ERROR.name, _ERROR.help, _ERROR.labels, registry=None, buckets=_ERROR.buckets)
        self._counted: frozenset[str] = frozenset()

    def families(self, outcomes: Iterable[Outcome]) -> Iterator[Metric]:
        """The metric families; a family without samples is left out.

        Args:
            outcomes: All that the ledger has.
        """
        closed = {outcome.id: outcome for outcome in outcomes if outcome.result is not Result.OPEN}
        for name, outcome in closed.items():
            if name not in self._counted:
                self._count(outcome)
        self._counted = frozenset(closed)
        for family in (*self._outcomes.collect(), *self._error.collect()):
            # Gauges of when each series began: the other families have none either.
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            if family.samples:
                yield family

    def _count(self, outcome: Outcome) -> None:
        rule = outcome.rule or ""
        self._outcomes.labels(rule, outcome.result.value).inc()
        if outcome.error is not None:
            self._error.labels(rule).observe(abs(outcome.error))
