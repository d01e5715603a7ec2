"""What an upgrade does to the servers of a fleet: the forecast for each, from its series alone."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

from advisor.contract.fleet import NotAsked, Source
from advisor.contract.recommendation import Number, Recommendation, tidy
from advisor.contract.upgrade import FleetNotForetold, FleetUpgrade, NotForetold, ServerUpgrade, UpgradeForecast
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.judging import Budget, judge
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.reading import ReadingOptions, chosen, opened
from advisor.fleet.report import EXAMPLES, not_asked
from advisor.fleet.windows import WindowReader, judge_windows
from advisor.observe.window import Window
from advisor.rules.rulebook import RuleSet
from advisor.upgrade.forecast import forecast
from advisor.upgrade.target import UpgradeRefused, target

_NO_VERSION = "its version is not known: no series has it"
_ESTIMATED = "the rows of its tables are an estimate up to a day old"


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
    async with opened(options, progress) as (reader, known):
        asked = chosen(options, known)
        stage = UpgradeStage(reader, to, rules, options.model_seconds, progress)
        await stage.run(asked.servers)
        return FleetUpgrade(
            at=reader.grid.end,
            window_seconds=options.window,
            prometheus=options.url,
            shard="{}/{}".format(*options.shard) if options.shard else None,
            to=to,
            servers=stage.servers(whole=options.server is not None),
            not_foretold=tuple(stage.not_foretold()),
            not_asked=stage.not_asked,
            vanished=asked.vanished,
            warnings=asked.warnings,
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
        self._progress = progress
        self._forecasts: dict[str, tuple[Source, UpgradeForecast]] = {}
        self._notes: dict[str, tuple[str, ...]] = {}
        self._budget = Budget[tuple[Source, tuple[Recommendation, ...]]](model_seconds)
        self._left: defaultdict[str, list[str]] = defaultdict(list)
        self._refusals: list[UpgradeRefused] = []

    async def run(self, servers: Mapping[ServerKey, InventoryEntry]) -> None:
        """Forecast for all of these servers.

        Raises:
            UpgradeRefused: There is no forecast for any of them.
        """
        servers = {key: entry for key, entry in servers.items() if self._may_be_asked(entry)}
        if self._refusals and not servers:
            raise self._refusals[0]
        for reason, names in (await judge_windows(self._reader, servers, self._shard, self._progress)).items():
            self._left[reason] += names
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
        return not_asked(self._left)

    def _may_be_asked(self, entry: InventoryEntry) -> bool:
        """Whether there is a forecast for a server; else the reason is taken down."""
        try:
            if not entry.ambiguous and entry.server is not None:
                target(entry.server, self._to)
                return True
            reason = entry.ambiguous or _NO_VERSION
        except UpgradeRefused as error:
            reason = str(error)
            self._refusals.append(error)
        self._left[reason].append(entry.key.name)
        return False

    async def _shard(self, reader: WindowReader, windows: Mapping[ServerKey, Window]) -> None:
        async for part in reader.tables(windows):
            for key, window in part.items():
                if isinstance(window, str):  # what is known without tables still holds
                    self._notes[key.name] = (f"of its tables: {window}",)
                elif reader.source is Source.MYSQLD_EXPORTER:
                    self._notes[key.name] = (_ESTIMATED,)
            whole = {key: windows[key] if isinstance(window, str) else window for key, window in part.items()}
            with self._progress.during("rules"):
                await asyncio.to_thread(self._without_models, whole, reader.source)

    def _without_models(self, windows: Mapping[ServerKey, Window], source: Source) -> None:
        """The forecasts that take no model. Those of the servers that read the most wait for it."""
        for key, window in windows.items():
            findings = judge(self._rules.rules, window, source, self._rules.suppressions).findings
            self._forecast(key.name, window, source, findings, 0.0)
            self._budget.keep(key.name, window, (source, findings))

    def _with_models(self) -> None:
        for server, window, (source, findings), seconds in self._budget.spend():
            self._forecast(server, window, source, findings, seconds)

    def _forecast(
        self, server: str, window: Window, source: Source, findings: tuple[Recommendation, ...], seconds: float
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
