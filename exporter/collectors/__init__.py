"""The collectors: one file for each source of the server's state.

A file ``x.py`` defines the collector ``X``: the SQL for each server, the type of the section, the parser, the metrics,
and how the result is anonymised. ``table_digests.py`` makes collectors that run on demand only.
"""

from __future__ import annotations

from typing import Any

from exporter.collectors.auto_increments import AUTO_INCREMENTS
from exporter.collectors.base import Collector
from exporter.collectors.builds import BUILDS
from exporter.collectors.cached_indexes import CACHED_INDEXES
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.data_files import DATA_FILES
from exporter.collectors.ddl import DDL
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.indexes import INDEXES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.innodb_status import INNODB_STATUS
from exporter.collectors.instrumentation import INSTRUMENTATION
from exporter.collectors.key_bytes import KEY_BYTES
from exporter.collectors.lru_pages import LRU_PAGES
from exporter.collectors.machine import MACHINE
from exporter.collectors.metric_kinds import METRIC_KINDS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.pools import POOLS
from exporter.collectors.server_time import SERVER_TIME
from exporter.collectors.status import STATUS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_formats import TABLE_FORMATS
from exporter.collectors.table_io import TABLE_IO
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.collectors.table_statements import TABLE_STATEMENTS
from exporter.collectors.variable_origins import VARIABLE_ORIGINS
from exporter.collectors.variables import VARIABLES

COLLECTORS: tuple[Collector[Any], ...] = (
    STATUS,
    VARIABLES,
    POOLS,
    INNODB_METRICS,
    INNODB_STATUS,
    INSTRUMENTATION,
    TABLE_SCANS,
    TABLE_IO,
    TABLE_STATEMENTS,
    COUNT_STATEMENTS,
    DATA_FILES,
    TABLE_FILES,
    INDEX_SIZES,
    TABLE_FORMATS,
    CACHED_INDEXES,
    INDEXES,
    KEY_BYTES,
    AUTO_INCREMENTS,
    FILE_SIZES,
    DDL,
    BUILDS,
    MACHINE,
    SERVER_TIME,
    VARIABLE_ORIGINS,
)
"""In run order: collectors that reveal a restart, or whether others can be trusted, come first."""

OPTIONAL: tuple[Collector[Any], ...] = (LRU_PAGES, METRIC_KINDS)
"""These run only on request."""

DEFAULT: tuple[Collector[Any], ...] = (*COLLECTORS, PARALLEL_READERS)
"""Every collector that runs without an option; PARALLEL_READERS runs several times a second, in its own session."""

BY_NAME: dict[str, Collector[Any]] = {collector.name: collector for collector in (*DEFAULT, *OPTIONAL)}
"""Every collector."""
