from collections.abc import Callable
from typing import Any

from exporter.collectors import BY_NAME, instrumentation
from exporter.rows import Rows
from lab.servers import PrivateServer

DIGESTS = "UPDATE performance_schema.setup_consumers SET ENABLED = '{}' WHERE NAME = 'statements_digest'"


def test_one_that_is_off_has_the_statement_that_switches_it_on() -> None:
    rows = Rows.of(
        ["name", "enabled", "setup"],
        [["statement/sql/select", "YES", "setup_instruments"], ["statements_digest", "NO", "setup_consumers"]],
    )
    assert instrumentation.parse([rows]) == {"statement/sql/select": None, "statements_digest": DIGESTS.format("YES")}


def test_a_real_servers_instruments_are_known_and_the_cure_works(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    before = instrumentation.parse([fetch(server, instrumentation.SQL)])
    assert before["statements_digest"] is None
    ask(server, DIGESTS.format("NO"))
    cure = instrumentation.parse([fetch(server, instrumentation.SQL)])["statements_digest"]
    assert cure is not None
    ask(server, cure)
    assert instrumentation.parse([fetch(server, instrumentation.SQL)]) == before


def test_every_instrument_that_a_collector_needs_is_read() -> None:
    needed = {name for collector in BY_NAME.values() for name in collector.instruments}
    assert [name for name in needed if f"'{name}'" not in instrumentation.SQL] == []
