"""The rules over the windows of servers without a sidecar: shard by shard, tables for candidates, models at the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.contract.fleet import FleetFinding, NotAsked, Source
from advisor.fleet.blind import BlindSpots
from advisor.fleet.client import Prometheus
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.inventory import Known
from advisor.fleet.judging import Budget, Judged, Lack, judge
from advisor.fleet.progress import Progress, Stage
from advisor.fleet.scrapes import intervals
from advisor.fleet.series import Grid
from advisor.fleet.shards import over
from advisor.fleet.tables import tables
from advisor.fleet.windows import Unclear, windows
from advisor.observe.window import Window
from advisor.rules.rulebook import RuleSet


@dataclass(slots=True)
class Results:
    """What the rules say of servers; windows are let go.

    Attributes:
        findings: Of all servers.
        undecided: By server, the rules that could not be judged.
        suppressed: How many findings are not wanted.
        unclear: Why nothing is said, by server.
        notes: What to know of all that is said, by server.
        not_asked: Who was not asked, and why.
        not_modelled: Servers that the budget left out.
    """

    findings: dict[str, tuple[FleetFinding, ...]] = field(default_factory=dict)
    undecided: dict[str, tuple[str, ...]] = field(default_factory=dict)
    suppressed: dict[str, int] = field(default_factory=dict)
    unclear: dict[str, str] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    not_asked: list[NotAsked] = field(default_factory=list)
    not_modelled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Looked:
    window: Window
    judged: Judged


class RulesStage:
    """Stages C to E and the models of a reading."""

    def __init__(
        self,
        client: Prometheus,
        identity: Identity,
        selector: str,
        grid: Grid,
        *,
        rules: RuleSet,
        model_seconds: float,
        progress: Progress,
        spots: BlindSpots,
    ) -> None:
        """Nothing is asked yet.

        Args:
            client: Whom to ask.
            identity: What makes a server.
            selector: The user's matchers, without braces; may be empty.
            grid: The points of the windows.
            rules: Those in force.
            model_seconds: CPU time for models.
            progress: Told how far it is.
            spots: Takes what rules lack.
        """
        self._client, self._identity, self._selector, self._grid = client, identity, selector, grid
        self._rules, self._suppressions = rules.rules, rules.suppressions
        self._progress, self._spots = progress, spots
        # Of the whole process: the models run in threads of a pool.
        self._budget = Budget(model_seconds, self._suppressions, time.process_time)
        self._turn = asyncio.Lock()
        self._results = Results()
        self._blind: dict[str, tuple[Lack, ...]] = {}  # of servers that wait for a model
        self._scraped: dict[str, float] = {}  # of servers with findings, or that wait for a model
        self._through = 0

    async def run(self, servers: Mapping[ServerKey, Known]) -> Results:
        """Judge all of these servers."""
        for source in (Source.OWN, Source.PEER):
            await self._all({key: each for key, each in servers.items() if each.source is source}, source, len(servers))
        with self._progress.during(Stage.MODELS):
            await self._models({key.name: each.source for key, each in servers.items()})
        for key, each in servers.items():
            self._tell(key.name, each.source, self._blind.get(key.name, ()))
        self._results.not_modelled = self._budget.left
        return self._results

    async def _all(self, servers: Mapping[ServerKey, Known], source: Source, of: int) -> None:
        async def ask(keys: tuple[ServerKey, ...]) -> Mapping[ServerKey, None]:
            return await self._shard(keys, servers, source)

        _, left = await over(servers, ask, done=self._done(of))
        self._results.not_asked += left

    def _done(self, of: int) -> Callable[[int], None]:
        def done(servers: int) -> None:
            self._through += servers
            self._progress.done(Stage.RULES, self._through, of)

        return done

    async def _shard(
        self, keys: Sequence[ServerKey], known: Mapping[ServerKey, Known], source: Source
    ) -> Mapping[ServerKey, None]:
        """Ask and judge a shard. Nothing is kept of it before all of it is known: it may be asked again in halves."""
        asked = {"identity": self._identity, "more": self._selector}
        with self._progress.during(Stage.WINDOWS):
            seen = await windows(self._client, self._grid, keys, source, **asked)  # type: ignore[arg-type]
        clear = {key: _managed(each, known[key]) for key, each in seen.items() if isinstance(each, Window)}
        unclear = {key: each for key, each in seen.items() if isinstance(each, Unclear)}
        looked = await self._judged(clear, source, {})
        notes: dict[str, tuple[str, ...]] = {}
        candidates = {key: each.window for key, each in looked.items() if each.judged.wants_tables}
        if candidates:
            with self._progress.during(Stage.TABLES):
                async for part in tables(self._client, self._grid, candidates, source, **asked):  # type: ignore[arg-type]
                    whole = {key: each for key, each in part.items() if isinstance(each, Window)}
                    # What rules without tables say still holds where these could not be asked for.
                    looked.update(await self._judged(whole, source, looked))
                    shut = {key: each for key, each in part.items() if isinstance(each, Unclear)}
                    notes |= {key.name: (f"of its tables: {each.reason}",) for key, each in shut.items()}
        telling = {key: each.window for key, each in looked.items() if each.judged.findings or each.judged.waiting}
        scraped = await intervals(self._client, self._grid, telling, source, **asked)  # type: ignore[arg-type]
        self._scraped |= {key.name: seconds for key, seconds in scraped.items()}
        for key, each in looked.items():
            self._keep(key.name, source, each)
        self._results.notes |= notes
        self._results.unclear |= {key.name: each.reason for key, each in unclear.items()}
        return dict.fromkeys(keys)

    async def _judged(
        self, seen: Mapping[ServerKey, Window], source: Source, before: Mapping[ServerKey, _Looked]
    ) -> dict[ServerKey, _Looked]:
        """The rules on windows, in another thread: the service answers meanwhile."""

        def work() -> dict[ServerKey, _Looked]:
            return {
                key: _Looked(
                    window,
                    judge(
                        self._rules,
                        window,
                        source,
                        self._suppressions,
                        before[key].judged if key in before else None,
                    ),
                )
                for key, window in seen.items()
            }

        async with self._turn:
            with self._progress.during(Stage.RULES):
                return await asyncio.to_thread(work)

    def _keep(self, server: str, source: Source, looked: _Looked) -> None:
        self._take(server, source, looked.judged)
        if looked.judged.waiting:
            self._budget.keep(server, looked.window, source, looked.judged)
            self._blind[server] = looked.judged.blind
        else:
            self._tell(server, source, looked.judged.blind)

    def _tell(self, server: str, source: Source, blind: Sequence[Lack]) -> None:
        for each in blind:
            self._spots.add(server, each.rule, each.lacks, source, each.cure)

    def _take(self, server: str, source: Source, judged: Judged) -> None:
        # A Judged holds all evaluations: of a whole fleet they would be gigabytes.
        self._results.findings[server] = tuple(_findings(server, source, judged, self._scraped.get(server)))
        self._results.undecided[server] = judged.undecided
        self._results.suppressed[server] = judged.suppressed

    async def _models(self, sources: Mapping[str, Source]) -> None:
        answers = self._budget.spend(self._rules)
        while (answer := await asyncio.to_thread(next, answers, None)) is not None:
            server, judged = answer
            self._take(server, sources[server], judged)
            self._blind[server] = judged.blind


def _managed(window: Window, known: Known) -> Window:
    """The window, with the cloud service that the user says runs the server."""
    managed = known.server.managed if known.server else None
    if managed is None or window.latest.server.managed is not None:
        return window
    return Window(tuple(replace(each, server=replace(each.server, managed=managed)) for each in window.snapshots))


def _findings(server: str, source: Source, judged: Judged, scraped: float | None) -> Iterator[FleetFinding]:
    for found in judged.findings:
        yield FleetFinding(
            server=server,
            source=source,
            rule=found.rule,
            severity=found.severity,
            subject=found.subject,
            fingerprint=found.fingerprint,
            summary=found.summary,
            confidence=found.confidence,
            changes=found.changes,
            actions=found.actions,
            evidence=found.evidence,
            effect=found.effect,
            read_bytes_saved_per_second=found.effect.read_bytes_saved_per_second if found.effect else None,
            scrape_interval_seconds=scraped,
            notes=judged.notes.get(found.fingerprint, ()),
        )
