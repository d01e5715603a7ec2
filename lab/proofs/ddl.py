"""Proofs of the rules of index builds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, replace

from exporter.snapshot import Snapshot
from lab.captures.scenarios.index_builds import NOTES, make_notes
from lab.harness.records import Data, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA
from lab.processes.usage import cpu_seconds
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute, query_number

_STARVED, _CROWDED = "ddl-buffer-starved", "ddl-threads-over-cores"
_ROWS, _FEW_ROWS = 120_000, 20_000
_ENTRY_BYTES = 250 + 8 + 1  # the text, the primary key (a BIGINT), and a temporary record's overhead
_STATEMENTS = 2  # of an observed build: ADD INDEX and DROP INDEX
_FOUR = {
    "innodb-buffer-pool-size": "128M",
    "innodb-parallel-read-threads": "4",
    "innodb-ddl-threads": "4",
}
_MANY = _FOUR | {"innodb-parallel-read-threads": "32", "innodb-ddl-threads": "32"}

_TEMP_FILES = (
    "SELECT SUM_NUMBER_OF_BYTES_{} FROM performance_schema.file_summary_by_event_name"
    " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'"
)
_MEMORY = (
    "SELECT SUM(HIGH_NUMBER_OF_BYTES_USED) FROM performance_schema.memory_summary_global_by_event_name"
    " WHERE EVENT_NAME LIKE 'memory/innodb/ddl%'"
)
_FORGET_MEMORY = "TRUNCATE performance_schema.memory_summary_global_by_event_name"


@dataclass(frozen=True)
class _Build:
    """The cost of one index build, or the median of several.

    Attributes:
        written, read: Bytes, to and from temporary files.
        seconds: Its duration.
        least_seconds: The duration of the quickest.
        cpu: The server's CPU seconds meanwhile.
        memory: Peak bytes of memory of index builds.
    """

    written: float
    read: float
    seconds: float
    least_seconds: float
    cpu: float
    memory: float


def _build(server: Server, *settings: str) -> _Build:
    """Build an index like the table's own, in a session with these settings, and drop it."""
    execute(server, _FORGET_MEMORY)
    counters = [_TEMP_FILES.format(name) for name in ("WRITE", "READ")]
    before, cpu = [query_number(server, sql) for sql in counters], cpu_seconds(server.pid)
    with server.connect() as connection, connection.cursor() as cursor:
        for setting in settings:
            cursor.execute(f"SET SESSION {setting}")
        began = time.perf_counter()
        cursor.execute(f"ALTER TABLE {SCHEMA}.{NOTES} ADD INDEX again (text)")
        seconds = time.perf_counter() - began
    written, read = (query_number(server, sql) - was for sql, was in zip(counters, before, strict=True))
    found = _Build(written, read, seconds, seconds, cpu_seconds(server.pid) - cpu, query_number(server, _MEMORY))
    execute(server, f"ALTER TABLE {SCHEMA}.{NOTES} DROP INDEX again")
    return found


def _median(builds: list[_Build]) -> _Build:
    rows = [astuple(each) for each in builds]
    median = _Build(*map(statistics.median, zip(*rows, strict=True)))
    return replace(median, least_seconds=min(each.seconds for each in builds))


def _in_turn(server: Server, rounds: int, settings: Sequence[str]) -> tuple[_Build, _Build]:
    """Builds with the old and with other session settings, in turn: a disturbance affects both."""
    pairs = [(_build(server), _build(server, *settings)) for _ in range(rounds)]
    before, after = ([pair[side] for pair in pairs] for side in (0, 1))
    return _median(before), _median(after)


def _window(server: Server) -> tuple[Snapshot, ...]:
    """The sidecar's snapshots of a build."""

    def build() -> None:
        _build(server)

    return snapshots(server, build, 1)


def _make(trial: Trial, rows: int) -> None:
    trial.say("the table is made")
    with trial.server.connect() as connection:
        make_notes(connection, rows, key="BIGINT")


def _prove(condition: Callable[[Trial], str], known: Callable[[Trial], list[EvidenceCheck]]) -> Callable[[Trial], Data]:
    """The proof of both rules: builds are observed, the settings change, and the same index is built again."""

    def prove(trial: Trial) -> Data:
        server = trial.server
        _make(trial, _ROWS)
        trial.silent(snapshots(server, lambda: None, 1))  # nothing was built
        trial.fires(_window(server))
        said, facts = condition(trial), known(trial)
        trial.follow()
        trial.silent(_window(server))
        trial.take_back()
        was, became = _in_turn(server, 8, [f"{change.setting} = {change.to}" for change in trial.found.changes])
        effect = trial.effect(was.written, became.written)
        return trial.proved(
            condition=said,
            facts=[
                EvidenceCheck(
                    name="alter_statements", said=trial.evidence("alter_statements"), known=_STATEMENTS, within=0
                ),
                EvidenceCheck(name="index_bytes", said=trial.evidence("index_bytes"), known=_ROWS * _ENTRY_BYTES),
                EvidenceCheck(name="bytes written, from the effect", said=effect.now, known=was.written),
                *facts,
            ],
            effects=[effect],
            measures=_measures(was, became),
            notes=_memory(trial, became),
        )

    return prove


def _measures(before: _Build, after: _Build) -> tuple[Comparison, ...]:
    return (
        Comparison(what="written to temporary files", unit="bytes", before=before.written, after=after.written),
        Comparison(what="read from temporary files", unit="bytes", before=before.read, after=after.read),
        Comparison(
            what="time of a build",
            unit="s",
            before=before.seconds,
            after=after.seconds,
            least=after.least_seconds,  # where the disk swallows temporary files at once, only their CPU time is saved
        ),
        Comparison(what="CPU time of a build", unit="s", before=before.cpu, after=after.cpu),
    )


def _memory(trial: Trial, build: _Build) -> str:
    """A sentence on a build's peak memory.

    Raises:
        NotShown: It exceeds the cost that the rule predicts.
    """
    cost = trial.found.cost
    if cost is None:
        return ""
    if build.memory > cost.predicted:
        raise NotShown(f"a build takes {build.memory:,.0f} bytes at its peak, and not {cost.predicted:,.0f} at most")
    return (
        f"At its peak a build took {build.memory / 2**20:.0f} MiB of memory; the rule says up to"
        f" {cost.predicted / 2**20:.0f} MiB."
    )


def _starved(trial: Trial) -> str:
    size = trial.evidence("innodb_ddl_buffer_size")
    return (
        f"An index of {_ROWS:,} entries on a text of 250 bytes was built with"
        f" innodb_ddl_buffer_size = {size:.0f}, the default."
    )


def _settings_known(*names: str) -> Callable[[Trial], list[EvidenceCheck]]:
    """Checks of the evidence's settings against the server's own values."""

    def known(trial: Trial) -> list[EvidenceCheck]:
        return [
            EvidenceCheck(
                name=name, said=trial.evidence(name), known=query_number(trial.server, f"SELECT @@{name}"), within=0
            )
            for name in names
        ]

    return known


def _crowded(trial: Trial) -> str:
    return (
        f"An index of {_ROWS:,} entries on a text of 250 bytes was built with"
        f" {trial.evidence('innodb_parallel_read_threads'):.0f} reader threads and"
        f" {trial.evidence('innodb_ddl_threads'):.0f} build threads on {trial.evidence('cores'):.0f} cores."
    )


_GIBIBYTE = 1 << 30
_THREADS = 64


def _large_buffer(trial: Trial) -> CounterProofRecord:
    """A large buffer for a small index."""
    _make(trial, _FEW_ROWS)
    setting = f"innodb_ddl_buffer_size = {_GIBIBYTE}"
    trial.silent(_window(trial.server))
    before, after = _in_turn(trial.server, 5, [setting])
    return CounterProofRecord(
        folklore="give index builds a buffer of 1 GiB",
        source="the settings that were compared for seed 003",
        condition=f"Indexes of {_FEW_ROWS:,} entries were built.",
        followed=(f"SET GLOBAL {setting}",),
        measures=(
            Comparison(what="memory of a build at its peak", unit="bytes", before=before.memory, after=after.memory),
            Comparison(what="time of a build", unit="s", before=before.seconds, after=after.seconds),
        ),
        notes=f"A build wrote {before.written / 1e6:.0f} MB to temporary files, and then {after.written / 1e6:.0f} MB.",
    )


def _many_threads(trial: Trial) -> CounterProofRecord:
    """More merge threads than there is parallel merge work."""
    _make(trial, _ROWS)
    setting = f"innodb_ddl_threads = {_THREADS}"
    trial.silent(_window(trial.server))
    before, after = _in_turn(trial.server, 5, [setting])
    return CounterProofRecord(
        folklore=f"more index build threads, as innodb_ddl_threads = {_THREADS}",
        source="the settings that were compared for seed 003",
        condition=f"Indexes of {_ROWS:,} entries were built by four reader threads and four build threads.",
        followed=(f"SET GLOBAL {setting}",),
        measures=(
            Comparison(what="written to temporary files", unit="bytes", before=before.written, after=after.written),
            Comparison(what="time of a build", unit="s", before=before.seconds, after=after.seconds),
            Comparison(what="CPU time of a build", unit="s", before=before.cpu, after=after.cpu),
        ),
    )


PROOFS = (
    Proof(_STARVED, {"mysql-9.7": _FOUR}, _prove(_starved, _settings_known("innodb_ddl_buffer_size")), takes=35.0),
    Proof(
        _CROWDED,
        {"mysql-9.7": _MANY},
        _prove(_crowded, _settings_known("innodb_parallel_read_threads", "innodb_ddl_threads")),
        takes=40.0,
    ),
)
COUNTER_PROOFS = (
    CounterProof(_STARVED, "mysql-9.7", _FOUR, _large_buffer, takes=20.0),
    CounterProof(_CROWDED, "mysql-9.7", _FOUR, _many_threads, takes=35.0),
)
