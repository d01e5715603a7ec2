"""PingCAP's go-ycsb, built once with Go: the Yahoo! Cloud Serving Benchmark on a server."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager

from lab.packages import go
from lab.processes.program import beside, finish
from lab.servers import PrivateServer
from lab.servers.sql import execute

VERSION = "v1.0.3"
SCHEMA = "ycsb"
LOAD_SECONDS = 900.0
_NONE = dict.fromkeys(("read", "update", "insert", "scan", "readmodifywrite"), 0.0)
_MODULE = "github.com/pingcap/go-ycsb"


MIXES = {
    "A": {"read": 0.5, "update": 0.5},
    "B": {"read": 0.95, "update": 0.05},
    "C": {"read": 1.0},
    "D": {"read": 0.95, "insert": 0.05},
    "E": {"scan": 0.95, "insert": 0.05},
    "F": {"read": 0.5, "readmodifywrite": 0.5},
}
"""Shares of the operations, as the benchmark's workloads A to F have them."""


def load(server: PrivateServer, records: int) -> None:
    """Make the table, with rows of a kilobyte."""
    execute(server, f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    command = _command(server, "load", {"recordcount": records, "batch.size": 100})
    finish("go-ycsb load", command, LOAD_SECONDS)


def running(
    server: PrivateServer, mix: str, distribution: str, *, records: int, rate: int, seconds: int
) -> AbstractContextManager[None]:
    """Run operations while the context lasts; it must end within ``seconds``.

    Args:
        server: Has the table.
        mix: One of `MIXES`.
        distribution: `uniform`, `zipfian` or `latest`.
        records: As loaded.
        rate: Operations a second at most.
        seconds: After which it ends in any case.
    """
    properties = {
        "recordcount": records,
        "operationcount": rate * seconds,
        "target": rate,
        "requestdistribution": distribution,
        "maxscanlength": 100,
        **{f"{name}proportion": share for name, share in (_NONE | MIXES[mix]).items()},
    }
    return beside("go-ycsb run", _command(server, "run", properties))


def _command(server: PrivateServer, action: str, properties: Mapping[str, object]) -> list[str]:
    folder = go.built("go-ycsb", go.files(_MODULE, VERSION, "") / "cmd" / "go-ycsb")
    every = {
        "mysql.host": server.host,
        "mysql.port": server.port,
        "mysql.db": SCHEMA,
        "workload": "core",
        "threadcount": 2,
        "debug.pprof": f"{server.host}:0",  # its profiler would listen on all addresses
        **properties,
    }
    return [str(folder / "go-ycsb"), action, "mysql", *(f"--prop={name}={value}" for name, value in every.items())]
