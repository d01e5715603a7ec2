"""From the collectors' answers to Snapshots: the same for a live server and for a recording."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.collectors import BY_NAME
from exporter.collectors.base import Collector, SourceUnavailable
from exporter.collectors.instrumentation import INSTRUMENTATION
from exporter.rows import Rows
from exporter.sampling.history import share
from exporter.server import Server
from exporter.snapshot import Failure, ReadOutcome, Snapshot

STALE_SECONDS = 300.0
"""Maximum age of a section that is served although its source cannot be read at the moment."""
_TEMPORARY: frozenset[Failure] = frozenset({"deadline", "failed"})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one run of a collector: the statements' results or a failure."""

    collector: str
    """The collector's name."""
    at: float
    """Start, Unix seconds."""
    seconds: float = 0.0
    """Duration."""
    results: tuple[Rows, ...] = ()
    """A result for each statement; empty on failure."""
    failure: Failure | None = None
    """This and the following fields as in ReadOutcome."""
    reason: str = ""
    cure: str | None = None


def _digest(results: Sequence[Rows]) -> bytes:
    """The same for equal results: the rows themselves, of 30,000 indexes for example, would hold 4 MB."""
    # Version 2 of the format is the last one without references, which depend on who else holds a text.
    plain = marshal.dumps([(rows.columns, rows.rows) for rows in results], 2)
    return hashlib.blake2b(plain, digest_size=16).digest()


class Assembler:
    """Takes answers and gives snapshots."""

    def __init__(self, server: Server, account: str, like: Mapping[str, Any] | None = None) -> None:
        """Nothing is known yet.

        Args:
            server: The server.
            account: The account of the sidecar's session.
            like: Sections that are kept in memory anyway: what is equal to them is shared, and nothing is known by it.
        """
        self._like = like or {}
        self.server = server
        self.account = account
        self._outcomes: dict[str, ReadOutcome] = {}
        self._sections: dict[str, Any] = {}
        self._digests: dict[str, bytes] = {}  # of the last answer of each collector whose section is known
        self._results: dict[str, tuple[Rows, ...]] = {}  # the answers themselves, of those that another one completes
        self._read: dict[str, tuple[float, Any]] = {}  # each section that may be served, and when it was read
        self._before: dict[str, Any] = {}  # the last known value of each section
        self._shared: tuple[Mapping[str, ReadOutcome], Mapping[str, float]] = {}, {}
        self._integrated: dict[str, tuple[float, Any]] = {}  # time of the last sample, and its section

    def take(self, answer: Answer) -> None:
        """Parse an answer; an answer that cannot be parsed is a failure of its collector only."""
        outcome = ReadOutcome(answer.at, answer.seconds, answer.failure, answer.reason, answer.cure)
        section = None
        if answer.failure is None and (off := self._off(answer.collector)) is not None:
            name, cure = off
            outcome = ReadOutcome(answer.at, answer.seconds, "disabled", f"{name} is off in performance_schema", cure)
        elif answer.failure is None:
            try:
                section = self._section(answer)
            except SourceUnavailable as error:
                outcome = ReadOutcome(answer.at, answer.seconds, error.failure, error.reason, error.cure)
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, StopIteration) as error:
                outcome = ReadOutcome(
                    answer.at,
                    answer.seconds,
                    "unreadable",
                    f"cannot parse the answer: {type(error).__name__}: {error}",
                )
        self._outcomes[answer.collector] = outcome
        if (collector := BY_NAME.get(answer.collector)) is not None:  # a recording may hold others
            self._sections[answer.collector] = section
            if section is not None:
                changed = section is not self._before.get(answer.collector)
                self._before[answer.collector] = section
                self._read[answer.collector] = answer.at, section
                if changed:
                    self._join(answer.collector)
            elif collector.quick or outcome.failure not in _TEMPORARY:
                self._read.pop(answer.collector, None)
        if section is None:
            self._digests.pop(answer.collector, None)
            self._results.pop(answer.collector, None)

    def _off(self, collector: str) -> tuple[str, str] | None:
        """An instrument or consumer that the collector needs and that is off, and its cure."""
        known = self._sections.get(INSTRUMENTATION.name) or {}
        needed = BY_NAME[collector].instruments if collector in BY_NAME else ()
        return next(((name, cure) for name in needed if (cure := known.get(name)) is not None), None)

    def _section(self, answer: Answer) -> Any:
        collector = BY_NAME.get(answer.collector)
        if collector is None:
            raise LookupError(f"no collector of the name {answer.collector!r}")
        if collector.integrate is not None:
            return self._integrate(collector, answer)
        digest = _digest(answer.results)
        if digest == self._digests.get(answer.collector):
            return self._sections[answer.collector]  # one object in many snapshots keeps the history small
        section = self._parsed(collector, answer.results)
        self._digests[answer.collector] = digest
        if collector.completed_by is not None:
            self._results[answer.collector] = answer.results
        return section

    def _parsed(self, collector: Collector[Any], results: tuple[Rows, ...]) -> Any:
        if collector.completed_by is None:
            section = collector.parse(results)
        else:
            section = collector.parse(results, self._before.get(collector.completed_by))
        return share(section, self._before.get(collector.name, self._like.get(collector.name)))

    def _join(self, changed: str) -> None:
        """Parse the sections that another one, which has changed, completes."""
        for collector in BY_NAME.values():
            if collector.completed_by != changed or collector.name not in self._results:
                continue
            read, _ = self._read[collector.name]
            section = self._parsed(collector, self._results[collector.name])
            self._sections[collector.name] = self._before[collector.name] = section
            self._read[collector.name] = read, section

    def _integrate(self, collector: Collector[Any], answer: Answer) -> Any:
        section = collector.parse(answer.results)
        last = self._integrated.get(collector.name)
        if last is not None and collector.integrate is not None:
            section = collector.integrate(last[1], section, answer.at - last[0])
        self._integrated[collector.name] = answer.at, section
        return section

    def clock_set(self, now: float, by: float) -> None:
        """The clock was set to ``now``, by so many seconds forward or back: earlier reads keep their age."""
        for name, (read, section) in self._read.items():
            if read > now or (by > 0 and read <= now - by):
                self._read[name] = read + by, section

    def snapshot(self, at: float, *, stale: bool = False) -> Snapshot:
        """Everything known at ``at`` (Unix seconds).

        A source that failed last time is unknown. With ``stale`` it keeps its last value for STALE_SECONDS; ``read_at``
        holds the time of that read.
        """
        served = {
            name: (read, section)
            for name, (read, section) in self._read.items()
            if self._sections[name] is not None or (stale and 0 <= at - read <= STALE_SECONDS)
        }
        outcomes, read_at = self._shared
        self._shared = (
            share(dict(self._outcomes), outcomes),
            share({name: read for name, (read, _) in served.items()}, read_at),
        )
        return Snapshot(
            at,
            self.server,
            self.account,
            *self._shared,
            {name: section for name, (_, section) in served.items()},
        )
