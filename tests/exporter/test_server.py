from collections.abc import Callable
from typing import Any

import pytest

from exporter.knowledge import BEHAVIOURS, SETTINGS
from exporter.server import IDENTITY_SQL, Flavour, Managed, Version, identify, identity, parse_version
from lab.servers import PrivateServer

GROUP = "8a94f357-aab4-11df-86ab-c80aa9429562"


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


@pytest.mark.parametrize("version_text", ["26.7", "26.7.0", "26.10.3-commercial", "27.1.0-1.debian"])
def test_versions_that_follow_the_calendar_are_newer_than_the_ones_before(version_text: str) -> None:
    latest, server = identify({"version": "9.7.4"}), identify({"version": version_text})
    assert server.at_least(mysql=(9, 7, 0))
    assert {name for name in BEHAVIOURS if server.has(name)} == {name for name in BEHAVIOURS if latest.has(name)}
    assert [setting.default.on("mysql", server.version) for setting in SETTINGS.values()] == [
        setting.default.on("mysql", latest.version) for setting in SETTINGS.values()
    ]


@pytest.mark.parametrize(
    ("version_text", "assumed"),
    [
        ("5.7.44", None), ("9.7.4-2", None), ("26.7.0", "9.7"), ("26.10.3-commercial", "9.7"),
        ("11.8.9-MariaDB", None), ("12.3.3-MariaDB", None), ("13.1.1-MariaDB", "12.3"),
    ],
)  # fmt: skip
def test_a_server_newer_than_all_known_is_assumed_to_behave_like_the_newest(
    version_text: str, assumed: str | None
) -> None:
    assert identify({"version": version_text}).behaves_like == assumed


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
def test_the_flavour_follows_from_the_variables(variables: dict[str, str], flavour: Flavour) -> None:
    assert identify(variables).flavour == flavour
    assert identify(variables).mariadb == (flavour == "mariadb")


MANAGED: list[tuple[dict[str, str], Managed | None]] = [
    ({"version": "8.0.36"}, None),
    ({"version": "8.0.36", "basedir": "/usr/"}, None),
    ({"version": "8.0.36", "basedir": "/rdsdbbin/mysql-8.0.36.R2/"}, "rds"),
    ({"version": "10.11.8-MariaDB-log", "basedir": "/rdsdbbin/mariadb-10.11.8.R2/"}, "rds"),
    (
        {"version": "8.0.36", "basedir": "/rdsdbbin/oscar-8.0.mysql_aurora.3.08.0/", "aurora_version": "3.08.0"},
        "aurora",
    ),
    ({"version": "5.7.mysql_aurora.2.11.1", "aurora_version": "2.11.1"}, "aurora"),
    ({"version": "8.0.32", "aad_auth_only": "OFF"}, "azure"),
    ({"version": "5.7.25-google-log"}, "cloudsql"),
    ({"version": "8.0.31-google", "cloudsql_iam_authentication": "ON"}, "cloudsql"),
]


@pytest.mark.parametrize(("variables", "managed"), MANAGED)
def test_a_cloud_service_is_recognised(variables: dict[str, str], managed: Managed | None) -> None:
    assert identify(variables).managed == managed


@pytest.mark.parametrize(
    ("variables", "member"),
    [({}, False), ({"group_replication_group_name": ""}, False), ({"group_replication_group_name": GROUP}, True)],
)
def test_a_member_of_a_group_is_recognised_by_its_group(variables: dict[str, str], *, member: bool) -> None:
    assert identify({"version": "9.7.4", **variables}).group_replication is member


@pytest.mark.parametrize(
    ("system", "windows"), [("Linux", False), ("debian-linux-gnu", False), ("Win64", True), ("", False)]
)
def test_windows_is_recognised(system: str, *, windows: bool) -> None:
    assert identify({"version": "9.7.4", "version_compile_os": system}).windows is windows


@pytest.mark.parametrize(
    "variables",
    [
        *(variables for variables, _ in MANAGED),
        {"version": "9.7.4-2", "version_comment": "(Debian)", "performance_schema": "ON"},
        {"version": "8.0.39-30", "version_comment": "Percona Server (GPL)", "version_compile_os": "Win64"},
        {"version": "5.5.5-10.11.19-MariaDB", "version_comment": "Debian n/a"},
        {"version": "8.4.5", "group_replication_group_name": GROUP},
    ],
)
def test_a_server_is_identified_again_from_its_identity(variables: dict[str, str]) -> None:
    plain = identity(identify(variables))
    assert identify(plain) == identify(variables)
    assert GROUP not in plain.values()  # a name that its owner gave


@pytest.mark.parametrize("variables", [{}, {"version": ""}, {"version_comment": "MySQL 8.0.39"}])
def test_without_a_version_there_is_no_server(variables: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="not a server version"):
        identify(variables)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, False), ({"performance_schema": "OFF"}, False), ({"performance_schema": "ON"}, True)],
)
def test_performance_schema_is_on_only_if_its_variable_is_on(variables: dict[str, str], *, expected: bool) -> None:
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
def test_capabilities_follow_from_the_version(version_text: str, able: set[str]) -> None:
    server = identify({"version": version_text})
    assert {name for name in CAPABILITIES if getattr(server, name)} == able


@pytest.mark.parametrize(
    ("behaviour", "on", "not_on"),
    [
        ("parallel_read_stall", ["8.0.14", "8.0.25"], ["8.0.13", "8.0.26", "8.4.0", "10.5.23-MariaDB"]),
        ("count_star_takes_clustered_index", ["8.0.17", "8.0.36", "8.3.0"], ["8.0.16", "8.0.37", "8.4.0", "9.7.4"]),
        ("scan_never_promotes", ["8.0.17", "9.7.4", "26.7.0"], ["8.0.16", "11.8.6-MariaDB"]),
        ("parallel_read_is_an_access", ["8.0.43", "8.4.8", "9.7.4"], ["8.0.32", "8.3.0", "11.8.9-MariaDB"]),
        ("parallel_readers_instrumented", ["8.0.17", "9.7.4"], ["8.0.14", "8.0.16", "11.8.6-MariaDB"]),
        ("change_buffer_corruption", ["10.5.23-MariaDB", "10.11.18-MariaDB"], ["11.0.2-MariaDB", "8.0.36"]),
        ("count_star_in_table_io", ["11.0.1-MariaDB"], ["10.11.18-MariaDB", "9.7.4"]),
        ("rollback_segments_per_tablespace", ["8.0.1", "9.7.4"], ["5.7.44", "11.8.6-MariaDB"]),
        (
            "free_list_kept",
            ["10.6.17-MariaDB", "10.11.7-MariaDB", "11.4.1-MariaDB", "11.8.6-MariaDB"],
            ["10.5.23-MariaDB", "10.6.16-MariaDB", "10.11.6-MariaDB", "11.3.1-MariaDB", "9.7.4"],
        ),
    ],
)
def test_a_behaviour_is_that_of_its_versions(behaviour: str, on: list[str], not_on: list[str]) -> None:
    assert all(identify({"version": version}).has(behaviour) for version in on)
    assert not any(identify({"version": version}).has(behaviour) for version in not_on)


def test_the_stall_ended_earlier_on_windows() -> None:
    def stalls(version: str, system: str) -> bool:
        return identify({"version": version, "version_compile_os": system}).has("parallel_read_stall")

    assert stalls("8.0.23", "Win64")
    assert not stalls("8.0.24", "Win64")
    assert stalls("8.0.24", "Linux")


def test_a_flavour_may_lack_a_behaviour_of_its_family() -> None:
    assert identify({"version": "8.0.36"}).change_buffer
    assert not identify({"version": "8.0.36", "aurora_version": "3.08.0"}).change_buffer


def test_an_unknown_behaviour_is_an_error() -> None:
    with pytest.raises(KeyError):
        identify({"version": "9.7.4"}).has("parallel_reads")


def test_a_floor_for_the_other_family_only_is_never_reached() -> None:
    assert not identify({"version": "9.7.4"}).at_least(mariadb=(10, 5, 0))
    assert not identify({"version": "10.11.19-MariaDB"}).at_least(mysql=(5, 6, 0))


def test_a_real_server_is_recognised(server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]]) -> None:
    identity = identify({name.lower(): value for name, value in ask(server, IDENTITY_SQL)})
    flavour, series = server.name.split("-")
    assert identity.flavour == flavour
    assert "{}.{}".format(*identity.version[:2]) == series
    assert identity.performance_schema
    assert (identity.managed, identity.group_replication, identity.windows) == (None, False, False)


def test_real_servers_have_the_capabilities_of_their_versions(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]]
) -> None:
    identity = identify({name.lower(): value for name, value in ask(server, IDENTITY_SQL)})
    variables = {name for name, _ in ask(server, "SHOW GLOBAL VARIABLES")}
    tables = {
        name.upper()
        for (name,) in ask(
            server, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'information_schema'"
        )
    }
    assert identity.parallel_read == ("innodb_parallel_read_threads" in variables)
    assert identity.parallel_ddl == ("innodb_ddl_threads" in variables)
    assert identity.data_dictionary == ("INNODB_CACHED_INDEXES" in tables)
    assert identity.change_buffer == ("innodb_change_buffering" in variables)
    assert identity.set_persist == ("persisted_globals_load" in variables)
