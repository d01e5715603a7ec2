"""The queries, by the stages and names of docs/fleet.md.

In their texts ``$I`` stands for the identity's labels, ``$S`` for the matchers of the user and of the shard, ``$D`` for
the time between two points of the grid, ``$G`` for that less a millisecond, as Prometheus 2 counts samples at both ends
of a range, and ``$W`` for the whole window. Replicas of a Prometheus are one server: each
query takes ``max by`` (identity) before it sums. A value of a window is the last one of five minutes: no scrape
interval in use is longer. Inventory and verdicts take plain selectors: a series that ended is no longer there then,
while last_over_time would show it for five minutes more.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template

from advisor.contract.settings import SETTINGS
from advisor.fleet.series import Grid

_LEAST = 0.001
"""Seconds between two samples at least."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query about the servers of a shard.

    Attributes:
        name: In docs/fleet.md. Series without a name of their own get it.
        text: PromQL.
        labels: Labels beside the identity's that tell the series of a server apart.
        at_end: Whether it is asked at the end of the grid alone.
    """

    name: str
    text: str
    labels: tuple[str, ...] = ()
    at_end: bool = False

    def of(self, identity: str, matchers: str, grid: Grid) -> str:
        """The text for a shard.

        Args:
            identity: Labels, with commas.
            matchers: Of label values, with commas.
            grid: The points that are asked for.
        """
        whole = grid.step * (grid.count - 1)
        times = {"D": grid.step, "G": grid.step - _LEAST, "W": whole}
        return Template(self.text).substitute(
            I=identity, S=matchers, **{name: _duration(seconds) for name, seconds in times.items()}
        )


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


WORDS = tuple(name for name, setting in SETTINGS.items() if setting.kind == "text" and len(setting.words_on(None)) != 2)
"""Settings that are neither numbers nor ON or OFF: innodb_change_buffering and innodb_flush_method."""

NUMBERS = tuple(name for name in SETTINGS if name not in WORDS)
"""The others."""

# ---- A. Inventory, once for the whole fleet ----

UP = Query("inventory-up", 'max by ($I, __name__) ({__name__=~"innodb_up|mysql_up",$S})')

OWN_INFO = Query(
    "inventory-own",
    "group by ($I, flavour, version_text, version_comment, managed, group_replication, windows)"
    " (innodb_server_info{$S})",
)

PEER_INFO = Query("inventory-peer", "group by ($I, version, version_comment) (mysql_version_info{$S})")

JUDGED = Query("inventory-judged", "max by ($I) (innodb_advisor_advice_timestamp_seconds{$S})")

# The start is the same for every scrape and every replica; the uptime is not.
STARTS = Query(
    "inventory-starts",
    " or ".join(
        f'label_replace({function} by ($I) (timestamp({metric}{{$S}}) - {metric}{{$S}}), "start", "{name}", "", "")'
        for function in ("max", "min")
        for name, metric in (
            (f"{function}_own", "innodb_server_uptime_seconds"),
            (f"{function}_peer", "mysql_global_status_uptime"),
        )
    ),
)

VANISHED = Query(
    "inventory-vanished",
    # timestamp() drops the name, and two exporters may have the same labels: hence two selectors.
    "max by ($I) (max_over_time(timestamp(innodb_up{$S})[1h:1m]) or max_over_time(timestamp(mysql_up{$S})[1h:1m]))"
    ' unless max by ($I) ({__name__=~"innodb_up|mysql_up",$S})',
)

SERVICE = Query("inventory-service", 'group by ($I) ({__name__=~"innodb_up|mysql_up",$S})')

# ---- B. Verdicts: what the sidecars say themselves, once for the whole fleet ----

FOUND = Query(
    "verdict",
    "max by ($I, __name__, rule, severity, subject, setting) ({__name__=~"
    '"innodb_advisor_(recommendation|recommended_value|setting_value|confidence|suppressed'
    '|predicted_read_bytes_saved_per_second)",$S})',
)

CHANGES = Query(
    "verdict-changes",
    "group by ($I, rule, subject, setting, from, value, fingerprint) (innodb_advisor_recommendation_info{$S})",
)

PAGES = Query(
    "verdict-pages",
    "group by ($I, rule, subject, fingerprint, url) (innodb_advisor_recommendation_page_info{$S})",
)

BLIND = Query("verdict-blind", 'max by ($I, __name__, rule) ({__name__=~"innodb_advisor_rule_(blind|failed)",$S}) > 0')

BESIDE = Query(
    "verdict-beside",
    "max by ($I, __name__, name, collector, failure) "
    '({__name__=~"innodb_setting|innodb_exporter_collector_failure_info",name=~"|innodb_buffer_pool_size_max",$S})',
)

# ---- C. Windows from the sidecar's series ----

OWN_SERVER = Query(
    "own-server",
    "group by ($I, flavour, version_text, version_comment, managed) (last_over_time(innodb_server_info{$S}[5m]))",
    ("flavour", "version_text", "version_comment", "managed"),
    at_end=True,
)
OWN_AT = Query("own-at", "max by ($I) (timestamp(innodb_server_uptime_seconds{$S}))")
OWN_SCRAPES = Query("own-scrapes", "max by ($I) (count_over_time(innodb_server_uptime_seconds{$S}[$G]))")
"""Samples since the point before; asked only for servers with findings."""
OWN_POOL_COUNTERS = Query(
    "own-pool-counters",
    "sum by ($I, __name__) (max by ($I, pool, __name__) (last_over_time({"
    '__name__=~"innodb_buffer_pool_(made_young|not_made_young|pages_read|pages_created|pages_written|gets|read_ahead'
    '|read_ahead_evicted)_total",$S}[5m])))',
)
OWN_POOL_PAGES = Query(
    "own-pool-pages",
    "sum by ($I, sublist) (max by ($I, pool, sublist) (last_over_time(innodb_buffer_pool_pages{$S}[5m])))",
    ("sublist",),
)
OWN_POOL_SIZE = Query(
    "own-pool-size", "sum by ($I) (max by ($I, pool) (last_over_time(innodb_buffer_pool_size_pages{$S}[5m])))"
)
OWN_POOL_INSTANCES = Query(
    "own-pool-instances",
    "count by ($I) (max by ($I, pool) (last_over_time(innodb_buffer_pool_modified_pages{$S}[5m])))",
    at_end=True,
)
OWN_MEANS = Query(
    "own-means", "sum by ($I) (max by ($I, pool) (avg_over_time(innodb_buffer_pool_modified_pages{$S}[$D])))"
)
OWN_CHECKPOINT = Query("own-checkpoint", "max by ($I) (avg_over_time(innodb_checkpoint_age_bytes{$S}[$D]))")
OWN_NUMBERS = Query(
    "own-numbers",  # the change buffer, files, parallel readers, index builds, the machine's counters
    "max by ($I, __name__) (last_over_time({"
    '__name__=~"innodb_(server_(uptime_seconds|memory_available_bytes|cpu_seconds_total|disk_(busy|queue)_seconds_total)'
    "|ibuf_(size_pages|merges_total)|data_file_reads_total|data_file_read_seconds_total"
    "|parallel_read_threads|parallel_read_thread_seconds_total|parallel_reads_observed_total"
    "|ddl_(threads_active|memory_bytes|builds_total|build_seconds_total)"
    '|buffer_pool_read_ahead_random_total|checkpoint_age_limit_bytes)",$S}[5m]))',
)
OWN_OPERATIONS = Query(
    "own-operations",
    "max by ($I, __name__, operation) (last_over_time({"
    '__name__=~"innodb_(ibuf_merged_operations_total|rows_total)",$S}[5m]))',
    ("operation",),
)
OWN_SETTINGS = Query("own-settings", "max by ($I, name) (last_over_time(innodb_setting{$S}[5m]))", ("name",))
OWN_WORDS = Query(
    "own-settings-text",
    f'group by ($I, name, value) (last_over_time(innodb_setting_info{{name=~"{"|".join(WORDS)}",$S}}[5m]))',
    ("name", "value"),
)
OWN_MACHINE = Query(
    "own-machine",
    'max by ($I, __name__, source) (last_over_time({__name__=~"innodb_server_(cores|memory_bytes)",$S}[5m]))',
    ("source",),
    at_end=True,
)
OWN_STORAGE = Query(
    "own-storage",
    "group by ($I, storage, filesystem, device, rotational, source)"
    " (last_over_time(innodb_server_storage_info{$S}[5m]))",
    ("storage", "filesystem", "device", "rotational", "source"),
    at_end=True,
)
OWN_HEALTH = Query(
    "own-health",
    "min by ($I, collector) (last_over_time(innodb_exporter_collector_success{$S}[5m]))",
    ("collector",),
    at_end=True,
)

# ---- D. Tables from the sidecar's series ----

OWN_COUNT = Query(
    "own-tables-count",
    "count by ($I) ({"
    '__name__=~"innodb_(index_pages|table_scan_rows_total|count_star_total|table_file_reads_total)",$S})',
    at_end=True,
)
OWN_INDEXES = Query(
    "own-index-pages",
    "max by ($I, __name__, schema, table, index) (last_over_time({"
    '__name__=~"innodb_index_(pages|leaf_pages|resident_pages)",$S}[5m]))',
    ("schema", "table", "index"),
    at_end=True,
)
OWN_INDEX_INFO = Query(
    "own-index-info",
    "group by ($I, schema, table, index, kind, columns) (last_over_time(innodb_index_info{$S}[5m]))",
    ("schema", "table", "index", "kind", "columns"),
    at_end=True,
)
OWN_ROWS = Query(
    "own-table-rows",
    "max by ($I, schema, table) (last_over_time(innodb_table_rows{$S}[5m]))",
    ("schema", "table"),
    at_end=True,
)
OWN_TABLES = Query(
    "own-tables",
    "max by ($I, __name__, schema, table) (last_over_time({"
    '__name__=~"innodb_(table_scan_rows_total|count_star_(total|seconds_total|rows_examined_total|forced_primary_total)'
    '|table_file_(reads_total|read_bytes_total|read_seconds_total))",$S}[5m]))',
    ("schema", "table"),
)

# ---- E. Windows from mysqld_exporter's series ----

PEER_SERVER = Query(
    "peer-server",
    "group by ($I, version, version_comment) (last_over_time(mysql_version_info{$S}[5m]))",
    ("version", "version_comment"),
    at_end=True,
)
PEER_COLLECTORS = Query(
    "peer-collectors",  # a flag that is on, and tells nothing, differs from one that is off
    "max by ($I, collector) (last_over_time(mysql_exporter_collector_success{"
    'collector=~"collect[.]((info_schema[.](tables|innodb_tablespaces|innodb_metrics))'
    '|(perf_schema[.](indexiowaits|tablelocks|eventsstatements|file_events|file_instances)))",$S}[5m]))',
    ("collector",),
    at_end=True,
)
PEER_AT = Query("peer-at", "max by ($I) (timestamp(mysql_global_status_uptime{$S}))")
PEER_SCRAPES = Query("peer-scrapes", "max by ($I) (count_over_time(mysql_global_status_uptime{$S}[$G]))")
PEER_STATUS = Query(
    "peer-status",
    "max by ($I, __name__) (last_over_time({"
    '__name__=~"mysql_global_status_(uptime|innodb_(pages_(read|written|created)'
    "|buffer_pool_(read_requests|read_ahead|read_ahead_rnd|read_ahead_evicted)"
    '|redo_log_capacity_resized|checkpoint_max_age|ibuf_size))",$S}[5m]))',
)
PEER_PAGES = Query(
    "peer-pages", "max by ($I, state) (last_over_time(mysql_global_status_buffer_pool_pages{$S}[5m]))", ("state",)
)
PEER_CHANGES = Query(
    "peer-changes",
    "max by ($I, operation) (last_over_time(mysql_global_status_buffer_pool_page_changes_total{$S}[5m]))",
    ("operation",),
)
PEER_ROWS = Query(
    "peer-rows",
    "max by ($I, operation) (last_over_time(mysql_global_status_innodb_row_ops_total{$S}[5m]))",
    ("operation",),
)
PEER_DIRTY = Query("peer-dirty", "max by ($I) (avg_over_time(mysql_global_status_buffer_pool_dirty_pages{$S}[$D]))")
# Three queries, as a shard's matchers are in each of them once: with more of them VictoriaMetrics finds it too long.
PEER_CURRENT_LSN = Query(
    "peer-current-lsn", "max by ($I) (avg_over_time(mysql_global_status_innodb_redo_log_current_lsn{$S}[$D]))"
)
PEER_CHECKPOINT_LSN = Query(
    "peer-checkpoint-lsn", "max by ($I) (avg_over_time(mysql_global_status_innodb_redo_log_checkpoint_lsn{$S}[$D]))"
)
PEER_CHECKPOINT_AGE = Query(
    "peer-checkpoint-age", "max by ($I) (avg_over_time(mysql_global_status_innodb_checkpoint_age{$S}[$D]))"
)
PEER_IBUF = Query(
    "peer-ibuf",
    "max by ($I, __name__) (last_over_time({"
    '__name__=~"mysql_info_schema_innodb_metrics_change_buffer_ibuf_'
    '(size|merges|merges_insert|merges_delete|merges_delete_mark)_total",$S}[5m]))',
)
LOWER_CASE = "lower_case_table_names"
_BESIDE = ("aad_auth_only", "cloudsql_iam_authentication", LOWER_CASE)
PEER_SETTINGS = Query(
    "peer-settings",
    "max by ($I, __name__) (last_over_time({"
    f'__name__=~"mysql_global_variables_({"|".join((*NUMBERS, *_BESIDE))})"'
    ",$S}[5m]))",
)
PEER_FILE_EVENTS = Query(
    "peer-file-events",
    "max by ($I, __name__) (last_over_time({"
    '__name__=~"mysql_perf_schema_file_events(_seconds)?_total",'
    'event_name="wait/io/file/innodb/innodb_data_file",mode="read",$S}[5m]))',
)

# ---- D. Tables from mysqld_exporter's series ----

PEER_COUNT = Query(
    "peer-tables-count",
    "count by ($I) ({"
    '__name__=~"mysql_info_schema_table_(rows|size|version)'
    '|mysql_perf_schema_(file_instances|index_io_waits|external_lock_waits)_total",$S})',
    at_end=True,
)
PEER_ROWS_OF_TABLES = Query(
    "peer-table-rows",
    "max by ($I, schema, table) (last_over_time(mysql_info_schema_table_rows{$S}[5m]))",
    ("schema", "table"),
    at_end=True,
)
PEER_SIZES = Query(
    "peer-sizes",
    "max by ($I, schema, table, component) (last_over_time(mysql_info_schema_table_size{"
    'component=~"data_length|index_length",$S}[5m]))',
    ("schema", "table", "component"),
    at_end=True,
)
PEER_ENGINES = Query(
    "peer-engines",
    "group by ($I, schema, table, row_format) (last_over_time(mysql_info_schema_table_version{"
    'engine="InnoDB",$S}[5m]))',
    ("schema", "table", "row_format"),
    at_end=True,
)
PEER_FLAGS = Query(
    "peer-flags",  # a server of which statements are told, and no count, differs from one of which nothing is
    "group by ($I) (last_over_time(mysql_perf_schema_events_statements_total{$S}[5m]))",
    at_end=True,
)
PEER_INDEX_IO = Query(
    "peer-index-io",
    "max by ($I, schema, name, index, operation) (last_over_time(mysql_perf_schema_index_io_waits_total{$S}[5m])) > 0",
    ("schema", "name", "index", "operation"),
)
PEER_INDEXES = Query(
    "peer-indexes",  # also those that nobody used
    "group by ($I, schema, name, index) (last_over_time(mysql_perf_schema_index_io_waits_total{"
    'operation="fetch",index!~"NONE|PRIMARY",$S}[5m]))',
    ("schema", "name", "index"),
    at_end=True,
)
PEER_INDEXES_LOST = Query(
    "peer-indexes-lost",  # for want of room in performance_schema
    "max by ($I) (last_over_time(mysql_global_status_performance_schema_lost_total{"
    'instrumentation="index_stat_lost",$S}[5m])) > 0',
    at_end=True,
)
PEER_LOCKS = Query(
    "peer-locks",
    "max by ($I, schema, name, operation) (last_over_time(mysql_perf_schema_external_lock_waits_total{$S}[5m])) > 0",
    ("schema", "name", "operation"),
)
PEER_FILE_SIZES = Query(
    "peer-file-sizes",
    "max by ($I, tablespace_name) (last_over_time(mysql_info_schema_innodb_tablespace_file_size_bytes{"
    'tablespace_name=~".+/.+",$S}[5m]))',
    ("tablespace_name",),
    at_end=True,
)
PEER_COUNTS = Query(
    "peer-counts",
    "max by ($I, __name__, schema, digest, digest_text) (last_over_time({"
    '__name__=~"mysql_perf_schema_events_statements(_seconds|_rows_examined)?_total",'
    'digest_text=~"SELECT COUNT [(] ?[*?] ?[)] .*",$S}[5m]))',
    ("schema", "digest", "digest_text"),
)
PEER_FILES = Query(
    "peer-files",
    "max by ($I, file_name) (last_over_time(mysql_perf_schema_file_instances_total{"
    'mode="read",file_name=~".+[.]ibd",$S}[5m])) > 0',
    ("file_name",),
)

# ---- F. The machine of servers without a sidecar ----

_CONTAINERS = 'container=~"mysql|mysqld|mariadb|database"'
KUBE_LIMITS = Query(
    "kube-limits",
    f"max by ($I, resource) (last_over_time(kube_pod_container_resource_limits{{"
    f'resource=~"memory|cpu",{_CONTAINERS},$S}}[5m]))',
    ("resource",),
    at_end=True,
)
KUBE_MEMORY = Query(
    "kube-memory",
    f"max by ($I) (max_over_time(container_memory_working_set_bytes{{{_CONTAINERS},$S}}[$W]))",
    at_end=True,
)

# ---- G. Days, of the recording rules' series, where --may-read is given: $W is 30 days, $D one ----

POOL_SETTINGS = (
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_chunk_size",
    "innodb_buffer_pool_dump_pct",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_load_at_startup",
    "innodb_buffer_pool_size",
    "innodb_lru_scan_depth",
    "innodb_page_size",
)
_POOL_SETTINGS = "|".join(POOL_SETTINGS)
_FILLING_OWN = "innodb_buffer_pool_(pages|pages_read|gets)"
_FILLING_PEER = "mysql_global_status_(buffer_pool_pages|innodb_pages_read|innodb_buffer_pool_read_requests)"
_RISE = "instance_times:innodb_advisor_curve_pages_read_per_second:rise"


def _either(text: str, own: str, peer: str) -> str:
    """Of the sidecar's series, or where there are none, of mysqld_exporter's."""
    return " or ".join(f"max by ($I) ({text.replace('@', each)})" for each in (own, peer))


_READS_OF_DAYS = (
    "instance:innodb_buffer_pool_pages_read:rate5m",
    "instance:mysql_global_status_innodb_pages_read:rate5m",
)
_GETS_OF_DAYS = (
    "instance:innodb_buffer_pool_gets:rate5m",
    "instance:mysql_global_status_innodb_buffer_pool_read_requests:rate5m",
)
_SIZES = ("innodb_buffer_pool_size_bytes", "mysql_global_variables_innodb_buffer_pool_size")
_HIGH = "quantile_over_time(0.95, @{$S}[$W:5m])"

TREND_READS = Query("trend-reads", _either(_HIGH, *_READS_OF_DAYS), at_end=True)
TREND_GETS = Query("trend-gets", _either(_HIGH, *_GETS_OF_DAYS), at_end=True)
TREND_KNOWN = Query("trend-known", _either("count_over_time(@{$S}[$D])", *_READS_OF_DAYS))
TREND_SIZES = Query("trend-sizes", _either("last_over_time(@{$S}[5m])", *_SIZES))
TREND_SETTINGS = Query(
    "trend-settings",
    f'max by ($I, name) (last_over_time(innodb_setting{{name=~"{_POOL_SETTINGS}",$S}}[5m])) or max by ($I, __name__)'
    f' (last_over_time({{__name__=~"mysql_global_variables_({_POOL_SETTINGS})",$S}}[5m]))',
    ("name",),
    at_end=True,
)
TREND_FILLING = Query(
    "trend-filling", f'{{__name__=~"instance:({_FILLING_OWN}|{_FILLING_PEER}):filling",$S}}[$W]', at_end=True
)
TREND_RISE = Query(
    "trend-rise", f"max by ($I, times) (quantile_over_time(0.95, {_RISE}{{$S}}[$W]))", ("times",), at_end=True
)
TREND_RISE_HIGH = Query(
    "trend-rise-high", f"max by ($I, times) (max_over_time({_RISE}_high{{$S}}[$W]))", ("times",), at_end=True
)
