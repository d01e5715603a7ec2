"""INFORMATION_SCHEMA.INNODB_METRICS: what each counter is. Only mysqld_exporter's names are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, text
from exporter.snapshot import MetricKind

SQL = "SELECT NAME AS name, SUBSYSTEM AS subsystem, TYPE AS type FROM information_schema.INNODB_METRICS"


def parse(results: Sequence[Rows]) -> Mapping[str, MetricKind]:
    """By the counter's name."""
    return {text(row["name"]): MetricKind(text(row["subsystem"]), text(row["type"])) for row in results[0]}


COLLECTOR = Collector("metric_kinds", fixed(SQL), parse, privilege="PROCESS ON *.*", every=300.0)
