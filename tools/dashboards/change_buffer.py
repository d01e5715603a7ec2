"""The dashboard of the change buffer."""

from __future__ import annotations

from tools.dashboards.board import Board, Row
from tools.dashboards.panels import HALF, PLACE, WHERE, Query, graph, rows, words
from tools.dashboards.promql import in_bytes, per_second, ratio, settings, total

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
            "The purpose of the change buffer, and the servers without it or with it off.",
            _ABOUT,
            width=HALF,
            height=8,
        ),
        rows(
            "Settings of the change buffer",
            "Values as the server prints them. No row: the server has no change buffer.",
            Query(settings("innodb_change_buffering", "innodb_change_buffer_max_size")),
            columns=(*PLACE, "name", "value"),
            hidden=("job",),
            width=HALF,
            empty="The server has no change buffer",
        ),
        graph(
            "Size against maximum",
            "What is in use, its segment, what is free in it, and the maximum that innodb_change_buffer_max_size"
            " allows. An empty buffer has one page. Near the maximum, changes are merged to make room, few at a time. A"
            " large buffer prolongs a slow shutdown.",
            "bytes",
            Query(in_bytes(total("innodb_ibuf_size_pages")), f"{WHERE} in use"),
            Query(in_bytes(total("innodb_ibuf_segment_pages")), f"{WHERE} segment"),
            Query(in_bytes(total("innodb_ibuf_free_list_pages")), f"{WHERE} free"),
            Query(in_bytes(total("innodb_ibuf_max_size_pages")), f"{WHERE} maximum", dashed=True),
            width=HALF,
        ),
        graph(
            "Operations per merge",
            "Changes that a merge applied to a page. At 1, the dashed line, each change needed its own read, and"
            " nothing was saved. 22 were measured with three random secondary indexes far larger than the pool.",
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
            "Index pages into which buffered changes were merged, per second.",
            "cps",
            Query(_MERGES, WHERE),
        ),
        graph(
            "Merged operations",
            "Changes merged per second: inserts, delete marks, and deletes by the purge.",
            "cps",
            Query(per_second("innodb_ibuf_merged_operations_total", "operation"), f"{WHERE} {{{{operation}}}}"),
            stacked=True,
        ),
        graph(
            "Reads put together",
            "Operations less merges: the saved reads of index pages, if each change had needed its own read."
            " So many at most.",
            "cps",
            Query(f"{_OPERATIONS} - {_MERGES}", WHERE),
        ),
        graph(
            "Discarded operations",
            "Changes discarded with their table or index before a merge. This is harmless.",
            "cps",
            Query(per_second("innodb_ibuf_discarded_operations_total", "operation"), f"{WHERE} {{{{operation}}}}"),
            width=HALF,
        ),
        graph(
            "Pages read beside it",
            "Pages read from disk into the buffer pool. Reads at the same time as merges are the merges' own.",
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
    "The change buffer's size, its merges, and the reads that they save.",
    (_NOW, _WORK),
)
