"""Snapshot to metric families. What is not known gives no sample, never a zero."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    UnknownMetricFamily,
)

from exporter.collectors.base import TOP
from exporter.midpoint import old_target
from exporter.rows import credible, number
from exporter.snapshot import BufferPool, Index, Snapshot
from exporter.specs import SPECS, Spec

SETTINGS = (
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_chunk_size",
    "innodb_buffer_pool_dump_at_shutdown",
    "innodb_buffer_pool_dump_pct",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_load_at_startup",
    "innodb_buffer_pool_size",
    "innodb_change_buffer_max_size",
    "innodb_change_buffering",
    "innodb_ddl_buffer_size",
    "innodb_ddl_threads",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lru_scan_depth",
    "innodb_old_blocks_pct",
    "innodb_old_blocks_time",
    "innodb_online_alter_log_max_size",
    "innodb_page_cleaners",
    "innodb_page_size",
    "innodb_parallel_read_threads",
    "innodb_random_read_ahead",
    "innodb_read_ahead_threshold",
    "innodb_sort_buffer_size",
)
"""The settings exported: those that the four topics of this project depend on."""

Sample = tuple[str, tuple[str, ...], float]
_OTHER = "__other__"


def families(snapshot: Snapshot | None) -> Iterator[Metric]:
    """The metric families of a snapshot; of None, that the server is not up."""
    yield from assemble(SPECS, samples(snapshot))


def assemble(specs: Mapping[str, Spec], found: Iterable[Sample]) -> Iterator[Metric]:
    """Families, in the order of ``specs``, from samples in any order; families without samples are left out.

    Of samples with the same name and labels only the first is kept: Prometheus drops a whole scrape for one series
    that comes twice, and names that differ for the server may not differ here (bytes that are no UTF-8).
    """
    by_name: dict[str, dict[tuple[str, ...], float]] = {}
    for name, labels, value in found:
        by_name.setdefault(name, {}).setdefault(labels, value)
    for name, spec in specs.items():
        if name in by_name:
            family = _family(spec)
            for labels, value in by_name[name].items():
                family.add_metric(labels, value)
            yield family


class _Info(InfoMetricFamily):
    """An info family that takes its labels like the others; its value is always 1."""

    def __init__(self, name: str, documentation: str, labels: tuple[str, ...]) -> None:
        super().__init__(name, documentation)
        self._names = labels

    def add_metric(self, labels: tuple[str, ...], value: float) -> None:  # type: ignore[override]  # noqa: ARG002
        super().add_metric((), dict(zip(self._names, labels, strict=True)))


def _family(spec: Spec) -> CounterMetricFamily | GaugeMetricFamily | UnknownMetricFamily | _Info:
    match spec.kind:
        case "counter":
            return CounterMetricFamily(spec.name, spec.help, labels=spec.labels, unit=spec.unit)
        case "gauge":
            return GaugeMetricFamily(spec.name, spec.help, labels=spec.labels, unit=spec.unit)
        case "info":
            return _Info(spec.name.removesuffix("_info"), spec.help, spec.labels)
        case "unknown":
            return UnknownMetricFamily(spec.name, spec.help, labels=spec.labels, unit=spec.unit)


def samples(snapshot: Snapshot | None) -> Iterator[Sample]:
    """Every sample of a snapshot: name, label values in the order of its Spec, value."""
    if snapshot is None:
        yield "innodb_up", (), 0.0
        return
    yield "innodb_up", (), 1.0
    yield from _server(snapshot)
    yield from _pools(snapshot)
    yield from _indexes(snapshot)
    yield from _lru_pages(snapshot)
    yield from _change_buffer(snapshot)
    yield from _work(snapshot)
    yield from _settings(snapshot)
    yield from _own(snapshot)


def _server(snapshot: Snapshot) -> Iterator[Sample]:
    server = snapshot.server
    version = ".".join(map(str, server.version))
    yield "innodb_server_info", (server.flavour, version, server.version_text, server.comment), 1.0
    if snapshot.status is not None:
        yield "innodb_server_uptime_seconds", (), snapshot.status["uptime"]
    if (machine := snapshot.machine) is not None:
        if machine.cores is not None:
            yield "innodb_server_cores", (machine.cores_source or "",), machine.cores
        if machine.memory_bytes is not None:
            yield "innodb_server_memory_bytes", (machine.memory_source or "",), machine.memory_bytes
        if machine.memory_available_bytes is not None:
            yield "innodb_server_memory_available_bytes", (), machine.memory_available_bytes
    for setting in ("innodb_buffer_pool_size", "innodb_page_size"):
        value = _amount(snapshot, setting)
        if value is not None:
            yield f"{setting}_bytes", (), value


def _amount(snapshot: Snapshot, setting: str) -> float | None:
    """A setting that says how much of something; None where it is not known, or below 0."""
    value = number(snapshot.setting(setting))
    return None if value is None or not credible(value) else value


_POOL_COUNTERS = {
    "innodb_buffer_pool_made_young_total": "made_young",
    "innodb_buffer_pool_not_made_young_total": "not_made_young",
    "innodb_buffer_pool_pages_read_total": "pages_read",
    "innodb_buffer_pool_pages_created_total": "pages_created",
    "innodb_buffer_pool_pages_written_total": "pages_written",
    "innodb_buffer_pool_gets_total": "gets",
    "innodb_buffer_pool_read_ahead_total": "read_ahead",
    "innodb_buffer_pool_read_ahead_evicted_total": "read_ahead_evicted",
}


def _pools(snapshot: Snapshot) -> Iterator[Sample]:
    pct = _amount(snapshot, "innodb_old_blocks_pct")
    for pool in snapshot.pools or ():
        yield from _pool(pool, None if pct is None else int(pct))


def _pool(pool: BufferPool, old_blocks_pct: int | None) -> Iterator[Sample]:
    name = str(pool.pool)
    if pool.old_pages <= pool.database_pages:  # the server reads the two at different moments
        yield "innodb_buffer_pool_pages", (name, "young"), pool.database_pages - pool.old_pages
    yield "innodb_buffer_pool_pages", (name, "old"), pool.old_pages
    yield "innodb_buffer_pool_pages", (name, "free"), pool.free_pages
    yield "innodb_buffer_pool_modified_pages", (name,), pool.modified_pages
    if old_blocks_pct is not None:
        yield "innodb_buffer_pool_old_target_pages", (name,), old_target(pool.database_pages, old_blocks_pct)
    for metric, attribute in _POOL_COUNTERS.items():
        yield metric, (name,), getattr(pool, attribute)


def _indexes(snapshot: Snapshot) -> Iterator[Sample]:
    if (cached := snapshot.cached_indexes) is not None:
        for index, pages in cached.pages.items():
            yield "innodb_index_resident_pages", (index.schema, index.table, index.index), pages
        yield "innodb_index_resident_pages", ("", "", _OTHER), cached.other_pages
    if (sized := snapshot.index_sizes) is not None:
        largest = heapq.nlargest(TOP, sized.sizes.items(), key=lambda item: item[1].pages)
        for index, size in largest:
            yield "innodb_index_pages", (index.schema, index.table, index.index), size.pages
        in_all = sized.other_pages + sum(size.pages for size in sized.sizes.values())
        yield "innodb_index_pages", ("", "", _OTHER), in_all - sum(size.pages for _, size in largest)


def _lru_pages(snapshot: Snapshot) -> Iterator[Sample]:
    if (lru := snapshot.lru_pages) is None:
        return
    for index, pages in (*lru.pages.items(), (Index("", "", _OTHER), lru.other)):
        yield "innodb_index_lru_pages", (index.schema, index.table, index.index, "young"), pages.young
        yield "innodb_index_lru_pages", (index.schema, index.table, index.index, "old"), pages.old


def _change_buffer(snapshot: Snapshot) -> Iterator[Sample]:
    metrics = snapshot.innodb_metrics or {}
    # Each source where it is the better one: INNODB_METRICS is there even when the text has no section.
    printed = None if snapshot.innodb_status is None else snapshot.innodb_status.change_buffer
    size = metrics.get("ibuf_size", None if printed is None else printed.size_pages)
    if size is not None:
        yield "innodb_ibuf_size_pages", (), size
    # MariaDB 10.6 to 10.11 print nothing while the change buffer is empty, but keep these.
    status = snapshot.status or {}
    free = status.get("innodb_ibuf_free_list") if printed is None else printed.free_list_pages
    segment = status.get("innodb_ibuf_segment_size") if printed is None else printed.segment_pages
    if free is not None and segment is not None:
        yield "innodb_ibuf_free_list_pages", (), free
        yield "innodb_ibuf_segment_pages", (), segment
    share = _amount(snapshot, "innodb_change_buffer_max_size")
    if share is not None and snapshot.pools is not None:
        yield "innodb_ibuf_max_size_pages", (), share / 100 * sum(pool.size_pages for pool in snapshot.pools)
    if "ibuf_merges" in metrics:
        yield "innodb_ibuf_merges_total", (), metrics["ibuf_merges"]
    for operation in ("insert", "delete_mark", "delete"):
        for metric, counter in (("merged", "ibuf_merges"), ("discarded", "ibuf_merges_discard")):
            value = metrics.get(f"{counter}_{operation}")
            if value is not None:
                yield f"innodb_ibuf_{metric}_operations_total", (operation,), value


def _work(snapshot: Snapshot) -> Iterator[Sample]:
    if (readers := snapshot.parallel_readers) is not None:
        yield "innodb_parallel_read_threads", (), readers.threads
        yield "innodb_parallel_read_thread_seconds_total", (), readers.thread_seconds
        yield "innodb_parallel_reads_observed_total", (), readers.reads_observed
    if (ddl := snapshot.ddl) is not None:
        if ddl.threads is not None:
            yield "innodb_ddl_threads_active", (), ddl.threads
        if ddl.memory_bytes is not None:
            yield "innodb_ddl_memory_bytes", (), ddl.memory_bytes
        for stage in ddl.stages or ():
            yield "innodb_ddl_stage_work", (stage.name, "completed"), stage.completed
            yield "innodb_ddl_stage_work", (stage.name, "estimated"), stage.estimated
    for table, rows in (snapshot.table_scans or {}).items():
        yield "innodb_table_scan_rows_total", (table.schema, table.table), rows
    counted = (snapshot.count_statements or {}).items()
    for table, statement in heapq.nlargest(TOP, counted, key=lambda item: item[1].executions):
        yield "innodb_count_star_total", (table.schema, table.table), statement.executions
    if (files := snapshot.data_files) is not None:
        yield "innodb_data_file_reads_total", (), files.reads
        yield "innodb_data_file_read_seconds_total", (), files.seconds
    for table, reads in heapq.nlargest(TOP, (snapshot.table_files or {}).items(), key=lambda item: item[1].bytes):
        yield "innodb_table_file_read_bytes_total", (table.schema, table.table), reads.bytes


def _settings(snapshot: Snapshot) -> Iterator[Sample]:
    for name in SETTINGS:
        value = snapshot.setting(name)
        if value is None:
            continue
        as_number = {"ON": 1.0, "OFF": 0.0}.get(value, number(value))
        if as_number is not None:
            yield "innodb_setting", (name,), as_number
        yield "innodb_setting_info", (name, value), 1.0


def _own(snapshot: Snapshot) -> Iterator[Sample]:
    for name, outcome in snapshot.outcomes.items():
        if outcome.failure == "absent":
            continue
        yield "innodb_exporter_collector_success", (name,), float(outcome.failure is None)
        yield "innodb_exporter_collector_duration_seconds", (name,), outcome.seconds
    for name, read in snapshot.read_at.items():
        # The clock may have been set back meanwhile.
        yield "innodb_exporter_collector_age_seconds", (name,), max(0.0, snapshot.at - read)
    if snapshot.server_time is not None:
        yield "innodb_exporter_collector_server_seconds_total", (), snapshot.server_time
