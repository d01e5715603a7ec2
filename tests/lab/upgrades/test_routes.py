"""Upgrades of small tables on real servers: the rows and the indexes are there afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.harness.workloads import SCHEMA, ask, make_table
from lab.servers import PrivateServer
from lab.upgrades.routes import Upgrading, defaults, dump_and_load, in_place


@pytest.mark.parametrize(
    ("upgrade", "old", "new"),
    [(in_place, "mariadb-10.11", "mariadb-11.8"), (dump_and_load, "mysql-5.6", "mysql-9.7")],
)
def test_data_survives_an_upgrade(
    start_server: Callable[..., PrivateServer], upgrade: Upgrading, old: str, new: str
) -> None:
    server = start_server(old)
    with server.connect() as connection:
        make_table(connection, "orders", 100, indexes=2)
    with upgrade(server, new, {}) as upgraded, upgraded.connect() as connection:
        assert upgraded.name == new
        assert ask(connection, f"SELECT COUNT(*), MAX(id) FROM {SCHEMA}.orders") == [(800, 800)]
        indexes = ask(connection, f"SHOW INDEX FROM {SCHEMA}.orders")
    assert [index[2] for index in indexes] == ["PRIMARY", "k1", "k2"]


def test_options_are_those_of_a_versions_defaults_that_differ() -> None:
    old, new = defaults("8.0.43", "8.4.6")
    assert (old["innodb-change-buffering"], new["innodb-change-buffering"]) == ("all", "none")
    assert old.keys() == new.keys()
    assert "innodb-old-blocks-pct" not in old
