"""The work of E4: builds of an index on c char(120) of sysbench's table, by buffer and number of threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from lab.harness.measure import leaf_pages, pages_read
from lab.harness.records import Data, Part
from lab.programs import sysbench
from lab.servers import Server
from lab.servers.sql import execute, query_number

Say = Callable[[str], None]
Variables = Mapping[str, int]

PARALLEL, SERIAL = "mysql-9.7", "mysql-5.6"
PUBLISHED_ROWS, ROWS = 7_000_000, 700_000
ROUNDS = 3
TABLE = f"{sysbench.SCHEMA}.sbtest1"
OPTIONS = {"innodb-buffer-pool-size": "512M", "innodb-doublewrite": "OFF"}  # it holds the table and the index


@dataclass(frozen=True)
class BuildSetting:
    """The settings of a build.

    Attributes:
        published_buffer: innodb_ddl_buffer_size of the published build, bytes.
        ddl_threads: innodb_ddl_threads.
        read_threads: innodb_parallel_read_threads.
    """

    published_buffer: int
    ddl_threads: int
    read_threads: int

    @property
    def buffer(self) -> int:
        """Bytes here: the same share per row."""
        return scaled(self.published_buffer)

    @property
    def variables(self) -> Variables:
        """The session's variables."""
        return {
            "innodb_ddl_buffer_size": self.buffer,
            "innodb_ddl_threads": self.ddl_threads,
            "innodb_parallel_read_threads": self.read_threads,
        }

    def __str__(self) -> str:
        return f"{self.published_buffer} B, {self.ddl_threads} and {self.read_threads} threads"


def scaled(published: int) -> int:
    """The bytes of a published buffer, scaled to the number of rows here."""
    return round(published * ROWS / PUBLISHED_ROWS)


PUBLISHED = {
    BuildSetting(1_048_576, 4, 4): 540.6838,
    BuildSetting(104_857_600, 8, 8): 248.3601,
    BuildSetting(1_048_576_000, 4, 4): 192.2435,
    BuildSetting(1_048_576_000, 8, 8): 189.1862,
    BuildSetting(1_048_576_000, 12, 4): 188.7854,
    BuildSetting(1_048_576_000, 4, 12): 185.9497,
    BuildSetting(1_048_576_000, 16, 8): 184.1161,
    BuildSetting(1_048_576_000, 16, 16): 187.4079,
    BuildSetting(2_097_152_000, 4, 4): 163.6280,
    BuildSetting(2_097_152_000, 8, 8): 164.6516,
    BuildSetting(2_097_152_000, 1, 1): 202.0,
}
"""Seconds: the InnoDB team's table in seed 003. For the last, its text says "about", and "one thread": read as both."""
SETTINGS = tuple(PUBLISHED)
SORT_BUFFER = 1_048_576
"""innodb_sort_buffer_size of releases before 8.0.27 and of the published build on 8.0.13: the default, bytes."""


def built(server: Server, variables: Variables) -> dict[str, float]:
    """Build the index with these session variables, and drop it.

    Returns:
        ``seconds``; ``written_bytes`` of temporary files; ``file_seconds`` of all threads in writing and reading them;
        ``pages_read``.
    """
    with server.connect() as connection, connection.cursor() as cursor:
        for name, value in variables.items():
            cursor.execute(f"SET SESSION {name} = {value}")
        before = _counters(server)
        began = time.perf_counter()
        cursor.execute(f"ALTER TABLE {TABLE} ADD INDEX by_c (c), ALGORITHM=INPLACE")
        took = time.perf_counter() - began
        after = _counters(server)
        cursor.execute(f"ALTER TABLE {TABLE} DROP INDEX by_c")
    return {"seconds": round(took, 3)} | {name: round(after[name] - before[name], 3) for name in after}


def _counters(server: Server) -> dict[str, float]:
    def temporary(what: str) -> float:
        return query_number(
            server,
            f"SELECT {what} FROM performance_schema.file_summary_by_event_name"
            " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'",
        )

    return {
        "written_bytes": temporary("SUM_NUMBER_OF_BYTES_WRITE"),
        "file_seconds": temporary("(SUM_TIMER_WRITE + SUM_TIMER_READ) / 1e12"),
        "pages_read": pages_read(server),
    }


def measure(server: Server, say: Say, settings: Mapping[str, Variables]) -> Data:
    """Build the index with each setting in turn, in rounds."""
    say("filling the table")
    sysbench.prepare(server, "oltp_read_only", table_size=ROWS, create_secondary=False)
    execute(server, f"ANALYZE TABLE {TABLE}")
    builds: dict[str, list[dict[str, float]]] = {name: [] for name in settings}
    for number in range(1, ROUNDS + 1):
        for name, variables in settings.items():
            say(f"round {number} of {ROUNDS}, {name}")
            builds[name].append(built(server, variables))
    return {
        "leaf_pages": leaf_pages(server, sysbench.SCHEMA, "sbtest1"),
        "entry_bytes": _entry_bytes(server),
        "builds": builds,
    }


def _entry_bytes(server: Server) -> float:
    """Mean bytes of an entry's columns: c and the primary key, an INT."""
    return 4.0 + query_number(server, f"SELECT AVG(LENGTH(c)) FROM {TABLE}")


def _parts(settings: Sequence[BuildSetting]) -> tuple[Part, ...]:
    return (
        Part(
            "experiments/E4",
            PARALLEL,
            PARALLEL,
            OPTIONS | {"innodb-redo-log-capacity": "1G"},
            partial(measure, settings={str(each): each.variables for each in settings}),
            takes=200.0,
        ),
        Part(
            "experiments/E4",
            SERIAL,
            SERIAL,
            OPTIONS | {"innodb-log-file-size": "512M", "innodb-sort-buffer-size": str(scaled(SORT_BUFFER))},
            partial(measure, settings={SERIAL: {}}),
            takes=60.0,
        ),
    )


PARTS = _parts(SETTINGS)
