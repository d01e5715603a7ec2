"""The dashboard of the change buffer."""

from __future__ import annotations

from tools.dashboards.board import Board, Row
from tools.dashboards.panels import HALF, WHERE, Query, graph, rows, words
from tools.dashboards.promql import per_second, ratio, settings, total

_MERGES = per_second("innodb_ibuf_merges_total")
_OPERATIONS = per_second("innodb_ibuf_merged_operations_total")

_ABOUT = """\
Changes to leaf pages of secondary indexes that are not in the buffer pool are put off and merged when the page is read.
What that saves is **operations minus merges**, so the operations of a merge decide, and not the kind of disk.

Panels without data: **MariaDB 11.0 and later have no change buffer.** Where `innodb_change_buffering` is `none`, as it
is by default on MySQL 8.4 and on MariaDB from 10.5.15, 10.6.7, 10.7.3 and 10.8.2 on, nothing is buffered and the
counters stand still. MariaDB turned it off because it corrupted data: do not turn it on there. The default changed
more than once (MySQL 9.7 has `all` again, with a maximum of 5 %), so read the setting and not the version.
"""

_NOW = Row(
    "The change buffer",
    (
        words(
            "Where there is none",
            "What the change buffer is for, and which servers have none or leave it off.",
            _ABOUT,
            width=HALF,
            height=8,
        ),
        rows(
            "Settings of the change buffer",
            "As the server prints them. No row: the server has no change buffer.",
            Query(settings("innodb_change_buffering", "innodb_change_buffer_max_size")),
            columns=("instance", "name", "value"),
            hidden=("job",),
            width=HALF,
            empty="The server has no change buffer",
        ),
        graph(
            "Size against maximum",
            "Pages in use, pages of its segment and free ones among them, and the share of the buffer pool that"
            " innodb_change_buffer_max_size allows. An empty one has one page. Near the maximum changes are merged for"
            " want of room, few at a time. A large one holds up a slow shutdown.",
            "short",
            Query(total("innodb_ibuf_size_pages"), f"{WHERE} in use"),
            Query(total("innodb_ibuf_segment_pages"), f"{WHERE} segment"),
            Query(total("innodb_ibuf_free_list_pages"), f"{WHERE} free"),
            Query(total("innodb_ibuf_max_size_pages"), f"{WHERE} maximum", dashed=True),
            width=HALF,
        ),
        graph(
            "Operations per merge",
            "Changes that a merge put into a page. At 1, the dashed line, each change cost a read of its own and"
            " nothing was saved. 22 were seen where three random secondary indexes were far larger than the pool.",
            "short",
            Query(ratio(_OPERATIONS, _MERGES), WHERE),
            width=HALF,
            limit=1,
        ),
    ),
)

_WORK = Row(
    "Merges",
    (
        graph(
            "Merges",
            "Index pages that waiting changes were merged into, in a second.",
            "cps",
            Query(_MERGES, WHERE),
        ),
        graph(
            "Merged operations",
            "Changes merged in a second: inserts, rows marked as deleted, and deletes by the purge.",
            "cps",
            Query(per_second("innodb_ibuf_merged_operations_total", "operation"), "{{instance}} {{operation}}"),
            stacked=True,
        ),
        graph(
            "Reads put together",
            "Operations less merges: reads of index pages that were saved, if each change had read its page otherwise."
            " So many at most.",
            "cps",
            Query(f"{_OPERATIONS} - {_MERGES}", WHERE),
        ),
        graph(
            "Discarded operations",
            "Changes dropped with their table or index before they were merged. Of no harm.",
            "cps",
            Query(per_second("innodb_ibuf_discarded_operations_total", "operation"), "{{instance}} {{operation}}"),
            width=HALF,
        ),
        graph(
            "Pages read beside it",
            "Pages read from disk into the buffer pool. Reads that come with merges are the merges' own.",
            "cps",
            Query(per_second("innodb_buffer_pool_pages_read_total"), f"{WHERE} read"),
            Query(_MERGES, f"{WHERE} merges"),
            width=HALF,
        ),
    ),
)

BOARD = Board(
    "innodb-advisor-change-buffer",
    "InnoDB: change buffer",
    "How full the change buffer is, what its merges do, and whether they save reads.",
    (_NOW, _WORK),
)
