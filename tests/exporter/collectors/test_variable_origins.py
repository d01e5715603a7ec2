from collections.abc import Callable, Iterator
from typing import Any

import pytest

from exporter.anonymisation import Pseudonyms
from exporter.collectors import variable_origins
from exporter.collectors.variable_origins import VARIABLE_ORIGINS, Origin, VariableOrigins
from exporter.rows import Rows
from exporter.server import identify
from lab.servers import PrivateServer
from tests.exporter.collectors.refusal import refusal

Ask = Callable[..., list[tuple[Any, ...]]]
Fetch = Callable[[PrivateServer, str], Rows]

telling = pytest.mark.parametrize(
    "server", ["mysql-9.7", "mariadb-11.8", "mariadb-10.11", "mariadb-10.5"], indirect=True
)


def test_both_families_words_become_the_same_kinds_of_place() -> None:
    mysql = [["innodb_io_capacity", "EXPLICIT"], ["innodb_page_size", "COMMAND_LINE"], ["port", "DYNAMIC"]]
    mariadb = [["INNODB_IO_CAPACITY", "CONFIG"], ["INNODB_PAGE_SIZE", "COMMAND-LINE"], ["PORT", "SQL"]]
    origins: dict[str, Origin] = {
        "innodb_io_capacity": "option file",
        "innodb_page_size": "command line",
        "port": "runtime",
    }
    for rows in mysql, mariadb:
        assert variable_origins.parse([Rows.of(["name", "origin"], rows)]) == VariableOrigins(origins, {})


def test_a_place_of_a_new_kind_is_refused() -> None:
    with pytest.raises(KeyError):
        variable_origins.parse([Rows.of(["name", "origin"], [["innodb_page_size", "CLOUD"]])])


def test_a_persisted_value_is_that_of_a_known_setting_only() -> None:
    rows = Rows.of(["NAME", "VALUE"], [["innodb_io_capacity", "300"], ["innodb_data_home_dir", None]])
    assert variable_origins.parse([Rows.of(["name", "origin"], []), rows]).persisted == {
        "innodb_io_capacity": "300",
        "innodb_data_home_dir": None,
    }


def test_only_mysql_before_8_0_does_not_tell() -> None:
    versions = ("5.6.24", "5.7.44", "8.0.11", "26.10.0", "10.5.23-MariaDB")
    assert [refusal(VARIABLE_ORIGINS, version=version) for version in versions] == [
        "absent",
        "absent",
        None,
        None,
        None,
    ]


@pytest.fixture
def changed(server: PrivateServer, ask: Ask) -> Iterator[dict[str, str]]:
    """The origins of three changed settings; their values are put back."""
    before: dict[str, str] = dict(ask(server, "SHOW GLOBAL VARIABLES LIKE 'innodb_old_blocks%'"))
    ask(server, "SET GLOBAL innodb_old_blocks_pct = 41")
    persisted = server.name.startswith("mysql")
    if persisted:
        ask(server, "SET PERSIST innodb_old_blocks_time = 2000", "SET PERSIST innodb_cmp_per_index_enabled = OFF")
    yield {"innodb_old_blocks_time": "2000", "innodb_cmp_per_index_enabled": ""} if persisted else {}
    ask(server, *(f"SET GLOBAL {name} = {value}" for name, value in before.items()))
    if persisted:
        ask(server, "RESET PERSIST innodb_old_blocks_time", "RESET PERSIST innodb_cmp_per_index_enabled")


@telling
def test_a_real_server_tells_the_command_line_from_set_global(
    server: PrivateServer, changed: dict[str, str], fetch: Fetch, ask: Ask
) -> None:
    identity = identify(dict(ask(server, "SHOW GLOBAL VARIABLES LIKE 'version'")))
    section = variable_origins.parse([fetch(server, sql) for sql in VARIABLE_ORIGINS.queries(identity)])
    assert section.origins["innodb_buffer_pool_size"] == "command line"
    assert section.origins["innodb_old_blocks_pct"] == "runtime"
    assert not {"innodb_page_size", "innodb_lru_scan_depth", "back_log"} & set(section.origins)
    assert {name: value or "" for name, value in section.persisted.items()} == changed


@telling
def test_no_path_and_no_value_of_an_unknown_variable_leaves_the_server(
    server: PrivateServer, changed: dict[str, str], fetch: Fetch, ask: Ask
) -> None:
    identity = identify(dict(ask(server, "SHOW GLOBAL VARIABLES LIKE 'version'")))
    results = [fetch(server, sql) for sql in VARIABLE_ORIGINS.queries(identity)]
    values = {value for rows in results for row in rows.rows for value in row[1:]}
    assert values <= {*variable_origins.ORIGINS, None, *changed.values()}
    assert [VARIABLE_ORIGINS.anonymise(Pseudonyms(), rows) for rows in results] == results
