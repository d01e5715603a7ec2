"""What replaces a removed variable has the old one's value."""

from __future__ import annotations

import pytest

from advisor.upgrade.replacements import replacement_of
from tests.advisor.building import server

LOG_FILES = {"innodb_log_file_size": 50331648.0, "innodb_log_files_in_group": 2.0}


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("innodb_log_file_size", "50331648", "innodb_redo_log_capacity = 100663296"),
        ("innodb_log_files_in_group", "2", "innodb_redo_log_capacity = 100663296"),
        ("tx_isolation", "READ-COMMITTED", "transaction_isolation = READ-COMMITTED"),
        ("expire_logs_days", "7", "binlog_expire_logs_seconds = 604800"),
        ("innodb_undo_logs", "128", "innodb_rollback_segments = 128"),
        ("log_warnings", "0", "log_error_verbosity = 1"),
        ("log_warnings", "1", "log_error_verbosity = 2"),
        ("log_warnings", "9", "log_error_verbosity = 3"),
        ("log_warnings", "all", None),
        ("temptable_use_mmap", "OFF", "temptable_max_mmap = 0"),
        ("temptable_use_mmap", "ON", "temptable_max_mmap = 1073741824"),
        ("query_cache_size", "1048576", None),
        ("tx_isolation", None, None),
        ("innodb_log_file_size", None, None),
    ],
)
def test_a_removed_variable_is_replaced_with_its_value(name: str, value: str | None, line: str | None) -> None:
    replacement = replacement_of(name, value, LOG_FILES, server("9.7.4"))
    assert (None if replacement is None else replacement.line) == line


def test_mariadb_has_replacements_of_its_own() -> None:
    after = server("12.3.1-MariaDB")
    assert replacement_of("log_warnings", "2", {}, after) is None
    replacement = replacement_of("storage_engine", "InnoDB", {}, after)
    assert replacement is not None
    assert replacement.line == "default_storage_engine = InnoDB"
