"""The dashboard of parallel reads, scans, data files and index builds."""

from __future__ import annotations

from tools.dashboards.board import Board, Row
from tools.dashboards.panels import HALF, PLACE, WHERE, Query, graph, rows
from tools.dashboards.promql import per_second, ratio, setting, settings, top, total

_TABLE = f"{WHERE} {{{{schema}}}}.{{{{table}}}}"
_READS = per_second("innodb_data_file_reads_total")
_READ_SECONDS = per_second("innodb_data_file_read_seconds_total")
_STAGE = "innodb_ddl_stage_work"

_PARALLEL = Row(
    "Parallel reads",
    (
        graph(
            "Reader threads",
            "Parallel reader threads at the sidecar's last sample, and innodb_parallel_read_threads, which applies per"
            " session. COUNT(*), CHECK TABLE and the read of an index build use them. MySQL 8.0.14 and later; MariaDB"
            " has none. At 256 in all sessions a read falls back to one thread.",
            "short",
            Query(total("innodb_parallel_read_threads"), WHERE),
            Query(setting("innodb_parallel_read_threads"), f"{WHERE} innodb_parallel_read_threads", dashed=True),
        ),
        graph(
            "Reader threads at work, on average",
            "Thread seconds per second. Threads live only while a read runs, and short reads fall between two samples:"
            " this tells more than the current number.",
            "short",
            Query(per_second("innodb_parallel_read_thread_seconds_total"), WHERE),
        ),
        graph(
            "Parallel reads seen",
            "Samples with reader threads after one without. A lower bound for reads: short ones are missed.",
            "cps",
            Query(per_second("innodb_parallel_reads_observed_total"), WHERE),
        ),
        graph(
            "COUNT(*) by table",
            "Executions of SELECT COUNT(*) of a whole table, for the ten most frequent. A parallel COUNT(*) leaves no"
            " other trace of its table. It never makes pages young: a table that exceeds the old sublist is read from"
            " disk at each count.",
            "ops",
            Query(top(10, per_second("innodb_count_star_total", "schema", "table")), _TABLE),
            width=HALF,
        ),
        graph(
            "Rows scanned by table",
            "Rows fetched without an index, for the ten tables with the most: serial full scans. Needs"
            " performance_schema, which is off by default on MariaDB: no data does not mean no scans.",
            "rps",
            Query(top(10, per_second("innodb_table_scan_rows_total", "schema", "table")), _TABLE),
            width=HALF,
        ),
    ),
)

_FILES = Row(
    "Data files",
    (
        graph(
            "Reads of data files",
            "Reads of InnoDB's data files per second, counted by performance_schema.",
            "iops",
            Query(_READS, WHERE),
        ),
        graph(
            "Mean time of a read",
            "Mean wait of a read of a data file. About 10 µs means the operating system's page cache (8 µs measured, on"
            " a machine whose SSD took 128 to 249 µs): data are then cached twice. A rise with the load means a queue"
            " at the disk, where more reader threads only wait longer.",
            "s",
            Query(ratio(_READ_SECONDS, _READS), WHERE),
        ),
        graph(
            "Reads under way, on average",
            "Seconds of waits for reads per second: the mean number of concurrent reads. If it is about 1 and the disk"
            " could serve more, innodb_parallel_read_threads can raise it.",
            "short",
            Query(_READ_SECONDS, WHERE),
        ),
        graph(
            "Bytes read by table",
            "Bytes read from a table's own data file, for the ten with the most. A scanned table that shows here at"
            " each scan does not stay in the pool.",
            "binBps",
            Query(top(10, per_second("innodb_table_file_read_bytes_total", "schema", "table")), _TABLE),
            width=24,
        ),
    ),
)

_DDL = Row(
    "Index builds",
    (
        graph(
            "Threads that build",
            "Threads that sort and load index entries, and innodb_ddl_threads, which applies per session. MySQL 8.0.27"
            " and later.",
            "short",
            Query(total("innodb_ddl_threads_active"), WHERE),
            Query(setting("innodb_ddl_threads"), f"{WHERE} innodb_ddl_threads", dashed=True),
        ),
        graph(
            "Progress by stage",
            "Work done, as a share of the server's estimate, for each running stage of ALTER TABLE; several at once are"
            " summed. Needs the consumer events_stages_current, off by default: UPDATE"
            " performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_stages_current'.",
            "percentunit",
            Query(
                ratio(
                    total(_STAGE, "stage", where='kind="completed"'),
                    total(_STAGE, "stage", where='kind="estimated"'),
                ),
                f"{WHERE} {{{{stage}}}}",
            ),
            most=1,
        ),
        graph(
            "Memory of index builds",
            "Memory outside the buffer pool. innodb_ddl_buffer_size applies per statement, and a build took up to 2.4"
            " times as much. The reader threads share it: with a small share entries are written and merged"
            " many times.",
            "bytes",
            Query(total("innodb_ddl_memory_bytes"), WHERE),
            Query(setting("innodb_ddl_buffer_size"), f"{WHERE} innodb_ddl_buffer_size", dashed=True),
        ),
        rows(
            "Settings of parallel reads and index builds",
            "Global values as the server prints them; a session may set its own.",
            Query(
                settings(
                    "innodb_parallel_read_threads",
                    "innodb_ddl_(threads|buffer_size)",
                    "innodb_(sort_buffer_size|online_alter_log_max_size|flush_method)",
                )
            ),
            columns=(*PLACE, "name", "value"),
            hidden=("job",),
        ),
    ),
)

BOARD = Board(
    "innodb-advisor-parallel-ddl",
    "InnoDB: parallel reads and DDL",
    "Parallel readers, scans and COUNT(*) by table, reads of data files, and running index builds.",
    (_PARALLEL, _FILES, _DDL),
)
