"""A server that is told nothing has the defaults that knowledge.toml and its formulas say, on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from advisor.observe.window import Window
from advisor.upgrade.defaults import settings_of
from exporter.collectors.machine import Machine
from exporter.server import IDENTITY_SQL, identify
from lab.servers import PrivateServer, programs
from tests.advisor.building import pool, snapshot

HERE = Machine(
    cores=float(len(os.sched_getaffinity(0))),
    cores_source="cpu affinity",
    memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
    memory_source="MemTotal",
)


@pytest.mark.parametrize("size", ["48M", "1280M"])
@pytest.mark.parametrize("name", programs.NAMES)
def test_what_is_not_set_has_the_default(start_server: Callable[..., PrivateServer], name: str, size: str) -> None:
    server = start_server(name, innodb_buffer_pool_size=size)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(IDENTITY_SQL)
        identity = identify({variable.lower(): value for variable, value in cursor.fetchall()})
        cursor.execute("SHOW GLOBAL VARIABLES")
        variables = {variable.lower(): value for variable, value in cursor.fetchall()}
        cursor.execute("SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_POOL_STATS")
        [[instances]] = cursor.fetchall()
    window = Window((snapshot(1.0, of=identity, machine=HERE, variables=variables, pools=(pool(),) * instances),))
    settings = settings_of(window, identity, None).values()
    set_here = {option.replace("-", "_") for option in server.options}
    assert {setting.name for setting in settings if setting.is_set} <= set_here
    assert [setting.name for setting in settings if setting.moves or setting.after is None] == []
