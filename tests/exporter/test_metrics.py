import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from prometheus_client.registry import Collector

from exporter.collectors import BY_NAME, DEFAULT, innodb_status
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.variables import EXPORTED
from exporter.connection.target import from_dsn
from exporter.exposition import Spec
from exporter.midpoint import TOLERANCE, old_target
from exporter.sampling.metrics import SPECS, families
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot
from exporter.status_text import parse_text as parse_status
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.exposition import Samples, exposed
from tests.waiting import DEADLINE, until

Ask = Callable[..., list[tuple[Any, ...]]]

# Names that the design fixes: dashboards and alerts depend on them.
FIXED = {
    "innodb_up",
    "innodb_server_info",
    "innodb_server_uptime_seconds",
    "innodb_buffer_pool_size_bytes",
    "innodb_page_size_bytes",
    "innodb_buffer_pool_pages",
    "innodb_buffer_pool_modified_pages",
    "innodb_buffer_pool_old_target_pages",
    "innodb_buffer_pool_made_young_total",
    "innodb_buffer_pool_not_made_young_total",
    "innodb_buffer_pool_pages_read_total",
    "innodb_buffer_pool_pages_created_total",
    "innodb_buffer_pool_pages_written_total",
    "innodb_buffer_pool_gets_total",
    "innodb_buffer_pool_read_ahead_total",
    "innodb_buffer_pool_read_ahead_evicted_total",
    "innodb_index_resident_pages",
    "innodb_index_pages",
    "innodb_ibuf_size_pages",
    "innodb_ibuf_free_list_pages",
    "innodb_ibuf_segment_pages",
    "innodb_ibuf_max_size_pages",
    "innodb_ibuf_merges_total",
    "innodb_ibuf_merged_operations_total",
    "innodb_ibuf_discarded_operations_total",
    "innodb_parallel_read_threads",
    "innodb_parallel_read_thread_seconds_total",
    "innodb_parallel_reads_observed_total",
    "innodb_ddl_threads_active",
    "innodb_ddl_stage_work",
    "innodb_ddl_memory_bytes",
    "innodb_table_scan_rows_total",
    "innodb_count_star_total",
    "innodb_data_file_reads_total",
    "innodb_data_file_read_seconds_total",
    "innodb_setting",
    "innodb_setting_info",
    "innodb_exporter_collector_success",
    "innodb_exporter_collector_duration_seconds",
    "innodb_exporter_collector_server_seconds_total",
    # Without these the rules cannot be asked from Prometheus alone (advisor.fleet):
    "innodb_table_rows",
    "innodb_index_leaf_pages",
    "innodb_index_info",
    "innodb_table_file_reads_total",
    "innodb_table_file_read_seconds_total",
    "innodb_count_star_seconds_total",
    "innodb_count_star_rows_examined_total",
    "innodb_count_star_forced_primary_total",
    "innodb_rows_total",
    "innodb_buffer_pool_read_ahead_random_total",
    "innodb_checkpoint_age_bytes",
    "innodb_checkpoint_age_limit_bytes",
    "innodb_server_storage_info",
    "innodb_server_cpu_seconds_total",
    "innodb_server_disk_busy_seconds_total",
    "innodb_server_disk_queue_seconds_total",
    "innodb_ddl_builds_total",
    "innodb_ddl_build_seconds_total",
    "innodb_buffer_pool_size_pages",
    "innodb_exporter_collector_failure_info",
}

NO_PARALLEL_READS = "parallel reads came with MySQL 8.0.14; MariaDB has none"
NO_PARALLEL_DDL = "parallel index builds came with MySQL 8.0.27; MariaDB has none"
NO_CACHED_INDEXES = "INNODB_CACHED_INDEXES came with MySQL 8.0; MariaDB has none"
NO_CHANGE_BUFFER = "MariaDB 11.0 removed the change buffer"
OLD = {
    "innodb_parallel_read_threads": NO_PARALLEL_READS,
    "innodb_parallel_read_thread_seconds_total": NO_PARALLEL_READS,
    "innodb_parallel_reads_observed_total": NO_PARALLEL_READS,
    "innodb_ddl_threads_active": NO_PARALLEL_DDL,
    "innodb_ddl_memory_bytes": NO_PARALLEL_DDL,
    "innodb_ddl_stage_work": NO_PARALLEL_DDL,
    "innodb_index_resident_pages": NO_CACHED_INDEXES,
}
NO_ROWS = {"innodb_rows_total": "MariaDB 10.6 removed Innodb_rows_inserted and the like"}
OPT_IN = "innodb_index_lru_pages"
OF_DISKS = {"innodb_server_disk_busy_seconds_total", "innodb_server_disk_queue_seconds_total"}
"""Not in a container whose data folder is on an overlay."""
ONLY_COUNTED = {"innodb_table_key_bytes": "only of large tables that are counted (test_key_bytes.py)"}
ABSENT = {
    "mysql-9.7": ONLY_COUNTED
    | {
        "innodb_ddl_stage_work": "only while an ALTER TABLE runs, and if the consumer is on (test_ddl.py)",
        "innodb_exporter_collector_failure_info": "every source is there",
    },
    "mysql-5.6": ONLY_COUNTED | OLD,
    "mariadb-10.5": ONLY_COUNTED | OLD,
    "mariadb-10.11": ONLY_COUNTED | OLD | NO_ROWS,
    "mariadb-11.8": ONLY_COUNTED
    | OLD
    | NO_ROWS
    | {name: NO_CHANGE_BUFFER for name in SPECS if name.startswith("innodb_ibuf_")},
}
"""Metrics that a server cannot have, and why."""


KINDS = {0: "unique", 1: "non-unique"}
SCANS, COUNTS, PAGES = 3, 4, 400
ROWS = PAGES * workloads.ROWS_PER_PAGE


MOVING = {
    "innodb_buffer_pool_gets_total",
    "innodb_buffer_pool_not_made_young_total",
    "innodb_data_file_read_seconds_total",
    "innodb_rows_total",
}
"""Metrics that reading them changes: a read of statistics gets pages and rows. (A sum of fractions is not exact.)"""
PER_TABLE = {
    name for name, spec in SPECS.items() if spec.labels[:2] == ("schema", "table") and name != "innodb_index_lru_pages"
}
"""Metrics of tables and indexes. Tests compare those of a few tables: other tests leave tables behind."""
OWN = {(workloads.SCHEMA, table) for table in ("measured", "counted", "inserted")}


@dataclass(frozen=True)
class Look:
    """A snapshot of an idle server, its metrics, and the server's own numbers before and after."""

    snapshot: Snapshot
    metrics: Samples
    before: Samples
    after: Samples


def truth(server: PrivateServer, ask: Ask) -> Samples:
    """The metrics of a server with one buffer pool, from other sources than the exporter's if possible."""
    status = {name.lower(): text for name, text in ask(server, "SHOW GLOBAL STATUS")}
    variables: dict[str, str] = dict(ask(server, "SHOW GLOBAL VARIABLES"))
    enabled = "ENABLED = 1" if server.name.startswith("mariadb") else "STATUS = 'enabled'"
    metrics: dict[str, int] = dict(
        ask(server, f"SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE {enabled}")
    )
    [(_, _, text)] = ask(server, innodb_status.SQL)
    printed = parse_status(text)
    pool = printed.total
    assert pool is not None
    assert pool.old_pages is not None
    assert pool.made_young is not None
    assert pool.not_made_young is not None
    assert pool.size_pages is not None
    data = int(status["innodb_buffer_pool_pages_data"])
    [(reads, seconds)] = ask(
        server,
        "SELECT COUNT_READ, SUM_TIMER_READ / 1e12 FROM performance_schema.file_summary_by_event_name"
        " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'",
    )
    true: Samples = {
        "innodb_up": {(): 1},
        "innodb_buffer_pool_size_bytes": {(): float(variables["innodb_buffer_pool_size"])},
        "innodb_page_size_bytes": {(): float(status["innodb_page_size"])},
        "innodb_buffer_pool_pages": {
            ("0", "young"): data - pool.old_pages,
            ("0", "old"): pool.old_pages,
            ("0", "free"): float(status["innodb_buffer_pool_pages_free"]),
        },
        "innodb_buffer_pool_size_pages": {("0",): pool.size_pages},
        "innodb_buffer_pool_read_ahead_random_total": {(): float(status["innodb_buffer_pool_read_ahead_rnd"])},
        "innodb_buffer_pool_modified_pages": {("0",): float(status["innodb_buffer_pool_pages_dirty"])},
        "innodb_buffer_pool_old_target_pages": {("0",): old_target(data, int(variables["innodb_old_blocks_pct"]))},
        "innodb_buffer_pool_made_young_total": {("0",): pool.made_young},
        "innodb_buffer_pool_not_made_young_total": {("0",): pool.not_made_young},
        "innodb_buffer_pool_pages_read_total": {("0",): float(status["innodb_pages_read"])},
        "innodb_buffer_pool_pages_created_total": {("0",): float(status["innodb_pages_created"])},
        "innodb_buffer_pool_pages_written_total": {("0",): float(status["innodb_pages_written"])},
        "innodb_buffer_pool_gets_total": {("0",): float(status["innodb_buffer_pool_read_requests"])},
        "innodb_buffer_pool_read_ahead_total": {("0",): float(status["innodb_buffer_pool_read_ahead"])},
        "innodb_buffer_pool_read_ahead_evicted_total": {("0",): float(status["innodb_buffer_pool_read_ahead_evicted"])},
        "innodb_checkpoint_age_limit_bytes": {(): checkpoint_age_limit(status, variables)},
        "innodb_data_file_reads_total": {(): float(reads)},
        "innodb_data_file_read_seconds_total": {(): float(seconds)},
        "innodb_setting_info": {(name, variables[name]): 1.0 for name in EXPORTED if name in variables},
        "innodb_setting": {
            (name,): {"ON": 1.0, "OFF": 0.0}[text] if text in ("ON", "OFF") else float(text)
            for name, text in variables.items()
            if name in EXPORTED and re.fullmatch(r"ON|OFF|[\d.]+", text)
        },
    }
    if printed.checkpoint_age_bytes is not None:
        true["innodb_checkpoint_age_bytes"] = {(): printed.checkpoint_age_bytes}
    if "innodb_rows_inserted" in status:
        operations = ("inserted", "updated", "deleted", "read")
        true["innodb_rows_total"] = {(name,): float(status[f"innodb_rows_{name}"]) for name in operations}
    if "ibuf_merges" in metrics:
        share = float(variables["innodb_change_buffer_max_size"]) / 100
        buffer = printed.change_buffer
        true |= {
            "innodb_ibuf_size_pages": {(): metrics["ibuf_size"] & 0xFFFFFFFF},
            "innodb_ibuf_max_size_pages": {(): share * pool.size_pages},
            "innodb_ibuf_merges_total": {(): metrics["ibuf_merges"]},
            "innodb_ibuf_merged_operations_total": {
                (name,): metrics[f"ibuf_merges_{name}"] for name in ("insert", "delete_mark", "delete")
            },
            "innodb_ibuf_discarded_operations_total": {
                (name,): metrics[f"ibuf_merges_discard_{name}"] for name in ("insert", "delete_mark", "delete")
            },
            "innodb_ibuf_free_list_pages": {
                (): buffer.free_list_pages if buffer else int(status["innodb_ibuf_free_list"]) & 0xFFFFFFFF
            },
            "innodb_ibuf_segment_pages": {
                (): buffer.segment_pages if buffer else int(status["innodb_ibuf_segment_size"]) & 0xFFFFFFFF
            },
        }
    return true | of_tables(server, ask)


def checkpoint_age_limit(status: dict[str, str], variables: dict[str, str]) -> float:
    """MariaDB's own; on MySQL a share of the settings, which the server has taken over before the test."""
    if "innodb_checkpoint_max_age" in status:
        return float(status["innodb_checkpoint_max_age"])
    if "innodb_redo_log_capacity" in variables:
        return 0.83 * float(variables["innodb_redo_log_capacity"])
    return 0.77 * float(variables["innodb_log_file_size"]) * float(variables["innodb_log_files_in_group"])


def of_tables(server: PrivateServer, ask: Ask) -> Samples:
    """The metrics of the tables and indexes of workloads.SCHEMA, and of index builds."""
    schema = workloads.SCHEMA
    pages = "SELECT table_name, index_name, stat_value FROM mysql.innodb_index_stats"
    pages += f" WHERE database_name = '{schema}' AND stat_name = "
    files: Samples = {f"innodb_table_file_{name}_total": {} for name in ("reads", "read_bytes", "read_seconds")}
    for path, *read in ask(
        server,
        "SELECT FILE_NAME, COUNT_READ, SUM_NUMBER_OF_BYTES_READ, SUM_TIMER_READ / 1e12"
        f" FROM performance_schema.file_summary_by_instance WHERE FILE_NAME LIKE '%/{schema}/%.ibd' AND COUNT_STAR > 0",
    ):
        for name, value in zip(files, read, strict=True):
            files[name][schema, Path(path).stem] = float(value)
    counted: Samples = {}
    for text, *sums in ask(
        server,
        "SELECT DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT / 1e12, SUM_ROWS_EXAMINED"
        " FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE '%`counted`%'",
    ):
        if counting := re.match(r"SELECT COUNT \(.*`counted`(?P<forced> FORCE)?", text):
            forced = sums[0] if counting["forced"] else 0
            for name, value in zip(("", "_seconds", "_rows_examined", "_forced_primary"), (*sums, forced), strict=True):
                of = counted.setdefault(f"innodb_count_star{name}_total", {})
                of[schema, "counted"] = of.get((schema, "counted"), 0.0) + float(value)
    [(builds, errors, spent)] = ask(
        server,
        "SELECT SUM(COUNT_STAR), SUM(SUM_ERRORS), SUM(SUM_TIMER_WAIT) / 1e12"
        " FROM performance_schema.events_statements_summary_global_by_event_name"
        " WHERE EVENT_NAME IN ('statement/sql/alter_table', 'statement/sql/create_index')",
    )
    return {
        "innodb_index_pages": {(schema, *index): float(n) for *index, n in ask(server, f"{pages}'size'")},
        "innodb_index_leaf_pages": {(schema, *index): float(n) for *index, n in ask(server, f"{pages}'n_leaf_pages'")},
        "innodb_index_info": dict.fromkeys(indexes(server, ask), 1.0),
        "innodb_ddl_builds_total": {(): float(builds - errors)},
        "innodb_ddl_build_seconds_total": {(): float(spent)},
        **files,
        **counted,
    }


def indexes(server: PrivateServer, ask: Ask) -> list[tuple[str, ...]]:
    """Labels of innodb_index_info, from what the server says of the indexes as SQL knows them."""
    return [
        (workloads.SCHEMA, table, index, "clustered" if index == "PRIMARY" else KINDS[non_unique], columns)
        for table, index, non_unique, columns in ask(
            server,
            "SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX)"
            f" FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '{workloads.SCHEMA}'"
            " GROUP BY TABLE_NAME, INDEX_NAME, NON_UNIQUE",
        )
    ]


@pytest.fixture(scope="module")
def look(server: PrivateServer, ask: Ask) -> Look:
    """Give a server some work, wait until it is idle, and collect from both sides."""
    with server.connect() as connection:
        workloads.make_table(connection, "measured", PAGES, indexes=2)
        ask(server, "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
        ask(server, "TRUNCATE TABLE performance_schema.table_io_waits_summary_by_index_usage")
        for _ in range(SCANS):
            workloads.scan(connection, "measured")
        workloads.make_table(connection, "counted", 50)
        for number in range(COUNTS):
            workloads.count(connection, "counted", force_primary=number == 0)
        workloads.make_table(connection, "inserted", 50, indexes=3)
        workloads.insert_rows(connection, "inserted", 400, indexes=3, read_back=False)

    async def collect() -> tuple[Snapshot, Samples, Samples]:
        sampler = Sampler(from_dsn(server.dsn), statement_seconds=DEADLINE)

        async def at_rest() -> tuple[Snapshot, Samples, Samples] | None:
            sampler._schedule.clear()  # noqa: SLF001 - what is asked now and then, too
            before = truth(server, ask)
            snapshot = await sampler.collect()
            after = truth(server, ask)
            same = all(before[name] == after[name] for name in before if name not in MOVING)
            return (snapshot, before, after) if same and PARALLEL_READERS.name in snapshot.outcomes else None

        try:
            await sampler.collect()
            return await until(at_rest)
        finally:
            await sampler.close()

    snapshot, before, after = asyncio.run(collect())
    return Look(snapshot, exposed(snapshot), before, after)


# The names


def test_the_names_that_the_design_fixes_are_there() -> None:
    assert set(SPECS) >= FIXED


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_a_metric_is_named_after_the_rules_of_prometheus(spec: Spec) -> None:
    assert re.fullmatch(r"innodb_[a-z0-9_]+", spec.name)
    assert spec.name.endswith("_total") == (spec.kind == "counter")
    assert spec.name.endswith("_info") or spec.kind != "info"
    assert spec.unit in ("", "seconds", "bytes", "pages")
    bare = spec.name.removesuffix("_total")
    assert not spec.unit or bare.endswith(f"_{spec.unit}")
    if bare.endswith(("_seconds", "_bytes")):
        assert bare.endswith(f"_{spec.unit}")
    assert spec.help.endswith(".")
    assert len(set(spec.labels)) == len(spec.labels)
    assert all(re.fullmatch(r"[a-z_]+", label) for label in spec.labels)


def test_a_server_that_is_not_up_has_one_metric() -> None:
    assert exposed(None) == {"innodb_up": {(): 0.0}}


def test_every_metric_is_exposed_or_cannot_be_there(look: Look, server: PrivateServer) -> None:
    assert set(SPECS) - set(look.metrics) - OF_DISKS == {*ABSENT[server.name], OPT_IN}


# The values


def test_every_value_is_the_servers_own(look: Look) -> None:
    for name in look.before.keys() - MOVING:
        values, expected = look.metrics[name], look.before[name]
        if name in PER_TABLE:
            values, expected = (
                {labels: value for labels, value in some.items() if labels[:2] in OWN} for some in (values, expected)
            )
            assert expected, name
        assert values == pytest.approx(expected, rel=1e-9), name
    for name in MOVING & look.metrics.keys():
        for labels, value in look.metrics[name].items():
            assert look.before[name][labels] - 1e-6 <= value <= look.after[name][labels] + 1e-6, name


def test_every_metric_without_another_source_is_in_its_collectors_test(look: Look) -> None:
    owners = {metric.name: collector.name for collector in BY_NAME.values() for metric in collector.metrics}
    for name in (set(look.metrics) & set(owners)) - set(look.before):
        test = Path(__file__).with_name("collectors") / f"test_{owners[name]}.py"
        text = test.read_text(encoding="utf-8") if test.exists() else ""
        assert name in text, (
            f"assert {name} in tests/exporter/collectors/{test.name}, or add another source of it to truth() here"
        )


def test_the_old_sublist_is_at_its_target(look: Look) -> None:
    old = look.metrics["innodb_buffer_pool_pages"]["0", "old"]
    assert old == pytest.approx(look.metrics["innodb_buffer_pool_old_target_pages"]["0",], abs=TOLERANCE)
    assert old > 0


def test_work_is_counted(look: Look, server: PrivateServer) -> None:
    # MySQL 5.6 counts the end of a scan as one row more.
    rows = SCANS * (ROWS + 1) if server.name == "mysql-5.6" else SCANS * ROWS
    assert look.metrics["innodb_table_scan_rows_total"][workloads.SCHEMA, "measured"] == rows
    assert look.metrics["innodb_count_star_total"][workloads.SCHEMA, "counted"] == COUNTS
    assert look.metrics["innodb_buffer_pool_pages_created_total"]["0",] > PAGES


def test_the_server_is_named(look: Look, server: PrivateServer, ask: Ask) -> None:
    [(version, comment)] = ask(server, "SELECT @@version, @@version_comment")
    [(flavour, numbers, text, said, *service)] = look.metrics["innodb_server_info"]
    assert service == ["", "", ""]
    assert (text, said) == (version, comment)
    assert version.startswith(numbers)
    assert flavour == server.name.partition("-")[0]
    [(_, uptime)] = ask(server, "SHOW GLOBAL STATUS LIKE 'Uptime'")
    assert 0 <= look.metrics["innodb_server_uptime_seconds"][()] <= float(uptime)


def test_the_rows_of_tables_are_known(look: Look, server: PrivateServer, ask: Ask) -> None:
    for table in ("measured", "counted"):  # InnoDB's estimate from 20 of the pages
        [(rows,)] = ask(server, f"SELECT COUNT(*) FROM {workloads.SCHEMA}.{table}")
        assert look.metrics["innodb_table_rows"][workloads.SCHEMA, table] == pytest.approx(rows, rel=0.06)


def test_a_source_that_gives_nothing_says_why(look: Look) -> None:
    failed = {(name, outcome.failure) for name, outcome in look.snapshot.outcomes.items() if outcome.failure}
    assert set(look.metrics.get("innodb_exporter_collector_failure_info", {})) == failed
    lacks = replace(look.snapshot.outcomes["pools"], failure="privilege")
    shut = replace(look.snapshot, outcomes={**look.snapshot.outcomes, "pools": lacks})
    assert exposed(shut)["innodb_exporter_collector_failure_info"]["pools", "privilege"] == 1.0


def test_the_service_and_the_system_of_a_server_are_named(look: Look) -> None:
    elsewhere = replace(look.snapshot.server, managed="rds", group_replication=True, windows=True)
    [labels] = exposed(replace(look.snapshot, server=elsewhere))["innodb_server_info"]
    assert labels[4:] == ("rds", "true", "true")


def test_no_readers_and_no_builders_are_at_work_at_rest(look: Look, server: PrivateServer) -> None:
    for name in ("innodb_parallel_read_threads", "innodb_ddl_threads_active"):
        if name not in ABSENT[server.name]:
            assert look.metrics[name] == {(): 0.0}
    if "innodb_parallel_reads_observed_total" in look.metrics:
        assert look.metrics["innodb_parallel_read_thread_seconds_total"] == {(): 0.0}
        assert look.metrics["innodb_parallel_reads_observed_total"] == {(): 0.0}
        assert 0 <= look.metrics["innodb_ddl_memory_bytes"][()] < 1 << 20


def test_the_exporters_own_metrics_are_exposed(look: Look) -> None:
    absent = {name for name, outcome in look.snapshot.outcomes.items() if outcome.failure == "absent"}
    expected = {(collector.name,) for collector in DEFAULT if not (collector.needed or collector.name in absent)}
    assert look.metrics["innodb_exporter_collector_success"] == dict.fromkeys(expected, 1.0)
    durations = look.metrics["innodb_exporter_collector_duration_seconds"]
    assert set(durations) == expected
    assert all(seconds > 0 for seconds in durations.values())
    ages = look.metrics["innodb_exporter_collector_age_seconds"]
    assert set(ages) == expected
    assert all(age >= 0 for age in ages.values())
    assert look.metrics["innodb_exporter_collector_server_seconds_total"][()] > 0


# What is not known


SECTION_OF = {
    "status": {
        "innodb_server_uptime_seconds",
        "innodb_ibuf_free_list_pages",
        "innodb_ibuf_segment_pages",
        "innodb_rows_total",
        "innodb_buffer_pool_read_ahead_random_total",
        "innodb_checkpoint_age_bytes",
        "innodb_checkpoint_age_limit_bytes",
    },
    "variables": {
        "innodb_buffer_pool_size_bytes",
        "innodb_page_size_bytes",
        "innodb_buffer_pool_old_target_pages",
        "innodb_ibuf_max_size_pages",
        "innodb_checkpoint_age_limit_bytes",
        "innodb_setting",
        "innodb_setting_info",
    },
    "pools": {name for name in SPECS if name.startswith("innodb_buffer_pool_")}
    - {"innodb_buffer_pool_size_bytes", "innodb_buffer_pool_read_ahead_random_total"}
    | {"innodb_ibuf_max_size_pages"},
    "innodb_metrics": {name for name in SPECS if name.startswith("innodb_ibuf_") and name.endswith("_total")}
    | {"innodb_ibuf_size_pages"},
    "innodb_status": {
        "innodb_ibuf_size_pages",
        "innodb_ibuf_free_list_pages",
        "innodb_ibuf_segment_pages",
        "innodb_checkpoint_age_bytes",
    },
    "cached_indexes": {"innodb_index_resident_pages"},
    "index_sizes": {"innodb_index_pages", "innodb_index_leaf_pages", "innodb_index_info", "innodb_table_rows"},
    "table_scans": {"innodb_table_scan_rows_total"},
    "count_statements": {name for name in SPECS if name.startswith("innodb_count_star_")},
    "parallel_readers": {name for name in SPECS if name.startswith("innodb_parallel_")},
    "ddl": {name for name in SPECS if name.startswith("innodb_ddl_")},
    "data_files": {"innodb_data_file_reads_total", "innodb_data_file_read_seconds_total"},
    "table_files": {name for name in SPECS if name.startswith("innodb_table_file_")},
    "server_time": {"innodb_exporter_collector_server_seconds_total"},
    "machine": {name for name in SPECS if name.startswith("innodb_server_")}
    - {"innodb_server_info", "innodb_server_uptime_seconds"},
}
"""Metrics that may be missing without a section."""


@pytest.mark.parametrize("section", SECTION_OF)
def test_a_section_that_is_not_known_gives_no_samples_and_takes_no_others(look: Look, section: str) -> None:
    without = exposed(look.snapshot.with_section(BY_NAME[section], None))
    gone = set(look.metrics) - set(without)
    assert gone <= SECTION_OF[section]
    for name, values in without.items():
        assert values == look.metrics[name], name
    only_source = SECTION_OF[section] - {
        name for other, names in SECTION_OF.items() if other != section for name in names
    }
    assert not only_source & set(without)


def test_nothing_known_is_an_up_server_and_nothing_else(look: Look) -> None:
    bare = Snapshot(look.snapshot.at, look.snapshot.server, look.snapshot.account)
    assert set(exposed(bare)) == {"innodb_up", "innodb_server_info"}


# The exposition


class Once(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return iter(self._families)


@pytest.mark.parametrize(
    ("generate", "parse"), [(generate_latest, parse_text), (generate_openmetrics, parse_openmetrics)]
)
def test_both_formats_hold_every_sample(look: Look, generate: Any, parse: Any) -> None:
    registry = CollectorRegistry()
    registry.register(Once(list(families(look.snapshot))))
    read: Samples = {}
    helps: dict[str, str] = {}
    for family in parse(generate(registry).decode()):
        for sample in family.samples:
            helps[sample.name] = family.documentation
            labels = tuple(sample.labels[label] for label in SPECS[sample.name].labels)
            read.setdefault(sample.name, {})[labels] = sample.value
    assert read == look.metrics
    assert helps == {name: SPECS[name].help for name in look.metrics}


def test_families_come_in_the_order_of_the_specs(look: Look) -> None:
    order = list(SPECS)
    names = [sample.name for family in families(look.snapshot) for sample in family.samples[:1]]
    assert names == sorted(names, key=order.index)
