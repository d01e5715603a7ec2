"""What a piece of work costs a server, before and after advice: pages read, and seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from advisor.recommendation import Recommendation
from advisor.window import Window
from lab.campaign import NotShown
from lab.proofs.record import Effect, Measure
from lab.proofs.trial import LONGEST
from lab.servers import Server
from lab.watching import pages_read, snapshots

Work = Callable[[], None]

PAUSE = 1.1
"""Seconds; longer than innodb_old_blocks_time is by default, so that work done again after it may make pages young."""


@dataclass(frozen=True)
class Spent:
    """By a piece of work each time it is done.

    Attributes:
        pages: That the server read, on average.
        seconds: The median.
    """

    pages: float
    seconds: float


def spend(server: Server, work: Work, times: int = 3, pause: float = PAUSE) -> Spent:
    """Do it so many times, ``pause`` seconds apart."""
    timed = _Timed(work, pause)
    before = pages_read(server)
    for _ in range(times):
        timed()
    return Spent((pages_read(server) - before) / times, statistics.median(timed.took))


def spend_watched(server: Server, work: Work, times: int = 3, pause: float = PAUSE) -> tuple[Window, Spent]:
    """The same, and what is collected before and after each time."""
    timed = _Timed(work, pause)
    before = pages_read(server)
    window = Window.of(snapshots(server, timed, times), longest=LONGEST)
    return window, Spent((pages_read(server) - before) / times, statistics.median(timed.took))


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


def rested(work: Work, pause: float = PAUSE) -> Work:
    """The work with a pause after it."""
    return _Timed(work, pause)


def repeat(work: Work, times: int, pause: float = PAUSE) -> None:
    """Do it so many times for what it does to the pool."""
    for _ in range(times):
        work()
        time.sleep(pause)


def compared(what: str, before: Spent, after: Spent) -> tuple[Measure, Measure]:
    """Both sides of the same work."""
    return (
        Measure(what=f"pages read by {what}", unit="pages", before=before.pages, after=after.pages),
        Measure(what=f"time of {what}", unit="s", before=before.seconds, after=after.seconds),
    )


def effect(found: Recommendation, before: Spent, after: Spent, round_seconds: float | None = None) -> Effect:
    """What was predicted of the pages that a piece of work reads, beside what it read.

    Args:
        found: What the rule said.
        before: As the work was seen when it was said.
        after: As it was seen when that had been followed.
        round_seconds: How long the work and its pause took meanwhile, where the rule predicts pages per second.

    Raises:
        NotShown: It predicted nothing.
    """
    said = found.effect
    if said is None or said.now is None:
        raise NotShown(f"{found.rule} predicts nothing")
    a_round = round_seconds or 1.0
    return Effect(
        quantity="pages read a round" if round_seconds else said.quantity,
        unit="pages",
        now=said.now * a_round,
        predicted=said.predicted * a_round,
        before=before.pages,
        after=after.pages,
    )


def option_lines(options: Mapping[str, str]) -> tuple[str, ...]:
    """As they stand in an option file."""
    return tuple(f"{name.replace('-', '_')} = {value}" for name, value in options.items())
