"""Where the knowledge says that a smaller pool gives its memory back, a real server does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.server import IDENTITY_SQL, identify
from lab.servers import PrivateServer, programs
from lab.servers.sql import execute
from tests.waiting import wait_for

MIB = 2**20
LARGE, SMALL = 512 * MIB, 128 * MIB
ROWS = 48 * 1024
"""Two of them fill a page of 16 KiB: three quarters of the large pool."""
BATCH = 4096
RESIZES = [name for name in programs.NAMES if name != "mysql-5.6"]


def resident(server: PrivateServer) -> int:
    """Bytes of memory that the process has."""
    lines = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii").splitlines()
    [size] = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return int(size) * 1024


@pytest.mark.parametrize("name", RESIZES)
def test_a_smaller_pool_gives_its_memory_back(start_server: Callable[..., PrivateServer], name: str) -> None:
    server = start_server(name, innodb_buffer_pool_size=str(LARGE))
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(IDENTITY_SQL)
        identity = identify({variable.lower(): value for variable, value in cursor.fetchall()})
    assert not identity.has("pool_shrink_keeps_memory")
    execute(server, "CREATE DATABASE shop")
    execute(server, "CREATE TABLE shop.t (id INT AUTO_INCREMENT PRIMARY KEY, filler VARCHAR(7500)) CHARSET latin1")
    execute(server, "INSERT INTO shop.t (filler) VALUES " + ", ".join(["(REPEAT('x', 7500))"] * BATCH))
    for _ in range(ROWS // BATCH - 1):
        execute(server, f"INSERT INTO shop.t (filler) SELECT filler FROM shop.t LIMIT {BATCH}")
    before = resident(server)
    execute(server, f"SET GLOBAL innodb_buffer_pool_size = {SMALL}")
    # Of 384 MiB of pages, 128 MiB stay.
    wait_for(lambda: before - resident(server) > 128 * MIB)
