"""Windows of a shard of servers: the newest points of the grid without a restart, a gap or a changed setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.contract.fleet import Source
from advisor.fleet import machine, own, peer, peer_counts
from advisor.fleet.client import Prometheus
from advisor.fleet.downsampling import ONLY_DOWNSAMPLED, downsampled
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.readings import Incomplete, Reading, readings
from advisor.fleet.sections import CHECKPOINT_AGE, UNKNOWN
from advisor.fleet.series import Grid
from advisor.observe.window import Window, changed_settings, restarted
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.snapshot import Snapshot

LEAST_POINTS = 3
"""Two points have one growth, and no slice to compare it with."""
_CLOCK_SLACK = 15.0
"""Seconds by which a server's start may seem to move: samples have the time at which their scrape began, and a scrape
may take ten."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """Why there is no window of a server.

    Attributes:
        reason: In words.
        lacks_samples: Whether more samples would make one.
    """

    reason: str
    lacks_samples: bool = field(default=False, compare=False)


async def windows(
    client: Prometheus, grid: Grid, keys: Sequence[ServerKey], source: Source, *, identity: Identity, more: str = ""
) -> Mapping[ServerKey, Window | Unclear]:
    """The windows of a shard's servers, without the sections of single tables (advisor.fleet.tables).

    Args:
        client: Whom to ask.
        grid: The points.
        keys: The servers of the shard.
        source: Series to take: OWN or PEER.
        identity: What makes a server.
        more: Matchers of the user, with commas; empty for none.

    Raises:
        PrometheusError: A query failed.
    """
    module = own if source is Source.OWN else peer
    try:
        told = await readings(client, grid, keys, module.QUERIES, identity=identity, more=more)
        beside: Mapping[ServerKey, Reading] = {}
        if source is Source.PEER and machine.in_kubernetes(keys):
            beside = await readings(client, grid, keys, machine.KUBE, identity=identity)
    except Incomplete as incomplete:
        return {key: Unclear(f"incomplete answer: {incomplete}") for key in keys}
    found: dict[ServerKey, Window | Unclear] = {}
    for key, reading in told.items():
        try:
            points = module.snapshots(reading, grid)
        except ValueError as error:
            found[key] = Unclear(str(error))
            continue
        window = newest(points)
        if source is Source.PEER and isinstance(window, Window):
            window = peer_counts.since_its_begin(window)
            if key in beside:
                window = peer.with_machine(window, machine.kube(beside[key], grid.end))
        found[key] = window
    lacking = {
        key: [point for point in grid.points if told[key].value(module.AT.name, point) is not None]
        for key, each in found.items()
        if isinstance(each, Unclear) and each.lacks_samples
    }
    for key in await downsampled(client, module.AT, grid, lacking, identity=identity, more=more):
        found[key] = Unclear(ONLY_DOWNSAMPLED)
    return found


def newest(points: Sequence[Snapshot | None]) -> Window | Unclear:
    """The newest points that belong together.

    Args:
        points: Of the grid, oldest first; None where the server has no sample.
    """
    if not points or points[-1] is None:
        return Unclear("no sample at the window's end", lacks_samples=True)
    kept = [points[-1]]  # newest first
    cut, lacks_samples = "the first sample", True
    for before in reversed(points[:-1]):
        since = None if before is None else _between(before, kept[-1])
        if before is None or since is not None:
            if since is not None:
                cut, lacks_samples = since, False
            elif any(points[: len(points) - len(kept)]):
                cut = "a gap in its samples"
            break
        if before.at < kept[-1].at:  # else the same sample is the last one of both points
            kept.append(before)
    if len(kept) < LEAST_POINTS:
        return Unclear(f"not long enough since {cut}", lacks_samples=lacks_samples)
    return Window(_with_means((*reversed(kept),)))


def _between(before: Snapshot, after: Snapshot) -> str | None:
    """What happened between two points, in words; None where they belong together."""
    if before.server != after.server or restarted(before, after, _CLOCK_SLACK):
        return "the restart"
    if changed := changed_settings(before, after):
        return f"{', '.join(changed)} changed"
    return "its clock was set back" if before.at > after.at else None


def _with_means(kept: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Without the first point's means: they are of the time before the window."""
    first, *rest = kept
    if (pools := first[POOLS]) is not None:
        first = first.with_section(POOLS, tuple(replace(pool, modified_pages=UNKNOWN) for pool in pools))
    status = {name: value for name, value in (first[STATUS] or {}).items() if name != CHECKPOINT_AGE}
    return first.with_section(STATUS, status or None), *rest
