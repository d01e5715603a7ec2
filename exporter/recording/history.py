"""The stored history: a folder of recordings from which the next start of the sidecar continues.

The collectors' answers are written once a minute and at the end, each time as a new recording under a temporary name,
which is synced and then renamed: a crash leaves only whole files and loses at most a minute. Answers are shortened, so
that no client's statement is stored. File names begin with a hash of the server's address; other servers' files are not
touched. Only one sidecar at a time may store a server's history in a folder: exporter.recording.lock keeps others out.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import Any, Self

from exporter.collectors import BY_NAME
from exporter.collectors.base import Collector, Integration
from exporter.recording import folder as folders
from exporter.recording.bounds import Budget
from exporter.recording.file import Recorder, RecordingError, Replayer, TooLarge
from exporter.sampling.assembly import Answer
from exporter.server import Server
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)

LARGEST_BYTES = 64 << 20
MOST_FILES = 240
KEPT_DAMAGED = 3
_PERIODS_PENDING = 5
"""Events that could not be written for so many periods are dropped."""
_PATIENCE = 10.0
"""Seconds that the sidecar waits for the folder at its end."""
_SUFFIX, _ASIDE = ".jsonl.gz", ".damaged"
_DIGITS = 8

Event = Callable[[Recorder], None]


@dataclass(frozen=True, slots=True)
class Report:
    """The state of the folder."""

    bytes: int = 0
    """Size of the history."""
    written_at: float | None = None
    """Last write, Unix seconds; None before the first."""
    failures: int = 0
    """Failed writes."""
    damaged: int = 0
    """Files set aside since the start."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    bytes: int
    last_at: float


class State:
    """Stores a sampler's answers, as its log. Errors of the folder are reported, never raised.

    Attributes:
        report: The state of the folder.
    """

    def __init__(
        self,
        folder: Path,
        address: str,
        *,
        seconds: float = 3600.0,
        period: float = 60.0,
        largest: int = LARGEST_BYTES,
        memory: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Read the folder.

        Args:
            folder: Created for this account only if it does not exist.
            address: The server's address; each address has its own history.
            seconds: The history's length.
            period: Seconds between two writes.
            largest: Maximum bytes of all files; the oldest are deleted first.
            memory: Bytes by which reading them may let the process grow; by default what it can afford.
            clock: Unix seconds.
        """
        self.report = Report()
        self._folder = folder
        self._key = folders.key(address)
        self._seconds, self._period, self._largest, self._clock = seconds, period, largest, clock
        self._memory = memory
        self._files: deque[_File] = deque()
        self._damaged: list[Path] = []
        self._number = 0
        self._failing = False
        self._session: tuple[Server, str] | None = None
        self._answers: dict[str, tuple[Answer, ...]] = {}
        self._events: list[Event] = []
        self._complete = False  # whether a collection is among the events
        self._cut = time.monotonic()
        self._writing: threading.Thread | None = None
        self._past = self._read()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._tidy()
        except OSError as error:
            self._failed(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def take_past(self) -> Sequence[Snapshot]:
        """The history that was found, oldest first. It is returned once and then dropped."""
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
        before = [each for each in self._answers.get(answer.collector, ()) if each.failure is None]
        if any(each.results == answer.results for each in before):
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
        if self._writing is None or not self._writing.is_alive():
            self._write(at)
        elif since > _PERIODS_PENDING * self._period:
            self._failed(TimeoutError("the folder does not answer"))
            self._begin()

    def close(self) -> None:
        """Write the rest; waits for the folder for a limited time."""
        self._wait()
        if self._complete:
            self._write(self._clock())
            self._wait()

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.join(_PATIENCE)

    def _begin(self) -> None:
        """Begin a new file, with everything that a reader of this file alone needs."""
        self._events = []
        self._complete = False
        self._cut = time.monotonic()
        if self._session is not None:
            answers = tuple(answer for answers in self._answers.values() for answer in answers)
            self._events.append(methodcaller("resume", *self._session, answers))

    def _write(self, at: float) -> None:
        events = self._events
        self._begin()
        # A daemon: a folder that does not answer must not delay the sidecar's end.
        self._writing = threading.Thread(target=self._put, args=(events, at), name="state", daemon=True)
        try:
            self._writing.start()
        except RuntimeError as error:  # no thread available
            self._failed(error)

    def _put(self, events: Sequence[Event], at: float) -> None:
        path = self._folder / f"{self._key}-{self._number:0{_DIGITS}d}{_SUFFIX}"
        part: Path | None = None
        self._number += 1
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been deleted
            part = folders.part_of(path)
            with Recorder(part, compression=1) as recorder:
                for event in events:
                    event(recorder)
            folders.put(part, path)
            self._files.append(_File(path, path.stat().st_size, at))
            self._prune(at)
        except (OSError, ValueError) as error:
            if part is not None:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
            self._failed(error)
            return
        if self._failing:
            log.info("the history is kept in %s again", self._folder)
        self._failing = False
        self.report = replace(self.report, bytes=self._bytes, written_at=self._clock())

    @property
    def _bytes(self) -> int:
        return sum(file.bytes for file in self._files)

    def _prune(self, now: float) -> None:
        """Delete the oldest files while they are too old, too many or too large."""
        while self._files and (
            self._files[0].last_at < now - self._seconds or len(self._files) > MOST_FILES or self._bytes > self._largest
        ):
            self._files[0].path.unlink(missing_ok=True)
            self._files.popleft()

    def _failed(self, error: Exception) -> None:
        if not self._failing:
            said = getattr(error, "strerror", None) or error
            log.warning("cannot keep the history in %s: %s", self._folder, said)
        self._failing = True
        self.report = replace(self.report, failures=self.report.failures + 1)

    # Reading the folder at the start

    def _read(self) -> tuple[Snapshot, ...]:
        paths = sorted(self._folder.glob(f"{self._key}-{'[0-9]' * _DIGITS}{_SUFFIX}"))
        if paths:
            self._number = int(paths[-1].name.removesuffix(_SUFFIX)[-_DIGITS:]) + 1
        found: list[Snapshot] = []
        ends = dict.fromkeys(paths, 0.0)
        budget = Budget(self._memory)
        replayer = Replayer(budget)
        for position, path in enumerate(paths[-MOST_FILES:]):
            try:
                held = _held(replayer, path)
            except RecordingError as error:
                log.warning("set aside: %s", error)
                self._damaged.append(path)
                del ends[path]
                if isinstance(error, TooLarge):
                    log.warning("the history begins anew: what is stored takes too much memory")
                    found.clear()
                    ends |= dict.fromkeys(paths[-MOST_FILES:][position + 1 :], self._clock())
                    break
                replayer = Replayer(budget)
                continue
            found += held
            ends[path] = held[-1].at if held else 0.0
        for path, end in ends.items():
            with suppress(OSError):
                self._files.append(_File(path, path.stat().st_size, end))
        now = self._clock()
        recent = list(_in_order(each for each in reversed(found) if now - self._seconds <= each.at <= now))
        if recent:
            log.info("found a history of %d snapshots, the last %.0f s old", len(recent), now - recent[0].at)
        return tuple(_continued(recent))[::-1]

    def _tidy(self) -> None:
        """Delete old files and those left by a crash, and set damaged ones aside. Raises OSError."""
        self.report = replace(self.report, damaged=len(self._damaged))
        for path in self._damaged:
            self._try(partial(path.replace, path.with_name(path.name + _ASIDE)))
        for path in sorted(self._folder.glob(f"{self._key}-*{_SUFFIX}{_ASIDE}"))[:-KEPT_DAMAGED]:
            self._try(path.unlink)
        for path in self._folder.glob(f".part-{self._key}-*"):
            self._try(path.unlink)
        self._prune(self._clock())
        self.report = replace(self.report, bytes=self._bytes)

    def _try(self, change: Callable[[], object]) -> None:
        try:
            change()
        except OSError as error:
            self._failed(error)


def _held(replayer: Replayer, path: Path) -> list[Snapshot]:
    """The snapshots of a file. Raises RecordingError."""
    if path.is_symlink():
        raise RecordingError(f"{path} is a symbolic link, which no sidecar writes")
    return list(replayer.read(path))


def _in_order(newest_first: Iterator[Snapshot]) -> Iterator[Snapshot]:
    """Snapshots back to the first that is not older than the next one: the clock was set back there."""
    later = float("inf")
    for snapshot in newest_first:
        if snapshot.at >= later:
            return
        yield snapshot
        later = snapshot.at


def _continued(newest_first: list[Snapshot]) -> list[Snapshot]:
    """Snapshots in which the sidecar's own counts lead up to 0, where the new sidecar's counts begin."""
    for collector in BY_NAME.values():
        if collector.integration is not None:
            newest_first = _shifted(newest_first, collector, collector.integration)
    return newest_first


def _shifted(snapshots: list[Snapshot], collector: Collector[Any], integration: Integration[Any]) -> list[Snapshot]:
    known = [section for each in snapshots if (section := each[collector]) is not None]
    shifted = iter(integration.restart(known))
    return [each if each[collector] is None else each.with_section(collector, next(shifted)) for each in snapshots]
