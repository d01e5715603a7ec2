"""Checks of captures of COUNT(*)."""

from __future__ import annotations

from advisor.facts.machine import machine
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
from exporter.snapshot import Index, Table
from lab.captures.checks.base import MOST, Numbers, Snapshots, require, table_pages

BUSY = 0.7
"""The share of the cores' time above which a capture shows nothing about waits: other work disturbed it."""


def counted(snapshots: Snapshots, table: Table, *, secondary: str = "", forced: bool = False) -> Numbers:
    """The table is counted between all collections, and has the expected secondary index or none."""
    statements = [(each[COUNT_STATEMENTS] or {}).get(table) for each in (snapshots[0], snapshots[-1])]
    executions = [0 if each is None else each.executions for each in statements]
    named = [0 if each is None else each.forced_primary for each in statements]
    counts = executions[1] - executions[0]
    require(counts >= len(snapshots) - 1, f"{counts} counts")
    require(named[1] - named[0] == (counts if forced else 0), f"{named} counts were told to take the clustered index")
    sizes = snapshots[-1][INDEX_SIZES]
    own = {index.index: size.pages for index, size in (sizes.sizes if sizes else {}).items() if _of(index, table)}
    require(sorted(own) == sorted({"PRIMARY", *([secondary] if secondary else [])}), f"the table has {sorted(own)}")
    return {"counts": counts, "index_pages": own}


def cold_counts(snapshots: Snapshots, table: Table, *, least: float = 0.0, most: float = 1.0) -> Numbers:
    """Each count reads the table from disk; threads wait for ``least`` to ``most`` of their time; cores are idle."""
    busy = machine(Window(tuple(snapshots))).cpu_busy
    require(busy is not None and busy < BUSY, f"{busy} of the cores' time was busy")
    numbers = counted(snapshots, table)
    counts = int(str(numbers["counts"]))
    files = [(each[TABLE_FILES] or {}).get(table) for each in (snapshots[0], snapshots[-1])]
    statements = [(each[COUNT_STATEMENTS] or {}).get(table) for each in (snapshots[0], snapshots[-1])]
    reads = [0 if each is None else each.reads for each in files]
    waits = [0.0 if each is None else each.seconds for each in files]
    seconds = [0.0 if each is None else each.seconds for each in statements]
    pages = table_pages(snapshots, table)
    require(reads[1] - reads[0] >= MOST * pages * counts, f"{counts} counts read {reads[1] - reads[0]} pages")
    threads = int(snapshots[-1].setting("innodb_parallel_read_threads") or 1)
    share = (waits[1] - waits[0]) / (seconds[1] - seconds[0]) / threads
    require(least <= share <= most, f"{share:.2f} of the threads' time is waiting for reads")
    return numbers | {
        "pages_read_per_count": round((reads[1] - reads[0]) / counts),
        "seconds_per_count": round((seconds[1] - seconds[0]) / counts, 3),
        "wait_share": round(share, 2),
    }


def _of(index: Index, table: Table) -> bool:
    return (index.schema, index.table) == (table.schema, table.table)
