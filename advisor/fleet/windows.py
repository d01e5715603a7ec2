"""Windows of a shard of servers: the newest points of the grid without a restart, a gap or a changed setting.

Sections of single tables are asked for later, for the servers that a rule about a table is not settled for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from advisor.contract.fleet import Source
from advisor.fleet import mysqld_exporter
from advisor.fleet import mysqld_exporter_tables as counts
from advisor.fleet.client import QueryError
from advisor.fleet.identity import ServerKey
from advisor.fleet.mysqld_exporter import MYSQLD_EXPORTER
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader, ServerSeries
from advisor.fleet.sections import CHECKPOINT_AGE, UNKNOWN, SeriesSource
from advisor.fleet.sidecar import SIDECAR
from advisor.observe.window import Window, changed_settings, restarted
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.snapshot import ReadOutcome, Snapshot

EXPORTERS: Mapping[Source, SeriesSource] = {Source.SIDECAR: SIDECAR, Source.MYSQLD_EXPORTER: MYSQLD_EXPORTER}
LEAST_POINTS = 3
"""Two points have one growth, and no slice to compare it with."""
TABLE_SERIES = 20_000
"""Series of tables that are held at the same time, of as many servers as have them: some 30 MiB."""
_CLOCK_SLACK = 15.0
"""Seconds by which a server's start may seem to move: samples have the time at which their scrape began, and a scrape
may take ten."""
ONLY_DOWNSAMPLED = "only downsampled data: choose a --window within the retention of raw data"


class WindowReader:
    """Reads windows from the series of one exporter.

    Attributes:
        source: Whose series it takes.
    """

    def __init__(self, reader: FleetReader, source: Source) -> None:
        """Nothing is asked yet.

        Args:
            reader: Asks; its grid has the points of the windows.
            source: Whose series to take: SIDECAR or MYSQLD_EXPORTER.
        """
        self.source = source
        self._reader, self._grid = reader, reader.grid
        self._exporter = EXPORTERS[source]

    async def windows(self, keys: Sequence[ServerKey]) -> Mapping[ServerKey, Window | str]:
        """The windows of a shard's servers, without the sections of single tables; or why there is none.

        Raises:
            QueryError: A query failed.
        """
        servers = await self._reader.series(keys, self._exporter.window)
        pods: Mapping[ServerKey, ServerSeries] = {}
        if self.source is Source.MYSQLD_EXPORTER and all(map(mysqld_exporter.in_kubernetes, keys)):
            # Series of pods have none of the user's labels.
            pods = await replace(self._reader, selector="").series(keys, mysqld_exporter.KUBERNETES_QUERIES)
        windows = {key: self._window(series, pods.get(key)) for key, series in servers.items()}
        at = self._exporter.at.name
        sampled = {
            key: [point for point in self._grid.points if servers[key].value(at, point) is not None]
            for key, window in windows.items()
            if isinstance(window, str)
        }
        lacking = {key: points for key, points in sampled.items() if len(points) < self._grid.count}
        coarse = await self._reader.downsampled(self._exporter.at, lacking)
        return {**windows, **dict.fromkeys(coarse, ONLY_DOWNSAMPLED)}

    def _window(self, series: ServerSeries, pod: ServerSeries | None) -> Window | str:
        try:
            window = newest(self._exporter.snapshots(series, self._grid))
        except ValueError as error:
            return str(error)
        if self.source is Source.MYSQLD_EXPORTER and isinstance(window, Window):
            window = counts.since_its_begin(window)
            return window if pod is None else mysqld_exporter.with_machine(window, pod, self._grid.end)
        return window

    async def tables(self, candidates: Mapping[ServerKey, Window]) -> AsyncIterator[Mapping[ServerKey, Window | str]]:
        """The windows with the sections of tables, of a few servers at a time: judge them, and let them go.

        An incomplete answer has its reason in place of its windows.

        Args:
            candidates: Windows of a shard's servers.

        Raises:
            QueryError: A query failed.
        """
        count = self._exporter.count.name
        sizes = await self._whole([*candidates], (self._exporter.count,))
        if isinstance(sizes, str):
            yield dict.fromkeys(candidates, sizes)
            return
        for keys in _batches({key: series.value(count, self._grid.end) or 0.0 for key, series in sizes.items()}):
            servers = await self._whole(keys, self._exporter.tables)
            if isinstance(servers, str):
                yield dict.fromkeys(keys, servers)
            else:
                yield {key: self._with_tables(candidates[key], series) for key, series in servers.items()}

    async def _whole(
        self, keys: Sequence[ServerKey], queries: Sequence[FleetQuery]
    ) -> Mapping[ServerKey, ServerSeries] | str:
        """The series of servers, or why they are incomplete."""
        try:
            return await self._reader.series(keys, queries)
        except QueryError as error:
            if error.kind != "incomplete":
                raise
            return str(error)

    def _with_tables(self, window: Window, series: ServerSeries) -> Window:
        """The window with the sections of tables, at each of its points."""
        points = [self._grid.points[self._grid.index(snapshot.at)] for snapshot in window.snapshots]
        still = self._exporter.still(series, self._grid.end, window.latest)
        moving = self._exporter.moving(series, points, window.latest)
        return Window(
            tuple(
                _with_sections(snapshot, {**still, **sections})
                for snapshot, sections in zip(window.snapshots, moving, strict=True)
            )
        )

    async def scrape_intervals(self, windows: Mapping[ServerKey, Window]) -> Mapping[ServerKey, float]:
        """Seconds between two samples on average, where they are known: no finding is lost for want of them."""
        query = self._exporter.scrapes
        try:
            servers = await self._reader.series([*windows], (query,)) if windows else {}
        except QueryError:
            return {}
        intervals: dict[ServerKey, float] = {}
        for key, series in servers.items():
            window = windows[key]
            first, last = self._grid.index(window.snapshots[0].at), self._grid.index(window.latest.at)
            # Each point counts the samples since the point before.
            samples = sum(series.value(query.name, point) or 0.0 for point in self._grid.points[first + 1 : last + 1])
            if samples:
                intervals[key] = round(window.seconds / samples, 1)
        return intervals


def newest(points: Sequence[Snapshot | None]) -> Window | str:
    """The newest points that belong together, or why these are too few.

    Args:
        points: Of the grid, oldest first; None where the server has no sample.
    """
    if not points or points[-1] is None:
        return "no sample at the window's end"
    together = [points[-1]]  # newest first
    cut = "the first sample"
    for before in reversed(points[:-1]):
        if before is None:
            cut = "a gap in its samples" if any(points[: len(points) - len(together)]) else cut
            break
        if since := _between(before, together[-1]):
            cut = since
            break
        if before.at < together[-1].at:  # else the same sample is the last one of both points
            together.append(before)
    if len(together) < LEAST_POINTS:
        return f"not long enough since {cut}"
    return Window(_without_first_means((*reversed(together),)))


def _between(before: Snapshot, after: Snapshot) -> str | None:
    """What happened between two points, in words; None where they belong together."""
    if before.server != after.server or restarted(before, after, _CLOCK_SLACK):
        return "the restart"
    if changed := changed_settings(before, after):
        return f"{', '.join(changed)} changed"
    return "its clock was set back" if before.at > after.at else None


def _without_first_means(snapshots: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
    """Without the first point's means: they are of the time before the window."""
    first, *rest = snapshots
    if (pools := first[POOLS]) is not None:
        first = first.with_section(POOLS, tuple(replace(pool, modified_pages=UNKNOWN) for pool in pools))
    status = {name: value for name, value in (first[STATUS] or {}).items() if name != CHECKPOINT_AGE}
    return first.with_section(STATUS, status or None), *rest


def _batches(series: Mapping[ServerKey, float]) -> Iterator[Sequence[ServerKey]]:
    """The servers in parts of TABLE_SERIES series each at most; a server with more is a part of its own."""
    part: list[ServerKey] = []
    size = 0.0
    for key, count in series.items():
        if part and size + count > TABLE_SERIES:
            yield part
            part, size = [], 0.0
        part.append(key)
        size += count
    if part:
        yield part


def _with_sections(snapshot: Snapshot, sections: Mapping[str, Any]) -> Snapshot:
    known = {name: section for name, section in sections.items() if section is not None}
    return replace(
        snapshot,
        sections={**snapshot.sections, **known},
        outcomes={**snapshot.outcomes, **{name: ReadOutcome(snapshot.at, 0.0) for name in known}},
        read_at={**snapshot.read_at, **dict.fromkeys(known, snapshot.at)},
    )
