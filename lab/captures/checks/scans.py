"""Checks of captures of scans and lookups."""

from __future__ import annotations

from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.midpoint import old_target
from exporter.snapshot import Index, Table
from lab.captures.checks.base import (
    HARDLY,
    MOST,
    Numbers,
    Snapshots,
    free_pages,
    made_young,
    old_target_pages,
    pages_read,
    require,
    table_pages,
)


def read_each_pass(snapshots: Snapshots, table: Table) -> Numbers:
    """The table exceeds the old sublist but not the pool, and each pass reads it."""
    pages, read = _larger_than_old_sublist(snapshots, table), pages_read(snapshots)
    require(min(read) >= MOST * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def read_on_average(snapshots: Snapshots, table: Table) -> Numbers:
    """As ``read_each_pass``, where passes and collections are not in step."""
    pages, sizes = _larger_than_old_sublist(snapshots, table), snapshots[-1][INDEX_SIZES]
    rows = None if sizes is None else sizes.sizes[Index(table.schema, table.table, "PRIMARY")].rows
    fetched = [(snapshots[end][TABLE_SCANS] or {})[table] for end in (0, -1)]
    reads = [(snapshots[end][TABLE_FILES] or {})[table].reads for end in (0, -1)]
    require(bool(rows), f"no rows of {table.table} are known")
    passes = (fetched[1] - fetched[0]) / (rows or 1)
    per_pass = round((reads[1] - reads[0]) / passes)
    require(passes >= 2 and per_pass >= pages / 2, f"{passes:.1f} passes read {per_pass} of {pages} pages each")
    return {"table_pages": pages, "passes": round(passes, 1), "pages_read_per_pass": per_pass}


def read_at_first(snapshots: Snapshots, table: Table) -> Numbers:
    """As ``read_each_pass`` for the first pass; the later ones depend on the server."""
    pages, read = _larger_than_old_sublist(snapshots, table), pages_read(snapshots)
    require(read[0] >= MOST * pages, f"the first pass read {read[0]} of {pages} pages")
    return _passes(snapshots, table)


def held(snapshots: Snapshots, table: Table) -> Numbers:
    """No pass reads the table: the old sublist holds it, and would not at the default setting."""
    pages, read, last = table_pages(snapshots, table), pages_read(snapshots), snapshots[-1]
    lengths = [pool.database_pages for pool in last[POOLS] or ()]
    require(pages > sum(old_target(length, 37) for length in lengths), "the table fits the old sublist at 37 %")
    require(pages < old_target_pages(last), "the old sublist doesn't hold the table")
    require(max(read) <= HARDLY * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def fits_free_pages(snapshots: Snapshots, table: Table) -> Numbers:
    """The table is read once into free pages and stays; some pages remain free."""
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


def shared(snapshots: Snapshots, table: Table, sessions: int) -> Numbers:
    """Between two collections so many sessions scan the table, and it is read about once."""
    pages, read = table_pages(snapshots, table), pages_read(snapshots)
    require(pages > old_target_pages(snapshots[-1]), "the old sublist holds the table")
    require(pages * MOST <= min(read) <= max(read) <= 1.2 * pages, f"rounds read {read} of {pages} pages")
    return _passes(snapshots, table) | {"pages_read_per_pass": [round(each / sessions) for each in read]}


def read_in_order(snapshots: Snapshots, table: Table) -> Numbers:
    """Each round reads the table, which the old sublist cannot hold, and most of it by read-ahead."""
    pages, read = table_pages(snapshots, table), pages_read(snapshots)
    require(pages > old_target_pages(snapshots[-1]), "the old sublist holds the table")
    require(min(read) >= MOST * pages, f"rounds read {read} of {pages} pages")
    ahead = [sum(pool.read_ahead for pool in each[POOLS] or ()) for each in snapshots]
    require(ahead[-1] - ahead[0] >= 0.5 * sum(read), f"read-ahead brought {ahead[-1] - ahead[0]} of {sum(read)} pages")
    return _passes(snapshots, table) | {"read_ahead": ahead[-1] - ahead[0]}


def outgrown(snapshots: Snapshots, table: Table) -> Numbers:
    """Each pass reads several times as many pages as the statistics say."""
    pages, read = table_pages(snapshots, table), pages_read(snapshots)
    require(min(read) >= 3 * pages, f"passes read {read} of {pages} pages")
    return {"statistics_pages": pages, "pages_read_per_pass": read}


def in_a_large_file(snapshots: Snapshots, table: Table) -> Numbers:
    """The table's file has several times as many pages as the table."""
    pages, size = table_pages(snapshots, table), (snapshots[-1][FILE_SIZES] or {}).get(table, 0)
    page_bytes = int(snapshots[-1].setting("innodb_page_size") or 0)
    require(size >= 5 * pages * page_bytes, f"{size} bytes for {pages} pages")
    return {"table_pages": pages, "file_pages": size // page_bytes, "pages_read_per_pass": pages_read(snapshots)}


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
    """The table exceeds the old sublist: the first passes read it, and the last ones do not."""
    pages, read = _larger_than_old_sublist(snapshots, table, most=0.7), pages_read(snapshots)
    require(read[0] >= MOST * pages, f"the first pass read {read[0]} of {pages} pages")
    require(max(read[-3:]) <= HARDLY * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots, table)


def promoted(snapshots: Snapshots, table: Table, hot: Table) -> Numbers:
    """Each pass makes all pages of the table young, and the hot set is read again after it."""
    pages, young = table_pages(snapshots, table), made_young(snapshots)
    require(min(young) >= MOST * pages, f"{young} of {pages} pages were made young")
    read = pages_read(snapshots)
    require(min(read) >= pages + MOST * table_pages(snapshots, hot), f"rounds read {read} pages")
    return {"table_pages": pages, "pages_read": read, "made_young": young}


def not_promoted(snapshots: Snapshots, hot: Table) -> Numbers:
    """Hardly any page is made young, and hardly any page of the hot set is read."""
    young, pages = made_young(snapshots), table_pages(snapshots, hot)
    require(max(young) <= 0.1 * pages, f"{young} pages were made young")
    files = [(snapshot[TABLE_FILES] or {}).get(hot) for snapshot in (snapshots[0], snapshots[-1])]
    read = [file.reads for file in files if file is not None]
    require((max(read) - min(read)) / len(young) <= 0.1 * pages, f"the hot set's file was read: {read}")
    return {"hot_pages": pages, "pages_read": pages_read(snapshots), "made_young": young}


def lookups_read(snapshots: Snapshots) -> Numbers:
    """The pool is full and reads pages in every round."""
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
