"""A workload: tables, clients that work in rounds, and what the advice on it must be."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pymysql

from lab.servers import PrivateServer, stand_in

ClientWork = Callable[["pymysql.Connection[Any]", random.Random, int], object]
"""A client's share of a round: its connection, its own random numbers, and the round's number, from 0."""

SERVERS = ("mysql-9.7", "mariadb-11.8")

# A pool of 2,048 pages that can grow in small steps. innodb_lru_scan_depth is scaled down with it: at its default the
# page cleaner would keep half of the pool free. O_DIRECT, or else pages come out of the system's cache.
POOL = {
    "innodb-buffer-pool-size": "32M",
    "loose-innodb-buffer-pool-chunk-size": "4M",
    "innodb-lru-scan-depth": "100",
    "innodb-flush-method": "O_DIRECT",
    "performance-schema": "ON",
}


@dataclass(frozen=True)
class GauntletWorkload:
    """A load in rounds. In each round every client does the same amount of work, all at the same time.

    The mix of the clients is therefore the same before and after advice, however fast the machine is.

    Attributes:
        name: In kebab case.
        about: The load in words, for the reader.
        expectation: What the advice must be, in one sentence: which rule should fire, or must not, and why.
        clients: Each client's share of a round, by the client's name.
        programs: The same for clients that are programs, such as sysbench.
        tables: Pages of the tables that `make_table` creates.
        prepare: Creates further tables.
        options: Server options beside `POOL`, by server name; ``""`` names those for every server.
        servers: Where it runs.
        period: Least seconds from a round to the next; longer than innodb_old_blocks_time.
        cycle: Rounds until the load repeats itself; figures are means of whole cycles.
        warm_up: Rounds before it is watched.
        watched: Rounds under watch.
        filled: Whether another table fills the pool before the load, as on a server that has run for a while.
        each_time: Whether the advice is asked for after each round from the third on, and must not come and go.
        reported: Whether it comes from a report of wrong advice. The others are tuned to by nobody.
        short: The server of the short form, which CI runs; empty if it does not belong to it.
        one_of: Rules of which at least one must fire on a server that they apply to.
        never: Rules that must not fire.
        quiet: Whether no setting may be changed.
    """

    name: str
    about: str
    expectation: str
    clients: Mapping[str, ClientWork] = field(default_factory=dict)
    programs: Mapping[str, Callable[[PrivateServer], ClientWork]] = field(default_factory=dict)
    tables: Mapping[str, int] = field(default_factory=dict)
    prepare: Callable[[PrivateServer], None] | None = None
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    servers: tuple[str, ...] = SERVERS
    period: float = 1.15
    cycle: int = 1
    warm_up: int = 2
    watched: int = 6
    filled: bool = True
    each_time: bool = False
    reported: bool = False
    short: str = ""
    one_of: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    quiet: bool = False

    def options_on(self, server: str) -> dict[str, str]:
        """The options of a server; one that no registry has takes those of its stand-in."""
        return {**POOL, **self.options.get("", {}), **self.options.get(stand_in(server), {})}

    def pool_pages(self, server: str) -> int:
        """Pages of the pool on a server."""
        return int(self.options_on(server)["innodb-buffer-pool-size"].removesuffix("M")) * 64
