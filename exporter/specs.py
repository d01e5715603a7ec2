"""The metrics by name: what they are, their labels and units. The README's table of metrics is this one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["gauge", "counter", "info", "unknown"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A metric: its name as exposed, what it is, and the names of its labels.

    ``unit`` is the base unit that ends the name (of a counter: before ``_total``), or empty for plain counts.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""


SPECS = {
    spec.name: spec
    for spec in (
        Spec("innodb_up", "gauge", "Whether the last collection reached the server (1) or not (0)."),
        Spec(
            "innodb_server_info",
            "info",
            "Flavour and version of the server.",
            ("flavour", "version", "version_text", "version_comment"),
        ),
        Spec("innodb_server_uptime_seconds", "gauge", "Time since the server started.", (), "seconds"),
        Spec(
            "innodb_server_cores",
            "gauge",
            "Cores that the server's container or machine can keep busy, and how that is known.",
            ("source",),
        ),
        Spec(
            "innodb_server_memory_bytes",
            "gauge",
            "Memory of the server's container or machine, and how that is known.",
            ("source",),
            "bytes",
        ),
        Spec(
            "innodb_server_memory_available_bytes",
            "gauge",
            "Memory of the server's container or machine that is still to be had.",
            (),
            "bytes",
        ),
        Spec("innodb_buffer_pool_size_bytes", "gauge", "innodb_buffer_pool_size.", (), "bytes"),
        Spec("innodb_page_size_bytes", "gauge", "innodb_page_size.", (), "bytes"),
        Spec(
            "innodb_buffer_pool_pages",
            "gauge",
            "Pages of a buffer pool instance in the young or old sublist of its LRU list, or on the free list.",
            ("pool", "sublist"),
            "pages",
        ),
        Spec("innodb_buffer_pool_modified_pages", "gauge", "Dirty pages.", ("pool",), "pages"),
        Spec(
            "innodb_buffer_pool_old_target_pages",
            "gauge",
            "Length that innodb_old_blocks_pct steers the old sublist to, give or take 20 pages.",
            ("pool",),
            "pages",
        ),
        Spec(
            "innodb_buffer_pool_made_young_total", "counter", "Pages moved from the old sublist to the head.", ("pool",)
        ),
        Spec(
            "innodb_buffer_pool_not_made_young_total",
            "counter",
            "Accesses to old pages that did not move them, within innodb_old_blocks_time of the first.",
            ("pool",),
        ),
        Spec(
            "innodb_buffer_pool_pages_read_total",
            "counter",
            "Pages read from disk, read-ahead included.",
            ("pool",),
        ),
        Spec("innodb_buffer_pool_pages_created_total", "counter", "Pages created in the buffer pool.", ("pool",)),
        Spec("innodb_buffer_pool_pages_written_total", "counter", "Pages written from the buffer pool.", ("pool",)),
        Spec("innodb_buffer_pool_gets_total", "counter", "Logical page reads.", ("pool",)),
        Spec("innodb_buffer_pool_read_ahead_total", "counter", "Pages read ahead.", ("pool",)),
        Spec(
            "innodb_buffer_pool_read_ahead_evicted_total",
            "counter",
            "Pages read ahead and evicted without an access.",
            ("pool",),
        ),
        Spec(
            "innodb_index_resident_pages",
            "gauge",
            "Leaf pages of an index in the buffer pool; the largest ones, the rest under index __other__.",
            ("schema", "table", "index"),
            "pages",
        ),
        Spec(
            "innodb_index_pages",
            "gauge",
            "Size of an index as persistent statistics say; the largest ones, the rest under index __other__.",
            ("schema", "table", "index"),
            "pages",
        ),
        Spec(
            "innodb_index_lru_pages",
            "gauge",
            "Pages of an index in the LRU list's sublists; the largest ones, the rest under index __other__."
            " Only with --collect-lru-pages.",
            ("schema", "table", "index", "sublist"),
            "pages",
        ),
        Spec("innodb_ibuf_size_pages", "gauge", "Pages of the change buffer in use.", (), "pages"),
        Spec("innodb_ibuf_free_list_pages", "gauge", "Free pages of the change buffer's segment.", (), "pages"),
        Spec("innodb_ibuf_segment_pages", "gauge", "Pages of the change buffer's segment.", (), "pages"),
        Spec(
            "innodb_ibuf_max_size_pages",
            "gauge",
            "Share of the buffer pool that innodb_change_buffer_max_size lets the change buffer grow to.",
            (),
            "pages",
        ),
        Spec("innodb_ibuf_merges_total", "counter", "Index pages that buffered changes were merged into."),
        Spec("innodb_ibuf_merged_operations_total", "counter", "Buffered changes merged.", ("operation",)),
        Spec(
            "innodb_ibuf_discarded_operations_total",
            "counter",
            "Buffered changes dropped with their table.",
            ("operation",),
        ),
        Spec("innodb_parallel_read_threads", "gauge", "Parallel reader threads alive at the last look."),
        Spec(
            "innodb_parallel_read_thread_seconds_total",
            "counter",
            "Parallel reader threads, integrated over time since the sidecar began to watch.",
            (),
            "seconds",
        ),
        Spec(
            "innodb_parallel_reads_observed_total",
            "counter",
            "Looks that saw parallel reader threads after one that saw none; shorter reads are missed.",
        ),
        Spec("innodb_ddl_threads_active", "gauge", "Threads building indexes."),
        Spec(
            "innodb_ddl_stage_work",
            "gauge",
            "Work units of the stages of ALTER TABLE under way.",
            ("stage", "kind"),
        ),
        Spec("innodb_ddl_memory_bytes", "gauge", "Memory of index builds, outside the buffer pool.", (), "bytes"),
        Spec(
            "innodb_table_scan_rows_total",
            "counter",
            "Rows fetched without an index: the trace of serial full scans.",
            ("schema", "table"),
        ),
        Spec(
            "innodb_count_star_total",
            "counter",
            "Executions of SELECT COUNT(*) of a whole table.",
            ("schema", "table"),
        ),
        Spec("innodb_data_file_reads_total", "counter", "Reads of InnoDB data files."),
        Spec("innodb_data_file_read_seconds_total", "counter", "Time waited in reads of data files.", (), "seconds"),
        Spec(
            "innodb_table_file_read_bytes_total",
            "counter",
            "Bytes read from a table's own data file; the files most read.",
            ("schema", "table"),
            "bytes",
        ),
        Spec("innodb_setting", "gauge", "A setting that is a number or ON (1) or OFF (0).", ("name",)),
        Spec("innodb_setting_info", "gauge", "A setting as the server prints it; always 1.", ("name", "value")),
        Spec(
            "innodb_exporter_collector_success",
            "gauge",
            "Whether a collector's last run succeeded. Collectors for what this server does not have are left out.",
            ("collector",),
        ),
        Spec(
            "innodb_exporter_collector_duration_seconds",
            "gauge",
            "How long a collector's last run took.",
            ("collector",),
            "seconds",
        ),
        Spec(
            "innodb_exporter_collector_age_seconds",
            "gauge",
            "How long ago a collector read the values that are served.",
            ("collector",),
            "seconds",
        ),
        Spec(
            "innodb_exporter_collector_server_seconds_total",
            "counter",
            "Time the server spent in the sidecar's own statements, since its sessions were opened.",
            (),
            "seconds",
        ),
    )
}
