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

_LabelledSample = tuple[Spec, tuple[str, ...], float]

STATUS_PREFIX, VARIABLES_PREFIX, METRICS_PREFIX = (
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
_UP = Spec("mysql_up", "gauge", "Whether the last collection reached the server.")
_VERSION = ("innodb_version", "version", "version_comment")


def families(snapshot: Snapshot | None) -> Iterator[Metric]:
    """The sidecar's metric families, and those under mysqld_exporter's names; of None, only that both are down."""
    yield from metrics.families(snapshot)
    samples = list(_samples(snapshot))
    specs = {spec.name: spec for spec, _, _ in samples}
    yield from assemble(specs, ((spec.name, labels, value) for spec, labels, value in samples))


def _samples(snapshot: Snapshot | None) -> Iterator[_LabelledSample]:
    yield _UP, (), float(snapshot is not None)
    if snapshot is None:
        return
    for name, value in (snapshot[STATUS] or {}).items():
        if name.startswith(_INNODB) or name == "uptime":
            yield from _status(_NOT_IN_A_NAME.sub("_", name), value)
    for name, printed in (snapshot[VARIABLES] or {}).items():
        setting = _WORDS.get(printed.lower(), number(printed))
        if name.startswith(_INNODB) and setting is not None:
            full = VARIABLES_PREFIX + _NOT_IN_A_NAME.sub("_", name)
            yield Spec(full, "gauge", f"Global variable {name}."), (), setting
    if snapshot[VARIABLES] is not None:
        words = tuple(snapshot.setting(name) or "" for name in _VERSION)
        yield Spec("mysql_version_info", "gauge", "The server's version; always 1.", _VERSION), words, 1.0
    kinds = snapshot[METRIC_KINDS] or {}
    for name, count in (snapshot[INNODB_METRICS] or {}).items():
        if name in kinds:
            yield from _metric(_NOT_IN_A_NAME.sub("_", name), kinds[name], count)


def _status(name: str, value: float) -> Iterator[_LabelledSample]:
    if name.startswith(_ROWS):
        operation = name.removeprefix(_ROWS)
        spec = Spec(
            f"{STATUS_PREFIX}innodb_row_ops_total", "counter", "Rows, by what was done to them.", ("operation",)
        )
        yield spec, (operation,), value
    elif name.startswith(_PAGES):
        yield from _pool_pages(STATUS_PREFIX, name.removeprefix(_PAGES), value, changes=True)
    else:
        yield Spec(STATUS_PREFIX + name, "unknown", f"Status variable {name}."), (), value


def _pool_pages(prefix: str, state: str, value: float, *, changes: bool = False) -> Iterator[_LabelledSample]:
    """Pages by state; with ``changes``, of all other words than _STATES what was done to them."""
    if state == "dirty":
        yield Spec(f"{prefix}buffer_pool_dirty_pages", "gauge", "Dirty pages of the buffer pool."), (), value
    elif changes and state not in (*_STATES, "total"):
        text = "Pages of the buffer pool, by what was done to them."
        yield Spec(f"{prefix}buffer_pool_page_changes_total", "counter", text, ("operation",)), (state,), value
    elif state != "total":
        yield Spec(f"{prefix}buffer_pool_pages", "gauge", "Pages of the buffer pool.", ("state",)), (state,), value


def _metric(name: str, kind: MetricKind, value: float) -> Iterator[_LabelledSample]:
    if kind.subsystem == "buffer_page_io":
        if (io := _PAGE_IO.fullmatch(name)) is not None:
            text = f"Pages {io[1]}, by what they are."
            yield Spec(f"{METRICS_PREFIX}buffer_page_{io[1]}_total", "counter", text, ("type",)), (io[2],), value
    elif kind.subsystem == "buffer" and name.startswith(_POOL_PAGES):
        yield from _pool_pages(METRICS_PREFIX, name.removeprefix(_POOL_PAGES), value)
    else:
        full, text = f"{METRICS_PREFIX}{kind.subsystem}_{name}", f"{name} of information_schema.INNODB_METRICS."
        counts = kind.type in _COUNTERS
        yield Spec(f"{full}_total" if counts else full, "counter" if counts else "gauge", text), (), value
