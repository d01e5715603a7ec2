"""SHOW ENGINE INNODB STATUS over 1 MiB, whose middle the server leaves out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.servers import PrivateServer
from tests.faults.guard import Guard, ask

MIB = 1 << 20
COLUMNS = 40


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-11.8", "mysql-5.6"])
def test_a_truncated_status_gives_the_remaining_values(
    name: str, start_server: Callable[..., PrivateServer], guarded: Callable[..., Guard]
) -> None:
    server = start_server(name, performance_schema="ON", innodb_status_output_locks="ON")
    columns = ", ".join(f"c{number} INT NOT NULL DEFAULT {number}" for number in range(COLUMNS))
    rows = ",".join(f"({number})" for number in range(4000))
    ask(
        server,
        "CREATE DATABASE locked",
        f"CREATE TABLE locked.t (id INT PRIMARY KEY, {columns}) ENGINE=InnoDB",
        f"INSERT INTO locked.t (id) VALUES {rows}",
    )
    with server.connect() as holder, holder.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute("SELECT * FROM locked.t FOR UPDATE")  # each locked record is printed with all its fields
        [(_, _, printed)] = ask(server, "SHOW ENGINE INNODB STATUS")
        assert MIB - 16 < len(printed) <= MIB
        assert "... truncated..." in printed
        guard = guarded(server)
        guard.well()
        section = guard.sidecar.get("/snapshot").json()["innodb_status"]
        [(pages,)] = ask(server, "SELECT SUM(POOL_SIZE) FROM information_schema.INNODB_BUFFER_POOL_STATS")
        assert section["total"]["size_pages"] == pages
        assert section["total"]["database_pages"] > 0
        guard.agrees()
        holder.rollback()
