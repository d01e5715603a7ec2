from collections.abc import Callable
from typing import Any

import pytest

from exporter.collectors import file_sizes
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Table
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.collectors.refusal import refusal


def test_partitions_are_summed_and_the_servers_own_files_left_out() -> None:
    rows = [["shop/orders#P#p0", 1_000], ["shop/orders#p#p1", 500], ["mysql/innodb_table_stats", 99]]
    assert file_sizes.parse([Rows.of(["file_name", "bytes"], rows)]) == {Table("shop", "orders"): 1_500}


def test_mysql_before_8_0_has_no_sizes_at_no_cost() -> None:
    assert refusal(FILE_SIZES, version="5.7.44") == "absent"


def test_a_real_servers_file_is_as_large_as_on_its_disk(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    variables = dict(ask(server, "SHOW GLOBAL VARIABLES LIKE 'version%'"))
    if refusal(FILE_SIZES, **variables):
        pytest.skip("this server tells no file's size")
    [sql] = FILE_SIZES.queries(identify(variables))
    with server.connect() as connection:
        workloads.make_table(connection, "large", 50)
    sizes = file_sizes.parse([fetch(server, sql)])
    size = (server.datadir / workloads.SCHEMA / "large.ibd").stat().st_size
    ask(server, f"DROP TABLE {workloads.SCHEMA}.large")
    assert sizes[Table(workloads.SCHEMA, "large")] == size
