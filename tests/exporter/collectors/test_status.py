from collections.abc import Callable
from typing import Any

import pytest

from exporter.collectors import status
from exporter.collectors.status import STATUS
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Snapshot
from lab.servers import PrivateServer
from tests.exporter.exposition import exposed


def parsed(*values: tuple[str, str]) -> dict[str, float]:
    return dict(status.parse([Rows.of(["Variable_name", "Value"], values)]))


def test_names_are_in_lower_case_and_texts_are_left_out() -> None:
    assert parsed(
        ("Innodb_buffer_pool_dump_status", "Dumping of buffer pool not started"),
        ("Innodb_pages_read", "7"),
        ("Innodb_resize", ""),
        ("Uptime", "12"),
    ) == {"innodb_pages_read": 7.0, "uptime": 12.0}


@pytest.mark.parametrize("values", [(), (("Threads_running", "1"),), (("Uptime", "x"),)])
def test_without_an_uptime_it_is_refused(values: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(ValueError, match="without Uptime"):
        parsed(*values)


def test_garbage_in_the_upper_half_of_the_change_buffers_pages_is_cut_off() -> None:
    """MariaDB 10.11 leaves it there (seen: 541165879297 and 1103806595077)."""
    counters = parsed(
        ("Innodb_ibuf_size", "541165879297"),
        ("Innodb_ibuf_segment_size", "1103806595077"),
        ("Innodb_ibuf_free_list", "3"),
        ("Innodb_pages_read", "1103806595077"),
        ("Uptime", "1"),
    )
    names = ("innodb_ibuf_size", "innodb_ibuf_segment_size", "innodb_ibuf_free_list")
    assert [counters[name] for name in names] == [1, 5, 3]
    assert counters["innodb_pages_read"] == 1103806595077


def test_every_number_of_innodb_is_taken_from_a_real_server(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    counters = status.parse([fetch(server, status.SHOW_SQL)])
    names = {name.lower() for name, value in ask(server, "SHOW GLOBAL STATUS LIKE 'Innodb%'") if value.isdigit()}
    assert names <= set(counters)
    assert {"uptime", "questions", "threads_running", "threads_connected", "aborted_connects"} <= set(counters)


def test_rows_changed_are_counted_on_a_real_server(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    ask(server, "CREATE DATABASE IF NOT EXISTS counted", "CREATE TABLE counted.t (a INT PRIMARY KEY) ENGINE=InnoDB")
    before = status.parse([fetch(server, status.SHOW_SQL)])
    ask(
        server,
        "INSERT INTO counted.t VALUES (1), (2), (3)",
        "UPDATE counted.t SET a = 4 WHERE a = 3",
        "DELETE FROM counted.t WHERE a = 2",
    )
    after = status.parse([fetch(server, status.SHOW_SQL)])
    ask(server, "DROP DATABASE counted")
    grown = [after[name] - before[name] for name in ("handler_write", "handler_update", "handler_delete")]
    assert (grown[0] >= 3, grown[1] >= 1, grown[2] >= 1) == (True, True, True)
    # MariaDB counts these no longer.
    assert ("innodb_rows_inserted" in after) == (server.name in ("mysql-9.7", "mysql-5.6", "mariadb-10.5"))


def test_the_uptime_is_exposed() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4"}), "a@b")
    assert exposed(known.with_section(STATUS, {"uptime": 12.0}))["innodb_server_uptime_seconds"] == {(): 12.0}
