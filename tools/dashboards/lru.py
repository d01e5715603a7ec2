"""The dashboard of the buffer pool's LRU list."""

from __future__ import annotations

from tools.dashboards.board import Board, Row
from tools.dashboards.panels import HALF, PLACE, WHERE, WIDE, Query, graph, rows
from tools.dashboards.promql import in_bytes, largest_now, on, per_second, ratio, setting, settings, top, total

_LISTED = total("innodb_buffer_pool_pages", where='sublist=~"young|old"')
_OLD = total("innodb_buffer_pool_pages", where='sublist="old"')
_TARGET = total("innodb_buffer_pool_old_target_pages")
_MADE_YOUNG = per_second("innodb_buffer_pool_made_young_total")
_NOT_MADE_YOUNG = per_second("innodb_buffer_pool_not_made_young_total")
_READ = per_second("innodb_buffer_pool_pages_read_total")
_GETS = per_second("innodb_buffer_pool_gets_total")
_READ_AHEAD = per_second("innodb_buffer_pool_read_ahead_total")
_UNUSED = per_second("innodb_buffer_pool_read_ahead_evicted_total")
_OF_INDEX = ("schema", "table", "index")
_NAMED = 'index!="__other__"'
_LARGEST = largest_now(25, total("innodb_index_pages", *_OF_INDEX, where=_NAMED))
_RESIDENT = total("innodb_index_resident_pages", *_OF_INDEX, where=_NAMED)
_INDEX = f"{WHERE} {{{{schema}}}}.{{{{table}}}} {{{{index}}}}"

_CURVE_READS, _CURVE_TABLE_READS = (f"innodb_advisor_curve_{part}pages_read_per_second" for part in ("", "table_"))
_EXPECTED = 'bound="expected"'

_LIST = Row(
    "The list",
    (
        graph(
            "Sublists",
            "Sizes of the young and the old sublist and of the free list. While there are free pages, nothing is"
            " evicted, scanned tables stay whole, and no page is made young. Look for free pages that run out: in a"
            " full pool the page cleaner keeps at most innodb_lru_scan_depth free. From then on a table larger than the"
            " old sublist is mostly read from disk at each scan.",
            "bytes",
            Query(in_bytes(total("innodb_buffer_pool_pages", "sublist")), f"{WHERE} {{{{sublist}}}}"),
            stacked=True,
        ),
        graph(
            "Old sublist and its target",
            "Length of the old sublist, and its target by innodb_old_blocks_pct. InnoDB moves the midpoint when it is"
            " more than 20 pages off in an instance of the pool; a filling pool stays at the target + 20. A repeatedly"
            " scanned table that is larger than the old sublist is mostly read from disk each time. On MariaDB it"
            " enters the pool gradually, because the page cleaner moves the midpoint.",
            "bytes",
            Query(in_bytes(_OLD), f"{WHERE} old"),
            Query(in_bytes(_TARGET), f"{WHERE} target", dashed=True),
        ),
        graph(
            "Midpoint",
            "The old sublist's share of the list, and innodb_old_blocks_pct. Below 512 pages a pool instance has no old"
            " sublist. After a change of the setting the share follows as pages are read.",
            "percentunit",
            Query(ratio(_OLD, _LISTED), f"{WHERE} old"),
            Query(ratio(_TARGET, _LISTED), f"{WHERE} target", dashed=True),
            Query(
                f"{setting('innodb_old_blocks_pct')} / 100",
                f"{WHERE} innodb_old_blocks_pct",
                dashed=True,
            ),
            most=1,
        ),
    ),
)

_PROMOTION = Row(
    "Promotion",
    (
        graph(
            "Made young, and not made young",
            "Pages moved from the old sublist to the head, and accesses to old pages that moved nothing, because they"
            " came within innodb_old_blocks_time of the first. The second counts accesses, not pages: a serial scan"
            " touches each page more than once. Both are constant until the first eviction, and the parallel reader"
            " never moves a page.",
            "cps",
            Query(_MADE_YOUNG, f"{WHERE} made young"),
            Query(_NOT_MADE_YOUNG, f"{WHERE} not made young"),
        ),
        graph(
            "Share of accesses to old pages that promote",
            "Pages made young, as a share of all counted accesses to old pages. Near 0 with many pages read: scans,"
            " whose pages are evicted again. High with many pages made young: pages that are read are used again."
            " Either the hot set is still being loaded, or innodb_old_blocks_time is 0 and scans push it out.",
            "percentunit",
            Query(ratio(_MADE_YOUNG, f"({_MADE_YOUNG} + {_NOT_MADE_YOUNG})"), WHERE),
            most=1,
        ),
        rows(
            "Settings of the list",
            "Values as the server prints them. The blue marks on the other panels are changes.",
            Query(
                settings(
                    "innodb_old_blocks_(pct|time)",
                    "innodb_lru_scan_depth",
                    "innodb_(random_read_ahead|read_ahead_threshold)",
                    "innodb_buffer_pool_(size|instances)",
                )
            ),
            columns=(*PLACE, "name", "value"),
            hidden=("job",),
            width=8,
        ),
    ),
)

_READS = Row(
    "Reads and writes",
    (
        graph(
            "Pages read",
            "Pages read from disk into the pool, including read-ahead, and pages created in it. The scans and the bytes"
            " by table on the dashboard of parallel reads show the tables.",
            "cps",
            Query(_READ, f"{WHERE} read"),
            Query(per_second("innodb_buffer_pool_pages_created_total"), f"{WHERE} created"),
        ),
        graph(
            "Misses",
            "Pages read from disk, as a share of all logical reads. No value is right in general: many lookups can hide"
            " a scan that is read from disk at each pass, and a high share of few reads costs nothing. Look for a"
            " change, and at the pages read and their duration.",
            "percentunit",
            Query(ratio(_READ, _GETS), WHERE),
        ),
        graph(
            "Logical reads",
            "Page requests, whether the page was in the pool or not.",
            "cps",
            Query(_GETS, WHERE),
        ),
        graph(
            "Read-ahead",
            "Pages read ahead of a request, and pages read ahead that were evicted without an access. The second counts"
            " too few: evictions by the page cleaner are not in it, which on MariaDB from 10.6 on are"
            " all of them.",
            "cps",
            Query(_READ_AHEAD, f"{WHERE} read ahead"),
            Query(_UNUSED, f"{WHERE} evicted unused"),
        ),
        graph(
            "Read-ahead that was in vain",
            "Pages evicted unused, as a share of pages read ahead; a lower bound. The rule read-ahead-wasted fires from"
            " two fifths on, if this is also a tenth of all pages read.",
            "percentunit",
            Query(ratio(_UNUSED, _READ_AHEAD), WHERE),
        ),
        graph(
            "Modified pages",
            "Dirty pages in the pool, and what is written from it per second.",
            "bytes",
            Query(in_bytes(total("innodb_buffer_pool_modified_pages")), f"{WHERE} modified"),
            Query(in_bytes(per_second("innodb_buffer_pool_pages_written_total")), f"{WHERE} written", unit="binBps"),
        ),
    ),
)

_INDEXES = Row(
    "Indexes",
    (
        graph(
            "Resident part of each index",
            "Leaf pages in the pool, for the ten indexes that had the most in the range. A table that comes and goes"
            " here is read from disk each time. MySQL 8.0 and later; MariaDB lacks the source.",
            "bytes",
            Query(in_bytes(f"({top(10, _RESIDENT)})"), _INDEX),
            width=HALF,
        ),
        graph(
            "Pages of an index in the sublists",
            "Young and old pages, for the ten largest parts of an index in the range. Only with --collect-lru-pages,"
            " which walks the pool under its lock: read the documentation of the page-level detail first.",
            "bytes",
            Query(
                in_bytes(f"({top(10, total('innodb_index_lru_pages', *_OF_INDEX, 'sublist', where=_NAMED))})"),
                f"{_INDEX} {{{{sublist}}}}",
            ),
            width=HALF,
        ),
        rows(
            "Residency of the largest indexes",
            "The 25 indexes that are largest now: pages and bytes by the persistent statistics, bytes of leaf pages in"
            " the pool, and the share. The size includes the pages above the leaves, so a fully cached index may show a"
            " little below 100 %. Outdated statistics can put it above. MySQL 8.0 and later.",
            Query(_LARGEST, "Pages"),
            Query(in_bytes(_LARGEST), "Size", unit="bytes"),
            Query(in_bytes(f"({_RESIDENT} and {on(*_OF_INDEX)} {_LARGEST})"), "Resident", unit="bytes"),
            Query(f"{_RESIDENT} / ({_LARGEST} > 0)", "Share", unit="percentunit"),
            columns=(*PLACE, *_OF_INDEX),
            hidden=("job",),
            sort="Pages",
            width=WIDE,
        ),
    ),
)

_CURVE = Row(
    "Other sizes of the pool",
    (
        graph(
            "Pages read with other sizes",
            "What the miss curve expects if the buffer pool were so many times as large, beside what is read now. The"
            " sidecar works the curve out once an hour at most, of the last hour's load; after a restart or a change of"
            " settings it has none for five minutes.",
            "cps",
            Query(_READ, f"{WHERE} read now", dashed=True),
            Query(total(_CURVE_READS, "times", where=_EXPECTED), f"{WHERE} {{{{times}}}} ×"),
            width=HALF,
        ),
        graph(
            "Tables that would read with half the pool",
            "Reads that the miss curve expects of the ten tables with the most in the range, without full scans, if the"
            " pool were half as large. They are the tables that it must hold.",
            "cps",
            Query(
                top(10, total(_CURVE_TABLE_READS, "schema", "table", where=f'{_EXPECTED},times="0.5"')),
                f"{WHERE} {{{{schema}}}}.{{{{table}}}}",
            ),
            width=HALF,
        ),
        rows(
            "Bounds of the miss curve",
            "Pages read per second with other sizes: no independent accesses read more with a"
            " larger pool than High says. Expected is the likeliest.",
            *(
                Query(total(_CURVE_READS, "times", where=f'bound="{bound.lower()}"'), bound)
                for bound in ("Low", "Expected", "High")
            ),
            columns=(*PLACE, "times"),
            hidden=("job",),
            width=WIDE,
        ),
    ),
)

BOARD = Board(
    "innodb-advisor-lru",
    "InnoDB: LRU list",
    "The buffer pool's LRU list: young and old pages, the midpoint, promotion, reads and read-ahead, other sizes, and"
    " the indexes in the pool.",
    (_LIST, _PROMOTION, _READS, _CURVE, _INDEXES),
)
