"""SHOW ENGINE INNODB STATUS: buffer pool, change buffer and checkpoint (exporter/status_text.py reads the text)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exporter.collectors.base import Collector, SourceUnavailable, fixed, gauge, optional
from exporter.collectors.status import STATUS
from exporter.exposition import LabelledValue
from exporter.rows import LARGE, Rows, number, text
from exporter.snapshot import Snapshot
from exporter.status_text import InnodbStatus, parse_text, without_statements

SQL = "SHOW ENGINE INNODB STATUS"


def parse(results: Sequence[Rows]) -> InnodbStatus:
    """The parsed text of the one row's Status column.

    Raises:
        SourceUnavailable: There is no row, or no text in it.
    """
    status = next((text(row["status"]) for row in results[0]), "")
    if not status.strip():
        raise SourceUnavailable(
            "absent",
            "the text of SHOW ENGINE INNODB STATUS is empty, as a reader instance of Aurora returns it",
            "watch the writer instance of the cluster; a reader's values are in the other sources",
        )
    return parse_text(status)


def checkpoint_age(snapshot: Snapshot) -> float | None:
    """Bytes of redo log written since the last checkpoint.

    From the status where it has them, as they are asked for at each collection.
    """
    status = snapshot[STATUS] or {}
    current, checkpoint = (status.get(f"innodb_redo_log_{lsn}_lsn") for lsn in ("current", "checkpoint"))
    if current is not None and checkpoint is not None and current >= checkpoint:
        return current - checkpoint
    if "innodb_checkpoint_age" in status:  # MariaDB
        return status["innodb_checkpoint_age"]
    text = snapshot[INNODB_STATUS]
    return None if text is None or text.checkpoint_age_bytes is None else float(text.checkpoint_age_bytes)


def checkpoint_age_limit(snapshot: Snapshot) -> float | None:
    """The age at which writers wait for page writes.

    MariaDB says it; MySQL's are where the age stayed under a load that waited for it, at several sizes of the log: 0.83
    of innodb_redo_log_capacity on 9.7.4, and 0.77 of all log files on 5.6.24.
    """
    status = snapshot[STATUS] or {}
    if "innodb_checkpoint_max_age" in status:
        return status["innodb_checkpoint_max_age"]
    capacity = status.get("innodb_redo_log_capacity_resized")
    if capacity:
        return 0.83 * capacity
    size, files = (number(snapshot.setting(f"innodb_log_{name}")) for name in ("file_size", "files_in_group"))
    return None if size is None or files is None or snapshot.server.mariadb else 0.77 * size * files


def _age(snapshot: Snapshot) -> Iterator[LabelledValue]:
    return optional(checkpoint_age(snapshot))


def _age_limit(snapshot: Snapshot) -> Iterator[LabelledValue]:
    return optional(checkpoint_age_limit(snapshot))


INNODB_STATUS = Collector(
    "innodb_status",
    fixed(SQL),
    parse,
    bound=LARGE,
    privilege="PROCESS ON *.*",
    every=15.0,
    anonymise=lambda _, rows: without_statements(rows),
    shorten=without_statements,
    metrics=(
        gauge(
            "innodb_checkpoint_age_bytes",
            "Redo log written since the last checkpoint: what a recovery would read.",
            values=_age,
        ),
        gauge(
            "innodb_checkpoint_age_limit_bytes",
            "Checkpoint age at which writers wait for page writes: MariaDB's own, on MySQL a share of the log that was "
            "measured.",
            values=_age_limit,
        ),
    ),
)
