"""What the server did in a round, by its own counters."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.servers import Server

_FILES = (
    "SELECT FILE_NAME, COUNT_READ FROM performance_schema.file_summary_by_instance"
    " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'"
)
_READ = "SELECT SUM(NUMBER_PAGES_READ) FROM information_schema.INNODB_BUFFER_POOL_STATS"
_WRITTEN = "SHOW GLOBAL STATUS LIKE 'Innodb_pages_written'"
_MERGES = "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'ibuf_merges'"
_OWN = re.compile(r"/(mysql|sys|performance_schema)/|/#innodb|\.ibu$|ibdata|ibtmp|undo|/mysql\.ibd$")
_TABLE = re.compile(r"([^/]+/[^/]+)\.ibd$")


@dataclass(frozen=True)
class Counters:
    """Counters since the server's start, or their growth over a round.

    Attributes:
        read: Pages read by the buffer pool.
        written: Pages written by it.
        merges: Change buffer merges.
        busy: Seconds that the clients worked.
        tables: Pages read from each table's file, by ``schema/table``.
    """

    read: float = 0.0
    written: float = 0.0
    merges: float = 0.0
    busy: float = 0.0
    tables: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, server: Server) -> Counters:
        """The server's counters now."""
        with server.connect() as connection, connection.cursor() as cursor:

            def number(sql: str, column: int = 0) -> float:
                cursor.execute(sql)
                row = cursor.fetchone()
                return 0.0 if row is None else float(row[column])

            cursor.execute(_FILES)
            files = [(str(name), float(reads)) for name, reads in cursor.fetchall()]
            tables = {
                found[1]: reads
                for name, reads in files
                if not _OWN.search(name) and (found := _TABLE.search(name)) is not None
            }
            return cls(number(_READ), number(_WRITTEN, 1), number(_MERGES), tables=tables)

    def since(self, before: Counters) -> Counters:
        """The growth; a new table began at 0."""
        return Counters(
            self.read - before.read,
            self.written - before.written,
            self.merges - before.merges,
            self.busy - before.busy,
            {name: reads - before.tables.get(name, 0.0) for name, reads in self.tables.items()},
        )

    @classmethod
    def averaged(cls, rounds: Sequence[Counters]) -> Counters:
        """The growth a round, of several rounds."""
        names = {name for each in rounds for name in each.tables}
        return cls(
            mean([each.read for each in rounds]),
            mean([each.written for each in rounds]),
            mean([each.merges for each in rounds]),
            mean([each.busy for each in rounds]),
            {name: mean([each.tables.get(name, 0.0) for each in rounds]) for name in names},
        )


def mean(values: Sequence[float]) -> float:
    """The mean of a quantity over rounds."""
    return statistics.fmean(values)


def noise(before: Sequence[float], after: Sequence[float] = ()) -> float:
    """Two standard errors of the difference between the means, or of the one mean."""
    variance = sum(statistics.variance(each) / len(each) for each in (before, after) if len(each) > 1)
    return float(2.0 * variance**0.5)
