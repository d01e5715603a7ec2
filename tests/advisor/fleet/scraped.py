"""A Prometheus that has scraped sidecars: real expositions, and of PromQL what the inventory and the verdicts ask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import Metric

from advisor.fleet.client import PrometheusClient, QueryError
from advisor.fleet.series import QueryAnswer, QuerySeries

AT = 1_763_899_200.0
Labels = Mapping[str, str]


class ScrapedSidecars(PrometheusClient):
    """Its targets, by the label instance, with the samples of each.

    Attributes:
        most: Targets that a query may be about.
        warnings: Of each answer.
        asked: Texts of the queries.
    """

    def __init__(self, targets: Mapping[str, Iterable[Metric]], *, job: str = "mysql") -> None:
        self._samples = [
            ({"__name__": sample.name, "instance": instance, "job": job, **sample.labels}, sample.value)
            for instance, families in targets.items()
            for family in families
            for sample in family.samples
        ]
        self.most = len(targets)
        self.warnings: tuple[str, ...] = ()
        self.asked: list[str] = []

    async def instant(self, query: str, at: float) -> QueryAnswer:
        self.asked.append(query)
        if " or " in query or "unless" in query:
            return QueryAnswer(())
        aggregated = list(self._aggregated(query, at))
        if len({series.labels["instance"] for series in aggregated}) > self.most:
            raise QueryError("HTTP 422, execution: too many samples", "limit")
        return QueryAnswer(tuple(aggregated), self.warnings, bool(self.warnings))

    def _aggregated(self, query: str, at: float) -> Iterator[QuerySeries]:
        [function, by, name, matchers] = _parsed(query)
        groups: dict[tuple[tuple[str, str], ...], float] = {}
        for labels, value in self._samples:
            if re.fullmatch(name, labels["__name__"]) and all(
                re.fullmatch(pattern, labels.get(label, "")) for label, pattern in matchers
            ):
                group = tuple((label, labels[label]) for label in by if labels.get(label))
                groups[group] = max(value, groups.get(group, value))
        for group, value in groups.items():
            if not query.endswith("> 0") or value > 0:
                yield QuerySeries(dict(group), ((at, 1.0 if function == "group" else value),))


def _parsed(query: str) -> tuple[str, Sequence[str], str, Sequence[tuple[str, str]]]:
    """Function, labels, name and matchers of an aggregation of one selector."""
    parts = re.fullmatch(r"(max|group) by \(([^)]*)\) \((\w*)\{(.*)\}\)( > 0)?", query)
    assert parts, query
    matchers = [
        (label, re.sub(r"\\(.)", r"\1", pattern))
        for label, pattern in re.findall(r'(\w+)=~?"((?:[^"\\]|\\.)*)"', parts[4])
    ]
    names = [pattern for label, pattern in matchers if label == "__name__"] or [parts[3]]
    return parts[1], parts[2].split(", "), names[0], [matcher for matcher in matchers if matcher[0] != "__name__"]
