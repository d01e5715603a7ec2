"""InnoDB metrics under mysqld_exporter's names, for dashboards and alerts written for it.

Names, labels and types follow mysqld_exporter 0.19 (collector/global_status.go, global_variables.go,
info_schema_innodb_metrics.go and collector.go). docs/mysqld-exporter.md lists the differences. The names for
INNODB_METRICS need the kinds of its counters (exporter/collectors/metric_kinds.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from prometheus_client import Metric

from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.metric_kinds import METRIC_KINDS, MetricKind
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.exposition import Spec, assemble
from exporter.rows import number
from exporter.sampling import metrics
from exporter.snapshot import Snapshot

_Found = tuple[Spec, tuple[str, ...], float]

_STATUS, _VARIABLES, _METRICS = (
    "mysql_global_status_",
    "mysql_global_variables_",
    "mysql_info_schema_innodb_metrics_",
)
_INNODB = "innodb"
_PAGES, _ROWS = "innodb_buffer_pool_pages_", "innodb_rows_"
_STATES = ("data", "free", "misc", "old")
_WORDS = {"on": 1.0, "yes": 1.0, "off": 0.0, "no": 0.0, "disabled": 0.0}
_COUNTERS = ("counter", "status_counter")
_POOL_PAGES = "buffer_pool_pages_"
_PAGE_IO = re.compile(r"buffer_page_(read|written)_(.*)")
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_]")


def families(snapshot: Snapshot | None) -> Iterator[Metric]:
    """The sidecar's metric families, and those under mysqld_exporter's names; of None, only that both are down."""
    yield from metrics.families(snapshot)
    found = list(_found(snapshot))
    specs = {spec.name: spec for spec, _, _ in found}
    yield from assemble(specs, ((spec.name, labels, value) for spec, labels, value in found))


def _found(snapshot: Snapshot | None) -> Iterator[_Found]:
    yield Spec("mysql_up", "gauge", "Whether the last collection reached the server."), (), float(snapshot is not None)
    if snapshot is None:
        return
    for name, value in (snapshot[STATUS] or {}).items():
        if name.startswith(_INNODB) or name == "uptime":
            yield from _status(_NOT_IN_A_NAME.sub("_", name), value)
    for name, printed in (snapshot[VARIABLES] or {}).items():
        setting = _WORDS.get(printed.lower(), number(printed))
        if name.startswith(_INNODB) and setting is not None:
            full = _VARIABLES + _NOT_IN_A_NAME.sub("_", name)
            yield Spec(full, "gauge", f"Global variable {name}."), (), setting
    yield from _version(snapshot)
    kinds = snapshot[METRIC_KINDS] or {}
    for name, count in (snapshot[INNODB_METRICS] or {}).items():
        if name in kinds:
            yield from _metric(_NOT_IN_A_NAME.sub("_", name), kinds[name], count)


def _status(name: str, value: float) -> Iterator[_Found]:
    if name.startswith(_ROWS):
        spec = Spec(f"{_STATUS}innodb_row_ops_total", "counter", "Rows, by what was done to them.", ("operation",))
        yield spec, (name.removeprefix(_ROWS),), value
    elif not name.startswith(_PAGES):
        yield Spec(_STATUS + name, "unknown", f"Status variable {name}."), (), value
    elif (what := name.removeprefix(_PAGES)) in _STATES:
        spec = Spec(f"{_STATUS}buffer_pool_pages", "gauge", "Pages of the buffer pool.", ("state",))
        yield spec, (what,), value
    elif what == "dirty":
        yield Spec(f"{_STATUS}buffer_pool_dirty_pages", "gauge", "Dirty pages of the buffer pool."), (), value
    elif what != "total":
        told = "Pages of the buffer pool, by what was done to them."
        yield Spec(f"{_STATUS}buffer_pool_page_changes_total", "counter", told, ("operation",)), (what,), value


def _version(snapshot: Snapshot) -> Iterator[_Found]:
    labels = ("innodb_version", "version", "version_comment")
    if snapshot[VARIABLES] is not None:
        told = tuple(snapshot.setting(name) or "" for name in labels)
        yield Spec("mysql_version_info", "gauge", "The server's version; always 1.", labels), told, 1.0


def _metric(name: str, kind: MetricKind, value: float) -> Iterator[_Found]:
    if kind.subsystem == "buffer_page_io":
        if (io := _PAGE_IO.fullmatch(name)) is not None:
            told = f"Pages {io[1]}, by what they are."
            yield Spec(f"{_METRICS}buffer_page_{io[1]}_total", "counter", told, ("type",)), (io[2],), value
    elif kind.subsystem == "buffer" and name.startswith(_POOL_PAGES):
        state = name.removeprefix(_POOL_PAGES)
        if state == "dirty":
            yield Spec(f"{_METRICS}buffer_pool_dirty_pages", "gauge", "Dirty pages of the buffer pool."), (), value
        elif state != "total":
            yield (
                Spec(f"{_METRICS}buffer_pool_pages", "gauge", "Pages of the buffer pool.", ("state",)),
                (state,),
                value,
            )
    else:
        full, told = f"{_METRICS}{kind.subsystem}_{name}", f"{name} of information_schema.INNODB_METRICS."
        counts = kind.type in _COUNTERS
        yield Spec(f"{full}_total" if counts else full, "counter" if counts else "gauge", told), (), value
