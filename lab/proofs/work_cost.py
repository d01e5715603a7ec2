"""What a piece of work costs a server, before and after advice: pages read, and seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor.observe.window import Window
from lab.measurement import pages_read
from lab.observation import snapshots
from lab.proofs.record import Comparison
from lab.proofs.trial import LONGEST, Trial
from lab.servers import Server

Work = Callable[[], None]

PAUSE = 1.1
"""Seconds; longer than innodb_old_blocks_time is by default, so that work done again after it may make pages young."""

A_ROUND = "pages read a round"
"""What is measured where a rule predicts pages a second."""


@dataclass(frozen=True)
class WorkCost:
    """By a piece of work each time it is done.

    Attributes:
        pages: That the server read, on average.
        seconds: The median.
        least_seconds: The least.
    """

    pages: float
    seconds: float
    least_seconds: float


def measure(server: Server, work: Work, times: int = 3, pause: float = PAUSE) -> WorkCost:
    """Do it so many times, ``pause`` seconds apart."""
    timed = _Timed(work, pause)
    before = pages_read(server)
    for _ in range(times):
        timed()
    return timed.spent(pages_read(server) - before)


def measure_observed(server: Server, work: Work, times: int = 3, pause: float = PAUSE) -> tuple[Window, WorkCost]:
    """The same, and what is collected before and after each time."""
    timed = _Timed(work, pause)
    before = pages_read(server)
    window = Window.of(snapshots(server, timed, times), longest=LONGEST)
    return window, timed.spent(pages_read(server) - before)


def followed(trial: Trial, work: Work, settle: Work, times: int, pause: float = PAUSE) -> WorkCost:
    """Follow the rule, let that take effect, and take it back: what the work costs meanwhile, with the rule silent.

    Args:
        trial: Whose rule has fired.
        work: What is done so many times, ``pause`` seconds apart.
        settle: What is done before, for what it does to the pool.
        times: How often.
        pause: Seconds.
    """
    trial.follow()
    settle()
    window, after = measure_observed(trial.server, work, times, pause)
    trial.silent(window)
    trial.take_back()
    return after


class _Timed:
    """Work with a pause after it, and how many seconds it took each time."""

    def __init__(self, work: Work, pause: float) -> None:
        self._work, self._pause = work, pause
        self.took: list[float] = []

    def __call__(self) -> None:
        began = time.perf_counter()
        self._work()
        self.took.append(time.perf_counter() - began)
        time.sleep(self._pause)

    def spent(self, pages: float) -> WorkCost:
        """Each time, with so many pages that all of it read."""
        return WorkCost(pages / len(self.took), statistics.median(self.took), min(self.took))


def rested(work: Work, pause: float = PAUSE) -> Work:
    """The work with a pause after it."""
    return _Timed(work, pause)


def repeat(work: Work, times: int, pause: float = PAUSE) -> None:
    """Do it so many times for what it does to the pool."""
    for _ in range(times):
        work()
        time.sleep(pause)


def comparisons(what: str, before: WorkCost, after: WorkCost) -> tuple[Comparison, Comparison]:
    """Both sides of the same work."""
    return (
        Comparison(what=f"pages read by {what}", unit="pages", before=before.pages, after=after.pages),
        Comparison(
            what=f"time of {what}", unit="s", before=before.seconds, after=after.seconds, least=after.least_seconds
        ),
    )


def option_lines(options: Mapping[str, str]) -> tuple[str, ...]:
    """As they stand in an option file."""
    return tuple(f"{name.replace('-', '_')} = {value}" for name, value in options.items())
