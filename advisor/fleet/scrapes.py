"""The scrape interval of servers, from the number of their samples in a window."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.contract.fleet import Source
from advisor.fleet import queries
from advisor.fleet.client import Prometheus, PrometheusError
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.readings import Incomplete, Reading, readings
from advisor.fleet.series import Grid
from advisor.observe.window import Window


async def intervals(
    client: Prometheus,
    grid: Grid,
    seen: Mapping[ServerKey, Window],
    source: Source,
    *,
    identity: Identity,
    more: str = "",
) -> Mapping[ServerKey, float]:
    """Seconds between two samples on average, where it is known: no finding is lost for want of it.

    Args:
        client: Whom to ask.
        grid: The points of the windows.
        seen: Windows of a shard's servers.
        source: Of their series: OWN or PEER.
        identity: What makes a server.
        more: Matchers of the user, with commas; empty for none.
    """
    query = queries.OWN_SCRAPES if source is Source.OWN else queries.PEER_SCRAPES
    try:
        told = await readings(client, grid, [*seen], (query,), identity=identity, more=more) if seen else {}
    except (Incomplete, PrometheusError):
        return {}
    found = ((key, _interval(seen[key], reading, grid, query.name)) for key, reading in told.items())
    return {key: seconds for key, seconds in found if seconds is not None}


def _interval(window: Window, reading: Reading, grid: Grid, name: str) -> float | None:
    """From the first to the last sample of the window; each point counts the samples since the point before."""
    first, last = grid.index(window.snapshots[0].at), grid.index(window.latest.at)
    samples = sum(reading.value(name, point) or 0.0 for point in grid.points[first + 1 : last + 1])
    return round(window.seconds / samples, 1) if samples else None
