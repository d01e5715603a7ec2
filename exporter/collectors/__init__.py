"""The collectors: one file for each source of the server's state.

A file ``x.py`` defines the collector ``X``: the SQL for each server, the type of the section, the parser, the metrics,
and how the result is anonymised. A name in one of the lists below registers it. ``table_digests.py`` makes collectors
that run on demand only.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from exporter.collectors.base import Collector


def _collectors(*names: str) -> tuple[Collector[Any], ...]:
    return tuple(getattr(import_module(f"{__name__}.{name}"), name.upper()) for name in names)


COLLECTORS = _collectors(
    "status",
    "variables",
    "pools",
    "innodb_metrics",
    "innodb_status",
    "instrumentation",
    "table_scans",
    "table_io",
    "table_statements",
    "count_statements",
    "data_files",
    "table_files",
    "index_sizes",
    "table_formats",
    "cached_indexes",
    "indexes",
    "auto_increments",
    "file_sizes",
    "ddl",
    "builds",
    "machine",
    "server_time",
)
"""In run order: collectors that reveal a restart, or whether others can be trusted, come first."""

OPTIONAL = _collectors("lru_pages", "metric_kinds")
"""These run only on request."""

[LIGHT] = _collectors("parallel_readers")
"""Sampled several times a second, in a session of its own."""

BY_NAME = {collector.name: collector for collector in (*COLLECTORS, *OPTIONAL, LIGHT)}
"""Every collector."""
