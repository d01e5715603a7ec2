from collections.abc import Callable
from typing import Any

import pytest

from exporter.server import IDENTITY_SQL, Flavour, Version, identify, parse_version
from lab.servers import Server as RealServer


@pytest.mark.parametrize(
    ("version_text", "version"),
    [
        ("5.6.24", (5, 6, 24)),
        ("8.0.39-30", (8, 0, 39)),
        ("8.0.36-28.1", (8, 0, 36)),
        ("8.4.5-log", (8, 4, 5)),
        ("9.7.4-2", (9, 7, 4)),
        ("26.7.0", (26, 7, 0)),
        ("26.7", (26, 7, 0)),
        ("5.7.mysql_aurora.2.11.1", (5, 7, 0)),
        ("10.11.19-MariaDB-log", (10, 11, 19)),
        ("5.5.5-10.11.19-MariaDB", (10, 11, 19)),
        ("5.5.5-10.5.23-MariaDB-0+deb11u1", (10, 5, 23)),
        ("5.5.5-11.8.6-mariadb", (11, 8, 6)),
        ("5.5.5-m3", (5, 5, 5)),
        ("5.5.68-MariaDB", (5, 5, 68)),
        ("11.8.6-MariaDB-0+deb13u1 from Debian", (11, 8, 6)),
    ],
)
def test_the_version_is_read_from_its_text(version_text: str, version: Version) -> None:
    assert parse_version(version_text) == version


@pytest.mark.parametrize("version_text", ["", "MariaDB", "8", "v8.0.39", "x.y.z", "-8.0.1", "PostgreSQL 17.2"])
def test_a_text_without_a_version_is_refused(version_text: str) -> None:
    with pytest.raises(ValueError, match="not a server version"):
        parse_version(version_text)


def test_versions_that_follow_the_calendar_are_newer_than_the_ones_before() -> None:
    server = identify({"version": "26.7.0"})
    assert server.at_least(mysql=(9, 7, 0))
    assert server.parallel_read
    assert server.parallel_ddl


@pytest.mark.parametrize(
    ("variables", "flavour"),
    [
        ({"version": "9.7.4-2", "version_comment": "(Debian)"}, "mysql"),
        ({"version": "8.0.39", "version_comment": "MySQL Community Server - GPL"}, "mysql"),
        ({"version": "8.0.39-30", "version_comment": "Percona Server (GPL), Release 30"}, "percona"),
        ({"version": "8.0.28", "version_comment": "Source distribution", "aurora_version": "3.04.0"}, "aurora"),
        ({"version": "10.11.19-MariaDB", "version_comment": "mariadb.org binary distribution"}, "mariadb"),
        ({"version": "10.11.19", "version_comment": "MariaDB Server"}, "mariadb"),
    ],
)
def test_the_flavour_is_found(variables: dict[str, str], flavour: Flavour) -> None:
    assert identify(variables).flavour == flavour
    assert identify(variables).mariadb == (flavour == "mariadb")


@pytest.mark.parametrize("variables", [{}, {"version": ""}, {"version_comment": "MySQL 8.0.39"}])
def test_without_a_version_there_is_no_server(variables: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not a server version"):
        identify(variables)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, False), ({"performance_schema": "OFF"}, False), ({"performance_schema": "ON"}, True)],
)
def test_performance_schema_is_on_only_if_the_server_says_so(variables: dict[str, str], *, expected: bool) -> None:
    assert identify({"version": "9.7.4", **variables}).performance_schema is expected


CAPABILITIES = ("parallel_read", "parallel_ddl", "data_dictionary", "change_buffer", "set_persist")


@pytest.mark.parametrize(
    ("version_text", "able"),
    [
        ("5.6.24", {"change_buffer"}),
        ("5.7.44", {"change_buffer"}),
        ("8.0.13", {"change_buffer", "data_dictionary", "set_persist"}),
        ("8.0.14", {"change_buffer", "data_dictionary", "set_persist", "parallel_read"}),
        ("8.0.26", {"change_buffer", "data_dictionary", "set_persist", "parallel_read"}),
        ("8.0.27", set(CAPABILITIES)),
        ("9.7.4", set(CAPABILITIES)),
        ("26.7.0", set(CAPABILITIES)),
        ("10.5.23-MariaDB", {"change_buffer"}),
        ("10.11.19-MariaDB", {"change_buffer"}),
        ("11.0.1-MariaDB", set()),
        ("11.8.6-MariaDB", set()),
    ],
)
def test_what_a_server_can_follows_from_its_version(version_text: str, able: set[str]) -> None:
    server = identify({"version": version_text})
    assert {name for name in CAPABILITIES if getattr(server, name)} == able


def test_a_floor_for_the_other_family_only_is_never_reached() -> None:
    assert not identify({"version": "9.7.4"}).at_least(mariadb=(10, 5, 0))
    assert not identify({"version": "10.11.19-MariaDB"}).at_least(mysql=(5, 6, 0))


def test_a_real_server_is_recognised(server: RealServer, ask: Callable[..., list[tuple[Any, ...]]]) -> None:
    found = identify({name.lower(): value for name, value in ask(server, IDENTITY_SQL)})
    flavour, series = server.name.split("-")
    assert found.flavour == flavour
    assert "{}.{}".format(*found.version[:2]) == series
    assert found.performance_schema == (flavour == "mysql")


def test_real_servers_have_what_their_versions_promise(
    server: RealServer, ask: Callable[..., list[tuple[Any, ...]]]
) -> None:
    found = identify({name.lower(): value for name, value in ask(server, IDENTITY_SQL)})
    variables = {name for name, _ in ask(server, "SHOW GLOBAL VARIABLES")}
    tables = {
        name.upper()
        for (name,) in ask(
            server, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'information_schema'"
        )
    }
    assert found.parallel_read == ("innodb_parallel_read_threads" in variables)
    assert found.parallel_ddl == ("innodb_ddl_threads" in variables)
    assert found.data_dictionary == ("INNODB_CACHED_INDEXES" in tables)
    assert found.change_buffer == ("innodb_change_buffering" in variables)
    assert found.set_persist == ("persisted_globals_load" in variables)
