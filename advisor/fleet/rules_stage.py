"""The rules over the windows of servers without a sidecar: shard by shard, tables for candidates, models at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from advisor.contract.fleet import FleetFinding, Source
from advisor.contract.recommendation import Blind
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.judging import Budget, JudgedServer, judge
from advisor.fleet.progress import Progress, ReadingStage
from advisor.fleet.reader import FleetReader
from advisor.fleet.report import Findings
from advisor.fleet.shards import over
from advisor.fleet.windows import Unclear, WindowReader
from advisor.observe.window import Window
from advisor.rules.rulebook import RuleSet

_JudgedWindow = tuple[Window, JudgedServer]


class RulesStage:
    """Judges servers by their series, and tells what it finds to a reading's findings."""

    def __init__(
        self, reader: FleetReader, rules: RuleSet, model_seconds: float, progress: Progress, findings: Findings
    ) -> None:
        """Nothing is asked yet.

        Args:
            reader: Asks; its grid has the points of the windows.
            rules: The rules in force, and the findings that are not wanted.
            model_seconds: CPU time for models, of all servers together.
            progress: Told how the stage goes.
            findings: Takes what is found.
        """
        self._reader = reader
        self._rules, self._suppressions = rules.rules, rules.suppressions
        self._progress, self._findings = progress, findings
        # Of the whole process: the models run in threads of a pool.
        self._budget = Budget(model_seconds, self._suppressions, time.process_time)
        self._turn = asyncio.Lock()
        self._blind: dict[str, tuple[Blind, ...]] = {}  # of servers that wait for a model
        self._scraped: dict[str, float] = {}  # of servers with findings, or that wait for a model
        self._through = 0

    async def run(self, servers: Mapping[ServerKey, InventoryEntry]) -> None:
        """Judge all of these servers."""
        for source in (Source.SIDECAR, Source.MYSQLD_EXPORTER):
            of_source = {key: entry for key, entry in servers.items() if entry.source is source}
            reader = WindowReader(self._reader, source)
            await self._all(of_source, source, reader, len(servers))
        with self._progress.during(ReadingStage.MODELS):
            await self._models({key.name: entry.source for key, entry in servers.items()})
        for key, entry in servers.items():
            self._tell(key.name, entry.source, self._blind.get(key.name, ()))
        self._findings.not_modelled = self._budget.left

    async def _all(
        self, servers: Mapping[ServerKey, InventoryEntry], source: Source, reader: WindowReader, of: int
    ) -> None:
        async def ask(keys: tuple[ServerKey, ...]) -> Mapping[ServerKey, None]:
            await self._shard(keys, servers, source, reader)
            return dict.fromkeys(keys)

        def done(count: int) -> None:
            self._through += count
            self._progress.done(ReadingStage.RULES, self._through, of)

        _, not_asked = await over(servers, ask, done=done)
        for left in not_asked:
            self._findings.leave(left.reason, left.servers)

    async def _shard(
        self,
        keys: Sequence[ServerKey],
        known: Mapping[ServerKey, InventoryEntry],
        source: Source,
        reader: WindowReader,
    ) -> None:
        """Ask and judge a shard. Nothing is told of it before all of it is known: it may be asked again in halves."""
        with self._progress.during(ReadingStage.WINDOWS):
            windows = await reader.windows(keys)
        clear = {key: _managed(window, known[key]) for key, window in windows.items() if isinstance(window, Window)}
        judged = await self._judged(clear, source, {})
        notes: dict[str, tuple[str, ...]] = {}
        candidates = {key: window for key, (window, of_window) in judged.items() if of_window.wants_tables}
        if candidates:
            with self._progress.during(ReadingStage.TABLES):
                async for part in reader.tables(candidates):
                    whole = {key: window for key, window in part.items() if isinstance(window, Window)}
                    # What rules without tables say still holds where these could not be asked for.
                    judged |= await self._judged(whole, source, judged)
                    shut = {key: each for key, each in part.items() if isinstance(each, Unclear)}
                    notes |= {key.name: (f"of its tables: {each.reason}",) for key, each in shut.items()}
        telling = {
            key: window for key, (window, of_window) in judged.items() if of_window.findings or of_window.waiting
        }
        intervals = await reader.scrape_intervals(telling)
        self._scraped |= {key.name: seconds for key, seconds in intervals.items()}
        for key, (window, of_window) in judged.items():
            self._take(key.name, source, of_window)
            if of_window.waiting:
                self._budget.keep(key.name, window, source, of_window)
                self._blind[key.name] = of_window.blind
            else:
                self._tell(key.name, source, of_window.blind)
        self._findings.notes |= notes
        for key, unclear in windows.items():
            if isinstance(unclear, Unclear):
                self._findings.leave(unclear.reason, (key.name,))

    async def _judged(
        self, windows: Mapping[ServerKey, Window], source: Source, before: Mapping[ServerKey, _JudgedWindow]
    ) -> dict[ServerKey, _JudgedWindow]:
        """The rules on windows, in another thread: the service answers meanwhile."""

        def work() -> dict[ServerKey, _JudgedWindow]:
            earlier = {key: judged for key, (_, judged) in before.items()}
            return {
                key: (window, judge(self._rules, window, source, self._suppressions, earlier.get(key)))
                for key, window in windows.items()
            }

        async with self._turn:
            with self._progress.during(ReadingStage.RULES):
                return await asyncio.to_thread(work)

    def _tell(self, server: str, source: Source, blind: Sequence[Blind]) -> None:
        for lack in blind:
            self._findings.blind(server, lack.rule, lack.lacks, source, lack.cure)

    def _take(self, server: str, source: Source, judged: JudgedServer) -> None:
        # A Judged holds all evaluations: of a whole fleet they would be gigabytes.
        self._findings.findings[server] = tuple(_findings(server, source, judged, self._scraped.get(server)))
        self._findings.undecided[server] = judged.undecided
        self._findings.suppressed[server] = judged.suppressed

    async def _models(self, sources: Mapping[str, Source]) -> None:
        answers = self._budget.spend(self._rules)
        while (answer := await asyncio.to_thread(next, answers, None)) is not None:
            server, judged = answer
            self._take(server, sources[server], judged)
            self._blind[server] = judged.blind


def _managed(window: Window, entry: InventoryEntry) -> Window:
    """The window, with the cloud service that the user says runs the server."""
    managed = entry.server.managed if entry.server else None
    if managed is None or window.latest.server.managed is not None:
        return window
    server = replace(window.latest.server, managed=managed)
    return Window(tuple(replace(snapshot, server=server) for snapshot in window.snapshots))


def _findings(server: str, source: Source, judged: JudgedServer, scraped: float | None) -> Iterator[FleetFinding]:
    for finding in judged.findings:
        yield FleetFinding(
            server=server,
            source=source,
            rule=finding.rule,
            severity=finding.severity,
            subject=finding.subject,
            fingerprint=finding.fingerprint,
            summary=finding.summary,
            confidence=finding.confidence,
            changes=finding.changes,
            actions=finding.actions,
            evidence=finding.evidence,
            effect=finding.effect,
            read_bytes_saved_per_second=finding.effect.read_bytes_saved_per_second if finding.effect else None,
            scrape_interval_seconds=scraped,
            notes=judged.notes.get(finding.fingerprint, ()),
        )
