"""From the collectors' answers to Snapshots: the same for a live server and for a recording."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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


@dataclass(slots=True)
class _Source:
    """What is known of a collector's source."""

    outcome: ReadOutcome
    """Of the last run."""
    section: Any = None
    """Of the last run; None if it failed."""
    known: Any = None
    """The last section of a run that did not fail."""
    read_at: float = 0.0
    """When ``known`` was read, Unix seconds."""
    lasting: bool = False
    """Whether ``known`` may be served although the last run failed."""
    digest: bytes = b""
    """Of the last run's results; empty if it failed."""
    results: tuple[Rows, ...] = ()
    """The last run's results, if another source completes them; empty if it failed."""


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
        self._sources: dict[str, _Source] = {}
        self._shared: tuple[Mapping[str, ReadOutcome], Mapping[str, float]] = {}, {}

    def take(self, answer: Answer) -> None:
        """Parse an answer; an answer that cannot be parsed is a failure of its collector only."""
        outcome = ReadOutcome(answer.at, answer.seconds, answer.failure, answer.reason, answer.cure)
        source = self._sources.setdefault(answer.collector, _Source(outcome))
        section = None
        if answer.failure is None:
            try:
                section = self._section(answer, source)
            except SourceUnavailable as error:
                outcome = replace(outcome, failure=error.failure, reason=error.reason, cure=error.cure)
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, StopIteration) as error:
                reason = f"cannot parse the answer: {type(error).__name__}: {error}"
                outcome = replace(outcome, failure="unreadable", reason=reason)
        source.outcome, source.section = outcome, section
        collector = BY_NAME.get(answer.collector)
        if section is None:
            source.digest, source.results = b"", ()
            quick = collector is not None and collector.quick
            source.lasting = source.lasting and not quick and outcome.failure in _TEMPORARY
            return
        changed = section is not source.known
        source.known, source.read_at, source.lasting = section, answer.at, True
        if changed:
            self._complete(answer.collector)

    def _section(self, answer: Answer, source: _Source) -> Any:
        """The section of an answer. Raises what ``Collector.parse`` does, and SourceUnavailable."""
        collector = BY_NAME.get(answer.collector)
        if collector is None:  # a recording may hold others
            raise LookupError(f"no collector of the name {answer.collector!r}")
        self._require_instruments(collector)
        if collector.integrate is not None:
            sample = collector.parse(answer.results)
            if source.known is None:
                return sample
            return collector.integrate(source.known, sample, answer.at - source.read_at)
        digest = _digest(answer.results)
        if digest == source.digest:
            return source.section  # one object in many snapshots keeps the history small
        section = self._parsed(collector, answer.results, source)
        source.digest = digest
        source.results = answer.results if collector.completed_by is not None else ()
        return section

    def _require_instruments(self, collector: Collector[Any]) -> None:
        """Raises SourceUnavailable if an instrument or consumer that the collector needs is off."""
        instrumentation = self._sources.get(INSTRUMENTATION.name)
        cures = (instrumentation and instrumentation.section) or {}
        for name in collector.instruments:
            if (cure := cures.get(name)) is not None:
                raise SourceUnavailable("disabled", f"{name} is off in performance_schema", cure)

    def _parsed(self, collector: Collector[Any], results: tuple[Rows, ...], source: _Source) -> Any:
        if collector.completed_by is None:
            section = collector.parse(results)
        else:
            other = self._sources.get(collector.completed_by)
            section = collector.parse(results, None if other is None else other.known)
        return share(section, self._like.get(collector.name) if source.known is None else source.known)

    def _complete(self, changed: str) -> None:
        """Parse the sections that another one, which has changed, completes."""
        for collector in BY_NAME.values():
            source = self._sources.get(collector.name)
            if collector.completed_by == changed and source is not None and source.results:
                source.section = source.known = self._parsed(collector, source.results, source)

    def clock_set(self, now: float, by: float) -> None:
        """The clock was set to ``now``, by so many seconds forward or back: earlier reads keep their age."""
        for source in self._sources.values():
            if source.read_at > now or (by > 0 and source.read_at <= now - by):
                source.read_at += by

    def snapshot(self, at: float, *, stale: bool = False) -> Snapshot:
        """Everything known at ``at`` (Unix seconds).

        A source that failed last time is unknown. With ``stale`` it keeps its last value for STALE_SECONDS; ``read_at``
        holds the time of that read.
        """
        served = {
            name: source
            for name, source in self._sources.items()
            if source.section is not None or (stale and source.lasting and 0 <= at - source.read_at <= STALE_SECONDS)
        }
        outcomes, read_at = self._shared
        self._shared = (
            share({name: source.outcome for name, source in self._sources.items()}, outcomes),
            share({name: source.read_at for name, source in served.items()}, read_at),
        )
        sections = {name: source.known for name, source in served.items()}
        return Snapshot(at, self.server, self.account, *self._shared, sections)
