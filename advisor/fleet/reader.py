"""Asks a Prometheus about servers, and sorts the series of the answers by server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.fleet.client import PrometheusClient, QueryError
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.queries import FleetQuery
from advisor.fleet.series import Grid, QueryAnswer
from exporter.collectors.base import Collector

Labels = tuple[str, ...]
Points = Mapping[float, float]
"""Values by point of the grid."""


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
class FleetSeries:
    """The answers to some queries, sorted by server.

    Attributes:
        servers: The series of each server that an answer names.
        warnings: Prometheus' words beside the answers.
        partial: Whether series may be missing, also after asking again: a series that lacks means nothing.
        nameless: Series that have none of the labels of the identity.
    """

    servers: Mapping[ServerKey, ServerSeries]
    warnings: tuple[str, ...] = ()
    partial: bool = False
    nameless: int = 0

    @property
    def incomplete(self) -> str:
        """Why series may be missing; empty if none is."""
        return ("; ".join(self.warnings) or "a part of the data did not answer") if self.partial else ""


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

    async def ask(
        self, queries: Sequence[FleetQuery], keys: Iterable[ServerKey] | None = None, *, more: str = ""
    ) -> FleetSeries:
        """The answers to one query after the other.

        Args:
            queries: To be asked.
            keys: The servers that they are about; None for all that the selector finds.
            more: More matchers, with commas.

        Raises:
            QueryError: A query failed.
        """
        keys = None if keys is None else tuple(keys)
        servers = {key: ServerSeries() for key in keys or ()}
        warnings, partial, nameless = dict[str, None](), False, 0
        pods = all(key.is_pod for key in keys or ())
        for query in queries:
            if query.of_pod and not pods:
                continue
            answer = await self._answer(query, keys, more)
            partial = partial or answer.partial
            warnings.update(dict.fromkeys(answer.warnings))
            for key, series in self.identity.of_servers(answer):
                if key is None:
                    nameless += 1
                elif keys is None or key in servers:  # matchers of several labels match other combinations too
                    labels = query.labels_of(series, self.identity)
                    of_server = servers.setdefault(key, ServerSeries())
                    of_server.add(series.labels.get("__name__", query.name), labels, series.points)
        return FleetSeries(servers, tuple(warnings), partial, nameless)

    async def series(
        self, keys: Sequence[ServerKey], queries: Sequence[FleetQuery]
    ) -> Mapping[ServerKey, ServerSeries]:
        """The series of every server of a shard, of which there may be none.

        Raises:
            QueryError: A query failed, or has only a part of its answer.
        """
        answer = await self.ask(queries, keys)
        if answer.partial:
            raise QueryError(f"incomplete answer: {answer.incomplete}", "incomplete")
        return answer.servers

    async def downsampled(self, query: FleetQuery, raw: Mapping[ServerKey, Iterable[float]]) -> frozenset[ServerKey]:
        """The servers that have a sample at more points once downsampled data count. Nobody but Thanos has these.

        Args:
            query: Has a value wherever the server has a sample.
            raw: The points at which a server has a raw sample, of all servers that are asked about.
        """
        if not raw:
            return frozenset()
        try:
            answer = await self.client.grid(self._text(query, tuple(raw)), self.grid, downsampled=True)
        except QueryError:
            return frozenset()
        points = {key: {round(point) for point in points} for key, points in raw.items()}
        return frozenset(
            key
            for key, series in self.identity.of_servers(answer)
            if key in points and any(value > 0 and round(at) not in points[key] for at, value in series.points)
        )

    async def _answer(self, query: FleetQuery, keys: Sequence[ServerKey] | None, more: str) -> QueryAnswer:
        text = self._text(query, keys, more)
        return await (self.client.instant(text, self.grid.end) if query.at_end else self.client.grid(text, self.grid))

    def _text(self, query: FleetQuery, keys: Sequence[ServerKey] | None, more: str = "") -> str:
        of_user = "" if query.of_pod else self.selector
        of_keys = "" if keys is None else self.identity.selector(keys)
        return query.of(self.identity, ",".join(filter(None, (more, of_user, of_keys))), self.grid)
