"""The metrics of a Snapshot: every collector's, and the exporter's own."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import Metric

from exporter.collectors import BY_NAME
from exporter.collectors.server_time import SERVER_TIME
from exporter.exposition import LabelledValue, Spec
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


def _server_info(snapshot: Snapshot) -> Iterator[LabelledValue]:
    server = snapshot.server
    version = ".".join(map(str, server.version))
    member, windows = ("true" if flag else "" for flag in (server.group_replication, server.windows))
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

_SERVER = Spec(
    "innodb_server_info",
    "info",
    "Flavour and version of the server. managed is the cloud service that runs it: aurora, rds, azure or cloudsql; "
    "group_replication and windows are true or empty. They decide which SQL the server accepts.",
    ("flavour", "version", "version_text", "version_comment", "managed", "group_replication", "windows"),
)

_OF_THE_EXPORTER: Mapping[Spec, Callable[[Snapshot], Iterator[LabelledValue]]] = {
    Spec(
        "innodb_exporter_collector_success",
        "gauge",
        "Whether a collector's last run succeeded. Collectors of sources that this server lacks are left out.",
        ("collector",),
    ): _success,
    Spec(
        "innodb_exporter_collector_failure_info",
        "info",
        "Why a collector's last run gave nothing: absent (this server has no such source), disabled, privilege, "
        "deadline, failed or unreadable. /snapshot says it in words, with the cure.",
        ("collector", "failure"),
    ): _failure,
    Spec(
        "innodb_exporter_collector_duration_seconds",
        "gauge",
        "How long a collector's last run took.",
        ("collector",),
        "seconds",
    ): _duration,
    Spec(
        "innodb_exporter_collector_age_seconds",
        "gauge",
        "How long ago a collector read the values that are served.",
        ("collector",),
        "seconds",
    ): _age,
}


_ORDER = tuple(BY_NAME[name] for name in dict.fromkeys((*_FIRST, *BY_NAME)) if name != SERVER_TIME.name)
_SELDOM = tuple(collector for collector in _ORDER if not collector.quick and collector.integrate is None)
"""Collectors that run only in collections; the others run for a scrape, or by themselves."""
SPECS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        UP,
        _SERVER,
        *(metric for collector in _ORDER for metric in collector.metrics),
        *_OF_THE_EXPORTER,
        *SERVER_TIME.metrics,
    )
}
"""Every metric by name, in the order of the exposition; those about the exporter come last."""


class SnapshotFamilies:
    """The metric families of snapshots; those of sections that scrapes do not read anew are made once a collection."""

    def __init__(self) -> None:
        """Begin without a family."""
        self._sections: tuple[object, ...] = ()
        self._families: dict[str, list[Metric]] = {}

    def __call__(self, snapshot: Snapshot | None) -> Iterator[Metric]:
        """Those that have samples; of None, only ``innodb_up`` 0."""
        yield UP.family([((), float(snapshot is not None))])
        if snapshot is not None:
            yield from (family for family in self._of(snapshot) if family.samples)

    def _of(self, snapshot: Snapshot) -> Iterator[Metric]:
        sections = tuple(snapshot.sections.get(collector.name) for collector in _SELDOM)
        if len(self._sections) != len(sections) or any(map(operator.is_not, sections, self._sections)):
            self._sections = sections
            self._families = {collector.name: list(collector.families(snapshot)) for collector in _SELDOM}
        yield _SERVER.family(_server_info(snapshot))
        for collector in _ORDER:
            yield from self._families.get(collector.name) or collector.families(snapshot)
        for spec, values in _OF_THE_EXPORTER.items():
            yield spec.family(values(snapshot))
        yield from SERVER_TIME.families(snapshot)


def families(snapshot: Snapshot | None) -> Iterator[Metric]:
    """The metric families of one snapshot, as ``SnapshotFamilies`` gives them."""
    return SnapshotFamilies()(snapshot)
