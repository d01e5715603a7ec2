"""The miss curve as metric families."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Metric

from advisor.pool.curve import ExpectedReads, MissCurve
from advisor.pool.load import OTHERS
from exporter.collectors.base import OTHER
from exporter.exposition import Sample, Spec, assemble

TABLES = 10
"""Tables with series of their own, those with the most reads: each has one for every size and bound."""
_READS, _OF_TABLE = "innodb_advisor_curve_pages_read_per_second", "innodb_advisor_curve_table_pages_read_per_second"
_FIRST = "innodb_advisor_curve_first_pages_read_per_second"
_AT = "innodb_advisor_curve_timestamp_seconds"
SPECS = {
    spec.name: spec
    for spec in (
        Spec(
            _READS,
            "gauge",
            "Pages read per second to expect if the buffer pool were so many times as large. bound"
            " is expected, low or high. See /curve.",
            ("times", "bound"),
        ),
        Spec(
            _FIRST,
            "gauge",
            "Pages read per second today that are read for the first time: no size of the pool saves these reads.",
            ("bound",),
        ),
        Spec(
            _OF_TABLE,
            "gauge",
            f"The same of a table, without full scans, for the {TABLES} with the most reads; table __other__ sums those"
            " that the model does not tell apart.",
            ("schema", "table", "times", "bound"),
        ),
        Spec(_AT, "gauge", "Time of the newest collection that the miss curve rests on.", (), "seconds"),
    )
}


def families(curve: MissCurve | None) -> Iterator[Metric]:
    """The metric families of the last curve; none without one."""
    if curve is not None:
        yield from assemble(SPECS, _samples(curve))


def _samples(curve: MissCurve) -> Iterator[Sample]:
    yield _AT, (), curve.at
    for bound, reads in _bounds(curve.first_pages_read_per_second):
        yield _FIRST, (bound,), reads
    shown = [*curve.by_table()][:TABLES]
    for size in curve.sizes:
        times = f"{size.times:g}"
        for bound, reads in _bounds(size.pages_read_per_second):
            yield _READS, (times, bound), reads
        for table in size.tables:
            if table.name in shown:
                schema, name = table.subject.values()
                labels = (schema, OTHER.index if table.name == OTHERS else name, times)
                for bound, reads in _bounds(table.pages_read_per_second):
                    yield _OF_TABLE, (*labels, bound), reads


def _bounds(reads: ExpectedReads) -> tuple[tuple[str, float], ...]:
    return ("expected", reads.expected), ("low", reads.low), ("high", reads.high)
