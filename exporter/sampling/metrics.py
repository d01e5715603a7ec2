"""The metrics of a Snapshot: every collector's, and the exporter's own."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Metric

from exporter.collectors import BY_NAME
from exporter.collectors.base import LabelledValue, SnapshotMetric
from exporter.exposition import Sample, Spec, assemble
from exporter.snapshot import Snapshot

_FIRST = (
    "status",
    "machine",
    "pools",
    "cached_indexes",
    "index_sizes",
    "indexes",
    "lru_pages",
    "innodb_metrics",
    "innodb_status",
    "parallel_readers",
    "ddl",
    "table_scans",
    "count_statements",
    "data_files",
    "table_files",
)
"""The order of these collectors' metrics. The others follow in the collectors' order."""
_ABOUT_THE_EXPORTER = "innodb_exporter_"


def _server_info(snapshot: Snapshot) -> Iterator[LabelledValue]:
    server = snapshot.server
    version = ".".join(map(str, server.version))
    member, windows = ("true" if each else "" for each in (server.group_replication, server.windows))
    yield (server.flavour, version, server.version_text, server.comment, server.managed or "", member, windows), 1.0


def _success(snapshot: Snapshot) -> Iterator[LabelledValue]:
    for name, outcome in snapshot.outcomes.items():
        if outcome.failure != "absent":
            yield (name,), float(outcome.failure is None)


def _duration(snapshot: Snapshot) -> Iterator[LabelledValue]:
    for name, outcome in snapshot.outcomes.items():
        if outcome.failure != "absent":
            yield (name,), outcome.seconds


def _failure(snapshot: Snapshot) -> Iterator[LabelledValue]:
    for name, outcome in snapshot.outcomes.items():
        if outcome.failure is not None:
            yield (name, outcome.failure), 1.0


def _age(snapshot: Snapshot) -> Iterator[LabelledValue]:
    # The clock may have been set back since.
    return (((name,), max(0.0, snapshot.at - read)) for name, read in snapshot.read_at.items())


UP = Spec("innodb_up", "gauge", "Whether the last collection reached the server (1) or not (0).")

_OWN = (
    SnapshotMetric(
        "innodb_server_info",
        "info",
        "Flavour and version of the server. managed is the cloud service that runs it: aurora, rds, azure or cloudsql; "
        "group_replication and windows are true or empty. They decide which SQL the server accepts.",
        ("flavour", "version", "version_text", "version_comment", "managed", "group_replication", "windows"),
        values=_server_info,
    ),
    SnapshotMetric(
        "innodb_exporter_collector_success",
        "gauge",
        "Whether a collector's last run succeeded. Collectors of sources that this server lacks are left out.",
        ("collector",),
        values=_success,
    ),
    SnapshotMetric(
        "innodb_exporter_collector_failure_info",
        "info",
        "Why a collector's last run gave nothing: absent (this server has no such source), disabled, privilege, "
        "deadline, failed or unreadable. /snapshot says it in words, with the cure.",
        ("collector", "failure"),
        values=_failure,
    ),
    SnapshotMetric(
        "innodb_exporter_collector_duration_seconds",
        "gauge",
        "How long a collector's last run took.",
        ("collector",),
        "seconds",
        values=_duration,
    ),
    SnapshotMetric(
        "innodb_exporter_collector_age_seconds",
        "gauge",
        "How long ago a collector read the values that are served.",
        ("collector",),
        "seconds",
        values=_age,
    ),
)


def _ordered() -> tuple[SnapshotMetric, ...]:
    """All metrics in the order of the exposition; those about the exporter come last."""
    names = dict.fromkeys((*_FIRST, *BY_NAME))
    metrics = (*_OWN, *(metric for name in names for metric in BY_NAME[name].metrics))
    return tuple(sorted(metrics, key=lambda metric: metric.name.startswith(_ABOUT_THE_EXPORTER)))


_METRICS = _ordered()
SPECS: dict[str, Spec] = {spec.name: spec for spec in (UP, *_METRICS)}
"""Every metric by name, in the order of the exposition."""


def families(snapshot: Snapshot | None) -> Iterator[Metric]:
    """The metric families of a snapshot; of None, only ``innodb_up`` 0."""
    yield from assemble(SPECS, samples(snapshot))


def samples(snapshot: Snapshot | None) -> Iterator[Sample]:
    """Every sample of a snapshot."""
    yield UP.name, (), float(snapshot is not None)
    if snapshot is not None:
        for metric in _METRICS:
            yield from metric.samples(snapshot)
