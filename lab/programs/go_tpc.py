"""PingCAP's go-tpc, built once with Go: TPC-C on a server, with transactions as fast as they go."""

from __future__ import annotations

from contextlib import AbstractContextManager

from lab.packages import go
from lab.processes.program import beside, finish
from lab.servers import PrivateServer

VERSION = "v1.0.7"
SCHEMA = "tpcc"
PREPARE_SECONDS = 1200.0
_PACKAGE = "github.com/pingcap/go-tpc/cmd/go-tpc"


def prepare(server: PrivateServer, warehouses: int) -> None:
    """Make the tables, some 75 MiB a warehouse."""
    command = _command(server, "prepare", warehouses, threads=2)
    finish("go-tpc prepare", [*command, "--no-check"], PREPARE_SECONDS)


def running(server: PrivateServer, warehouses: int, *, seconds: int, threads: int = 1) -> AbstractContextManager[None]:
    """Run transactions while the context lasts; it must end within ``seconds``."""
    command = _command(server, "run", warehouses, threads)
    # A deadlock ends a thread otherwise.
    return beside("go-tpc run", [*command, f"--time={seconds}s", "--ignore-error", "--silence"])


def _command(server: PrivateServer, action: str, warehouses: int, threads: int) -> list[str]:
    return [
        str(go.installed("go-tpc", VERSION, _PACKAGE) / "go-tpc"),
        "tpcc",
        action,
        f"--host={server.host}",
        f"--port={server.port}",
        f"--db={SCHEMA}",
        f"--warehouses={warehouses}",
        f"--threads={threads}",
    ]
