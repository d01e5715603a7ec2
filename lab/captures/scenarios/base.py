"""A scenario: a workload that causes one phenomenon, and the check that the phenomenon shows; helpers of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import pymysql

from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.pools import POOLS, BufferPool
from exporter.midpoint import old_target
from exporter.snapshot import Index, Snapshot, Table
from lab.captures import Capture
from lab.harness.records import NotShown
from lab.harness.workloads import emptied
from lab.servers import NAMES, OWN, PrivateServer, stand_in

MARIADB = tuple(name for name in NAMES if name.startswith("mariadb"))
MYSQL = tuple(name for name in NAMES if name.startswith("mysql"))

LITTLE = {"innodb-buffer-pool-size": "24M"}  # 1,536 pages
DEFAULT_POOL = {"innodb-buffer-pool-size": "128M"}
OBSERVABLE = DEFAULT_POOL | {"performance-schema": "ON"}  # off by default on MariaDB
MOST = 0.8
"""The least share of a table's pages that a pass reads if the pool does not keep the table."""
HARDLY = 0.02
"""The most that it reads if the pool keeps the table: other work reads a few pages."""

Step = Callable[[], None]
"""The work between two collections. It may return at once if the load runs in the background."""
Work = Callable[[PrivateServer], AbstractContextManager[Step]]
"""Prepares a server and yields the step between two collections. Its docstring describes the workload in the note."""
Snapshots = Sequence[Snapshot]
Numbers = dict[str, object]
Check = Callable[[Snapshots], Numbers]
"""Returns the key numbers of a capture. Raises `NotShown`."""


@dataclass(frozen=True)
class CaptureScenario:
    """How one capture is recorded, and what it shows.

    Attributes:
        options: The server's options, which win over the lab's own.
        work: The workload.
        check: Its check.
        collections: The number of collections.
        period: Seconds between two collections.
        user: The sidecar's account.
    """

    options: Mapping[str, str]
    work: Work
    check: Check
    collections: int = 7
    period: float = 1.0
    user: str = "root"


CATALOG: dict[Capture, CaptureScenario] = {}
"""By capture; `lab.captures.scenarios` has all of them."""
AnyWork = TypeVar("AnyWork", bound=Work)


def scenario(
    name: str, options: Mapping[str, Mapping[str, str]], check: Check, **more: Any
) -> Callable[[AnyWork], AnyWork]:
    """Put a workload into the catalog.

    Args:
        name: Its folder's name.
        options: The options of each captured server. `lab.servers.OWN` says which others take them, too.
        check: The check of its captures.
        more: Further attributes of `CaptureScenario`.
    """

    def register(work: AnyWork) -> AnyWork:
        for server, of_server in options.items():
            captured = CATALOG[Capture(server, name)] = CaptureScenario(of_server, work, check, **more)
            for own in OWN:
                if stand_in(own) == server:
                    CATALOG.setdefault(Capture(own, name), captured)
        return work

    return register


def nothing() -> None:
    """A step without work."""


@contextmanager
def cold(server: PrivateServer, tables: Mapping[str, int]) -> Iterator[pymysql.Connection[Any]]:
    """Create tables, of so many pages per 128 MiB of the pool, and empty the pool; yields a connection."""
    times = int(server.options["innodb-buffer-pool-size"].removesuffix("M")) // 128
    with emptied(server, {table: pages * times for table, pages in tables.items()}) as connection:
        yield connection


def require(condition: bool, what: str) -> None:  # noqa: FBT001 - as in assert
    """Reject the capture unless the condition holds."""
    if not condition:
        raise NotShown(what)


def in_pools(snapshot: Snapshot, value: Callable[[BufferPool], int]) -> int:
    """A number of the buffer pool, summed over its instances."""
    return sum(value(pool) for pool in snapshot[POOLS] or ())


def growths(snapshots: Snapshots, total: Callable[[Snapshot], int]) -> list[int]:
    """How much a total grew between each snapshot and the next."""
    return [after - before for before, after in pairwise(map(total, snapshots))]


def pages_read(snapshots: Snapshots) -> list[int]:
    """Pages that the pool read between each snapshot and the next."""
    return growths(snapshots, lambda snapshot: in_pools(snapshot, lambda pool: pool.pages_read))


def table_pages(snapshots: Snapshots, table: Table) -> int:
    """Leaf pages of the clustered index as statistics say.

    Raises:
        NotShown: There are none.
    """
    return leaf_pages(snapshots, Index(table.schema, table.table, "PRIMARY"))


def leaf_pages(snapshots: Snapshots, index: Index) -> int:
    """Leaf pages of an index as statistics say.

    Raises:
        NotShown: There are none.
    """
    sizes = snapshots[-1][INDEX_SIZES]
    if sizes is None or index not in sizes.sizes:
        raise NotShown(f"no statistics of {index.table}.{index.index}")
    return sizes.sizes[index].leaf_pages


def old_target_pages(snapshot: Snapshot) -> int:
    """Length that the settings steer the old sublists to."""
    pct = int(snapshot.setting("innodb_old_blocks_pct") or 37)
    return in_pools(snapshot, lambda pool: old_target(pool.database_pages, pct))


def counter_growth(snapshots: Snapshots, counter: str) -> int:
    """How much a counter of INNODB_METRICS grew over the capture."""
    counters = [(snapshots[end][INNODB_METRICS] or {}).get(counter) for end in (0, -1)]
    if counters[0] is None or counters[1] is None:
        raise NotShown(f"no {counter}")
    return counters[1] - counters[0]
