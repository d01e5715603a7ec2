from collections.abc import Callable
from typing import Any

import pytest

from exporter.collectors import innodb_metrics
from exporter.rows import Rows
from exporter.server import identify
from lab.servers import PrivateServer


@pytest.mark.parametrize(
    ("version", "condition"),
    [
        ("5.6.24", "STATUS = 'enabled'"),
        ("9.7.4", "STATUS = 'enabled'"),
        ("10.5.23-MariaDB", "ENABLED = 1"),
        ("11.8.6-MariaDB", "ENABLED = 1"),
    ],
)
def test_each_family_is_asked_in_its_own_words(version: str, condition: str) -> None:
    [sql] = innodb_metrics.queries(identify({"version": version}))
    assert sql.endswith(condition)


def test_garbage_in_the_upper_half_of_the_change_buffers_size_is_cut_off() -> None:
    rows = Rows.of(["NAME", "COUNT"], [["ibuf_size", 4355096838145], ["ibuf_merges", 4355096838145]])
    assert innodb_metrics.parse([rows]) == {"ibuf_size": 1, "ibuf_merges": 4355096838145}


def test_a_real_servers_enabled_counters_are_taken_and_no_others(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    identity = identify({name.lower(): value for name, value in ask(server, "SHOW GLOBAL VARIABLES")})
    [sql] = innodb_metrics.queries(identity)
    metrics = innodb_metrics.parse([fetch(server, sql)])
    rows = fetch(server, "SELECT * FROM information_schema.INNODB_METRICS")
    enabled = {row["name"] for row in rows if row.get("status") == "enabled" or row.get("enabled") == 1}
    assert set(metrics) == enabled
    assert 10 < len(metrics) < len(rows)
    assert ("ibuf_merges" in metrics) == (server.name != "mariadb-11.8")
