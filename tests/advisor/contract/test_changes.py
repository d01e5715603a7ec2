"""A change is written for the server at hand; tests/live/test_changes.py tries changes on real servers."""

from __future__ import annotations

import pytest

from advisor.contract.changes import action_on, change_on, refuses
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
    change = change_on(MARIADB, "innodb_buffer_pool_size", 134_217_728.0, 5_368_709_121.0, most=2.0**43)
    assert change.apply == ("SET GLOBAL innodb_buffer_pool_size = 5368709121",)
    assert (change.from_, change.to) == (134_217_728, 5_368_709_121)


@pytest.mark.parametrize("of", [OLD, MARIADB])
def test_set_persist_is_written_only_where_the_server_has_it(of: Server) -> None:
    assert change_on(of, "innodb_old_blocks_pct", 37.0, 60.0).persist == ()
    assert change_on(of, "innodb_flush_method", "fsync", "O_DIRECT").persist == ()


def test_a_rollback_needs_the_present_value() -> None:
    assert change_on(MYSQL, "innodb_old_blocks_pct", None, 60.0).rollback == ()


def test_a_change_by_restart_has_an_option_file_line_and_persist_only() -> None:
    change = change_on(MYSQL, "innodb_flush_method", "fsync", "O_DIRECT")
    assert (change.dynamic, change.apply) == (False, ())
    assert change.persist == ("SET PERSIST_ONLY innodb_flush_method = 'O_DIRECT'",)
    assert change.rollback == ("SET PERSIST_ONLY innodb_flush_method = 'fsync'",)
    assert (change.config, change.via) == ("innodb_flush_method = O_DIRECT", "option file and restart")


def test_a_setting_that_cannot_be_persisted_has_the_line_only() -> None:
    change = change_on(MYSQL, "innodb_buffer_pool_load_at_startup", "OFF", "ON")
    assert (change.apply, change.persist, change.rollback) == ((), (), ())
    assert change.config == "innodb_buffer_pool_load_at_startup = ON"


def test_a_setting_that_needs_a_restart_in_older_versions_has_no_statement_there() -> None:
    change = change_on(server("5.6.24"), "innodb_buffer_pool_size", 2.0**27, 2.0**28)
    assert (change.dynamic, change.apply, change.via) == (False, (), "option file and restart")


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
        change = change_on(of, setting, before, after)
        assert (change.apply, change.rollback, change.persist, change.via) == ((), (), (), via)
    assert change_on(of, "innodb_old_blocks_pct", 37.0, 60.0).note == ""
    assert change_on(of, "performance_schema", "OFF", "ON").note == ("It takes effect when the instance is restarted.")


def test_a_session_setting_says_which_sessions_it_reaches() -> None:
    change = change_on(MYSQL, "innodb_ddl_threads", 4.0, 8.0)
    assert change.note == "Open sessions keep their value; only new sessions get this one."


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
    change = change_on(MARIADB, "innodb_buffer_pool_size", 2.0**27, 2.0**34, most=2.0**30)
    assert (change.dynamic, change.apply, change.rollback, change.persist) == (False, (), (), ())
    assert (change.via, change.config) == ("option file and restart", "innodb_buffer_pool_size = 17179869184")
    managed = change_on(RDS, "innodb_buffer_pool_size", 2.0**27, 2.0**34, most=2.0**30)
    assert (managed.dynamic, managed.via) == (False, "DB parameter group (Amazon RDS)")


GIB = 2.0**30
SHRINK_BUGS = ("MDEV-37263", "MDEV-36781", "MDEV-37447")


@pytest.mark.parametrize(
    ("version", "bugs"),
    [
        ("10.11.11-MariaDB", ()),
        ("10.11.12-MariaDB", SHRINK_BUGS),
        ("10.11.13-MariaDB", ("MDEV-37263", "MDEV-37447")),
        ("10.11.14-MariaDB", ("MDEV-37447",)),
        ("10.11.15-MariaDB", ()),
        ("11.4.6-MariaDB", SHRINK_BUGS),
        ("11.8.2-MariaDB", ("MDEV-37263", "MDEV-37447")),
        ("11.8.4-MariaDB", ()),
        ("12.0.1-MariaDB", ("MDEV-37263",)),
    ],
)
def test_a_pool_shrinks_by_a_restart_where_a_running_server_may_crash(version: str, bugs: tuple[str, ...]) -> None:
    change = change_on(server(version), "innodb_buffer_pool_size", 2 * GIB, GIB, most=2 * GIB)
    named = [bug for bug in SHRINK_BUGS if bug in change.note]
    assert named == [bug for bug in SHRINK_BUGS if bug in bugs]
    assert change.dynamic is not bool(bugs)
    if bugs:
        assert (change.apply, change.rollback, change.via) == ((), (), "option file and restart")
    assert change.config == "innodb_buffer_pool_size = 1073741824"


def test_a_service_must_not_apply_at_once_what_only_a_restart_may_apply() -> None:
    of = identify({"version": "10.11.13-MariaDB", "basedir": "/rdsdbbin/mariadb-10.11.13.R1/"})
    change = change_on(of, "innodb_buffer_pool_size", 2 * GIB, GIB, most=2 * GIB)
    assert (change.dynamic, change.via) == (False, "DB parameter group (Amazon RDS)")
    assert "MDEV-37263" in change.note
    assert "Let the service apply it at a restart, not at once." in change.note


def test_a_pool_that_must_not_shrink_at_runtime_grows_without_a_rollback() -> None:
    change = change_on(server("11.8.3-MariaDB"), "innodb_buffer_pool_size", GIB, 2 * GIB, most=4 * GIB)
    assert change.apply == ("SET GLOBAL innodb_buffer_pool_size = 2147483648",)
    assert change.rollback == ()
    assert "The way back needs a restart. A smaller pool at runtime can crash" in change.note
    assert "MDEV-37447; fixed in 11.8.4" in change.note


@pytest.mark.parametrize(("version", "affected"), [("10.11.12", True), ("11.8.6", True), ("10.11.17", False)])
def test_a_pool_grows_at_runtime_only_within_the_largest_size(version: str, *, affected: bool) -> None:
    of = server(f"{version}-MariaDB")
    within, beyond, unknown = (
        change_on(of, "innodb_buffer_pool_size", GIB, 2 * GIB, most=most) for most in (4 * GIB, GIB, None)
    )
    assert (within.dynamic, beyond.dynamic, unknown.dynamic) == (True, False, not affected)
    assert ("MDEV-38671" in beyond.note, "MDEV-38671" in unknown.note) == (affected, affected)
    assert "MDEV-38671" not in within.note


@pytest.mark.parametrize(
    ("version", "memory"), [("10.6.22", True), ("10.11.11", True), ("10.11.16", False), ("10.5.23", False)]
)
def test_a_smaller_pool_that_keeps_its_memory_says_so(version: str, *, memory: bool) -> None:
    change = change_on(server(f"{version}-MariaDB"), "innodb_buffer_pool_size", 2 * GIB, GIB, most=2 * GIB)
    assert change.dynamic
    assert ("before you lower a memory limit (MDEV-32339; fixed in 10.11.12)." in change.note) is memory


@pytest.mark.parametrize("after", [GIB, 3 * GIB])
def test_a_resize_that_stops_queries_or_races_with_xa_comes_with_a_warning(after: float) -> None:
    mysql = change_on(server("8.0.43"), "innodb_buffer_pool_size", 2 * GIB, after)
    assert mysql.dynamic
    assert mysql.note.startswith("Queries can stop while")
    assert mysql.note.endswith("quiet hour (MySQL bug 81615; no release is known to fix it).")
    assert change_on(server("5.6.51"), "innodb_buffer_pool_size", 2 * GIB, after).note == ""
    mariadb = change_on(server("11.8.8-MariaDB"), "innodb_buffer_pool_size", 2 * GIB, after, most=4 * GIB)
    assert mariadb.dynamic
    assert "XA PREPARE" in mariadb.note
    assert "MDEV-40218" not in change_on(server("11.8.9-MariaDB"), "innodb_buffer_pool_size", 2 * GIB, after).note


def test_change_buffering_is_refused_on_mariadb_and_may_be_switched_off() -> None:
    of = server("10.11.18-MariaDB")
    reason = refuses(of, "innodb_change_buffering", "all")
    assert reason == (
        "innodb_change_buffering must not be 'all' there: change buffering has corrupted secondary indexes and the "
        "system tablespace (MDEV-26977; fixed in 11.0)"
    )
    assert refuses(of, "innodb_change_buffering", "none") is None
    assert refuses(server("8.4.5"), "innodb_change_buffering", "all") is None


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
