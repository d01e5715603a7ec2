"""mysqld_exporter from Debian's package, unpacked into the cache: the peer that the sidecar is compared with.

Two of its collectors read the sidecar's sources. They are off by default, and on here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from lab.packages import debian
from lab.processes.program import LISTENING, ChildProcess
from lab.servers import PrivateServer

SUITE, PACKAGE, PROGRAM = "sid", "prometheus-mysqld-exporter", "usr/bin/prometheus-mysqld-exporter"
FLAGS = ("--collect.engine_innodb_status", "--collect.info_schema.innodb_metrics")
ALL_FLAGS = (
    "--collect.info_schema.tables",
    "--collect.perf_schema.indexiowaits",
    "--collect.perf_schema.eventsstatements",
    "--collect.perf_schema.file_instances",
    "--collect.perf_schema.file_events",
)
"""What else the fleet's rules can use."""
GRANTS = ("PROCESS ON *.*", "REPLICATION CLIENT ON *.*", "SELECT ON *.*")
"""The privileges that its README asks for."""


def command() -> list[str]:
    """The command line, to be followed by its flags."""
    return debian.program(SUITE, PACKAGE, PROGRAM)


@contextlib.contextmanager
def running(server: PrivateServer, folder: Path, user: str, *more: str) -> Iterator[ChildProcess]:
    """Start it on a free port of the loopback address, and stop it at the end.

    Args:
        server: The server that it watches over TCP.
        folder: For its option file and its log.
        user: Its account, without a password.
        more: Further flags.
    """
    options = folder / "mysqld_exporter.cnf"
    options.write_text(f"[client]\nuser={user}\nhost={server.host}\nport={server.port}\n", encoding="utf-8")
    where = (f"--config.my-cnf={options}", "--web.listen-address=127.0.0.1:0")
    log = folder / "mysqld_exporter.log"
    with ChildProcess("mysqld_exporter", [*command(), *where, *FLAGS, *more], log=log, listening=LISTENING) as process:
        yield process
