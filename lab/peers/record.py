"""The record of the advisers on a load: what each says, and what came of each change."""

from __future__ import annotations

from collections.abc import Mapping

from advisor.contract.recommendation import Frozen
from lab.gauntlet.record import RoundFigure, worsened


class Measured(Frozen):
    """A quantity before and after a change."""

    before: float
    after: float


class FollowedChange(Frozen):
    """A change that was followed alone, or the control, in which nothing is changed.

    Attributes:
        advisers: Those who ask for it; none for the control.
        applied: The executed statements, or lines of the option file.
        refused: What the server refused; then nothing is measured.
        read, written: Pages a round.
        tables: Pages read a round from each table's file.
        work: Seconds that the clients worked in a round, the median of the rounds.
        pool: MiB of the buffer pool.
        resident: MiB of the server's memory that are not pages of files, at the end of the rounds.
    """

    advisers: tuple[str, ...]
    applied: tuple[str, ...]
    refused: str = ""
    read: RoundFigure
    written: RoundFigure
    tables: Mapping[str, RoundFigure]
    work: Measured
    pool: Measured
    resident: Measured

    @property
    def harm(self) -> tuple[str, ...]:
        """What got worse: all reads, all reads and writes, or the reads of a table, by the gauntlet's bounds."""
        return worsened(self.read, self.written, self.tables)


class PeersRecord(Frozen):
    """A load on a server.

    Attributes:
        about: The load in words.
        memory_mib: What the advisers that are told were told of the machine's memory.
        said: The sentences of each adviser.
        not_followed: By the sentence, why its change was not followed, where it names one.
        changes: The control, then every change that was followed.
    """

    about: str
    memory_mib: int
    said: Mapping[str, tuple[str, ...]]
    not_followed: Mapping[str, str]
    changes: tuple[FollowedChange, ...]
