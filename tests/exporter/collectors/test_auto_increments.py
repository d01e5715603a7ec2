from collections.abc import Callable
from typing import Any

from exporter.collectors import auto_increments
from exporter.collectors.base import of_dictionary
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Table
from lab.harness import workloads
from lab.servers import PrivateServer


def test_partitions_are_one_table_and_the_servers_own_tables_are_left_out() -> None:
    names = [["shop/t#P#p0"], ["shop/t#P#p1"], ["mysql/innodb_index_stats"], ["SYS_FOREIGN"]]
    assert auto_increments.parse([Rows.of(["table_name"], names)]) == {Table("shop", "t")}


def test_a_real_servers_numbered_tables_are_told_from_others(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    numbered, plain = f"{workloads.SCHEMA}.numbered", f"{workloads.SCHEMA}.plain"
    ask(
        server,
        f"CREATE DATABASE IF NOT EXISTS {workloads.SCHEMA}",
        f"CREATE TABLE {numbered} (id INT AUTO_INCREMENT PRIMARY KEY, k INT) ENGINE=InnoDB",
        f"CREATE TABLE {plain} (id INT PRIMARY KEY, k INT) ENGINE=InnoDB",
        f"INSERT INTO {numbered} (k) VALUES (1), (2)",
        f"INSERT INTO {plain} VALUES (1, 1), (2, 2)",
    )
    [sql] = of_dictionary(auto_increments.SQL)(identify({"version": server.version}))
    found = auto_increments.parse([fetch(server, sql)])
    ask(server, f"DROP TABLE {numbered}, {plain}")
    assert Table(workloads.SCHEMA, "numbered") in found
    assert Table(workloads.SCHEMA, "plain") not in found
