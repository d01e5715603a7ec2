"""Windows of servers, shard by shard: the newest points of the grid without a restart, a gap or a changed setting.

Sections of single tables are asked for later, for the servers that a rule about a table is not settled for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from advisor.contract.fleet import Source
from advisor.fleet.client import QueryError
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.mysqld_exporter import MYSQLD_EXPORTER
from advisor.fleet.progress import Progress
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader, ServerSeries
from advisor.fleet.sections import SeriesSource, with_sections
from advisor.fleet.shards import LeftOut, Shard, over
from advisor.fleet.sidecar import SIDECAR
from advisor.observe.window import Window

EXPORTERS: Mapping[Source, SeriesSource] = {Source.SIDECAR: SIDECAR, Source.MYSQLD_EXPORTER: MYSQLD_EXPORTER}
TABLE_SERIES = 20_000
"""Series of tables that are held at the same time, of as many servers as have them: some 30 MiB."""
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
        self._reader, self._grid, self._exporter = reader, reader.grid, EXPORTERS[source]

    async def windows(self, keys: Sequence[ServerKey]) -> Mapping[ServerKey, Window | str]:
        """The windows of a shard's servers, without the sections of single tables; or why there is none.

        Raises:
            QueryError: A query failed.
        """
        servers = await self._reader.series(keys, self._exporter.queries)
        windows = {key: self._window(series) for key, series in servers.items()}
        sampled = {
            key: [point for point in self._grid.points if self._has_sample(servers[key], point)]
            for key, window in windows.items()
            if isinstance(window, str)
        }
        lacking = {key: points for key, points in sampled.items() if len(points) < self._grid.count}
        coarse = await self._reader.downsampled(self._exporter.at, lacking)
        return {**windows, **dict.fromkeys(coarse, ONLY_DOWNSAMPLED)}

    def _window(self, series: ServerSeries) -> Window | str:
        if not self._has_sample(series, self._grid.end):
            return "no sample at the window's end"
        try:
            return self._exporter.window(series, self._grid)
        except ValueError as error:
            return str(error)

    def _has_sample(self, series: ServerSeries, point: float) -> bool:
        return series.value(self._exporter.at.name, point) is not None

    async def tables(self, candidates: Mapping[ServerKey, Window]) -> AsyncIterator[Mapping[ServerKey, Window | str]]:
        """The windows with the sections of tables, of a few servers at a time: judge them, and let them go.

        An incomplete answer has its reason in place of its windows.

        Args:
            candidates: Windows of a shard's servers.

        Raises:
            QueryError: A query failed.
        """
        count = self._exporter.tables_count
        sizes = await self._whole([*candidates], (count,))
        if isinstance(sizes, str):
            yield dict.fromkeys(candidates, sizes)
            return
        for keys in _batches({key: series.value(count.name, self._grid.end) or 0.0 for key, series in sizes.items()}):
            servers = await self._whole(keys, self._exporter.tables_queries)
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
        sections = self._exporter.tables(series, points, window.latest)
        return Window(tuple(map(with_sections, window.snapshots, sections)))

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


async def judge_windows(
    reader: FleetReader,
    servers: Mapping[ServerKey, InventoryEntry],
    judge: Callable[[WindowReader, Mapping[ServerKey, Window]], Awaitable[None]],
    progress: Progress,
) -> LeftOut:
    """Read the windows of all servers, and judge them a shard at a time.

    Args:
        reader: Asks; its grid has the points of the windows.
        servers: Each is read from the series of its own exporter.
        judge: Judges a shard. Where it raises a QueryError, its servers may come again, in halves.
        progress: Follows the stages.

    Returns:
        The servers without a window, by reason.
    """
    left_out: defaultdict[str, list[str]] = defaultdict(list)
    through = 0

    def done(count: int) -> None:
        nonlocal through
        through += count
        progress.show("rules", through, len(servers))

    for source in EXPORTERS:
        windows = WindowReader(reader, source)

        async def ask(shard: Shard, windows: WindowReader = windows) -> Mapping[ServerKey, str]:
            with progress.during("windows"):
                answers = await windows.windows(shard)
            clear = {
                key: managed(window, servers[key]) for key, window in answers.items() if isinstance(window, Window)
            }
            if clear:
                await judge(windows, clear)
            return {key: reason for key, reason in answers.items() if isinstance(reason, str)}

        of_source = [key for key, entry in servers.items() if entry.series is source]
        reasons, not_asked = await over(of_source, ask, done=done)
        for key, reason in reasons.items():
            left_out[reason].append(key.name)
        for reason, names in not_asked.items():
            left_out[reason] += names
    return left_out


def managed(window: Window, entry: InventoryEntry) -> Window:
    """The window, with the cloud service that the user names."""
    managed = entry.server.managed if entry.server else None
    if managed is None or window.latest.server.managed is not None:
        return window
    server = replace(window.latest.server, managed=managed)
    return Window(tuple(replace(snapshot, server=server) for snapshot in window.snapshots))


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
