"""A real server of the new version stops at each variable that is named for it, and starts without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from advisor.contract.upgrade import Blocker, UpgradeEffect
from advisor.observe.window import Window
from advisor.upgrade.options import blockers, configured
from advisor.upgrade.target import target
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from lab.servers import PrivateServer, StartError

UPGRADES: Mapping[str, tuple[str, Mapping[str, str], set[str], set[str]]] = {
    "mariadb-10.5": (
        "mariadb-11.8",
        {
            "innodb_buffer_pool_instances": "1",
            "innodb_change_buffer_max_size": "30",
            "innodb_change_buffering": "inserts",
        },
        {"innodb_change_buffer_max_size"},
        {"innodb_buffer_pool_instances", "innodb_change_buffering"},
    ),
    "mysql-5.6": (
        "mysql-9.7",
        {"innodb_log_file_size": "64M", "innodb_log_files_in_group": "3"},
        {"innodb_log_file_size", "innodb_log_files_in_group"},
        set(),
    ),
}
"""By the old version: the new one, the options, and those that stop its start and that it ignores."""


@pytest.mark.parametrize("old", UPGRADES)
async def test_the_new_version_stops_at_what_is_named_and_at_nothing_else(
    start_server: Callable[..., PrivateServer], old: str
) -> None:
    new, options, refused, ignored = UPGRADES[old]
    sampler = Sampler(from_dsn(start_server(old, **options).dsn))
    try:
        window = Window((await sampler.collect(),))
    finally:
        await sampler.close()
    after = target(window.latest.server, new.partition("-")[2])
    everything = list(blockers(window, after, configured(window, after)))
    stops = [said for said in everything if isinstance(said, Blocker)]
    assert {stop.variable for stop in stops} == refused
    assert {said.name for said in everything if isinstance(said, UpgradeEffect)} == ignored
    for stop in stops:
        with pytest.raises(StartError):
            start_server(new, **{stop.variable: options[stop.variable]})
    lines = dict(stop.replacement.line.split(" = ") for stop in stops if stop.replacement)
    server = start_server(new, **{name: options[name] for name in ignored}, **lines)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        printed = dict(cursor.fetchall())
    assert {name: printed[name] for name in lines} == lines
