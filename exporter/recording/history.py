"""The stored history: recordings in the state file, from which the next start of the sidecar continues.

The collectors' answers are written once a minute and at the end, each time as a recording of its own: a crash loses at
most a minute. Answers are shortened, so that no client's statement is stored.
"""

from __future__ import annotations

import io
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from operator import methodcaller

from prometheus_client import Metric

from exporter.collectors import BY_NAME
from exporter.collectors.parallel_readers import PARALLEL_READERS, shifted_to_zero
from exporter.exposition import Sample, Spec, assemble
from exporter.recording.bounds import ReadBudget
from exporter.recording.file import Recorder, RecordingError, Replayer, TooLarge
from exporter.sampling.assembly import Answer
from exporter.server import Server
from exporter.snapshot import Snapshot
from exporter.state_file import StateError, StateFile

log = logging.getLogger(__name__)

LARGEST_BYTES = 64 << 20
_PERIODS_PENDING = 5
"""Events that could not be written for so many periods are dropped."""
_OLD = "DELETE FROM snapshots WHERE at < ?"
_BEYOND = """
DELETE FROM snapshots WHERE id IN (
    SELECT id FROM (SELECT id, SUM(LENGTH(recording)) OVER (ORDER BY id DESC) AS newer FROM snapshots) WHERE newer > ?
)
"""
_SIZE = "SELECT COALESCE(SUM(LENGTH(recording)), 0) FROM snapshots"

_BYTES = Spec("innodb_exporter_state_bytes", "gauge", "Size of the history in --state-dir.", (), "bytes")
_WRITTEN_AT = Spec(
    "innodb_exporter_state_written_timestamp_seconds",
    "gauge",
    "When the history was last written to --state-dir.",
    (),
    "seconds",
)
_FAILURES = Spec("innodb_exporter_state_failures_total", "counter", "Failed attempts to write the history.")
_DAMAGED = Spec(
    "innodb_exporter_state_damaged_files_total",
    "counter",
    "Damaged state files that were set aside, and damaged parts of the history that were left out.",
)
SPECS = {spec.name: spec for spec in (_BYTES, _WRITTEN_AT, _FAILURES, _DAMAGED)}

Event = Callable[[Recorder], None]


class StoredHistory:
    """Stores a sampler's answers, as its log. Errors are counted, never raised.

    Attributes:
        bytes: Size of the stored recordings.
        written_at: Last write, Unix seconds; None before the first.
        failures: Failed writes.
    """

    def __init__(
        self,
        state: StateFile,
        *,
        seconds: float = 3600.0,
        period: float = 60.0,
        largest: int = LARGEST_BYTES,
        memory: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Read what the last sidecar stored.

        Args:
            state: Where it is stored.
            seconds: The history's length.
            period: Seconds between two writes.
            largest: Maximum bytes of all recordings; the oldest are deleted first.
            memory: Bytes by which reading them may let the process grow; by default what it can afford.
            clock: Unix seconds.
        """
        self.bytes, self.failures = 0, 0
        self.written_at: float | None = None
        self._unreadable = 0
        self._state, self._seconds, self._period, self._largest = state, seconds, period, largest
        self._memory, self._clock = memory, clock
        self._session: tuple[Server, str] | None = None
        self._answers: dict[str, tuple[Answer, ...]] = {}
        self._events: list[Event] = []
        self._complete = False  # whether a collection is among the events
        self._cut = time.monotonic()
        self._writing: Future[int] | None = None
        self._past: Sequence[Snapshot] = ()
        try:
            self._past = state.run(self._read)
        except StateError:
            self.failures += 1

    @property
    def damaged(self) -> int:
        """Damaged files that were set aside, and damaged recordings that were left out, since the start."""
        return self._state.damaged + self._unreadable

    def take_past(self) -> Sequence[Snapshot]:
        """The stored history, oldest first. It is returned once and then dropped."""
        past, self._past = self._past, ()
        return past

    def session(self, server: Server, account: str) -> None:
        """A session was opened."""
        self._session = (server, account)
        self._answers.clear()
        self._events.append(methodcaller("session", server, account))

    def answer(self, answer: Answer) -> None:
        """A collector ran."""
        collector = BY_NAME.get(answer.collector)
        if collector is not None and collector.shorten is not None:
            answer = replace(answer, results=tuple(map(collector.shorten, answer.results)))
        # The last answer, and if it failed also the last successful one, which may still be served.
        before = [earlier for earlier in self._answers.get(answer.collector, ()) if earlier.failure is None]
        if any(earlier.results == answer.results for earlier in before):
            answer = replace(answer, results=before[0].results)  # one object for all events that wait to be written
        self._answers[answer.collector] = (*before, answer) if answer.failure else (answer,)
        self._events.append(methodcaller("answer", answer))

    def collection(self, at: float) -> None:
        """A collection is complete."""
        self._events.append(methodcaller("collection", at))
        self._complete = True
        since = time.monotonic() - self._cut
        if since < self._period:
            return
        if self._writing is None or self._writing.done():
            self._write(at)
        elif since > _PERIODS_PENDING * self._period:
            self.failures += 1
            self._begin()

    def close(self) -> None:
        """Store the rest, before the state file is closed."""
        if self._complete:
            self._write(self._clock())

    def families(self) -> Iterator[Metric]:
        """The metric families of the stored history."""
        yield from assemble(SPECS, self._samples())

    def _samples(self) -> Iterator[Sample]:
        yield _BYTES.name, (), self.bytes
        if self.written_at is not None:
            yield _WRITTEN_AT.name, (), self.written_at
        yield _FAILURES.name, (), self.failures
        yield _DAMAGED.name, (), self.damaged

    def _begin(self) -> None:
        """Begin a new recording, with everything that a reader of it alone needs."""
        self._events = []
        self._complete = False
        self._cut = time.monotonic()
        if self._session is not None:
            answers = tuple(answer for answers in self._answers.values() for answer in answers)
            self._events.append(methodcaller("resume", *self._session, answers))

    def _write(self, at: float) -> None:
        self._writing = self._state.submit(partial(self._put, self._events, at))
        self._writing.add_done_callback(self._written)
        self._begin()

    def _put(self, events: Sequence[Event], at: float, connection: sqlite3.Connection) -> int:
        """Store a recording of events, in the thread of the state file; returns the bytes of all."""
        recording = io.BytesIO()
        with Recorder(recording, compression=1) as recorder:
            for event in events:
                event(recorder)
        connection.execute("INSERT INTO snapshots (at, recording) VALUES (?, ?)", (at, recording.getvalue()))
        return self._pruned(connection, at)

    def _written(self, writing: Future[int]) -> None:
        if writing.exception() is None:
            self.bytes, self.written_at = writing.result(), self._clock()
        else:
            self.failures += 1

    def _pruned(self, connection: sqlite3.Connection, now: float) -> int:
        """Delete recordings that are too old, or too large together; returns the bytes of the others."""
        connection.execute(_OLD, (now - self._seconds,))
        connection.execute(_BEYOND, (self._largest,))
        [size] = connection.execute(_SIZE).fetchone()
        return int(size)

    def _read(self, connection: sqlite3.Connection) -> Sequence[Snapshot]:
        now = self._clock()
        self._pruned(connection, now)
        snapshots = [snapshot for snapshot in self._stored(connection) if now - self._seconds <= snapshot.at <= now]
        recent = list(_in_order(reversed(snapshots)))
        [self.bytes] = connection.execute(_SIZE).fetchone()
        if recent:
            log.info("found a history of %d snapshots, the last %.0f s old", len(recent), now - recent[0].at)
        return tuple(reversed(_continued(recent)))

    def _stored(self, connection: sqlite3.Connection) -> list[Snapshot]:
        """The snapshots of all recordings that can be read; the others are deleted."""
        snapshots: list[Snapshot] = []
        budget = ReadBudget(self._memory)
        replayer = Replayer(budget)
        rows = connection.execute("SELECT id, CAST(recording AS BLOB) FROM snapshots ORDER BY id").fetchall()
        for number, recording in rows:
            try:
                snapshots += replayer.read(self._state.path, recording)
            except TooLarge as error:
                log.warning("the stored history takes too much memory and begins anew: %s", error)
                self._unreadable += 1
                connection.execute("DELETE FROM snapshots")
                return []
            except RecordingError as error:
                log.warning("a part of the stored history is left out: %s", error)
                self._unreadable += 1
                connection.execute("DELETE FROM snapshots WHERE id = ?", (number,))
                replayer = Replayer(budget)
        return snapshots


def _in_order(newest_first: Iterable[Snapshot]) -> Iterator[Snapshot]:
    """Snapshots back to the first that is not older than the next one: the clock was set back there."""
    later = float("inf")
    for snapshot in newest_first:
        if snapshot.at >= later:
            return
        yield snapshot
        later = snapshot.at


def _continued(newest_first: Sequence[Snapshot]) -> list[Snapshot]:
    """Snapshots in which the sidecar's own counts lead up to 0, where the new sidecar's counts begin."""
    counts = [readers for snapshot in newest_first if (readers := snapshot[PARALLEL_READERS]) is not None]
    shifted = iter(shifted_to_zero(counts))
    return [
        snapshot if snapshot[PARALLEL_READERS] is None else snapshot.with_section(PARALLEL_READERS, next(shifted))
        for snapshot in newest_first
    ]
