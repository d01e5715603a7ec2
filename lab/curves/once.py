"""A job that goes once through a large table: all its reads are first reads, which no pool saves."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from advisor.observe.limits import LEAST_SECONDS
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from exporter.recording.file import Recorder, replay
from lab.curves.distributions import PAGES
from lab.curves.predict import advised, larger_pool
from lab.harness.records import Data
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, make_table
from lab.servers import PrivateServer

NAME = "everything-once"
_MEBIBYTES = 20
"""Size of the pool, a tenth of the table."""
_SECONDS = 10
"""That the job takes: a collection after each."""
_BATCHES = 30
"""Statements a second."""
_LONGEST = 3600.0
TIMES = 4.0


def measure(path: Path, server: PrivateServer, say: Callable[[str], None]) -> Data:
    """Go once through a table, in batches by primary key, and record it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with server.connect() as connection:
        make_table(connection, "archive", PAGES)
    server.restart({"innodb-buffer-pool-size": f"{_MEBIBYTES}M"})
    say("the job runs")
    with closing(Recorder(path)) as recorder, SidecarSampler(server, interval=0.5, keep=recorder) as sampler:
        sampler.collect()
        for second in range(_SECONDS):
            _read_part(server, second)
            sampler.collect()
    return {"rows": PAGES * ROWS_PER_PAGE, "mebibytes": _MEBIBYTES}


def _read_part(server: PrivateServer, second: int) -> None:
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
    """The advice while the job runs, and the curve at its end.

    The rule judges after each collection, since a job may be seen at any time.

    Returns:
        ``grown``: how often a larger pool was advised; ``judged`` and ``blind``: how often the rule could judge and
        could not; ``read``: pages read a second; ``least``: the least share of these that is predicted for a pool of
        four times the size, or ``unanswerable``: why there is none.
    """
    history = tuple(replay(path))
    windows = [history[:number] for number in range(2, len(history) + 1)]
    advice = [advised(window, _LONGEST) for window in windows if window[-1].at - window[0].at >= LEAST_SECONDS]
    blind = sum(bool(each.blind or each.failed) for each in advice)
    grown = sum(larger_pool(each) is not None for each in advice if not (each.blind or each.failed))
    job = {"judged": len(advice) - blind, "grown": grown, "blind": blind}
    try:
        at_end = curve(history, _LONGEST)
    except Unanswerable as error:
        return job | {"unanswerable": str(error)}
    read = at_end.pages_read_per_second
    [least] = [size.pages_read_per_second.low for size in at_end.sizes if size.times == TIMES]
    return job | {"read": round(read, 1), "least": round(least / read, 3)}
