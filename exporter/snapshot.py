"""What was known of a server at one moment: typed sections, one a collector. A section that is None is not known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from exporter.server import Server

Failure = Literal["absent", "disabled", "privilege", "deadline", "failed", "unreadable"]
Storage = Literal["ssd", "hdd"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a collector's last run went.

    Attributes:
        at: When it ran, Unix seconds.
        seconds: How long it took, seen from here.
        failure: None for success; ``absent``: this server has no such source; ``disabled``: it has, but it is
            switched off; ``privilege``: the account may not read it; ``deadline``: it took too long;
            ``failed``: the server returned another error; ``unreadable``: the answer could not be parsed.
        reason: Why, in words; empty on success.
        cure: A statement or option-file line that would help, where there is one.
    """

    at: float
    seconds: float
    failure: Failure | None = None
    reason: str = ""
    cure: str | None = None


@dataclass(frozen=True, slots=True)
class BufferPool:
    """One instance's row of INNODB_BUFFER_POOL_STATS; pages, and counts since the server started."""

    pool: int
    size_pages: int
    free_pages: int
    database_pages: int
    old_pages: int
    modified_pages: int
    made_young: int
    not_made_young: int
    pages_read: int
    pages_created: int
    pages_written: int
    gets: int
    read_ahead: int
    read_ahead_evicted: int


@dataclass(frozen=True, slots=True)
class PoolText:
    """A buffer pool as SHOW ENGINE INNODB STATUS prints it; pages."""

    size_pages: int | None
    free_pages: int | None
    database_pages: int | None
    old_pages: int | None
    modified_pages: int | None
    made_young: int | None
    not_made_young: int | None


@dataclass(frozen=True, slots=True)
class ChangeBufferText:
    """The change buffer as SHOW ENGINE INNODB STATUS prints it; pages, and counts since the start."""

    size_pages: int
    free_list_pages: int
    segment_pages: int
    merges: int
    merged_inserts: int | None
    merged_delete_marks: int | None
    merged_deletes: int | None
    discarded_inserts: int | None
    discarded_delete_marks: int | None
    discarded_deletes: int | None


@dataclass(frozen=True, slots=True)
class InnodbStatus:
    """The parts of SHOW ENGINE INNODB STATUS that are used.

    ``change_buffer`` is None where no section was printed: MariaDB 10.6+ prints it only when it is not empty.
    ``pools`` are the individual instances, empty with a single one; ``total`` is their sum, as printed.
    ``checkpoint_age_bytes`` is the redo log that a recovery would have to read: what was written since the last
    checkpoint.
    """

    total: PoolText | None
    pools: tuple[PoolText, ...]
    change_buffer: ChangeBufferText | None
    truncated: bool
    checkpoint_age_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Index:
    """An index's name; ``index`` is PRIMARY or GEN_CLUST_INDEX for a clustered one."""

    schema: str
    table: str
    index: str

    @property
    def clustered(self) -> bool:
        """Whether the index holds the rows themselves."""
        return self.index in ("PRIMARY", "GEN_CLUST_INDEX")


@dataclass(frozen=True, slots=True)
class CachedIndexes:
    """Leaf pages in the buffer pool by index, the largest ones; ``other_pages`` sums the rest."""

    pages: Mapping[Index, int]
    other_pages: int


@dataclass(frozen=True, slots=True)
class SublistPages:
    """Pages in the two sublists of the LRU list, all instances together."""

    young: int
    old: int


@dataclass(frozen=True, slots=True)
class LruPages:
    """Pages of the LRU list by index, the largest ones; ``other`` sums the rest, and what belongs to no index."""

    pages: Mapping[Index, SublistPages]
    other: SublistPages


@dataclass(frozen=True, slots=True)
class IndexSize:
    """mysql.innodb_index_stats of one index, partitions summed.

    Attributes:
        pages: All of the index.
        leaf_pages: Those of its lowest level.
        rows: As last estimated; of a clustered index only.
        columns: Its own, in order, without those of the clustered key that a secondary index ends with (InnoDB adds
            them to a non-unique one). None where the statistics name none; empty for GEN_CLUST_INDEX.
    """

    pages: int
    leaf_pages: int
    rows: int | None
    columns: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class IndexSizes:
    """The largest indexes; ``other_pages`` sums the rest. ``tables`` are all that have statistics, partitions each."""

    sizes: Mapping[Index, IndexSize]
    other_pages: int
    tables: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table's name."""

    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class CountStatement:
    """SELECT COUNT(*) of a whole table, since the digest table was last emptied.

    Attributes:
        executions: How often.
        seconds: Time spent in it.
        rows_examined: 0 for parallel reads, which the server does not count here; the rows for serial ones.
        forced_primary: Executions that named the clustered index in an index hint.
    """

    executions: int
    seconds: float
    rows_examined: int
    forced_primary: int


@dataclass(frozen=True, slots=True)
class ParallelReaders:
    """Parallel reader threads, integrated over samples: they are visible only while they run.

    Attributes:
        threads: Alive at the last sample.
        thread_seconds: Integral of ``threads`` over time since the sidecar began to watch.
        reads_observed: Samples that saw threads after one that saw none. Shorter reads than the sampling
            period are missed, so this is a lower bound.
    """

    threads: int
    thread_seconds: float
    reads_observed: int


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of an ALTER TABLE under way, in the server's own work units."""

    name: str
    completed: int
    estimated: int


@dataclass(frozen=True, slots=True)
class Ddl:
    """Index builds, under way and done. A part that the server does not report is None.

    Attributes:
        threads: At work now; None without parallel builds.
        memory_bytes: That they use now; None without parallel builds.
        stages: Under way; None where the consumer events_stages_current is off (the default on every server).
        builds: ALTER TABLE and CREATE INDEX statements that ended without an error since the server's start or since
            its statement statistics were emptied: those that built an index, and all others.
        build_seconds: Time spent in these statements, those with an error included.
    """

    threads: int | None
    memory_bytes: int | None
    stages: tuple[Stage, ...] | None
    builds: int | None = None
    build_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class MetricKind:
    """What a counter of INNODB_METRICS is, in the server's words: ``change_buffer``, ``status_counter``."""

    subsystem: str
    type: str


@dataclass(frozen=True, slots=True)
class FileReads:
    """Reads of InnoDB data files since the start; ``seconds`` sums the time waited in them."""

    reads: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Machine:
    """Cores, memory and storage of the server's container or machine; never those of the sidecar's own.

    Attributes:
        cores: That the server can keep busy.
        cores_source: ``cgroup cpu.max``, ``cgroup cpu.cfs_quota_us``, ``cpu affinity``, ``configuration``, or what the
            server says it found when it started, which is no CPU quota: ``INNODB_METRICS cpu_n`` (MySQL) or
            ``thread_pool_size`` (MariaDB).
        cpu_seconds: CPU time spent of these cores, by whomever: while it grows by less than ``cores`` a second, some
            are idle. Counts from a start that only the source knows.
        memory_bytes: That the server and all it shares its limits with can use.
        memory_source: ``cgroup memory.max``, ``cgroup memory.high``, ``cgroup memory.limit_in_bytes``, ``MemTotal``
            or ``configuration``.
        memory_available_bytes: How much of it is still to be had.
        filesystem: Type of the file system that holds the data folder.
        device: The whole disks under the data folder by name, such as ``sda, sdb``.
        device_source: How they were found, or why not.
        rotational: Whether any of these disks says that it is. Virtual ones often do whatever they are.
        storage_configured: What the configuration says of the storage.
        disk_busy_seconds: Time with a request under way since the machine started, as a mean over the disks.
        disk_queue_seconds: Time spent in requests, each one counted, summed over the disks: its growth a second is
            how many were under way.
    """

    cores: float | None = None
    cores_source: str | None = None
    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    memory_source: str | None = None
    memory_available_bytes: int | None = None
    filesystem: str | None = None
    device: str | None = None
    device_source: str | None = None
    rotational: bool | None = None
    storage_configured: Storage | None = None
    disk_busy_seconds: float | None = None
    disk_queue_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ConfiguredMachine:
    """What the user says of the server's machine; used where it could not be read."""

    cores: float | None = None
    memory_bytes: int | None = None
    storage: Storage | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything known at one moment.

    Attributes:
        at: When the collection began, Unix seconds.
        server: What the server is.
        account: The account the sidecar is logged in as, ``user@host``.
        outcomes: How each collector's last run went.
        read_at: When the values of each section were read, Unix seconds.
    """

    at: float
    server: Server
    account: str
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    read_at: Mapping[str, float] = field(default_factory=dict)
    variables: Mapping[str, str] | None = None
    status: Mapping[str, float] | None = None
    pools: tuple[BufferPool, ...] | None = None
    innodb_metrics: Mapping[str, int] | None = None
    innodb_status: InnodbStatus | None = None
    cached_indexes: CachedIndexes | None = None
    index_sizes: IndexSizes | None = None
    instrumentation: Mapping[str, str | None] | None = None
    table_scans: Mapping[Table, int] | None = None
    count_statements: Mapping[Table, CountStatement] | None = None
    parallel_readers: ParallelReaders | None = None
    ddl: Ddl | None = None
    data_files: FileReads | None = None
    table_files: Mapping[Table, FileReads] | None = None
    server_time: float | None = None
    machine: Machine | None = None
    indexes: Mapping[Index, int] | None = None
    lru_pages: LruPages | None = None
    metric_kinds: Mapping[str, MetricKind] | None = None

    def setting(self, name: str) -> str | None:
        """The value of a global variable as the server prints it; None when it has none of that name."""
        return None if self.variables is None else self.variables.get(name)
