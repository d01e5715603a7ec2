"""What COUNT(*) and scans of the window become with the new version: the indexes that they read, and how. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from advisor.facts import ScanFacts
from advisor.facts.base import counts_of, file_reads, ratio
from advisor.facts.counts import CountFacts
from advisor.observe.window import Window
from advisor.pool.scanned import ScannedPool
from advisor.pool.settings import SETTINGS_OF_MODEL
from advisor.pool.tables import table_name
from advisor.upgrade.upgrade import Upgrade
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
from exporter.snapshot import Table

CLUSTERED = "count_star_takes_clustered_index"
READERS = "innodb_parallel_read_threads"
_LEAST_READERS = 4.0
"""The default where the cores are not known: any number above 1 reads in parallel."""
_INSTANCES = "innodb_buffer_pool_instances"
_MOST_BEGINS = 96
"""Passes in a round of twelve tables by the model's own limit. More are spread evenly."""
_ALL = 0.9
"""Share of the passes over a table that counts are at least, where they are all: statistics lag by a tenth."""


@dataclass(frozen=True, slots=True)
class MovedCount:
    """A table whose COUNT(*) reads another index after the upgrade.

    Attributes:
        count: Its facts.
        counts: In the window, without those that a hint makes read the clustered index.
        to_clustered: Whether they read the clustered index then, and the smallest secondary one today.
    """

    count: CountFacts
    counts: float
    to_clustered: bool

    @property
    def table(self) -> Table:
        """The table."""
        return Table(self.count.schema, self.count.table)

    @property
    def object(self) -> str:
        """The name of its new index in the workload."""
        return f"{self.count.schema}.{self.count.table} by another index"

    @property
    def indexes(self) -> tuple[str, str]:
        """Their names before and after."""
        names = self.count.secondary or "a secondary index", "PRIMARY"
        return names if self.to_clustered else names[::-1]

    @property
    def pages(self) -> tuple[float, float]:
        """Their sizes before and after."""
        pages = self.count.secondary_pages or 0.0, self.count.pages or 0.0
        return pages if self.to_clustered else pages[::-1]


def moved_counts(upgrade: Upgrade) -> Iterator[MovedCount]:
    """The tables of known size whose COUNT(*) reads another index after the upgrade."""
    if upgrade.before.has(CLUSTERED) == upgrade.after.has(CLUSTERED):
        return
    for count in upgrade.facts.lists["counted"]:
        table = Table(count.schema, count.table)
        forced = upgrade.window.growth(lambda s: s[COUNT_STATEMENTS], table, lambda c: c.forced_primary)
        counts = (count.counts or 0.0) - (forced or 0.0)
        if counts > 0.0 and count.has_secondary and count.pages:
            yield MovedCount(count, counts, to_clustered=upgrade.after.has(CLUSTERED))


def pool_after(upgrade: Upgrade, today: ScannedPool, moved: Mapping[str, MovedCount]) -> ScannedPool:
    """The pool and its scans after the upgrade, as it starts.

    Args:
        upgrade: With the settings of the new version.
        today: The pool that was watched.
        moved: By the name of their table.
    """
    settings = {}
    for name in SETTINGS_OF_MODEL:
        after, before = (upgrade.number(name, after=later) for later in (True, False))
        value = before if after is None else after
        if value is not None:
            settings[name] = value
    if upgrade.after.parallel_read:
        settings.setdefault(READERS, _LEAST_READERS)
    scans: dict[str, ScanFacts] = {}
    for name, scan in today.scans.items():
        rest = _without(scan, moved[name]) if name in moved else scan
        if rest is not None:
            scans[name] = rest
    scans |= {count.object: _scan_of(upgrade.window, count) for count in moved.values()}
    return today.on(upgrade.after, settings, _instances(upgrade, today), scans)


def begins(window: Window, pool: ScannedPool, moved: Mapping[str, MovedCount]) -> list[tuple[float, str]]:
    """When the counts of the window began, seconds since its begin, by their object in a pool's workload.

    Only of objects that nothing but counts scans, one at a time. None where there are too many.
    """
    objects = {count.table: count.object for count in moved.values() if count.object in pool.scans}
    for name, scan in pool.scans.items():
        table = Table(scan.schema, scan.table)
        if scan.sharers == 1.0 and table not in objects and _counted_only(window, scan):
            objects[table] = name
    begun = [
        (before.at - window.snapshots[0].at + number / counts * (after.at - before.at), name)
        for before, after in pairwise(window.snapshots)
        for table, name in objects.items()
        for counts in [int(counts_of(Window((before, after)), table) or 0.0)]
        for number in range(counts)
    ]
    return sorted(begun) if len(begun) <= _MOST_BEGINS else []


def page_seconds(window: Window, table: Table) -> float | None:
    """Time that a read of a page of a table's file took in the window; None where none was read."""
    waited = window.growth(lambda s: s[TABLE_FILES], table, lambda file: file.seconds)
    return ratio(waited, file_reads(window, table))


def _counted_only(window: Window, scan: ScanFacts) -> bool:
    counts = counts_of(window, Table(scan.schema, scan.table)) or 0.0
    return _ALL * (scan.passes or 0.0) <= counts


def _instances(upgrade: Upgrade, today: ScannedPool) -> int:
    """Pool instances after the upgrade; as today where the server computes them from what is not known."""
    instances = upgrade.number(_INSTANCES, after=True)
    if instances is not None:
        return int(instances)
    return 1 if upgrade.after.mariadb else today.pool.instances


def _without(scan: ScanFacts, moved: MovedCount) -> ScanFacts | None:
    """The scans of a table without counts that move to another index; None where less than a whole pass is left."""
    if (scan.what == table_name(scan)) == moved.to_clustered:
        return scan  # of the other index, or of several
    passes = (scan.passes or 0.0) - moved.counts
    if passes < 1.0 or not scan.passes:
        return None
    return replace(
        scan,
        passes=passes,
        passes_per_hour=(scan.passes_per_hour or 0.0) * passes / scan.passes,
        counts=max(0.0, (scan.counts or 0.0) - moved.counts),
    )


def _scan_of(window: Window, moved: MovedCount) -> ScanFacts:
    """The counts of a table as scans of their new index, of which nothing has been read yet."""
    table, pages = moved.table, moved.pages[1]
    read_seconds = page_seconds(window, table)
    sizes = window.latest[INDEX_SIZES]
    leaf_pages = {index.index: size.leaf_pages for index, size in (sizes.of(table) if sizes else {}).items()}
    return ScanFacts(
        schema=table.schema,
        table=table.table,
        what=moved.object,
        pages=pages,
        leaf_pages=leaf_pages.get(moved.indexes[1]),
        passes=moved.counts,
        counts=moved.counts if moved.to_clustered else 0.0,
        read_seconds=None if read_seconds is None else read_seconds * pages,
        passes_per_hour=ratio(moved.counts * 3600.0, window.seconds),
        pages_read=0.0,
        pages_read_last_pass=0.0,
    )
