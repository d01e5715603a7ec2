"""What an upgrade does to the servers of a fleet: the forecast for each, from its series alone."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from advisor.contract.fleet import NotAsked, Source
from advisor.contract.recommendation import Number, Recommendation, tidy
from advisor.contract.upgrade import FleetNotForetold, FleetUpgrade, NotForetold, ServerUpgrade, UpgradeForecast
from advisor.facts.base import over_pools, ratio
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry, inventory
from advisor.fleet.judging import judge
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.reading import ReadingOptions, chosen, opened, wants
from advisor.fleet.report import EXAMPLES
from advisor.fleet.rules_stage import managed
from advisor.fleet.shards import Shard, over
from advisor.fleet.windows import WindowReader
from advisor.observe.window import Window
from advisor.rules.rulebook import RuleSet
from advisor.upgrade.forecast import forecast
from advisor.upgrade.target import UpgradeRefused, target

_NO_VERSION = "its version is not known: no series has it"
_ESTIMATED = "the rows of its tables are an estimate up to a day old"
_WAITING_SERVERS = 32
"""Servers whose windows wait for the model: its time serves hardly more."""


async def read_upgrades(options: ReadingOptions, to: str, rules: RuleSet, progress: Progress) -> FleetUpgrade:
    """Forecast an upgrade for all servers of a fleet.

    Args:
        options: What to read.
        to: The new version.
        rules: Those in force: of their findings, the number that fall away is told.
        progress: Follows the stages.

    Raises:
        QueryError: There is no inventory. What else could not be asked is in the report.
        UnknownServer: There is no such server.
        UpgradeRefused: No server can be upgraded to this version.
    """
    began = time.monotonic()
    async with opened(options, progress) as (reader, warnings):
        with progress.during("inventory"):
            known = await inventory(reader, options.services)
        stage = UpgradeStage(reader, to, rules, options.model_seconds, progress)
        await stage.run(chosen(options, known))
        return FleetUpgrade(
            at=reader.grid.end,
            window_seconds=options.window,
            prometheus=options.url,
            shard="{}/{}".format(*options.shard) if options.shard else None,
            to=to,
            servers=stage.servers(whole=options.server is not None),
            not_foretold=tuple(stage.not_foretold()),
            not_asked=stage.not_asked,
            vanished=tuple(gone for gone in known.vanished if wants(options, ServerKey(gone.server, {}))),
            warnings=(*warnings, *known.warnings),
            took_seconds=round(time.monotonic() - began, 3),
        )


class UpgradeStage:
    """Forecasts an upgrade for servers by their series: without models first, then for those that read the most."""

    def __init__(self, reader: FleetReader, to: str, rules: RuleSet, model_seconds: float, progress: Progress) -> None:
        """Nothing is asked yet.

        Args:
            reader: Asks; its grid has the points of the windows.
            to: The new version.
            rules: Those in force.
            model_seconds: CPU time for models, of all servers together.
            progress: Follows the stages.
        """
        self._reader, self._to, self._rules = reader, to, rules
        self._model_seconds, self._progress = model_seconds, progress
        self._forecasts: dict[str, tuple[Source, UpgradeForecast]] = {}
        self._notes: dict[str, tuple[str, ...]] = {}
        self._waiting: list[tuple[float, str, Source, Window, Sequence[Recommendation]]] = []
        self._left: defaultdict[str, list[str]] = defaultdict(list)
        self._refusals: list[UpgradeRefused] = []
        self._through, self._of = 0, 0

    async def run(self, servers: Mapping[ServerKey, InventoryEntry]) -> None:
        """Forecast for all of these servers.

        Raises:
            UpgradeRefused: There is no forecast for any of them.
        """
        servers = {key: entry for key, entry in servers.items() if self._may_be_asked(entry)}
        if self._refusals and not servers:
            raise self._refusals[0]
        self._of = len(servers)
        for source in (Source.SIDECAR, Source.MYSQLD_EXPORTER):
            of_source = {key: entry for key, entry in servers.items() if entry.series is source}
            await self._all(of_source, WindowReader(self._reader, source))
        with self._progress.during("models"):
            await asyncio.to_thread(self._with_models)

    def servers(self, *, whole: bool) -> tuple[ServerUpgrade, ...]:
        """What the upgrade does to each, the worst first; on request with the whole forecast."""
        servers = (self._server(name, *answer, whole=whole) for name, answer in self._forecasts.items())
        return tuple(sorted(servers, key=_worst_first))

    def not_foretold(self) -> Iterator[FleetNotForetold]:
        """What cannot be said, the most servers first."""
        servers: defaultdict[NotForetold, list[str]] = defaultdict(list)
        for name, (_, answer) in sorted(self._forecasts.items()):
            for spot in answer.not_foretold:
                servers[spot].append(name)
        for spot, names in sorted(servers.items(), key=lambda item: (-len(item[1]), item[0].what)):
            yield FleetNotForetold(**dict(spot), servers=len(names), examples=tuple(names[:EXAMPLES]))

    @property
    def not_asked(self) -> tuple[NotAsked, ...]:
        """The servers without a forecast, by reason."""
        return tuple(NotAsked(servers=tuple(sorted(names)), reason=reason) for reason, names in self._left.items())

    def _may_be_asked(self, entry: InventoryEntry) -> bool:
        """Whether there is a forecast for a server; else the reason is taken down."""
        reason = entry.ambiguous
        if not reason and entry.server is None:
            reason = _NO_VERSION
        elif not reason and entry.server is not None:
            try:
                target(entry.server, self._to)
            except UpgradeRefused as error:
                reason = str(error)
                self._refusals.append(error)
        if reason:
            self._left[reason].append(entry.key.name)
        return not reason

    async def _all(self, servers: Mapping[ServerKey, InventoryEntry], windows: WindowReader) -> None:
        async def ask(shard: Shard) -> Mapping[ServerKey, None]:
            await self._shard({key: servers[key] for key in shard}, windows)
            return dict.fromkeys(shard)

        def done(count: int) -> None:
            self._through += count
            self._progress.show("rules", self._through, self._of)

        _, left_out = await over(servers, ask, done=done)
        for reason, names in left_out.items():
            self._left[reason] += names

    async def _shard(self, entries: Mapping[ServerKey, InventoryEntry], reader: WindowReader) -> None:
        with self._progress.during("windows"):
            windows = await reader.windows([*entries])
        clear = {key: managed(window, entries[key]) for key, window in windows.items() if isinstance(window, Window)}
        for key, why in windows.items():
            if isinstance(why, str):
                self._left[why].append(key.name)
        if not clear:
            return
        async for part in reader.tables(clear):
            for key, window in part.items():
                if isinstance(window, str):  # what is known without tables still holds
                    self._notes[key.name] = (f"of its tables: {window}",)
                elif reader.source is Source.MYSQLD_EXPORTER:
                    self._notes[key.name] = (_ESTIMATED,)
            whole = {key: clear[key] if isinstance(window, str) else window for key, window in part.items()}
            with self._progress.during("rules"):
                await asyncio.to_thread(self._without_models, whole, reader.source)

    def _without_models(self, windows: Mapping[ServerKey, Window], source: Source) -> None:
        """The forecasts that take no model. Those of the servers that read the most wait for it."""
        for key, window in windows.items():
            findings = judge(self._rules.rules, window, source, self._rules.suppressions).findings
            self._forecast(key.name, source, window, findings, 0.0)
            read = ratio(window.delta(over_pools("pages_read")), window.seconds) or 0.0
            heapq.heappush(self._waiting, (read, key.name, source, window, findings))
            if len(self._waiting) > _WAITING_SERVERS:
                heapq.heappop(self._waiting)

    def _with_models(self) -> None:
        until = time.process_time() + self._model_seconds
        for _, server, source, window, findings in sorted(self._waiting, key=lambda waiting: (-waiting[0], waiting[1])):
            seconds = until - time.process_time()
            if seconds > 0.0:
                self._forecast(server, source, window, findings, seconds)

    def _forecast(
        self, server: str, source: Source, window: Window, findings: Sequence[Recommendation], seconds: float
    ) -> None:
        answer = forecast(window, self._to, findings=findings, rules=self._rules.rules, seconds=seconds)
        self._forecasts[server] = source, answer

    def _server(self, name: str, source: Source, answer: UpgradeForecast, *, whole: bool) -> ServerUpgrade:
        effects = answer.effects
        return ServerUpgrade(
            server=name,
            source=source,
            version=answer.server,
            blockers=tuple(blocker.variable for blocker in answer.blockers),
            pages_per_second=_pages(answer),
            worse=sum(effect.better is False for effect in effects),
            changes=sum(effect.better is None for effect in effects),
            better=len(answer.improvements),
            largest=effects[0].summary if effects else None,
            settled=len(answer.settled),
            not_foretold=len(answer.not_foretold),
            notes=self._notes.get(name, ()),
            forecast=answer if whole else None,
        )


def _pages(answer: UpgradeForecast) -> Number | None:
    """Pages a second more, by all effects that have a number."""
    known = [effect.pages_per_second for effect in (*answer.effects, *answer.improvements)]
    numbers = [number for number in known if number is not None]
    return tidy(sum(numbers)) if numbers else None


def _worst_first(server: ServerUpgrade) -> tuple[int, float, int, int, str]:
    return -len(server.blockers), -(server.pages_per_second or 0.0), -server.worse, -server.changes, server.server
