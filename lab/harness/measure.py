"""What a piece of work costs: seconds, and the growth of counters of the server and the kernel.

A measurement is a dictionary of figures by name, so that records keep it as it is.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from lab.harness.records import NotShown
from lab.processes.usage import cpu_seconds
from lab.servers import PrivateServer
from lab.servers.sql import global_status, query_number

Figures = dict[str, float]
Work = Callable[[], object]
"""What it returns is ignored."""
Counters = dict[str, Callable[[PrivateServer], float]]
"""By the figure's name, what reads a counter."""


def pool_statistic(server: PrivateServer, column: str) -> float:
    """A column of INNODB_BUFFER_POOL_STATS, summed over all instances of the buffer pool."""
    return query_number(server, f"SELECT SUM({column}) FROM information_schema.INNODB_BUFFER_POOL_STATS")


def pages_read(server: PrivateServer) -> int:
    """Pages read by all instances of the buffer pool since the server's start."""
    return int(pool_statistic(server, "NUMBER_PAGES_READ"))


def leaf_pages(server: PrivateServer, schema: str, table: str) -> int:
    """Leaf pages of a table's clustered index, from InnoDB's persistent statistics."""
    return int(
        query_number(
            server,
            f"SELECT stat_value FROM mysql.innodb_index_stats WHERE database_name = '{schema}'"
            f" AND table_name = '{table}' AND index_name = 'PRIMARY' AND stat_name = 'n_leaf_pages'",
        )
    )


def innodb_metric(server: PrivateServer, name: str) -> int:
    """A counter of INNODB_METRICS, 0 where the server has none. Its lower half: MariaDB's upper half is garbage."""
    lower = "COALESCE(SUM(COUNT & 4294967295), 0)"
    return int(query_number(server, f"SELECT {lower} FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'"))


PAGES: Counters = {"pages": pages_read}
WRITTEN: Counters = {"written": partial(pool_statistic, column="NUMBER_PAGES_WRITTEN")}
YOUNG: Counters = {"young": partial(pool_statistic, column="PAGES_MADE_YOUNG")}
CPU: Counters = {"cpu": lambda server: cpu_seconds(server.pid)}
CLOCK: Counters = {"clock": lambda _: time.monotonic()}
"""To divide by: `per` then gives rates a second."""


def counting(**statuses: str) -> Counters:
    """Counters of SHOW GLOBAL STATUS, by the figure's name."""
    return {figure: partial(global_status, name=name) for figure, name in statuses.items()}


class WorkMeter:
    """Counters and a stopwatch around the runs of some work; a call is a run.

    Args:
        server: Its counters are read at once, and again for each `figures`.
        work: The work.
        counters: What is counted.
        pause: Seconds after each run, which do not count as its duration.
    """

    def __init__(self, server: PrivateServer, work: Work, counters: Counters = PAGES, pause: float = 0.0) -> None:
        self._server, self._work, self._counters, self._pause = server, work, counters, pause
        self._took: list[float] = []
        self._before = self._read()

    def __call__(self) -> None:
        """Run the work once."""
        began = time.perf_counter()
        self._work()
        self._took.append(time.perf_counter() - began)
        time.sleep(self._pause)

    def figures(self, pieces: float = 1.0) -> Figures:
        """The figures of a run, or of one of so many pieces of work in it.

        Returns:
            ``seconds`` is the median and ``least_seconds`` the least of the runs, the counters' growth is the mean.
        """
        after, runs = self._read(), len(self._took) * pieces
        return {
            "seconds": statistics.median(self._took) / pieces,
            "least_seconds": min(self._took) / pieces,
            **{name: (after[name] - before) / runs for name, before in self._before.items()},
        }

    def _read(self) -> Figures:
        return {name: read(self._server) for name, read in self._counters.items()}


def measure(
    server: PrivateServer,
    work: Work,
    times: int = 1,
    *,
    counters: Counters = PAGES,
    pause: float = 0.0,
    pieces: float = 1.0,
) -> Figures:
    """Run the work several times; `WorkMeter.figures` of it."""
    meter = WorkMeter(server, work, counters, pause)
    for _ in range(times):
        meter()
    return meter.figures(pieces)


def repeat(work: Work, times: int, pause: float = 0.0) -> None:
    """Run the work several times, with ``pause`` seconds after each, for its effect on the pool."""
    for _ in range(times):
        work()
        time.sleep(pause)


def wait_until(holds: Callable[[], bool], seconds: float, otherwise: str) -> None:
    """Wait until something holds.

    Raises:
        NotShown: It takes longer.
    """
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise NotShown(f"{otherwise} after {seconds:.0f} s")
        time.sleep(0.05)


def together(*works: Work) -> Work:
    """Several pieces of work as one, in this order."""

    def all_of_them() -> None:
        for work in works:
            work()

    return all_of_them


def in_turn(rounds: int, *measurements: Callable[[], Figures]) -> list[Figures]:
    """Measure in turn, so that a disturbance of the machine affects all; the `medians` of each measurement."""
    turns = [[measurement() for measurement in measurements] for _ in range(rounds)]
    return [medians(figures) for figures in zip(*turns, strict=True)]


def medians(rounds: Sequence[Figures]) -> Figures:
    """The median of each figure, and its least as ``least_`` and its name."""
    names = [name for name in rounds[0] if not name.startswith("least_")]
    return {name: statistics.median(figures[name] for figures in rounds) for name in names} | {
        f"least_{name}": min(figures.get(f"least_{name}", figures[name]) for figures in rounds) for name in names
    }


def per(figures: Figures, name: str) -> Figures:
    """The figures divided by one of them, such as what was done meanwhile.

    Raises:
        NotShown: It is zero.
    """
    if not figures[name]:
        raise NotShown(f"no {name} were counted meanwhile: {figures}")
    return {other: value / figures[name] for other, value in figures.items()}


@contextmanager
def machine_load() -> Iterator[Callable[[], float]]:
    """Yields what says which share of the machine's CPU time was used, once the context has ended."""
    before = _machine_ticks()
    after = before
    yield lambda: (after[0] - before[0]) / (sum(after) - sum(before))
    after = _machine_ticks()


def _machine_ticks() -> tuple[float, float]:
    """Ticks of all cores since the boot: busy and idle."""
    _, *fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()
    idle = float(fields[3]) + float(fields[4])
    return sum(map(float, fields[:8])) - idle, idle
