"""Tables and indexes, for the servers that a rule about a table is not settled for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from advisor.contract.fleet import Source
from advisor.fleet import own_tables, peer_tables
from advisor.fleet.client import Prometheus
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.readings import Incomplete, Reading, readings
from advisor.fleet.series import Grid
from advisor.fleet.windows import Unclear
from advisor.observe.window import Window
from exporter.snapshot import Outcome, Snapshot

SERIES = 20_000
"""Series of tables that are held at the same time, of as many servers as have them: some 30 MiB."""


async def tables(
    client: Prometheus,
    grid: Grid,
    candidates: Mapping[ServerKey, Window],
    source: Source,
    *,
    identity: Identity,
    more: str = "",
) -> AsyncIterator[Mapping[ServerKey, Window | Unclear]]:
    """The windows with the sections of tables, of a few servers at a time: judge them, and let them go.

    Args:
        client: Whom to ask.
        grid: The points of the windows.
        candidates: Windows of a shard's servers.
        source: Series to take: OWN or PEER.
        identity: What makes a server.
        more: Matchers of the user, with commas; empty for none.

    Raises:
        PrometheusError: A query failed.
    """
    module = own_tables if source is Source.OWN else peer_tables
    try:
        counted = await readings(client, grid, [*candidates], (module.COUNT,), identity=identity, more=more)
    except Incomplete as incomplete:
        yield dict.fromkeys(candidates, Unclear(f"incomplete answer: {incomplete}"))
        return
    for keys in _batches({key: reading.value(module.COUNT.name, grid.end) or 0.0 for key, reading in counted.items()}):
        found: dict[ServerKey, Window | Unclear] = {}
        try:
            told = await readings(client, grid, keys, module.QUERIES, identity=identity, more=more)
        except Incomplete as incomplete:
            yield dict.fromkeys(keys, Unclear(f"incomplete answer: {incomplete}"))
            continue
        for key, reading in told.items():
            found[key] = _with_tables(candidates[key], reading, grid, module)
        yield found


def _batches(series: Mapping[ServerKey, float]) -> Iterator[Sequence[ServerKey]]:
    """The servers in parts of SERIES series each at most; a server with more is a part of its own."""
    part: list[ServerKey] = []
    size = 0.0
    for key, count in series.items():
        if part and size + count > SERIES:
            yield part
            part, size = [], 0.0
        part.append(key)
        size += count
    if part:
        yield part


def _with_tables(window: Window, reading: Reading, grid: Grid, module: Any) -> Window:
    """The window with the sections of tables, at each of its points."""
    points, latest = [grid.points[grid.index(each.at)] for each in window.snapshots], window.latest
    still, moving = module.still(reading, grid.end, latest), module.moving(reading, points, latest)
    return Window(
        tuple(
            _with_sections(snapshot, {**still, **sections})
            for snapshot, sections in zip(window.snapshots, moving, strict=True)
        )
    )


def _with_sections(snapshot: Snapshot, sections: Mapping[str, Any]) -> Snapshot:
    known = {name: section for name, section in sections.items() if section is not None}
    return replace(
        snapshot,
        sections={**snapshot.sections, **known},
        outcomes={**snapshot.outcomes, **{name: Outcome(snapshot.at, 0.0) for name in known}},
        read_at={**snapshot.read_at, **dict.fromkeys(known, snapshot.at)},
    )
