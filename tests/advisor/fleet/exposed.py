"""A Prometheus that has scraped sidecars: real expositions, and of PromQL what the inventory and the verdicts ask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client.core import Metric

from advisor.fleet.client import PrometheusClient, QueryError
from advisor.fleet.series import QueryAnswer, QuerySeries

AT = 1_763_899_200.0
Labels = Mapping[str, str]


class Exposed(PrometheusClient):
    """Its targets, by the label instance, with the samples of each.

    Attributes:
        most: Targets that a query may be about.
        said: What each answer says beside its series.
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
        self.said: tuple[str, ...] = ()
        self.asked: list[str] = []

    async def instant(self, query: str, at: float) -> QueryAnswer:
        self.asked.append(query)
        if " or " in query or "unless" in query:
            return QueryAnswer(())
        found = list(self._aggregated(query, at))
        if len({series.labels["instance"] for series in found}) > self.most:
            raise QueryError("HTTP 422, execution: too many samples", "limit")
        return QueryAnswer(tuple(found), self.said, bool(self.said))

    def _aggregated(self, query: str, at: float) -> Iterator[QuerySeries]:
        [function, by, name, matchers] = _parsed(query)
        kept: dict[tuple[tuple[str, str], ...], float] = {}
        for labels, value in self._samples:
            if re.fullmatch(name, labels["__name__"]) and all(
                re.fullmatch(pattern, labels.get(label, "")) for label, pattern in matchers
            ):
                group = tuple((label, labels[label]) for label in by if labels.get(label))
                kept[group] = max(value, kept.get(group, value))
        for group, value in kept.items():
            if not query.endswith("> 0") or value > 0:
                yield QuerySeries(dict(group), ((at, 1.0 if function == "group" else value),))


def _parsed(query: str) -> tuple[str, Sequence[str], str, Sequence[tuple[str, str]]]:
    """Function, labels, name and matchers of an aggregation of one selector."""
    found = re.fullmatch(r"(max|group) by \(([^)]*)\) \((\w*)\{(.*)\}\)( > 0)?", query)
    assert found, query
    matchers = [
        (label, re.sub(r"\\(.)", r"\1", pattern))
        for label, pattern in re.findall(r'(\w+)=~?"((?:[^"\\]|\\.)*)"', found[4])
    ]
    names = [pattern for label, pattern in matchers if label == "__name__"] or [found[3]]
    return found[1], found[2].split(", "), names[0], [each for each in matchers if each[0] != "__name__"]
