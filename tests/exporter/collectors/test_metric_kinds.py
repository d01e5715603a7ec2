from collections.abc import Callable
from typing import Any

from exporter.collectors import innodb_metrics, metric_kinds
from exporter.collectors.metric_kinds import MetricKind
from exporter.rows import Rows
from exporter.server import identify
from lab.servers import PrivateServer


def test_columns_may_come_in_capitals() -> None:
    rows = Rows.of(["NAME", "SUBSYSTEM", "TYPE"], [["ibuf_merges", "change_buffer", "counter"]])
    assert metric_kinds.parse([rows]) == {"ibuf_merges": MetricKind("change_buffer", "counter")}


def test_a_real_server_says_what_each_of_its_counters_is(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    known = identify({name.lower(): value for name, value in ask(server, "SHOW GLOBAL VARIABLES")})
    [sql] = innodb_metrics.queries(known)
    kinds = metric_kinds.parse([fetch(server, metric_kinds.SQL)])
    assert innodb_metrics.parse([fetch(server, sql)]).keys() <= kinds.keys()
    assert kinds["buffer_pool_reads"] == MetricKind("buffer", "status_counter")
    assert {kind.type for kind in kinds.values()} <= {"counter", "status_counter", "value", "set_owner", "set_member"}
