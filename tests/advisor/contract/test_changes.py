"""A change is written for the server at hand; tests/live/test_changes.py tries changes on real servers."""

from __future__ import annotations

import pytest

from advisor.contract.changes import action_on, at_restart, change_on, refuses
from advisor.contract.recommendation import Action
from advisor.contract.settings import SettingValue
from exporter.server import Server, identify
from tests.advisor.building import server

MYSQL, OLD, MARIADB = server("9.7.4"), server("5.7.44"), server("11.8.6-MariaDB")
AURORA = identify({"version": "8.0.36", "aurora_version": "3.08.0"})
RDS = identify({"version": "8.0.36", "basedir": "/rdsdbbin/mysql-8.0.36.R2/"})
AZURE = identify({"version": "8.0.36", "aad_auth_only": "OFF"})
CLOUD_SQL = identify({"version": "8.0.36-google"})
MEMBER = identify({"version": "9.7.4", "group_replication_group_name": "8a94f357-aab4-11df-86ab-c80aa9429562"})
WINDOWS = identify({"version": "8.4.5", "version_compile_os": "Win64"})


def test_numbers_and_words_are_written_for_sql_and_option_files() -> None:
    number = change_on(MYSQL, "innodb_old_blocks_pct", 37.0, 60.0)
    assert (number.from_, number.to, number.dynamic) == (37, 60, True)
    assert number.apply == ("SET GLOBAL innodb_old_blocks_pct = 60",)
    assert number.rollback == ("SET GLOBAL innodb_old_blocks_pct = 37",)
    assert number.persist == ("SET PERSIST innodb_old_blocks_pct = 60",)
    assert (number.config, number.via, number.note) == ("innodb_old_blocks_pct = 60", "SQL", "")
    word = change_on(MYSQL, "innodb_change_buffering", "all", "none")
    assert word.apply == ("SET GLOBAL innodb_change_buffering = 'none'",)
    assert word.rollback == ("SET GLOBAL innodb_change_buffering = 'all'",)
    assert word.config == "innodb_change_buffering = none"
    switch = change_on(MYSQL, "innodb_buffer_pool_dump_at_shutdown", "OFF", "ON")
    assert switch.apply == ("SET GLOBAL innodb_buffer_pool_dump_at_shutdown = ON",)


def test_a_quote_in_a_value_is_escaped() -> None:
    assert change_on(OLD, "innodb_change_buffering", "it's", "a'b").rollback == (
        "SET GLOBAL innodb_change_buffering = 'it''s'",
    )


def test_bytes_keep_every_digit() -> None:
    changed = change_on(MARIADB, "innodb_buffer_pool_size", 134_217_728.0, 5_368_709_121.0)
    assert changed.apply == ("SET GLOBAL innodb_buffer_pool_size = 5368709121",)
    assert (changed.from_, changed.to) == (134_217_728, 5_368_709_121)


@pytest.mark.parametrize("of", [OLD, MARIADB])
def test_set_persist_is_written_only_where_the_server_has_it(of: Server) -> None:
    assert change_on(of, "innodb_old_blocks_pct", 37.0, 60.0).persist == ()
    assert change_on(of, "innodb_flush_method", "fsync", "O_DIRECT").persist == ()


def test_a_rollback_needs_the_present_value() -> None:
    assert change_on(MYSQL, "innodb_old_blocks_pct", None, 60.0).rollback == ()


def test_a_change_by_restart_has_an_option_file_line_and_persist_only() -> None:
    changed = change_on(MYSQL, "innodb_flush_method", "fsync", "O_DIRECT")
    assert (changed.dynamic, changed.apply) == (False, ())
    assert changed.persist == ("SET PERSIST_ONLY innodb_flush_method = 'O_DIRECT'",)
    assert changed.rollback == ("SET PERSIST_ONLY innodb_flush_method = 'fsync'",)
    assert (changed.config, changed.via) == ("innodb_flush_method = O_DIRECT", "option file and restart")


def test_a_setting_that_cannot_be_persisted_has_the_line_only() -> None:
    changed = change_on(MYSQL, "innodb_buffer_pool_load_at_startup", "OFF", "ON")
    assert (changed.apply, changed.persist, changed.rollback) == ((), (), ())
    assert changed.config == "innodb_buffer_pool_load_at_startup = ON"


def test_a_setting_that_needs_a_restart_in_older_versions_has_no_statement_there() -> None:
    changed = change_on(server("5.6.24"), "innodb_buffer_pool_size", 2.0**27, 2.0**28)
    assert (changed.dynamic, changed.apply, changed.via) == (False, (), "option file and restart")


@pytest.mark.parametrize(
    ("of", "via"),
    [
        (AURORA, "parameter group of the DB instance or cluster (Amazon Aurora)"),
        (RDS, "DB parameter group (Amazon RDS)"),
        (AZURE, "server parameters (Azure)"),
        (CLOUD_SQL, "database flags (Cloud SQL)"),
    ],
)
def test_a_managed_server_names_the_place_and_gets_no_statement(of: Server, via: str) -> None:
    for setting, before, after in (("innodb_old_blocks_pct", 37.0, 60.0), ("performance_schema", "OFF", "ON")):
        changed = change_on(of, setting, before, after)
        assert (changed.apply, changed.rollback, changed.persist, changed.via) == ((), (), (), via)
    assert change_on(of, "innodb_old_blocks_pct", 37.0, 60.0).note == ""
    assert change_on(of, "performance_schema", "OFF", "ON").note == ("It takes effect when the instance is restarted.")


def test_a_session_setting_says_which_sessions_it_reaches() -> None:
    changed = change_on(MYSQL, "innodb_ddl_threads", 4.0, 8.0)
    assert changed.note == "Open sessions keep their value; only new sessions get this one."


def test_a_group_is_restarted_one_member_at_a_time() -> None:
    assert "one member" in change_on(MEMBER, "innodb_flush_method", "fsync", "O_DIRECT").note
    assert change_on(MEMBER, "innodb_old_blocks_pct", 37.0, 60.0).note == ""


@pytest.mark.parametrize(
    ("of", "setting", "value", "why"),
    [
        (MYSQL, "innodb_page_size", 4096.0, "innodb_page_size cannot be changed: it is fixed when the data folder"),
        (AURORA, "innodb_parallel_read_threads", 8.0, "innodb_parallel_read_threads cannot be changed there: Aurora"),
        (AURORA, "innodb_flush_method", "O_DIRECT", "innodb_flush_method cannot be changed there"),
        (AURORA, "innodb_change_buffering", "none", "innodb_change_buffering cannot be changed there: Aurora"),
        (AURORA, "innodb_read_io_threads", 8.0, "innodb_read_io_threads cannot be changed there"),
        (MARIADB, "innodb_change_buffering", "none", "mariadb 11.8.6-MariaDB has no innodb_change_buffering"),
        (OLD, "innodb_parallel_read_threads", 8.0, "mysql 5.7.44 has no innodb_parallel_read_threads"),
        (MYSQL, "innodb_old_blocks_pct", 96.0, "innodb_old_blocks_pct cannot be 96 there: it takes a whole"),
        (MYSQL, "innodb_change_buffering", "some", "innodb_change_buffering cannot be 'some' there: it takes one"),
        (server("8.0.30"), "innodb_redo_log_capacity", 2.0**38, "innodb_redo_log_capacity cannot be 274877906944"),
        (WINDOWS, "innodb_flush_method", "O_DIRECT", "innodb_flush_method cannot be 'O_DIRECT' there"),
    ],
)  # fmt: skip
def test_an_impossible_change_is_refused_with_the_reason(
    of: Server, setting: str, value: SettingValue, why: str
) -> None:
    reason = refuses(of, setting, value)
    assert reason is not None
    assert reason.startswith(why)


@pytest.mark.parametrize(
    ("of", "setting", "value"),
    [
        (MYSQL, "innodb_parallel_read_threads", 8.0),
        (AURORA, "innodb_old_blocks_pct", 60.0),
        (RDS, "innodb_change_buffering", "none"),
        (MARIADB, "innodb_flush_method", "O_DIRECT"),
        (server("26.7.0"), "innodb_redo_log_capacity", 2.0**38),
    ],
)
def test_a_possible_change_is_not_refused(of: Server, setting: str, value: SettingValue) -> None:
    assert refuses(of, setting, value) is None


def test_an_unknown_setting_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError):
        refuses(MYSQL, "innodb_old_blocks", 1.0)


def test_a_value_that_a_running_server_does_not_accept_needs_a_restart() -> None:
    changed = at_restart(change_on(MARIADB, "innodb_buffer_pool_size", 2.0**27, 2.0**34))
    assert (changed.dynamic, changed.apply, changed.rollback, changed.persist) == (False, (), (), ())
    assert (changed.via, changed.config) == ("option file and restart", "innodb_buffer_pool_size = 17179869184")
    managed = at_restart(change_on(RDS, "innodb_buffer_pool_size", 2.0**27, 2.0**34))
    assert managed.via == "DB parameter group (Amazon RDS)"


def test_an_action_on_a_service_names_the_place_for_refused_statements() -> None:
    action = Action(
        do="stop buffering",
        apply=("SET GLOBAL innodb_change_buffering = 'none'", "ANALYZE TABLE t"),
        rollback=("SET GLOBAL innodb_change_buffering = 'all'",),
    )
    assert action_on(MYSQL, action) is action
    there = action_on(RDS, action)
    assert there.do == (
        "stop buffering. The service does not accept SET GLOBAL innodb_change_buffering = 'none': "
        "set it in the DB parameter group (Amazon RDS)"
    )
    assert (there.apply, there.rollback) == (("ANALYZE TABLE t",), ())


def test_an_action_of_one_session_is_the_same_on_a_service() -> None:
    action = Action(do="build it", apply=("SET SESSION innodb_ddl_buffer_size = 67108864",))
    assert action_on(RDS, action) is action
