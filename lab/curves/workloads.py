"""The workloads of the miss curves: a load, with or without scans beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from lab.curves import clients
from lab.curves.clients import SCANNED, SYSBENCH_TABLES, Client
from lab.curves.loads import LOADS, PAGES, Load
from lab.programs import sysbench
from lab.servers import Server
from lab.servers.sql import execute
from lab.workloads import SCHEMA, make_table

_SCANNED_PAGES = 3_072


@dataclass(frozen=True)
class Workload:
    """A load whose reads are measured in pools of several sizes.

    Attributes:
        name: In kebab case.
        about: For the reader.
        unit: What the client counts.
        prepare: Makes the tables.
        client: Puts the load on the server while the context lasts.
        load_pool: Reads all pages once, so that a pool that holds them all is full at once.
        scans: Whether scans run beside it.
        slower: How many times as long it takes to come to rest.
        pages: Of all its tables, those that are scanned too.
    """

    name: str
    about: str
    unit: str
    prepare: Callable[[Server], None]
    client: Callable[[Server], AbstractContextManager[Client]]
    load_pool: Callable[[Server], None]
    scans: bool = False
    slower: float = 1.0
    pages: int = PAGES


def _with_lookups(load: Load, *, scans: bool) -> Workload:
    return Workload(
        name=f"{load.name}-scans" if scans else load.name,
        about=f"{load.about}, beside a scan of another table every four seconds" if scans else load.about,
        unit="lookup",
        prepare=partial(_make_tables, load=load),
        client=partial(clients.lookups, load=load, scans=scans),
        load_pool=partial(_read_all, columns=[(f"{SCHEMA}.{table}", "filler") for table in load.tables]),
        scans=scans,
        pages=PAGES + _SCANNED_PAGES if scans else PAGES,
    )


def _make_tables(server: Server, load: Load) -> None:
    with server.connect() as connection:
        for table, pages in load.tables.items():
            make_table(connection, table, pages)
        make_table(connection, SCANNED, _SCANNED_PAGES)


def _read_all(server: Server, columns: Iterable[tuple[str, str]]) -> None:
    """Scan the tables, each by a column that only the clustered index has."""
    execute(server, *(f"SELECT SUM(LENGTH({column})) FROM {table}" for table, column in columns))


def _prepare_sysbench(server: Server) -> None:
    sysbench.prepare(server, "oltp_read_only", threads=2, **clients.SYSBENCH)
    execute(server, *(f"ANALYZE TABLE {table}" for table in SYSBENCH_TABLES))


WORKLOADS = (
    *(_with_lookups(load, scans=False) for load in LOADS),
    *(_with_lookups(load, scans=True) for load in LOADS),
    Workload(
        name="sysbench",
        about="sysbench's oltp_read_only on four tables, with its default distribution (`special`)",
        unit="transaction",
        prepare=_prepare_sysbench,
        client=clients.transactions,
        load_pool=partial(_read_all, columns=[(table, "pad") for table in SYSBENCH_TABLES]),
        slower=6.0,
    ),
)
