"""Asks a Prometheus about servers, and sorts the series of the answers by server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.fleet.client import PrometheusClient, QueryError
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.queries import FleetQuery
from advisor.fleet.series import Grid, QueryAnswer, QuerySeries
from exporter.collectors.base import Collector

Labels = tuple[str, ...]
Points = Mapping[float, float]
"""Values by point of the grid."""


class Incomplete(Exception):
    """Prometheus answered a part: what lacks is not known, and not absent."""


class ServerSeries:
    """The series of one server. A series without a value at a point has none there: it is not known.

    Points are whole milliseconds, as Prometheus has them and `Grid` gives them.
    """

    __slots__ = ("_metrics",)

    def __init__(self) -> None:
        self._metrics: dict[str, dict[Labels, dict[float, float]]] = {}

    def add(self, metric: str, labels: Labels, points: Sequence[tuple[float, float]]) -> None:
        """Take a series. Of two with the same labels the larger value of each point counts."""
        series = self._metrics.setdefault(metric, {}).setdefault(labels, {})
        if not series:
            series.update(points)
            return
        for at, value in points:
            series[at] = max(value, series.get(at, value))

    def value(self, metric: str, at: float, *labels: str) -> float | None:
        """The value of a series at a point."""
        points = self.series(metric).get(labels)
        return None if points is None else points.get(at)

    def values(self, metric: str, at: float) -> Iterator[tuple[Labels, float]]:
        """The series of a metric that have a value at a point: labels and value."""
        for labels, points in self.series(metric).items():
            if (value := points.get(at)) is not None:
                yield labels, value

    def series(self, metric: str) -> Mapping[Labels, Points]:
        """All series of a metric, by labels."""
        return self._metrics.get(metric, {})

    def items(self, collector: Collector[Any], at: float) -> dict[Labels, dict[str, float]]:
        """The fields of a collector's items at a point, by the items' labels: what its metrics show, read back."""
        items: dict[Labels, dict[str, float]] = {}
        for metric in collector.metrics:
            for labels, value in self.values(metric.name, at):
                if (field := metric.field_of(labels)) is not None:
                    items.setdefault(labels[:-1] if metric.words else labels, {})[field] = value
        return items

    def fields(self, collector: Collector[Any], at: float) -> Mapping[str, float]:
        """The fields of a collector's only item, or of all its items together, at a point."""
        return self.items(collector, at).get((), {})


@dataclass(frozen=True, slots=True)
class FleetReader:
    """Asks queries about a fleet's servers.

    Attributes:
        client: Whom to ask.
        identity: What makes a server.
        selector: The user's matchers, without braces; may be empty.
        grid: The points; queries that are asked once are asked at its end.
    """

    client: PrometheusClient
    identity: Identity
    selector: str
    grid: Grid

    async def answer(
        self, query: FleetQuery, keys: Iterable[ServerKey] | None = None, *, more: str = "", by: Sequence[str] = ()
    ) -> QueryAnswer:
        """The answer to a query.

        Args:
            query: To be asked.
            keys: The servers that it is about; None for all that the selector finds.
            more: More matchers, with commas.
            by: Labels that queries keep, if not those of the identity.

        Raises:
            QueryError: There is no answer.
        """
        text = query.of(", ".join(by) or self.identity.by, self._matchers(keys, more), self.grid)
        return await (self.client.instant(text, self.grid.end) if query.at_end else self.client.grid(text, self.grid))

    async def grouped(
        self, query: FleetQuery, keys: Iterable[ServerKey] | None = None
    ) -> Mapping[ServerKey, tuple[QuerySeries, ...]]:
        """The series of each server in a whole answer.

        Raises:
            QueryError: There is no answer, or only a part.
        """
        answer = await self.answer(query, keys)
        if answer.partial:
            raise QueryError(f"incomplete answer: {'; '.join(answer.warnings)}")
        return self.identity.grouped(answer)

    async def series(
        self, keys: Sequence[ServerKey], queries: Sequence[FleetQuery]
    ) -> Mapping[ServerKey, ServerSeries]:
        """The series of every server of a shard, of which there may be none, from one query after the other.

        Raises:
            Incomplete: An answer is a part only.
            QueryError: A query failed.
        """
        servers = {key: ServerSeries() for key in keys}
        known: dict[tuple[str | None, ...], ServerKey | None] = {}  # a server has hundreds of series
        for query in queries:
            answer = await self.answer(query, keys)
            if answer.partial:
                raise Incomplete("; ".join(answer.warnings) or "a part of the data did not answer")
            for series in answer.series:
                values = tuple(map(series.labels.get, self.identity.names))
                if values not in known:
                    known[values] = self.identity.server(series.labels)
                key = known[values]
                if key is not None and key in servers:  # matchers of several labels match other combinations too
                    labels = tuple([series.labels.get(label, "") for label in query.labels])
                    servers[key].add(series.labels.get("__name__", query.name), labels, series.points)
        return servers

    async def downsampled(self, query: FleetQuery, raw: Mapping[ServerKey, Iterable[float]]) -> frozenset[ServerKey]:
        """The servers that have a sample at more points once downsampled data count. Nobody but Thanos has these.

        Args:
            query: Has a value wherever the server has a sample.
            raw: The points at which a server has a raw sample, of all servers that are asked about.
        """
        if not raw:
            return frozenset()
        text = query.of(self.identity.by, self._matchers(raw), self.grid)
        try:
            answer = await self.client.downsampled(text, self.grid)
        except QueryError:
            return frozenset()
        coarse = {
            key: {round(at) for each in series for at, value in each.points if value > 0}
            for key, series in self.identity.grouped(answer).items()
        }
        return frozenset(key for key, points in raw.items() if coarse.get(key, set()) - {round(at) for at in points})

    def _matchers(self, keys: Iterable[ServerKey] | None, more: str = "") -> str:
        of_keys = "" if keys is None else self.identity.selector(keys)
        return ",".join(filter(None, (more, self.selector, of_keys)))
