"""Checks of captures of index builds."""

from __future__ import annotations

from exporter.collectors.ddl import DDL
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.snapshot import Index
from lab.captures.checks.base import Numbers, Snapshots, require


def building(snapshots: Snapshots) -> Numbers:
    """An index build begins in the capture, and still runs at its end."""
    seen = [ddl for snapshot in snapshots if (ddl := snapshot[DDL]) is not None and ddl.stages]
    last = snapshots[-1][DDL]
    require(len(seen) >= 3, f"a stage in {len(seen)} snapshots only")
    require(last is not None and bool(last.stages), "the build was over at the last snapshot")
    threads = max(ddl.threads or 0 for ddl in seen)
    memory = max(ddl.memory_bytes or 0 for ddl in seen)
    require(threads > 0, "no thread of the build was seen")
    require(memory > 0, "no memory of the build was seen")
    return {
        "snapshots_with_stages": len(seen),
        "ddl_threads": threads,
        "ddl_memory_bytes": memory,
        "stages": sorted({stage.name for ddl in seen for stage in ddl.stages or ()}),
    }


def built(snapshots: Snapshots, index: Index, *, least_pages: int, most_pages: int = 1 << 32) -> Numbers:
    """Index builds ended between all collections, and the table has an index of the expected size."""
    first, last = snapshots[0][DDL], snapshots[-1][DDL]
    require(first is not None and last is not None, "no index builds are known")
    assert first is not None  # noqa: S101 - for the type checker
    assert last is not None  # noqa: S101
    builds = (last.builds or 0) - (first.builds or 0)
    require(builds >= len(snapshots) - 1, f"{builds} ALTER TABLE and CREATE INDEX")
    sizes = snapshots[-1][INDEX_SIZES]
    size = None if sizes is None else sizes.sizes.get(index)
    require(size is not None, f"no statistics of {index.index}")
    assert size is not None  # noqa: S101
    require(least_pages <= size.leaf_pages <= most_pages, f"{size.leaf_pages} leaf pages")
    seconds = (last.build_seconds or 0.0) - (first.build_seconds or 0.0)
    return {"statements": builds, "statement_seconds": round(seconds, 1), "leaf_pages": size.leaf_pages}
