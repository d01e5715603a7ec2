"""What a piece of work costs a server: pages read, and seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from lab.servers import Server
from lab.servers.sql import query_number


def pool_statistic(server: Server, column: str) -> float:
    """A column of INNODB_BUFFER_POOL_STATS, summed over all instances of the buffer pool."""
    return query_number(server, f"SELECT SUM({column}) FROM information_schema.INNODB_BUFFER_POOL_STATS")


def pages_read(server: Server) -> int:
    """Pages read by all instances of the buffer pool since the server's start."""
    return int(pool_statistic(server, "NUMBER_PAGES_READ"))


def leaf_pages(server: Server, schema: str, table: str) -> int:
    """Leaf pages of a table's clustered index, from InnoDB's persistent statistics."""
    return int(
        query_number(
            server,
            f"SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = '{schema}'"
            f" AND table_name = '{table}' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'",
        )
    )


def reads(server: Server, work: Callable[[], None], times: int = 1) -> float:
    """Pages that one run of the work reads, on average."""
    before = pages_read(server)
    for _ in range(times):
        work()
    return (pages_read(server) - before) / times


def seconds(work: Callable[[], None], times: int = 3) -> float:
    """The duration of the work: the median of its runs."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)
