"""One file a source: its SQL, what it needs, and the pure function from rows to a section of the Snapshot."""

from exporter.collectors import (
    cached_indexes,
    count_statements,
    data_files,
    ddl,
    index_sizes,
    indexes,
    innodb_metrics,
    innodb_status,
    instrumentation,
    lru_pages,
    machine,
    metric_kinds,
    parallel_readers,
    pools,
    server_time,
    status,
    table_files,
    table_scans,
    variables,
)

COLLECTORS = tuple(
    module.COLLECTOR
    for module in (
        status,
        variables,
        pools,
        innodb_metrics,
        innodb_status,
        instrumentation,
        table_scans,
        count_statements,
        data_files,
        table_files,
        index_sizes,
        cached_indexes,
        indexes,
        ddl,
        machine,
        server_time,
    )
)
"""What runs in a collection, in this order: what tells of a restart, or of others' worth, comes before them."""

OPTIONAL = (lru_pages.COLLECTOR, metric_kinds.COLLECTOR)
"""What runs only where it was asked for."""

LIGHT = parallel_readers.COLLECTOR
"""Sampled several times a second, in a session of its own."""
