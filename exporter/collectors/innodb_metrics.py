"""INFORMATION_SCHEMA.INNODB_METRICS: the enabled counters, among them the change buffer's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from exporter.anonymisation import columns, unchanged
from exporter.collectors.base import Collector, amount, counter, gauge, optional
from exporter.collectors.innodb_status import INNODB_STATUS
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.exposition import LabelledValue
from exporter.rows import Rows, count_or_none, lower_half, text
from exporter.server import Server
from exporter.snapshot import Snapshot
from exporter.status_text import ChangeBufferText

SQL = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE {enabled}"
_SIZE = "ibuf_size"
_OPERATIONS = ("insert", "delete_mark", "delete")


def queries(server: Server) -> tuple[str, ...]:
    """MySQL's column is STATUS, a text; MariaDB's is ENABLED, a number (seen on 10.5, 10.11 and 11.8)."""
    column = "ENABLED = 1" if server.at_least(mariadb=(10, 5, 0)) else "STATUS = 'enabled'"
    return (SQL.format(enabled=column),)


def parse(results: Sequence[Rows]) -> Mapping[str, int]:
    """Counters by name, cumulative since they were enabled. A counter that was reset may be below 0: left out."""
    printed = {text(name): value for name, value in results[0].rows}
    # MariaDB 10.11 leaves garbage in the upper half of ibuf_size (seen: 4355096838145 for 1).
    metrics = {name: lower_half(value) if name == _SIZE else count_or_none(value) for name, value in printed.items()}
    return {name: value for name, value in metrics.items() if value is not None}


def _printed(snapshot: Snapshot) -> ChangeBufferText | None:
    status = snapshot[INNODB_STATUS]
    return None if status is None else status.change_buffer


def _size(snapshot: Snapshot) -> Iterator[LabelledValue]:
    # INNODB_METRICS has it even when the text has no section.
    printed = _printed(snapshot)
    return optional((snapshot[INNODB_METRICS] or {}).get(_SIZE, None if printed is None else printed.size_pages))


def _segment(snapshot: Snapshot) -> tuple[float, float] | None:
    """Pages of the free list, and of the segment."""
    if (printed := _printed(snapshot)) is not None:
        return printed.free_list_pages, printed.segment_pages
    # MariaDB 10.6 to 10.11 print nothing while the change buffer is empty, but keep these.
    status = snapshot[STATUS] or {}
    free, segment = status.get("innodb_ibuf_free_list"), status.get("innodb_ibuf_segment_size")
    return None if free is None or segment is None else (free, segment)


def _part_of_segment(part: int) -> Callable[[Snapshot], Iterator[LabelledValue]]:
    return lambda snapshot: optional(None if (pages := _segment(snapshot)) is None else pages[part])


def _max_size(snapshot: Snapshot) -> Iterator[LabelledValue]:
    percent, pools = amount(snapshot, "innodb_change_buffer_max_size"), snapshot[POOLS]
    if percent is not None and pools is not None:
        yield (), percent / 100 * sum(pool.size_pages for pool in pools)


INNODB_METRICS = Collector(
    "innodb_metrics",
    queries,
    parse,
    privilege="PROCESS ON *.*",
    quick=True,
    anonymise=columns(name=unchanged),
    metrics=(
        gauge("innodb_ibuf_size_pages", "Pages of the change buffer in use.", _SIZE, values=_size),
        gauge("innodb_ibuf_free_list_pages", "Free pages of the change buffer's segment.", values=_part_of_segment(0)),
        gauge("innodb_ibuf_segment_pages", "Pages of the change buffer's segment.", values=_part_of_segment(1)),
        gauge(
            "innodb_ibuf_max_size_pages",
            "Share of the buffer pool that innodb_change_buffer_max_size lets the change buffer grow to.",
            values=_max_size,
        ),
        counter("innodb_ibuf_merges_total", "Index pages into which buffered changes were merged.", "ibuf_merges"),
        counter(
            "innodb_ibuf_merged_operations_total",
            "Buffered changes merged.",
            "ibuf_merges_{}",
            ("operation",),
            words=_OPERATIONS,
        ),
        counter(
            "innodb_ibuf_discarded_operations_total",
            "Buffered changes dropped with their table.",
            "ibuf_merges_discard_{}",
            ("operation",),
            words=_OPERATIONS,
        ),
    ),
)
