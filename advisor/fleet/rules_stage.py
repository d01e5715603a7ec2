"""The rules over the windows of servers without a sidecar: shard by shard, tables for candidates, models at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

from advisor.contract.fleet import Source
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.judging import Budget, JudgedServer, judge
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.report import FleetFindings, ServerFindings, finding_of
from advisor.fleet.shards import Shard, over
from advisor.fleet.windows import WindowReader
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
        self._reader = reader
        self._rules, self._suppressions = rules.rules, rules.suppressions
        self._progress, self._findings = progress, findings
        # Of the whole process: the models run in threads of a pool.
        self._budget = Budget(model_seconds, self._suppressions, time.process_time)
        self._turn = asyncio.Lock()
        self._waiting: dict[str, ServerFindings] = {}  # for a model
        self._scraped: dict[str, float] = {}  # of servers that wait for a model
        self._through = 0

    async def run(self, servers: Mapping[ServerKey, InventoryEntry]) -> None:
        """Judge all of these servers."""
        for source in (Source.SIDECAR, Source.MYSQLD_EXPORTER):
            of_source = {key: entry for key, entry in servers.items() if entry.source is source}
            await self._all(of_source, WindowReader(self._reader, source), len(servers))
        with self._progress.during("models"):
            await self._models()
        for key, entry in servers.items():
            if key.name in self._waiting:
                self._findings.take(key.name, entry.source, self._waiting[key.name])
        self._findings.not_modelled = self._budget.left

    async def _all(self, servers: Mapping[ServerKey, InventoryEntry], windows: WindowReader, of: int) -> None:
        async def ask(shard: Shard) -> Mapping[ServerKey, None]:
            await self._shard({key: servers[key] for key in shard}, windows)
            return dict.fromkeys(shard)

        def done(count: int) -> None:
            self._through += count
            self._progress.show("rules", self._through, of)

        _, left_out = await over(servers, ask, done=done)
        for reason, names in left_out.items():
            self._findings.leave(reason, names)

    async def _shard(self, entries: Mapping[ServerKey, InventoryEntry], reader: WindowReader) -> None:
        """Ask and judge a shard. Its findings are taken at the end: until then it may be asked again in halves."""
        with self._progress.during("windows"):
            windows = await reader.windows([*entries])
        clear = {key: managed(window, entries[key]) for key, window in windows.items() if isinstance(window, Window)}
        judged = await self._judged(clear, reader.source, {})
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
            findings = _of_server(key.name, reader.source, of_window, intervals.get(key), notes.get(key, ()))
            if of_window.waiting:
                self._budget.keep(key.name, window, reader.source, of_window)
                self._waiting[key.name] = findings
                self._scraped |= {key.name: intervals[key]} if key in intervals else {}
            else:
                self._findings.take(key.name, reader.source, findings)
        for key, why in windows.items():
            if isinstance(why, str):
                self._findings.leave(why, (key.name,))

    async def _judged(
        self, windows: Mapping[ServerKey, Window], source: Source, before: Mapping[ServerKey, _JudgedWindow]
    ) -> dict[ServerKey, _JudgedWindow]:
        """The rules on windows, in another thread: the service answers meanwhile."""

        def work() -> dict[ServerKey, _JudgedWindow]:
            earlier = {key: judged for key, (_, judged) in before.items()}
            return {
                key: (window, judge(self._rules, window, source, self._suppressions, before=earlier.get(key)))
                for key, window in windows.items()
            }

        async with self._turn:
            with self._progress.during("rules"):
                return await asyncio.to_thread(work)

    async def _models(self) -> None:
        answers = self._budget.spend(self._rules)
        while (answer := await asyncio.to_thread(next, answers, None)) is not None:
            server, source, judged = answer
            notes = self._waiting[server].notes
            self._waiting[server] = _of_server(server, source, judged, self._scraped.get(server), notes)


def managed(window: Window, entry: InventoryEntry) -> Window:
    """The window, with the cloud service that the user names."""
    managed = entry.server.managed if entry.server else None
    if managed is None or window.latest.server.managed is not None:
        return window
    server = replace(window.latest.server, managed=managed)
    return Window(tuple(replace(snapshot, server=server) for snapshot in window.snapshots))


def _of_server(
    server: str, source: Source, judged: JudgedServer, scraped: float | None, notes: tuple[str, ...]
) -> ServerFindings:
    """The findings alone: evaluations of a whole fleet would be gigabytes."""
    findings = (
        finding_of(server, source, recommendation).model_copy(
            update={
                "scrape_interval_seconds": scraped,
                "notes": judged.notes.get(recommendation.fingerprint, ()),
            }
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
