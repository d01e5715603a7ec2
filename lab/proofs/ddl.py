"""Proofs of the rules of index builds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from exporter.snapshot import Snapshot
from lab.captures.scenarios.index_builds import NOTES, make_notes
from lab.harness.measure import CPU, Counters, Figures, measure
from lab.harness.records import NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, ask
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

STARVED, CROWDED = "ddl-buffer-starved", "ddl-threads-over-cores"
ROWS, FEW_ROWS = 120_000, 20_000
ENTRY_BYTES = 250 + 8 + 1  # the text, the primary key (a BIGINT), and a temporary record's overhead
STATEMENTS = 2  # of an observed build: ADD INDEX and DROP INDEX
ROUNDS, FOLKLORE_ROUNDS = 8, 5
GIBIBYTE, THREADS = 1 << 30, 64
FOUR = {
    "innodb-buffer-pool-size": "128M",
    "innodb-parallel-read-threads": "4",
    "innodb-ddl-threads": "4",
}
MANY = FOUR | {"innodb-parallel-read-threads": "32", "innodb-ddl-threads": "32"}

_TEMP_FILES = (
    "SELECT SUM_NUMBER_OF_BYTES_{} FROM performance_schema.file_summary_by_event_name"
    " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'"
)
_MEMORY = (
    "SELECT SUM(HIGH_NUMBER_OF_BYTES_USED) FROM performance_schema.memory_summary_global_by_event_name"
    " WHERE EVENT_NAME LIKE 'memory/innodb/ddl%'"
)
_FORGET_MEMORY = "TRUNCATE performance_schema.memory_summary_global_by_event_name"
_COUNTED: Counters = CPU | {
    "written": partial(query_number, sql=_TEMP_FILES.format("WRITE")),
    "read": partial(query_number, sql=_TEMP_FILES.format("READ")),
}


def _build(server: PrivateServer, settings: Sequence[str] = ()) -> Figures:
    """Build an index like the table's own, in a session with these settings, and drop it.

    Returns:
        ``written`` and ``read`` are bytes of temporary files, ``memory`` peak bytes of index builds.
    """
    execute(server, _FORGET_MEMORY)
    with server.connect() as connection:
        for setting in settings:
            ask(connection, f"SET SESSION {setting}")
        added = f"ALTER TABLE {SCHEMA}.{NOTES} ADD INDEX again (text)"
        figures = measure(server, partial(ask, connection, added), counters=_COUNTED)
    figures["memory"] = query_number(server, _MEMORY)
    execute(server, f"ALTER TABLE {SCHEMA}.{NOTES} DROP INDEX again")
    return figures


def _watched(server: PrivateServer) -> tuple[Snapshot, ...]:
    """The sidecar's snapshots of a build."""
    return snapshots(server, partial(_build, server), 1)


def _builds(trial: RuleTrial, settings: Sequence[str]) -> None:
    """Builds are observed, the settings change, and the same index is built again."""
    server = trial.server
    with server.connect() as connection:
        make_notes(connection, ROWS, key="BIGINT")
    trial.silent(snapshots(server, lambda: None, 1))  # nothing was built
    finding = trial.fires(_watched(server))
    trial.before |= {"statements": STATEMENTS, "index": ROWS * ENTRY_BYTES}
    trial.before |= {setting: query_number(server, f"SELECT @@{setting}") for setting in settings}
    trial.follow()
    trial.silent(_watched(server))
    trial.take_back()
    advised = [f"{change.setting} = {change.to}" for change in finding.changes]
    trial.in_turn(ROUNDS, partial(_build, server), partial(_build, server, advised))
    trial.before["memory_said"] = ""
    if finding.cost is not None:
        if trial.after["memory"] > finding.cost.predicted:
            raise NotShown(
                f"a build takes {trial.after['memory']:,.0f} bytes at its peak, and not {finding.cost.predicted:,.0f}"
                " at most"
            )
        trial.before["memory_said"] = (
            f"At its peak a build took {trial.after['memory'] / 2**20:.0f} MiB of memory; the rule says up to"
            f" {finding.cost.predicted / 2**20:.0f} MiB."
        )


def _another_setting(trial: RuleTrial, rows: int, setting: str) -> None:
    """Folklore's setting for indexes of so many entries."""
    with trial.server.connect() as connection:
        make_notes(connection, rows, key="BIGINT")
    trial.silent(_watched(trial.server))
    trial.in_turn(FOLKLORE_ROUNDS, partial(_build, trial.server), partial(_build, trial.server, [setting]))
    trial.before |= {"mb": trial.before["written"] / 1e6, "mb_then": trial.after["written"] / 1e6}
    trial.folklore.append(f"SET GLOBAL {setting}")


_WRITTEN, _CPU = (
    ComparedFigure("written to temporary files", "bytes", "written"),
    ComparedFigure("CPU time of a build", "s", "cpu"),
)
_TIME = ComparedFigure("time of a build", "s", "seconds")


def _proof(rule: str, options: dict[str, str], condition: str, *settings: str) -> Proof:
    return Proof(
        rule,
        {"mysql-9.7": options},
        condition=f"An index of {ROWS:,} entries on a text of 250 bytes was built with {condition}.",
        facts=(
            EvidenceFigure("alter_statements", "alter_statements", "statements", within=0.0),
            EvidenceFigure("index_bytes", "index_bytes", "index"),
            EvidenceFigure("bytes written, from the effect", "now", "written"),
            *(EvidenceFigure(setting, setting, setting, within=0.0) for setting in settings),
        ),
        effect=PredictedFigure("written"),
        measures=(
            _WRITTEN,
            ComparedFigure("read from temporary files", "bytes", "read"),
            # Where the disk swallows temporary files at once, only their CPU time is saved.
            ComparedFigure("time of a build", "s", "seconds", least="least_seconds"),
            _CPU,
        ),
        notes="{memory_said}",
    )(partial(_builds, settings=settings))


PROOFS = (
    _proof(
        STARVED,
        FOUR,
        "innodb_ddl_buffer_size = {evidence[innodb_ddl_buffer_size]:.0f}, the default",
        "innodb_ddl_buffer_size",
    ),
    _proof(
        CROWDED,
        MANY,
        "{evidence[innodb_parallel_read_threads]:.0f} reader threads and {evidence[innodb_ddl_threads]:.0f} build"
        " threads on {evidence[cores]:.0f} cores",
        "innodb_parallel_read_threads",
        "innodb_ddl_threads",
    ),
)
COUNTER_PROOFS = (
    CounterProof(
        STARVED,
        {"mysql-9.7": FOUR},
        folklore="give index builds a buffer of 1 GiB",
        source="the settings that were compared for seed 003",
        condition=f"Indexes of {FEW_ROWS:,} entries were built.",
        measures=(ComparedFigure("memory of a build at its peak", "bytes", "memory"), _TIME),
        notes="A build wrote {mb:.0f} MB to temporary files, and then {mb_then:.0f} MB.",
    )(partial(_another_setting, rows=FEW_ROWS, setting=f"innodb_ddl_buffer_size = {GIBIBYTE}")),
    CounterProof(
        CROWDED,
        {"mysql-9.7": FOUR},
        folklore=f"more index build threads, as innodb_ddl_threads = {THREADS}",
        source="the settings that were compared for seed 003",
        condition=f"Indexes of {ROWS:,} entries were built by four reader threads and four build threads.",
        measures=(_WRITTEN, _TIME, _CPU),
    )(partial(_another_setting, rows=ROWS, setting=f"innodb_ddl_threads = {THREADS}")),
)
