"""From the answers of the collectors to a Snapshot: the same for a live server and for a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from exporter.collectors import COLLECTORS, LIGHT
from exporter.collectors.parallel_readers import Integrator
from exporter.rows import Rows
from exporter.server import Server
from exporter.snapshot import Failure, Outcome, Snapshot

_COLLECTORS = {collector.name: collector for collector in (*COLLECTORS, LIGHT)}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server returned to one run of a collector: a result for each statement, or why there is none.

    ``at`` is Unix seconds, ``seconds`` how long it took; the rest as in Outcome.
    """

    collector: str
    at: float
    seconds: float = 0.0
    results: tuple[Rows, ...] = ()
    failure: Failure | None = None
    reason: str = ""
    cure: str | None = None


class Assembler:
    """Takes in answers and gives snapshots. A source that failed last time is unknown, not stale."""

    def __init__(self, server: Server, account: str) -> None:
        self.server = server
        self.account = account
        self._outcomes: dict[str, Outcome] = {}
        self._sections: dict[str, Any] = {}
        self._results: dict[str, tuple[Rows, ...]] = {}
        self._parallel_readers = Integrator()

    def take(self, answer: Answer) -> None:
        """Parse an answer; one that cannot be parsed is a failure of its collector and of nothing else."""
        outcome = Outcome(answer.at, answer.seconds, answer.failure, answer.reason, answer.cure)
        section = None
        if answer.failure is None and (off := self._off(answer.collector)) is not None:
            name, cure = off
            outcome = Outcome(answer.at, answer.seconds, "disabled", f"{name} is off in performance_schema", cure)
        elif answer.failure is None:
            try:
                section = self._section(answer)
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, StopIteration) as error:
                outcome = Outcome(
                    answer.at,
                    answer.seconds,
                    "unreadable",
                    f"cannot parse the answer: {type(error).__name__}: {error}",
                )
        self._outcomes[answer.collector] = outcome
        if answer.collector in _COLLECTORS:  # a recording may be of a version that had others
            self._sections[answer.collector] = section
        self._results[answer.collector] = answer.results if section is not None else ()

    def _off(self, collector: str) -> tuple[str, str] | None:
        """An instrument or consumer that the collector needs and that is known to be off, and its cure."""
        known = self._sections.get("instrumentation") or {}
        needed = _COLLECTORS[collector].instruments if collector in _COLLECTORS else ()
        return next(((name, cure) for name in needed if (cure := known.get(name)) is not None), None)

    def _section(self, answer: Answer) -> Any:
        collector = _COLLECTORS.get(answer.collector)
        if collector is None:
            raise LookupError(f"no collector of the name {answer.collector!r}")
        parse = collector.parse
        if answer.collector == LIGHT.name:
            self._parallel_readers.add(answer.at, parse(answer.results))
            return self._parallel_readers.section()
        if answer.results == self._results.get(answer.collector):
            return self._sections[answer.collector]  # one object for many snapshots keeps the history small
        return parse(answer.results)

    def snapshot(self, at: float) -> Snapshot:
        """Everything known at ``at`` (Unix seconds)."""
        return Snapshot(at, self.server, self.account, dict(self._outcomes), **self._sections)
