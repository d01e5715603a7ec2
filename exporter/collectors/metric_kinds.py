"""INFORMATION_SCHEMA.INNODB_METRICS: the kind of each counter, which mysqld_exporter's metric names depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exporter.anonymisation import columns, unchanged
from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, text

SQL = "SELECT NAME AS name, SUBSYSTEM AS subsystem, TYPE AS type FROM information_schema.INNODB_METRICS"


@dataclass(frozen=True, slots=True)
class MetricKind:
    """The kind of a counter, in the server's words."""

    subsystem: str
    """Such as ``change_buffer``."""
    type: str
    """Such as ``status_counter``."""


def parse(results: Sequence[Rows]) -> Mapping[str, MetricKind]:
    """By the counter's name."""
    return {text(row["name"]): MetricKind(text(row["subsystem"]), text(row["type"])) for row in results[0]}


METRIC_KINDS = Collector(
    "metric_kinds",
    fixed(SQL),
    parse,
    privilege="PROCESS ON *.*",
    every=300.0,
    anonymise=columns(name=unchanged, subsystem=unchanged, type=unchanged),
)
