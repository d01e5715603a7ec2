"""One reading of the fleet: the stages in their order, and the report that they make."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from advisor.contract.fleet import Capacity, FleetFinding, FleetReport, FleetServer, NotAsked, Source
from advisor.contract.templates import duration
from advisor.fleet import assembly, shards
from advisor.fleet.blind import BlindSpots
from advisor.fleet.capacity import Wanted, capacity
from advisor.fleet.client import Prometheus
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.inventory import Inventory, Known, inventory
from advisor.fleet.progress import Progress, Stage
from advisor.fleet.rules_stage import RulesStage
from advisor.fleet.series import Grid
from advisor.fleet.verdicts import Verdict, verdicts
from advisor.outgoing.client_settings import ClientSettings
from advisor.rules.rulebook import RuleSet
from exporter.server import Managed

WINDOW_SECONDS = 3600.0
MODEL_SECONDS = 15.0
CLOCKS_SECONDS = 60.0
"""Two clocks that are further apart are said to be."""


class UnknownServer(ValueError):
    """There is no server of this name; the text has names that are close."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to read.

    Attributes:
        url: Of the Prometheus, without /api/v1.
        rules: The rules in force.
        selector: Matchers of the user, without braces; may be empty.
        window: Seconds.
        identity: What makes a server.
        shard: i and n: only servers of shard i of n, from 0.
        server: Only the server of this name.
        services: Matchers, and the cloud service that runs what they match.
        settings: Login, TLS and the limit for a query; None for the defaults.
        headers: More headers of each request.
        model_seconds: CPU time for models.
        may_read: Pages a second that a server may read more with a smaller pool; None not to look at days.
        at: Where to end, Unix seconds; None for Prometheus' present, which is a minute ago.
        clock: This machine's, Unix seconds.
    """

    url: str
    rules: RuleSet
    selector: str = ""
    window: float = WINDOW_SECONDS
    identity: Identity = field(default_factory=Identity)
    shard: tuple[int, int] | None = None
    server: str | None = None
    services: tuple[tuple[str, Managed], ...] = ()
    settings: ClientSettings | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    model_seconds: float = MODEL_SECONDS
    may_read: float | None = None
    at: float | None = None
    clock: Callable[[], float] = time.time


async def read(options: Options, progress: Progress) -> FleetReport:
    """Read the fleet once.

    Raises:
        PrometheusError: There is no inventory. What else could not be asked is in the report.
        UnknownServer: There is no such server.
    """
    began = time.monotonic()
    async with Prometheus(options.url, options.settings, options.headers, progress.asked) as client:
        if options.at is not None:
            return await _Reading(options, progress, client, Grid.until(options.at, options.window), began).report()
        now = await shards.patiently(client.now)
        reading = _Reading(options, progress, client, Grid.of(now, options.window), began)
        reading.hold_clocks(options.clock() - now)
        return await reading.report()


class _Reading:
    def __init__(self, options: Options, progress: Progress, client: Prometheus, grid: Grid, began: float) -> None:
        self._options, self._progress, self._client = options, progress, client
        self._grid, self._began = grid, began
        self._warnings: list[str] = []
        self._today = datetime.now(UTC).date()
        self._rules = {rule.id: rule for rule in options.rules.rules}
        self._blind = BlindSpots()
        self._findings: list[FleetFinding] = []
        self._suppressed = 0
        self._left: dict[str, list[str]] = {}
        self._undecided: dict[str, tuple[str, ...]] = {}
        self._notes: dict[str, tuple[str, ...]] = {}
        self._not_modelled: tuple[str, ...] = ()

    def hold_clocks(self, ahead: float) -> None:
        """Warn where this machine's clock is not Prometheus'; all times are by Prometheus'."""
        if abs(ahead) > CLOCKS_SECONDS:
            how = "ahead of" if ahead > 0 else "behind"
            self._warnings.append(f"the clock of this machine is {duration(abs(ahead))} {how} that of Prometheus")

    async def report(self) -> FleetReport:
        options = self._options
        with self._progress.during(Stage.INVENTORY):
            known = await inventory(self._client, options.identity, options.selector, self._grid.end, options.services)
        servers = self._chosen(known)
        for key in servers:
            if key in known.ambiguous:
                self._leave(known.ambiguous[key], (key.name,))
        clear = {key: each for key, each in servers.items() if key not in known.ambiguous}
        with self._progress.during(Stage.VERDICTS):
            await self._verdicts(clear, whole=len(servers) == len(known.servers))
        await self._rules_of({key: each for key, each in clear.items() if each.source is not Source.VERDICT})
        memory = await self._capacity(clear)
        with self._progress.during(Stage.ASSEMBLY):
            return self._assembled(known, servers, memory)

    def _chosen(self, known: Inventory) -> Mapping[ServerKey, Known]:
        """The servers of the shard, or the one that is asked for."""
        found = {key: each for key, each in known.servers.items() if self._wants(key)}
        if self._options.server is not None and not found:
            raise UnknownServer(_unknown(self._options.server, [key.name for key in known.servers]))
        return found

    def _wants(self, key: ServerKey) -> bool:
        options = self._options
        if options.server is not None:
            return key.name == options.server
        return options.shard is None or shards.mine(key, *options.shard)

    async def _verdicts(self, servers: Mapping[ServerKey, Known], *, whole: bool) -> None:
        judged = {key: each for key, each in servers.items() if each.source is Source.VERDICT}
        options = self._options
        found, left = await verdicts(
            self._client,
            options.identity,
            options.selector,
            self._grid.end,
            judged,
            rules=self._rules,
            spots=self._blind,
            whole=whole,
        )
        for some in left:
            self._leave(some.reason, some.servers)
        for key, verdict in found.items():
            self._take(key.name, verdict)
        self._progress.done(Stage.VERDICTS, len(judged), len(judged))

    def _take(self, server: str, verdict: Verdict) -> None:
        wanted = [each for each in verdict.findings if not self._is_suppressed(each)]
        self._findings += wanted
        self._suppressed += verdict.suppressed + len(verdict.findings) - len(wanted)
        self._undecided[server] = verdict.undecided
        if verdict.incomplete is not None:
            # What is not there is not known: no rule has been decided that has no finding.
            self._undecided[server] = tuple(sorted({*self._rules} - {each.rule for each in verdict.findings}))
            self._notes[server] = (f"incomplete answer: {verdict.incomplete}",)

    def _is_suppressed(self, found: FleetFinding) -> bool:
        """Whether the configuration of this program does not want it; its sidecar's may want it."""
        return any(each.covers(found, self._today) for each in self._options.rules.suppressions)

    async def _rules_of(self, servers: Mapping[ServerKey, Known]) -> None:
        """Judge servers without verdicts by their series."""
        options = self._options
        stage = RulesStage(
            self._client,
            options.identity,
            options.selector,
            self._grid,
            rules=options.rules,
            model_seconds=options.model_seconds,
            progress=self._progress,
            spots=self._blind,
        )
        found = await stage.run(servers)
        self._findings += (each for some in found.findings.values() for each in some)
        self._suppressed += sum(found.suppressed.values())
        self._undecided |= found.undecided
        self._notes |= found.notes
        self._not_modelled = found.not_modelled
        for each in found.not_asked:
            self._leave(each.reason, each.servers)
        for server, reason in found.unclear.items():
            self._leave(reason, (server,))

    def _leave(self, reason: str, servers: Iterable[str]) -> None:
        names = list(servers)
        if names:
            self._left.setdefault(reason, []).extend(names)

    async def _capacity(self, servers: Mapping[ServerKey, Known]) -> Capacity | None:
        options = self._options
        if options.may_read is None:
            return None
        wanted = Wanted(options.identity, options.selector, self._grid.end, options.may_read)
        with self._progress.during(Stage.CAPACITY):
            return await capacity(self._client, {key: each.server for key, each in servers.items()}, wanted)

    def _assembled(self, known: Inventory, servers: Mapping[ServerKey, Known], memory: Capacity | None) -> FleetReport:
        options = self._options
        findings = assembly.ranked(self._findings)
        gone = [each for each in known.vanished if self._wants(ServerKey(each.server, {}))]
        return FleetReport(
            at=self._grid.end,
            window_seconds=options.window,
            prometheus=options.url,
            shard="{}/{}".format(*options.shard) if options.shard else None,
            servers=tuple(self._server(each) for each in servers.values()),
            findings=findings,
            rules=assembly.by_rule(findings, self._rules),
            top_servers=assembly.top_servers(findings),
            best=assembly.best(findings),
            blind=self._blind.lines(),
            suppressed=self._suppressed,
            not_asked=tuple(
                NotAsked(servers=tuple(sorted(names)), reason=reason) for reason, names in self._left.items()
            ),
            not_modelled=self._not_modelled,
            vanished=tuple(gone),
            warnings=(*self._warnings, *known.warnings),
            capacity=memory,
            took_seconds=round(time.monotonic() - self._began, 3),
        )

    def _server(self, known: Known) -> FleetServer:
        server = known.server
        return FleetServer(
            name=known.key.name,
            identity=known.key.labels,
            source=known.source,
            flavour=server.flavour if server else None,
            version=server.version_text if server else None,
            up=known.up,
            undecided=self._undecided.get(known.key.name, ()),
            notes=self._notes.get(known.key.name, ()),
        )


def _unknown(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, 3, 0.4)
    return f"no server {name}" + (f"; did you mean {', or '.join(near)}?" if near else f" among {len(names)} servers")
