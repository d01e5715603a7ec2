"""The rules over the windows of servers without a sidecar: shard by shard, tables for candidates, models at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from advisor.contract.fleet import Source
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.judging import Budget, JudgedServer, judge
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.report import FleetFindings, ServerFindings, finding_of
from advisor.fleet.windows import WindowReader, judge_windows
from advisor.observe.window import Window
from advisor.rules.rulebook import RuleSet

_JudgedWindow = tuple[Window, JudgedServer]


class RulesStage:
    """Judges servers by their series."""

    def __init__(
        self, reader: FleetReader, rules: RuleSet, model_seconds: float, progress: Progress, findings: FleetFindings
    ) -> None:
        """Nothing is asked yet.

        Args:
            reader: Asks; its grid has the points of the windows.
            rules: The rules in force, and the findings that are not wanted.
            model_seconds: CPU time for models, of all servers together.
            progress: Follows the stages.
            findings: Takes the findings.
        """
        self._reader, self._rules = reader, rules
        self._progress, self._findings = progress, findings
        self._budget = Budget[tuple[Source, JudgedServer, float | None, tuple[str, ...]]](model_seconds)
        self._turn = asyncio.Lock()
        self._waiting: dict[str, ServerFindings] = {}  # for a model

    async def run(self, servers: Mapping[ServerKey, InventoryEntry]) -> None:
        """Judge all of these servers."""
        self._findings.leave(await judge_windows(self._reader, servers, self._shard, self._progress))
        with self._progress.during("models"):
            answers = self._answers()
            while (answer := await asyncio.to_thread(next, answers, None)) is not None:
                server, findings = answer
                self._waiting[server] = findings
        for key, entry in servers.items():
            if key.name in self._waiting:
                self._findings.take(key.name, entry.source, self._waiting[key.name])
        self._findings.not_modelled = tuple(sorted(self._budget.left))

    async def _shard(self, reader: WindowReader, windows: Mapping[ServerKey, Window]) -> None:
        """Judge a shard. Its findings are taken at the end: until then it may be asked again in halves."""
        judged = await self._judged(windows, reader.source, {})
        notes: dict[ServerKey, tuple[str, ...]] = {}
        candidates = {key: window for key, (window, of_window) in judged.items() if of_window.wants_tables}
        if candidates:
            with self._progress.during("tables"):
                async for part in reader.tables(candidates):
                    whole = {key: window for key, window in part.items() if isinstance(window, Window)}
                    # Verdicts without tables still hold where tables could not be asked for.
                    judged |= await self._judged(whole, reader.source, judged)
                    notes |= {key: (f"of its tables: {why}",) for key, why in part.items() if isinstance(why, str)}
        telling = {
            key: window for key, (window, of_window) in judged.items() if of_window.findings or of_window.waiting
        }
        intervals = await reader.scrape_intervals(telling)
        for key, (window, of_window) in judged.items():
            interval, note = intervals.get(key), notes.get(key, ())
            findings = _of_server(key.name, reader.source, of_window, interval, note)
            if of_window.waiting:
                self._budget.keep(key.name, window, (reader.source, of_window, interval, note))
                self._waiting[key.name] = findings
            else:
                self._findings.take(key.name, reader.source, findings)

    async def _judged(
        self, windows: Mapping[ServerKey, Window], source: Source, before: Mapping[ServerKey, _JudgedWindow]
    ) -> dict[ServerKey, _JudgedWindow]:
        """The rules on windows, in another thread: the service answers meanwhile."""

        def work() -> dict[ServerKey, _JudgedWindow]:
            rules, suppressions = self._rules.rules, self._rules.suppressions
            earlier = {key: judged for key, (_, judged) in before.items()}
            return {
                key: (window, judge(rules, window, source, suppressions, before=earlier.get(key)))
                for key, window in windows.items()
            }

        async with self._turn:
            with self._progress.during("rules"):
                return await asyncio.to_thread(work)

    def _answers(self) -> Iterator[tuple[str, ServerFindings]]:
        """The findings of servers once a model has answered."""
        rules, suppressions = self._rules.rules, self._rules.suppressions
        for server, window, (source, before, interval, note), seconds in self._budget.spend():
            judged = judge(rules, window, source, suppressions, before=before, seconds=seconds)
            if any(lack.lacks == "time" and lack.rule in before.waiting for lack in judged.blind):
                self._budget.left.add(server)
            yield server, _of_server(server, source, judged, interval, note)


def _of_server(
    server: str, source: Source, judged: JudgedServer, scraped: float | None, notes: tuple[str, ...]
) -> ServerFindings:
    """The findings alone: evaluations of a whole fleet would be gigabytes."""
    findings = (
        finding_of(
            server,
            source,
            recommendation,
            scrape_interval_seconds=scraped,
            notes=judged.notes.get(recommendation.fingerprint, ()),
        )
        for recommendation in judged.findings
    )
    return ServerFindings(
        findings=tuple(findings),
        lacks=tuple((blind.rule, blind.lacks, blind.cure) for blind in judged.blind),
        undecided=judged.undecided,
        suppressed=judged.suppressed,
        notes=notes,
    )
