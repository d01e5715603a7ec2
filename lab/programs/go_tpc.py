"""PingCAP's go-tpc, built once with Go: TPC-C and TPC-H on a server, without a pause between statements."""

from __future__ import annotations

from contextlib import AbstractContextManager

from lab.packages import go
from lab.processes.program import beside, finish
from lab.servers import PrivateServer

VERSION = "v1.0.7"
SCHEMA, REPORTS_SCHEMA = "tpcc", "tpch"
"""The schemas of TPC-C and of TPC-H."""
PREPARE_SECONDS = 1200.0
TRANSACT_SECONDS = 300.0
_PACKAGE = "github.com/pingcap/go-tpc/cmd/go-tpc"


def prepare(server: PrivateServer, warehouses: int) -> None:
    """Make the tables of TPC-C, some 75 MiB a warehouse."""
    command = _transactions(server, "prepare", warehouses, threads=2)
    finish("go-tpc prepare", [*command, "--no-check"], PREPARE_SECONDS)


def running(server: PrivateServer, warehouses: int, *, seconds: int, threads: int = 1) -> AbstractContextManager[None]:
    """Run transactions while the context lasts; it must end within ``seconds``."""
    command = _transactions(server, "run", warehouses, threads)
    # A deadlock ends a thread otherwise.
    return beside("go-tpc run", [*command, f"--time={seconds}s", "--ignore-error", "--silence"])


def transact(server: PrivateServer, warehouses: int, times: int) -> None:
    """Run so many transactions, one after another."""
    command = _transactions(server, "run", warehouses, threads=1)
    finish("go-tpc run", [*command, f"--count={times}", "--ignore-error", "--silence"], TRANSACT_SECONDS)


def prepare_reports(server: PrivateServer) -> None:
    """Make the tables of TPC-H at scale factor 1, the smallest: some 1.3 GiB."""
    finish("go-tpc prepare", [*_command(server, "tpch", "prepare", REPORTS_SCHEMA, 2), "--sf=1"], PREPARE_SECONDS)


def reporting(server: PrivateServer, queries: str, *, seconds: int) -> AbstractContextManager[None]:
    """Run queries of TPC-H, such as ``q1,q6``, one after another while the context lasts, at most ``seconds``."""
    command = _command(server, "tpch", "run", REPORTS_SCHEMA, 1)
    return beside("go-tpc run", [*command, "--sf=1", f"--queries={queries}", f"--time={seconds}s"])


def _transactions(server: PrivateServer, action: str, warehouses: int, threads: int) -> list[str]:
    return [*_command(server, "tpcc", action, SCHEMA, threads), f"--warehouses={warehouses}"]


def _command(server: PrivateServer, benchmark: str, action: str, schema: str, threads: int) -> list[str]:
    return [
        str(go.installed("go-tpc", VERSION, _PACKAGE) / "go-tpc"),
        benchmark,
        action,
        f"--host={server.host}",
        f"--port={server.port}",
        f"--db={schema}",
        f"--threads={threads}",
    ]
