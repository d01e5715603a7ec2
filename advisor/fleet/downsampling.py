"""Which servers lack raw data of times that Thanos has downsampled data of."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from advisor.fleet.client import Prometheus, PrometheusError
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.queries import Query
from advisor.fleet.series import Grid

ONLY_DOWNSAMPLED = "only downsampled data: choose a --window within the retention of raw data"
ONLY_DOWNSAMPLED_DAYS = "only downsampled data of these days: keep raw data of the recording rules for as long"


async def downsampled(
    client: Prometheus,
    query: Query,
    grid: Grid,
    raw: Mapping[ServerKey, Collection[float]],
    *,
    identity: Identity,
    more: str = "",
) -> frozenset[ServerKey]:
    """The servers that have a sample at more points once downsampled data count. Nobody but Thanos has these.

    Args:
        client: Whom to ask.
        query: Has a value wherever the server has a sample.
        grid: The points.
        raw: The points at which a server has a raw sample, of all servers that are asked about.
        identity: What makes a server.
        more: Matchers of the user, with commas; empty for none.
    """
    if not raw:
        return frozenset()
    matchers = ",".join(filter(None, (more, identity.selector([*raw]))))
    try:
        answer = await client.downsampled(query.of(identity.by, matchers, grid), grid)
    except PrometheusError:
        return frozenset()
    found: dict[ServerKey, set[int]] = {}
    for key, some in identity.grouped(answer).items():
        found[key] = {round(at) for series in some for at, value in series.points if value > 0}
    return frozenset(key for key, known in raw.items() if found.get(key, set()) - {round(at) for at in known})
