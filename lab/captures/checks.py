"""Whether a capture shows what its scenario is for: key numbers for its note, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.ddl import DDL
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.midpoint import old_target
from exporter.snapshot import Index, Snapshot, Table

Snapshots = Sequence[Snapshot]
Numbers = dict[str, object]
Check = Callable[[Snapshots], Numbers]

MOST = 0.8
"""The share of a table's pages that a pass reads at least when the pool doesn't keep the table."""
HARDLY = 0.02
"""The share that it reads at most when the pool does: other work reads a page here and there."""


class NotShown(Exception):
    """The capture doesn't show what it was made for; the text says what it lacks."""


def require(condition: bool, what: str) -> None:  # noqa: FBT001 - as in assert
    """Refuse the capture unless the condition holds."""
    if not condition:
        raise NotShown(what)


def idle(snapshots: Snapshots) -> Numbers:
    """Every source answered or doesn't exist here, and next to nothing was read."""
    for name, outcome in snapshots[-1].outcomes.items():
        require(outcome.failure in (None, "absent", "disabled"), f"{name} failed: {outcome.reason}")
    read = pages_read(snapshots)
    require(sum(read) < 100, f"the server read {sum(read)} pages")
    return {"pages_read": sum(read)}


def read_each_pass(snapshots: Snapshots, table: Table) -> Numbers:
    """The old sublist doesn't hold the table, the pool would, and each pass reads it."""
    pages, read = _larger_than_old_sublist(snapshots, table), pages_read(snapshots)
    require(min(read) >= MOST * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def read_at_first(snapshots: Snapshots, table: Table) -> Numbers:
    """As in ``read_each_pass`` at the first pass; what happens then is up to the server."""
    pages, read = _larger_than_old_sublist(snapshots, table), pages_read(snapshots)
    require(read[0] >= MOST * pages, f"the first pass read {read[0]} of {pages} pages")
    return _passes(snapshots, table)


def held(snapshots: Snapshots, table: Table) -> Numbers:
    """No pass reads the table, which the old sublist holds but would not at the default setting."""
    pages, read, last = table_pages(snapshots, table), pages_read(snapshots), snapshots[-1]
    lengths = [pool.database_pages for pool in last[POOLS] or ()]
    require(pages > sum(old_target(length, 37) for length in lengths), "the table fits the old sublist at 37 %")
    require(pages < old_target_pages(last), "the old sublist doesn't hold the table")
    require(max(read) <= HARDLY * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def fits_free_pages(snapshots: Snapshots, table: Table) -> Numbers:
    """The table is read once into free pages, some of which are left, and stays."""
    _larger_than_old_sublist(snapshots, table)
    require(free_pages(snapshots[-1]) > 0, "no page is left free")
    return _read_once(snapshots, table)


def fits_old_sublist(snapshots: Snapshots, table: Table) -> Numbers:
    """The pool is full, and the table is read once into the old sublist, which holds it."""
    pages, first = table_pages(snapshots, table), snapshots[0]
    require(pages < old_target_pages(first), f"{pages} pages don't fit the old sublist")
    # A full pool keeps some pages free: the page cleaner refills the list up to innodb_lru_scan_depth.
    full = min(int(first.setting("innodb_lru_scan_depth") or 0), pages)
    require(free_pages(first) <= full, f"{free_pages(first)} pages were free")
    return _read_once(snapshots, table)


def exceeds_pool(snapshots: Snapshots, table: Table) -> Numbers:
    """The pool doesn't hold the table, and each pass reads it."""
    pages, read = table_pages(snapshots, table), pages_read(snapshots)
    size = sum(pool.size_pages for pool in snapshots[-1][POOLS] or ())
    require(pages > size, f"{pages} pages fit a pool of {size}")
    require(min(read) >= MOST * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def fits_pool(snapshots: Snapshots, table: Table) -> Numbers:
    """The pool holds the table, and no pass reads it."""
    pages, read = table_pages(snapshots, table), pages_read(snapshots)
    require(max(read) <= HARDLY * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def kept(snapshots: Snapshots, table: Table) -> Numbers:
    """The first passes read the table, which the old sublist doesn't hold, and the last ones don't."""
    pages, read = _larger_than_old_sublist(snapshots, table, most=0.7), pages_read(snapshots)
    require(read[0] >= MOST * pages, f"the first pass read {read[0]} of {pages} pages")
    require(max(read[-3:]) <= HARDLY * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def promoted(snapshots: Snapshots, table: Table, hot: Table) -> Numbers:
    """Each pass makes as many pages young as the table has, and the hot set is read anew after it."""
    pages, young = table_pages(snapshots, table), made_young(snapshots)
    require(min(young) >= MOST * pages, f"{young} of {pages} pages were made young")
    read = pages_read(snapshots)
    require(min(read) >= pages + MOST * table_pages(snapshots, hot), f"rounds read {read} pages")
    return {"table_pages": pages, "pages_read": read, "made_young": young}


def not_promoted(snapshots: Snapshots, hot: Table) -> Numbers:
    """Hardly a page is made young, and hardly one of the hot set is read."""
    young, pages = made_young(snapshots), table_pages(snapshots, hot)
    require(max(young) <= 0.1 * pages, f"{young} pages were made young")
    files = [(snapshot[TABLE_FILES] or {}).get(hot) for snapshot in (snapshots[0], snapshots[-1])]
    read = [file.reads for file in files if file is not None]
    require((max(read) - min(read)) / len(young) <= 0.1 * pages, f"the hot set's file was read: {read}")
    return {"hot_pages": pages, "pages_read": pages_read(snapshots), "made_young": young}


def lookups_read(snapshots: Snapshots) -> Numbers:
    """A pool that is full reads pages all the time."""
    read = pages_read(snapshots)
    require(free_pages(snapshots[-1]) < 200, f"{free_pages(snapshots[-1])} pages are free")
    require(min(read) >= 200, f"rounds read {read} pages")
    return {"pages_read": read}


def lookups_do_not_read(snapshots: Snapshots) -> Numbers:
    """Hardly a page is read."""
    read, gets = pages_read(snapshots), [sum(pool.gets for pool in each[POOLS] or ()) for each in snapshots]
    require(max(read) <= 100, f"rounds read {read} pages")
    require(gets[-1] - gets[0] >= 1000, "hardly a page was asked for")
    return {"pages_read": read}


def parallel_reads(snapshots: Snapshots, table: Table) -> Numbers:
    """Each COUNT(*) reads the table, by parallel readers that the light samples saw."""
    numbers = read_each_pass(snapshots, table)
    counted = [(snapshot[COUNT_STATEMENTS] or {}).get(table) for snapshot in snapshots]
    executions = counted[-1].executions if counted[-1] is not None else 0
    require(executions == len(snapshots) - 1, f"{executions} executions of the COUNT(*)")
    readers = snapshots[-1][PARALLEL_READERS]
    require(readers is not None and readers.reads_observed >= 2, "hardly any parallel reader was seen")
    assert readers is not None  # noqa: S101 - for the type checker
    return numbers | {
        "reads_observed": readers.reads_observed,
        "reader_thread_seconds": round(readers.thread_seconds, 3),
    }


def merges(snapshots: Snapshots, *, least: float = 1.0, most: float = float("inf")) -> Numbers:
    """At least 200 merges, of so many operations each as ``least`` and ``most`` say."""
    done = ibuf_delta(snapshots, "ibuf_merges")
    operations = sum(ibuf_delta(snapshots, f"ibuf_merges_{kind}") for kind in ("insert", "delete_mark", "delete"))
    require(done >= 200, f"{done} merges")
    each = operations / done
    require(least <= each <= most, f"{each:.2f} operations a merge")
    return _insertion(snapshots) | {"merges": done, "operations_per_merge": round(each, 2)}


def no_merges(snapshots: Snapshots) -> Numbers:
    """Nothing was buffered, so the secondary indexes were read for the changes to them."""
    numbers = _insertion(snapshots)
    require(ibuf_delta(snapshots, "ibuf_merges") == 0, "there were merges")
    require(sum(pages_read(snapshots)) >= 1000, "hardly any page was read")
    return numbers


def building(snapshots: Snapshots) -> Numbers:
    """An index build begins in the capture, and goes on at its end."""
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


def refused(snapshots: Snapshots) -> Numbers:
    """Sources that the account may not read are failures with a reason and a cure."""
    outcomes = snapshots[-1].outcomes
    names = sorted(name for name, outcome in outcomes.items() if outcome.failure == "privilege")
    require(len(names) >= 5, f"only {names} were refused")
    for name in names:
        require(bool(outcomes[name].reason and outcomes[name].cure), f"{name} has no reason or no cure")
    return {"refused": names, "read": sorted(name for name, outcome in outcomes.items() if not outcome.failure)}


def pages_read(snapshots: Snapshots) -> list[int]:
    """Pages that the pool read between each snapshot and the next."""
    totals = [sum(pool.pages_read for pool in snapshot[POOLS] or ()) for snapshot in snapshots]
    return [after - before for before, after in pairwise(totals)]


def made_young(snapshots: Snapshots) -> list[int]:
    """Pages that were made young between each snapshot and the next."""
    totals = [sum(pool.made_young for pool in snapshot[POOLS] or ()) for snapshot in snapshots]
    return [after - before for before, after in pairwise(totals)]


def table_pages(snapshots: Snapshots, table: Table) -> int:
    """Leaf pages of the clustered index as statistics say.

    Raises:
        NotShown: There are none.
    """
    sizes = snapshots[-1][INDEX_SIZES]
    index = Index(table.schema, table.table, "PRIMARY")
    require(sizes is not None and index in sizes.sizes, f"no statistics of {table.table}")
    assert sizes is not None  # noqa: S101 - for the type checker
    return sizes.sizes[index].leaf_pages


def old_target_pages(snapshot: Snapshot) -> int:
    """Length that the settings steer the old sublists to."""
    pct = int(snapshot.setting("innodb_old_blocks_pct") or 37)
    return sum(old_target(pool.database_pages, pct) for pool in snapshot[POOLS] or ())


def free_pages(snapshot: Snapshot) -> int:
    """Pages on the free lists."""
    return sum(pool.free_pages for pool in snapshot[POOLS] or ())


def ibuf_delta(snapshots: Snapshots, counter: str) -> int:
    """How much a counter of INNODB_METRICS grew over the capture."""
    first, last = ((snapshots[end][INNODB_METRICS] or {}).get(counter) for end in (0, -1))
    require(first is not None and last is not None, f"no {counter}")
    assert first is not None  # noqa: S101 - for the type checker
    assert last is not None  # noqa: S101
    return last - first


def _larger_than_old_sublist(snapshots: Snapshots, table: Table, most: float = 0.6) -> int:
    pages = table_pages(snapshots, table)
    last = snapshots[-1]
    size = sum(pool.size_pages for pool in last[POOLS] or ())
    require(old_target_pages(last) < pages < most * size, f"{pages} pages in a pool of {size}")
    return pages


def _read_once(snapshots: Snapshots, table: Table) -> Numbers:
    pages, (first, *later) = table_pages(snapshots, table), pages_read(snapshots)
    require(first >= MOST * pages, f"the first pass read {first} of {pages} pages")
    require(max(later) <= HARDLY * pages, f"later passes read {later} of {pages} pages")
    return _passes(snapshots, table)


def _passes(snapshots: Snapshots, table: Table) -> Numbers:
    last = snapshots[-1]
    return {
        "table_pages": table_pages(snapshots, table),
        "pool_pages": sum(pool.size_pages for pool in last[POOLS] or ()),
        "old_target_pages": old_target_pages(last),
        "pages_read_per_pass": pages_read(snapshots),
    }


def _insertion(snapshots: Snapshots) -> Numbers:
    sizes = snapshots[-1][INDEX_SIZES]
    secondary = sum(size.pages for index, size in (sizes.sizes if sizes else {}).items() if not index.clustered)
    pool = sum(pool.size_pages for pool in snapshots[-1][POOLS] or ())
    require(secondary > 1.5 * pool, f"{secondary} pages of secondary indexes in a pool of {pool}")
    return {
        "secondary_index_pages": secondary,
        "pool_pages": pool,
        "pages_read": sum(pages_read(snapshots)),
    }
