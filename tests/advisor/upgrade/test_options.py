"""What is set on a server, by itself and by its option file; and what the new version does with it at its start."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from advisor.contract.upgrade import Blocker, NotForetold, UpgradeEffect
from advisor.observe.window import Window
from advisor.upgrade.options import NOT_DEFAULT, blockers, configured
from advisor.upgrade.target import target
from exporter.collectors.variable_origins import VARIABLE_ORIGINS, Origin, VariableOrigins
from exporter.collectors.variables import VARIABLES
from exporter.option_file import OptionFileError
from tests.advisor.building import captured

OLD = "mysql-8.0/idle"


def watched(
    name: str = OLD,
    origins: Mapping[str, Origin] | None = None,
    persisted: Mapping[str, str | None] | None = None,
    **settings: str,
) -> Window:
    """A capture's last snapshot, with these origins and settings; without origins as it is."""
    snapshot = captured(name).latest
    before = snapshot[VARIABLES] or {}
    snapshot = snapshot.with_section(VARIABLES, {**before, **settings})
    section = None if origins is None and persisted is None else VariableOrigins(origins or {}, persisted or {})
    return Window((snapshot.with_section(VARIABLE_ORIGINS, section),))


def shown(window: Window, text: str | None = None, to: str = "8.4.6") -> dict[str, tuple[str | None, str]]:
    configuration = configured(window, target(window.latest.server, to), text)
    assert configuration is not None
    return {name: (variable.value, variable.source) for name, variable in configuration.variables.items()}


def said(
    window: Window, to: str, text: str | None = None
) -> tuple[dict[str, Blocker], dict[str, UpgradeEffect], list[NotForetold]]:
    """What stops the start and what is ignored, by variable; and what is not foretold."""
    after = target(window.latest.server, to)
    everything = list(blockers(window, after, configured(window, after, text)))
    return (
        {blocker.variable: blocker for blocker in everything if isinstance(blocker, Blocker)},
        {effect.name: effect for effect in everything if isinstance(effect, UpgradeEffect)},
        [unknown for unknown in everything if isinstance(unknown, NotForetold)],
    )


def test_where_neither_tells_nothing_is_known() -> None:
    window = watched()
    assert configured(window, target(window.latest.server, "8.4.6")) is None


def test_the_server_tells_what_the_next_start_sets() -> None:
    origins: dict[str, Origin] = {
        "innodb_io_capacity": "option file",
        "innodb_lru_scan_depth": "command line",
        "innodb_old_blocks_time": "runtime",
        "innodb_old_blocks_pct": "runtime",
        "innodb_flush_neighbors": "mysqld-auto.cnf",
        "socket": "option file",
    }
    window = watched(
        origins=origins,
        persisted={"innodb_old_blocks_time": "2000", "innodb_flush_neighbors": "2", "innodb_page_cleaners": "3"},
        innodb_io_capacity="300",
        innodb_old_blocks_time="5000",
    )
    assert shown(window) == {
        "innodb_io_capacity": ("300", "option file"),
        "innodb_lru_scan_depth": ("1024", "command line"),
        "innodb_old_blocks_time": ("2000", "mysqld-auto.cnf"),
        "innodb_flush_neighbors": ("2", "mysqld-auto.cnf"),
        "innodb_page_cleaners": ("3", "mysqld-auto.cnf"),
        "socket": (None, "option file"),
    }
    configuration = configured(window, target(window.latest.server, "8.4.6"))
    assert configuration is not None
    assert configuration.forgotten == ("innodb_old_blocks_pct",)
    assert configuration.settings["innodb_io_capacity"] == 300.0


FILE = """
[client]
innodb_io_capacity = 1
[mysqld]
innodb-io-capacity=300
innodb_io_capacity = 400   # the last one counts
loose_innodb_lru_scan_depth = 2K
skip-innodb-adaptive-hash-index
skip_name_resolve
innodb_random_read_ahead
[server]
innodb_change_buffering = 'none'
[mysqld-8.0]
innodb_flush_neighbors = 1
[mysqld-8.4]
innodb_old_blocks_pct = 95
[mariadb]
innodb_old_blocks_time = 1
!includedir /etc/my.cnf.d/
"""


def test_an_option_file_is_read_as_the_new_version_reads_it() -> None:
    window = watched(origins={"innodb_flush_neighbors": "option file", "innodb_page_size": "option file"})
    assert shown(window, FILE) == {
        "innodb_io_capacity": ("400", "option file"),
        "innodb_lru_scan_depth": ("2K", "option file"),
        "innodb_adaptive_hash_index": ("OFF", "option file"),
        "skip_name_resolve": (None, "option file"),
        "innodb_random_read_ahead": ("ON", "option file"),
        "innodb_change_buffering": ("none", "option file"),
        "innodb_old_blocks_pct": ("95", "option file"),
        "innodb_page_size": ("16384", "option file"),
    }
    configuration = configured(window, target(window.latest.server, "8.4.6"), FILE)
    assert configuration is not None
    assert configuration.unread == ("!includedir /etc/my.cnf.d/",)
    assert {name: configuration.settings[name] for name in ("innodb_lru_scan_depth", "innodb_random_read_ahead")} == {
        "innodb_lru_scan_depth": 2048.0,
        "innodb_random_read_ahead": "ON",
    }


def test_the_command_line_and_persisted_values_win_over_the_file_and_the_file_over_set_global() -> None:
    text = "[mysqld]\ninnodb_io_capacity=1\ninnodb_old_blocks_pct=2\ninnodb_lru_scan_depth=3\ninnodb_page_size=4\n"
    window = watched(
        origins={
            "innodb_io_capacity": "command line",
            "innodb_old_blocks_pct": "runtime",
            "innodb_lru_scan_depth": "option file",
        },
        persisted={"innodb_page_size": "16384"},
    )
    assert {name: value for name, (value, _) in shown(window, text).items()} == {
        "innodb_io_capacity": "200",
        "innodb_old_blocks_pct": "2",
        "innodb_lru_scan_depth": "3",
        "innodb_page_size": "16384",
    }
    configuration = configured(window, target(window.latest.server, "8.4.6"), text)
    assert configuration is not None
    assert configuration.settings["innodb_old_blocks_pct"] == 2.0  # out of its range: the server decides


@pytest.mark.parametrize(
    ("value", "settings"), [("4", {}), ("8", {"innodb_ddl_threads": ("8", NOT_DEFAULT)})], ids=["default", "other"]
)
def test_a_session_that_changed_a_variable_for_itself_hides_its_origin_on_mysql(
    value: str, settings: dict[str, tuple[str, str]]
) -> None:
    window = watched(origins={"innodb_ddl_threads": "runtime"}, innodb_ddl_threads=value)
    assert shown(window) == settings
    configuration = configured(window, target(window.latest.server, "8.4.6"))
    assert configuration is not None
    assert configuration.forgotten == ()


def test_with_a_file_alone_what_stands_elsewhere_than_at_its_default_is_set_too() -> None:
    window = watched("mysql-5.6/idle", innodb_old_blocks_pct="50", innodb_io_capacity="500", innodb_flush_neighbors="0")
    values = shown(window, "[mysqld]\ninnodb_io_capacity=500\n", "5.7.44")
    assert values["innodb_io_capacity"] == ("500", "option file")
    assert values["innodb_old_blocks_pct"] == ("50", NOT_DEFAULT)
    assert "innodb_read_ahead_threshold" not in values


def test_what_is_no_option_file_is_refused() -> None:
    window = watched()
    with pytest.raises(OptionFileError, match="line 1: not an option file"):
        configured(window, target(window.latest.server, "8.4.6"), "innodb_io_capacity = 1\n")


def test_the_log_files_stop_the_start_of_9_3_and_their_bytes_are_carried_over() -> None:
    window = watched(
        origins={"innodb_log_file_size": "option file", "innodb_log_files_in_group": "command line"},
        innodb_log_file_size="536870912",
        innodb_log_files_in_group="4",
    )
    stops, ignored, _ = said(window, "9.7.4")
    assert ignored == {}
    assert [(b.variable, b.value, b.source, b.since) for b in stops.values()] == [
        ("innodb_log_file_size", "536870912", "option file", "9.3.0"),
        ("innodb_log_files_in_group", "4", "command line", "9.3.0"),
    ]
    assert {b.replacement.line for b in stops.values() if b.replacement} == {"innodb_redo_log_capacity = 2147483648"}
    assert said(window, "8.4.6")[:2] == ({}, {})


def test_the_values_of_the_option_file_are_carried_over_before_those_that_run() -> None:
    stops, _, _ = said(watched(), "9.7.4", "[mysqld]\ninnodb_log_file_size = 1G\n")
    assert stops["innodb_log_file_size"].replacement is not None
    assert stops["innodb_log_file_size"].replacement.line == "innodb_redo_log_capacity = 2147483648"


def test_a_replacement_that_is_set_already_is_not_set_again() -> None:
    window = watched(
        origins={"innodb_log_file_size": "option file", "innodb_redo_log_capacity": "option file"},
        innodb_log_file_size="536870912",
    )
    stops, _, _ = said(window, "9.7.4")
    assert stops["innodb_log_file_size"].replacement is None


def test_a_renamed_variable_of_the_file_keeps_its_value() -> None:
    text = "[mysqld]\ntx-isolation = READ-COMMITTED\nquery_cache_size = 0\nexpire_logs_days = 7\nport = 3306\n"
    stops, _, unknown = said(watched("mysql-5.7/idle"), "8.4.6", text)
    lines = {name: blocker.replacement.line if blocker.replacement else None for name, blocker in stops.items()}
    assert lines == {
        "expire_logs_days": "binlog_expire_logs_seconds = 604800",
        "query_cache_size": None,
        "tx_isolation": "transaction_isolation = READ-COMMITTED",
    }
    assert stops["query_cache_size"].since == "8.0.3"
    assert [entry.what for entry in unknown] == [
        "whether mysql 8.4.6 knows other variables that are set, 1 in all: port"
    ]


def test_a_loose_line_and_a_persisted_value_stop_no_start() -> None:
    window = watched(origins={}, persisted={"innodb_undo_tablespaces": "2"})
    stops, ignored, _ = said(window, "9.7.4", "[mysqld]\nloose_innodb_log_file_size = 1G\n")
    assert stops == {}
    assert list(ignored) == ["innodb_log_file_size", "innodb_undo_tablespaces"]
    assert ignored["innodb_log_file_size"].before == ()
    assert [statement.sql for statement in ignored["innodb_undo_tablespaces"].before] == [
        "RESET PERSIST innodb_undo_tablespaces"
    ]


def test_mariadb_ignores_most_of_what_it_removed_and_stops_at_the_rest() -> None:
    window = watched(
        "mariadb-10.5/idle",
        origins={
            "innodb_buffer_pool_instances": "option file",
            "innodb_change_buffer_max_size": "option file",
            "innodb_change_buffering": "option file",
        },
    )
    stops, ignored, _ = said(window, "11.8.9")
    assert list(stops) == ["innodb_change_buffer_max_size"]
    assert list(ignored) == ["innodb_buffer_pool_instances", "innodb_change_buffering"]
    assert "it starts, and ignores it" in ignored["innodb_change_buffering"].summary
    assert list(said(window, "10.11.18")[1]) == ["innodb_buffer_pool_instances"]


def test_without_any_source_what_needs_a_restart_and_is_not_at_its_default_counts_as_set() -> None:
    window = watched("mysql-5.6/idle", innodb_log_file_size="1073741824", innodb_log_files_in_group="3")
    stops, _, unknown = said(window, "9.7.4")
    assert stops["innodb_log_file_size"].source == NOT_DEFAULT
    assert stops["innodb_log_file_size"].replacement is not None
    assert stops["innodb_log_file_size"].replacement.line == "innodb_redo_log_capacity = 3221225472"
    assert unknown[0].what.startswith("which variables are set on this server")
    assert unknown[0].cure == "give its option file: --option-file /etc/my.cnf"


def test_a_recording_alone_tells_what_stops_the_start() -> None:
    of_mariadb, ignored, _ = said(captured("mariadb-10.5/variables-set"), "11.8.9")
    assert {name: (b.value, b.source) for name, b in of_mariadb.items()} == {
        "innodb_change_buffer_max_size": ("30", "command line")
    }
    assert list(ignored) == ["innodb_buffer_pool_instances"]
    of_5_6, _, _ = said(captured("mysql-5.6/variables-set"), "9.7.4")
    lines = {name: blocker.replacement.line for name, blocker in of_5_6.items() if blocker.replacement}
    of_log_files = ("innodb_log_file_size", "innodb_log_files_in_group")
    assert lines == dict.fromkeys(of_log_files, "innodb_redo_log_capacity = 201326592")
    of_9_7, ignored, _ = said(captured("mysql-9.7/variables-set"), "26.10.0")
    assert (of_9_7, ignored) == ({}, {})


def test_a_recording_alone_tells_what_is_set_and_what_a_restart_forgets() -> None:
    window = captured("mysql-9.7/variables-set")
    configuration = configured(window, target(window.latest.server, "26.10.0"))
    assert configuration is not None
    assert configuration.forgotten == ("innodb_old_blocks_pct",)
    told = {name: configuration.settings[name] for name in ("innodb_io_capacity", "innodb_page_cleaners")}
    assert told == {"innodb_io_capacity": 2000.0, "innodb_page_cleaners": 2.0}
    assert configuration.variables["innodb_old_blocks_time"].source == "mysqld-auto.cnf"
    assert "tmp_table_size" not in configuration.variables


def test_what_was_not_read_is_said() -> None:
    window = watched(origins={"innodb_old_blocks_pct": "runtime"})
    _, _, unknown = said(window, "8.4.6", "[mysqld]\n!include /etc/other.cnf\n")
    assert [entry.reason.partition(":")[0] for entry in unknown] == [
        "includes are not followed",
        "SET GLOBAL changed the value",
    ]
