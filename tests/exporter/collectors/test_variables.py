from collections.abc import Callable
from pathlib import Path
from typing import Any

from exporter.collectors import variables
from exporter.rows import Rows
from lab.servers import PrivateServer


def test_names_are_in_lower_case_and_values_as_printed() -> None:
    rows = Rows.of(["Variable_name", "Value"], [["innodb_old_blocks_pct", "37"], ["wsrep_ON", "OFF"], ["x", None]])
    assert variables.parse([rows]) == {"innodb_old_blocks_pct": "37", "wsrep_on": "OFF", "x": ""}


def test_signs_of_a_real_server_are_read(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    settings = variables.parse([fetch(server, variables.SQL)])
    everything = {name.lower(): value for name, value in ask(server, "SHOW GLOBAL VARIABLES")}
    assert {name: everything[name] for name in settings} == dict(settings)
    assert {name for name in everything if name.startswith("innodb")} <= set(settings)
    assert (int(settings["port"]), Path(settings["socket"]), Path(settings["datadir"])) == (
        server.port,
        server.socket,
        server.datadir,
    )
    assert Path(settings["pid_file"]).read_text().strip() == str(server.pid)
    assert Path(settings["basedir"]).is_dir()
    assert ("thread_pool_size" in settings) == server.name.startswith("mariadb")
