"""What the series of a shard say of each of its servers, by metric, labels and point of the grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from advisor.fleet.client import Prometheus
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.queries import Query
from advisor.fleet.series import Grid

Points = Mapping[float, float]
"""Values by point of the grid."""


class Incomplete(Exception):
    """Prometheus answered a part: what lacks is not known, and not absent."""


class Reading:
    """The series of one server. A series without a value at a point has none there: it is not known.

    Points are whole milliseconds, as Prometheus has them and `Grid` gives them.
    """

    __slots__ = ("_metrics",)

    def __init__(self) -> None:
        self._metrics: dict[str, dict[tuple[str, ...], dict[float, float]]] = {}

    def add(self, metric: str, labels: tuple[str, ...], points: Sequence[tuple[float, float]]) -> None:
        """Take a series. Of two with the same labels the larger value of each point counts."""
        series = self._metrics.setdefault(metric, {})
        known = series.setdefault(labels, {})
        if not known:
            known.update(points)
            return
        for at, value in points:
            known[at] = max(value, known.get(at, value))

    def value(self, metric: str, at: float, *labels: str) -> float | None:
        """The value of a series at a point."""
        points = self.series(metric).get(labels)
        return None if points is None else points.get(at)

    def each(self, metric: str, at: float) -> Iterator[tuple[tuple[str, ...], float]]:
        """The series of a metric that have a value at a point: labels and value."""
        for labels, points in self.series(metric).items():
            if (value := points.get(at)) is not None:
                yield labels, value

    def series(self, metric: str) -> Mapping[tuple[str, ...], Points]:
        """All series of a metric, by labels."""
        return self._metrics.get(metric, {})


async def readings(
    client: Prometheus,
    grid: Grid,
    keys: Sequence[ServerKey],
    queries: Sequence[Query],
    *,
    identity: Identity,
    more: str = "",
) -> Mapping[ServerKey, Reading]:
    """Ask a shard's queries, one after the other.

    Args:
        client: Whom to ask.
        grid: The points.
        keys: The servers of the shard.
        queries: About them.
        identity: What makes a server.
        more: Matchers of the user, with commas; empty for none.

    Returns:
        A reading of every server of the shard, which may be empty.

    Raises:
        Incomplete: An answer is a part only.
        PrometheusError: A query failed.
    """
    found = {key: Reading() for key in keys}
    known: dict[tuple[str | None, ...], ServerKey | None] = {}  # a server has hundreds of series
    names = identity.names
    matchers = ",".join(part for part in (more, identity.selector(keys)) if part)
    for query in queries:
        text = query.of(identity.by, matchers, grid)
        answer = await (client.instant(text, grid.end) if query.at_end else client.grid(text, grid))
        if answer.partial:
            raise Incomplete("; ".join(answer.warnings) or "a part of the data did not answer")
        for series in answer.series:
            values = tuple(map(series.labels.get, names))
            if values not in known:
                known[values] = identity.server(series.labels)
            key = known[values]
            if key is not None and key in found:  # the matchers of several labels match their other combinations too
                labels = tuple([series.labels.get(label, "") for label in query.labels])
                found[key].add(series.labels.get("__name__", query.name), labels, series.points)
    return found
