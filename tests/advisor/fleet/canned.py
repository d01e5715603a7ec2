"""A Prometheus that was told its answers: by the name of the query, for units that need no server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from advisor.fleet import inventory, mysqld_exporter, sidecar, verdicts
from advisor.fleet.client import PrometheusClient
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Grid, QueryAnswer, QuerySeries

IDENTITY = Identity()
GRID = Grid(1_700_000_000.0, 450.0)
BY_NAME = {query.name: query for module in (inventory, verdicts, sidecar, mysqld_exporter) for query in module.QUERIES}
Value = float | Callable[[float], float | None]
"""A number, or a number by its time."""


def key(name: str = "db-1") -> ServerKey:
    server = IDENTITY.server({"instance": f"{name}:9104"})
    assert server is not None
    return server


def labels_of(server: ServerKey) -> dict[str, str]:
    """The labels of its series."""
    return dict(server.labels) if server.is_pod else {"instance": f"{server}:9104"}


def reader(client: PrometheusClient, selector: str = "") -> FleetReader:
    """Asks about the grid's points, or at its end."""
    return FleetReader(client, IDENTITY, selector, GRID)


@dataclass
class CannedPrometheus(PrometheusClient):
    """The series of servers.

    Attributes:
        series: By query, labels beside the identity's (``__name__`` first where it has one) and their value.
        missing: Points without a sample of the server.
        partial: Whether each answer is a part.
        coarse: Whether there are downsampled data of the missing points.
        asked: Texts of the queries.
    """

    series: Mapping[str, Mapping[tuple[str, ...], Value]]
    missing: frozenset[float] = frozenset()
    partial: bool = False
    coarse: bool = False
    servers: tuple[ServerKey, ...] = (key(),)
    asked: list[str] = field(default_factory=list)

    async def instant(self, query: str, at: float) -> QueryAnswer:
        return self._answer(query, (at,))

    async def grid(self, query: str, grid: Grid, *, downsampled: bool = False) -> QueryAnswer:
        if downsampled and self.coarse:
            return await replace(self, missing=frozenset()).grid(query, grid)
        return self._answer(query, grid.points)

    def _answer(self, text: str, points: tuple[float, ...]) -> QueryAnswer:
        self.asked.append(text)
        series = []
        for query in BY_NAME.values():
            before, after = query.of(IDENTITY, "|||", GRID).split("|||", 1)
            if text.startswith(before) and text.endswith(after.rpartition("|||")[2]):
                names = ("__name__",) if "by ($I, __name__" in query.text else ()
                for labels, value in self.series.get(query.name, {}).items():
                    by = dict(zip((*names, *(query.labels or ())), labels, strict=True))
                    series += [
                        QuerySeries(by | labels_of(server), self._points(value, points))
                        for server in self.servers
                        if all(name in text for name in labels_of(server).values())
                    ]
        return QueryAnswer(tuple(series), ("store gateway is away",) if self.partial else (), self.partial)

    def _points(self, value: Value, points: tuple[float, ...]) -> tuple[tuple[float, float], ...]:
        known = ((at, value(at) if callable(value) else value) for at in points if at not in self.missing)
        return tuple((at, number) for at, number in known if number is not None)
