"""The cost of a piece of work, before and after advice: pages read, and seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor.observe.window import Window
from lab.harness.measure import pages_read
from lab.harness.watch import snapshots
from lab.proofs.record import Comparison
from lab.proofs.trial import LONGEST, Trial
from lab.servers import Server

Work = Callable[[], None]

PAUSE = 1.1
"""Seconds; longer than the default innodb_old_blocks_time, so that repeated work can make pages young."""

A_ROUND = "pages read a round"
"""The measured quantity for rules that predict pages a second."""


@dataclass(frozen=True)
class WorkCost:
    """The cost of one run of the work.

    Attributes:
        pages: Mean pages read by the server.
        seconds: The median.
        least_seconds: The least.
    """

    pages: float
    seconds: float
    least_seconds: float


def measure(server: Server, work: Work, times: int = 3, pause: float = PAUSE) -> WorkCost:
    """Run the work several times, with ``pause`` seconds in between; its cost."""
    timed = _Timed(work, pause)
    before = pages_read(server)
    for _ in range(times):
        timed()
    return timed.spent(pages_read(server) - before)


def measure_observed(server: Server, work: Work, times: int = 3, pause: float = PAUSE) -> tuple[Window, WorkCost]:
    """The same with a collection before the first run and after each; the window and the cost."""
    timed = _Timed(work, pause)
    before = pages_read(server)
    window = Window.of(snapshots(server, timed, times), longest=LONGEST)
    return window, timed.spent(pages_read(server) - before)


def followed(trial: Trial, work: Work, settle: Work, times: int, pause: float = PAUSE) -> WorkCost:
    """Follow the rule, measure the work with the rule silent, and take the change back; the cost of the work.

    Args:
        trial: A trial whose rule has fired.
        work: The measured work.
        settle: Work before the measurement, for its effect on the pool.
        times: Runs of the work.
        pause: Seconds between two runs.
    """
    trial.follow()
    settle()
    window, after = measure_observed(trial.server, work, times, pause)
    trial.silent(window)
    trial.take_back()
    return after


class _Timed:
    """Work followed by a pause, and the seconds of each run."""

    def __init__(self, work: Work, pause: float) -> None:
        self._work, self._pause = work, pause
        self.took: list[float] = []

    def __call__(self) -> None:
        began = time.perf_counter()
        self._work()
        self.took.append(time.perf_counter() - began)
        time.sleep(self._pause)

    def spent(self, pages: float) -> WorkCost:
        """The cost of a run, from the pages that all runs read."""
        return WorkCost(pages / len(self.took), statistics.median(self.took), min(self.took))


def rested(work: Work, pause: float = PAUSE) -> Work:
    """The work followed by a pause."""
    return _Timed(work, pause)


def repeat(work: Work, times: int, pause: float = PAUSE) -> None:
    """Run the work several times, for its effect on the pool."""
    for _ in range(times):
        work()
        time.sleep(pause)


def comparisons(what: str, before: WorkCost, after: WorkCost) -> tuple[Comparison, Comparison]:
    """Comparisons of the same work: pages read, and time."""
    return (
        Comparison(what=f"pages read by {what}", unit="pages", before=before.pages, after=after.pages),
        Comparison(
            what=f"time of {what}", unit="s", before=before.seconds, after=after.seconds, least=after.least_seconds
        ),
    )


def option_lines(options: Mapping[str, str]) -> tuple[str, ...]:
    """The options as lines of an option file."""
    return tuple(f"{name.replace('-', '_')} = {value}" for name, value in options.items())
