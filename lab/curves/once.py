"""A job that goes once through a large table: all its reads are first reads, which no pool saves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from advisor.observe.limits import LEAST_SECONDS
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from exporter.connection.target import from_dsn
from exporter.recording.file import Recorder, replay
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot
from lab.curves.distributions import PAGES
from lab.curves.predict import SETTING, advised
from lab.harness.records import Data
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, make_table
from lab.servers import Server

NAME = "everything-once"
_MEBIBYTES = 20
"""Size of the pool, a tenth of the table."""
_SECONDS = 10
"""That the job takes: a collection after each."""
_BATCHES = 30
"""Statements a second."""
_LONGEST = 3600.0
TIMES = 4.0


def measure(path: Path, server: Server, say: Callable[[str], None]) -> Data:
    """Go once through a table, in batches by primary key, and record it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with server.connect() as connection:
        make_table(connection, "archive", PAGES)
    server.restart({"innodb-buffer-pool-size": f"{_MEBIBYTES}M"})
    say("the job runs")
    asyncio.run(_watch(server, path))
    return {"rows": PAGES * ROWS_PER_PAGE, "mebibytes": _MEBIBYTES}


async def _watch(server: Server, path: Path) -> None:
    with closing(Recorder(path)) as recorder:
        sampler = Sampler(from_dsn(server.dsn), interval=0.5, keep=recorder)
        try:
            await sampler.collect()
            for second in range(_SECONDS):
                await asyncio.to_thread(_read_part, server, second)
                await sampler.collect()
        finally:
            await sampler.close()


def _read_part(server: Server, second: int) -> None:
    """A second's share of the rows."""
    rows = PAGES * ROWS_PER_PAGE // (_SECONDS * _BATCHES) + 1
    began = time.monotonic()
    with server.connect() as connection, connection.cursor() as cursor:
        for number in range(_BATCHES):
            last = (second * _BATCHES + number) * rows
            cursor.execute(f"SELECT id, filler FROM {SCHEMA}.archive WHERE id > {last} ORDER BY id LIMIT {rows}")
            cursor.fetchall()
            time.sleep(max(0.0, began + (number + 1) / _BATCHES - time.monotonic()))


def judge(path: Path) -> Data:
    """What is advised while the job runs, and what the curve says at its end.

    The rule judges after each collection, since a job may be seen at any time.

    Returns:
        ``grown``: how often a larger pool was advised; ``judged`` and ``blind``: how often the rule could judge and
        could not; ``read``: pages read a second; ``curve``: the least share of these that is predicted for a pool of
        four times the size, or ``unanswerable``: why there is none.
    """
    history = tuple(replay(path))
    advice = [_advised(history[:number]) for number in range(2, len(history) + 1) if _long_enough(history[:number])]
    found = {"judged": advice.count(0) + advice.count(1), "grown": advice.count(1), "blind": advice.count(None)}
    try:
        said = curve(history, _LONGEST)
    except Unanswerable as error:
        return found | {"unanswerable": str(error)}
    size = said.at_times(TIMES)
    assert size is not None  # noqa: S101 - it is among TIMES
    return found | {"read": round(said.reads, 1), "least": round(size.reads.low / said.reads, 3)}


def _long_enough(history: Sequence[Snapshot]) -> bool:
    return history[-1].at - history[0].at >= LEAST_SECONDS


def _advised(history: Sequence[Snapshot]) -> int | None:
    """Recommendations to enlarge the pool; None if the rule could not judge."""
    advice = advised(history, _LONGEST)
    if advice.blind or advice.failed:
        return None
    return int(any(change.setting == SETTING for each in advice.recommendations for change in each.changes))
