"""Loads on servers that are upgraded: workloads of the gauntlet's kind, with the settings of the server's version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lab.captures.scenarios.index_builds import make_notes, rebuild
from lab.gauntlet import clients
from lab.gauntlet.workload import ClientWork, GauntletWorkload
from lab.harness.workloads import make_indexed_table, make_table
from lab.programs import go_tpc
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_column

SCANNED, COUNTED, HOT, WRITTEN = "orders", "visits", "items", "ledger"
SCANNED_PAGES, COUNTED_PAGES, HOT_PAGES, WARM_PAGES = 1_300, 5_000, 600, 2_800
ROWS, KEYS = 400_000, 3
NOTES_ROWS = 120_000
WAREHOUSES, TRANSACTIONS = 1, 150
_LOOKUPS = {"lookups": clients.look_up_skewed(HOT, HOT_PAGES, 500)}
_WATCHED = 8
_WARM = {"innodb-buffer-pool-dump-at-shutdown": "ON", "innodb-buffer-pool-load-at-startup": "ON"}
"""The defaults but of 5.6: the lab's own servers have them off."""


@dataclass(frozen=True)
class UpgradeWorkload:
    """A load that is put on the server before and after.

    Attributes:
        load: The rounds. Its expectation is empty: nothing is advised here.
        restarts: Whether the server is restarted under the load, with the pool's dump and load.
    """

    load: GauntletWorkload
    restarts: bool = False


def _counted(server: PrivateServer) -> None:
    """A table with a small secondary index, which is built once the rows are in."""
    with server.connect() as connection:
        make_table(connection, COUNTED, COUNTED_PAGES, indexes=1)


def _indexed(server: PrivateServer) -> None:
    with server.connect() as connection:
        make_indexed_table(connection, WRITTEN, ROWS, indexes=KEYS)


def _notes(server: PrivateServer) -> None:
    with server.connect() as connection:
        make_notes(connection, NOTES_ROWS)


def _warehouse(server: PrivateServer) -> None:
    go_tpc.prepare(server, WAREHOUSES)
    for table in query_column(server, f"SHOW TABLES FROM {go_tpc.SCHEMA}"):
        execute(server, f"ANALYZE TABLE {go_tpc.SCHEMA}.{table}")


def _transactions(server: PrivateServer) -> ClientWork:
    return lambda _, __, ___: go_tpc.transact(server, WAREHOUSES, TRANSACTIONS)


def _load(name: str, about: str, **attributes: Any) -> GauntletWorkload:
    return GauntletWorkload(name, about, "", **{"watched": _WATCHED} | attributes)


WORKLOADS = (
    UpgradeWorkload(
        _load(
            "counts",
            f"COUNT(*) of a table of {COUNTED_PAGES:,} pages that has a small secondary index, and of one of"
            f" {SCANNED_PAGES:,} that has none, beside 500 lookups on {HOT_PAGES} pages by Zipf's law.",
            clients={"counts": clients.together(clients.count(COUNTED), clients.count(SCANNED)), **_LOOKUPS},
            tables={SCANNED: SCANNED_PAGES, HOT: HOT_PAGES},
            prepare=_counted,
        )
    ),
    UpgradeWorkload(
        _load(
            "scans",
            f"A table of {SCANNED_PAGES:,} pages is scanned, beside 500 lookups on {HOT_PAGES} pages by Zipf's law.",
            clients={"scan": clients.scan(SCANNED), **_LOOKUPS},
            tables={SCANNED: SCANNED_PAGES, HOT: HOT_PAGES},
        )
    ),
    UpgradeWorkload(
        _load(
            "inserts",
            f"300 rows into a table of {ROWS:,} rows with three random indexes, beside 100 lookups by primary key.",
            clients={
                "inserts": clients.insert(WRITTEN, 300, keys=KEYS, size=24),
                "lookups": clients.look_up(WRITTEN, ROWS // 8, 100),
            },
            prepare=_indexed,
            options={"": {"innodb-buffer-pool-size": "24M"}},
            warm_up=8,
            watched=12,
        )
    ),
    UpgradeWorkload(
        _load(
            "index-build",
            f"An index on a text of 250 bytes is built on {NOTES_ROWS:,} rows, and dropped.",
            clients={"builds": clients.plain(rebuild)},
            prepare=_notes,
        )
    ),
    UpgradeWorkload(
        _load(
            "restart",
            f"1,500 lookups and 300 updates, spread evenly over {WARM_PAGES:,} pages that are in the young sublist;"
            " then a restart under them, with the dump and load of the pool as they are by default; on the route"
            " `mysql-defaults` of the whole pool.",
            clients={
                "lookups": clients.look_up(HOT, WARM_PAGES, 1_500),
                "updates": clients.update(HOT, WARM_PAGES, 300),
            },
            tables={HOT: WARM_PAGES},
            options={"": _WARM | {"innodb-buffer-pool-size": "72M"}, "mysql-5.6": dict.fromkeys(_WARM, "OFF")},
        ),
        restarts=True,
    ),
    UpgradeWorkload(
        _load(
            "tpcc",
            f"TPC-C by go-tpc with one warehouse, some 4,800 pages, after ANALYZE TABLE: {TRANSACTIONS} transactions of"
            " one client.",
            programs={"transactions": _transactions},
            prepare=_warehouse,
            warm_up=4,
        )
    ),
)
