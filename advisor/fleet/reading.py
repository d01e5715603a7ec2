"""One reading of the fleet: the stages in their order, and the report that they make."""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from advisor.contract.fleet import Capacity, FleetReport, FleetServer, Source
from advisor.contract.templates import duration
from advisor.fleet import report, shards
from advisor.fleet.capacity import capacity
from advisor.fleet.client import PrometheusClient
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.inventory import Inventory, InventoryEntry, inventory
from advisor.fleet.progress import Progress, ReadingStage
from advisor.fleet.reader import FleetReader
from advisor.fleet.report import Findings
from advisor.fleet.rules_stage import RulesStage
from advisor.fleet.series import Grid
from advisor.fleet.verdicts import Verdict, verdicts
from advisor.outgoing.settings import ClientSettings
from advisor.rules.rulebook import RuleSet
from exporter.server import Managed

WINDOW_SECONDS = 3600.0
MODEL_SECONDS = 15.0
CLOCKS_SECONDS = 60.0
"""Warn if clocks differ by more than this."""


class UnknownServer(ValueError):
    """There is no server of this name; the text has names that are close."""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
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


async def read(options: ReadingOptions, progress: Progress) -> FleetReport:
    """Read the fleet once.

    Raises:
        QueryError: There is no inventory. What else could not be asked is in the report.
        UnknownServer: There is no such server.
    """
    began = time.monotonic()
    async with PrometheusClient(options.url, options.settings, options.headers, progress.asked) as client:
        if options.at is not None:
            return await _Reading(options, progress, client, Grid.until(options.at, options.window), began).report()
        now = await shards.patiently(client.now)
        reading = _Reading(options, progress, client, Grid.of(now, options.window), began)
        reading.compare_clocks(options.clock() - now)
        return await reading.report()


class _Reading:
    def __init__(
        self, options: ReadingOptions, progress: Progress, client: PrometheusClient, grid: Grid, began: float
    ) -> None:
        self._options, self._progress, self._began = options, progress, began
        self._reader = FleetReader(client, options.identity, options.selector, grid)
        self._warnings: list[str] = []
        self._rules = {rule.id: rule for rule in options.rules.rules}
        self._findings = Findings()

    def compare_clocks(self, ahead: float) -> None:
        """Warn where this machine's clock is not Prometheus'; all times are by Prometheus'."""
        if abs(ahead) > CLOCKS_SECONDS:
            how = "ahead of" if ahead > 0 else "behind"
            self._warnings.append(f"the clock of this machine is {duration(abs(ahead))} {how} that of Prometheus")

    async def report(self) -> FleetReport:
        options = self._options
        with self._progress.during(ReadingStage.INVENTORY):
            known = await inventory(self._reader, options.services)
        servers = self._chosen(known)
        for key in servers:
            if key in known.ambiguous:
                self._findings.leave(known.ambiguous[key], (key.name,))
        clear = {key: entry for key, entry in servers.items() if key not in known.ambiguous}
        with self._progress.during(ReadingStage.VERDICTS):
            await self._verdicts(clear, whole=len(servers) == len(known.servers))
        stage = RulesStage(self._reader, options.rules, options.model_seconds, self._progress, self._findings)
        await stage.run({key: entry for key, entry in clear.items() if entry.source is not Source.VERDICT})
        memory = await self._capacity(clear)
        with self._progress.during(ReadingStage.ASSEMBLY):
            return self._assembled(known, servers, memory)

    def _chosen(self, known: Inventory) -> Mapping[ServerKey, InventoryEntry]:
        """The servers of the shard, or the one that is asked for."""
        chosen = {key: entry for key, entry in known.servers.items() if self._wants(key)}
        if self._options.server is not None and not chosen:
            raise UnknownServer(_unknown(self._options.server, [key.name for key in known.servers]))
        return chosen

    def _wants(self, key: ServerKey) -> bool:
        options = self._options
        if options.server is not None:
            return key.name == options.server
        return options.shard is None or shards.mine(key, *options.shard)

    async def _verdicts(self, servers: Mapping[ServerKey, InventoryEntry], *, whole: bool) -> None:
        judged = {key: entry for key, entry in servers.items() if entry.source is Source.VERDICT}
        verdicts_of, not_asked = await verdicts(self._reader, judged, self._rules, whole=whole)
        for left in not_asked:
            self._findings.leave(left.reason, left.servers)
        for key, verdict in verdicts_of.items():
            self._take(key.name, verdict)
        self._progress.done(ReadingStage.VERDICTS, len(judged), len(judged))

    def _take(self, server: str, verdict: Verdict) -> None:
        """Take a verdict, without what the configuration of this program suppresses; its sidecar's may want it."""
        today = datetime.now(UTC).date()
        suppressions = self._options.rules.suppressions
        wanted = tuple(
            finding
            for finding in verdict.findings
            if not any(suppression.covers(finding.rule, finding.fingerprint, today) for suppression in suppressions)
        )
        findings = self._findings
        findings.findings[server] = wanted
        findings.suppressed[server] = verdict.suppressed + len(verdict.findings) - len(wanted)
        findings.undecided[server] = verdict.undecided
        for rule, lacks, cure in verdict.blind:
            findings.blind(server, rule, lacks, Source.VERDICT, cure)
        if verdict.incomplete is not None:
            # What is not there is not known: no rule has been decided that has no finding.
            decided = {finding.rule for finding in verdict.findings}
            findings.undecided[server] = tuple(sorted({*self._rules} - decided))
            findings.notes[server] = (f"incomplete answer: {verdict.incomplete}",)

    async def _capacity(self, servers: Mapping[ServerKey, InventoryEntry]) -> Capacity | None:
        if self._options.may_read is None:
            return None
        with self._progress.during(ReadingStage.CAPACITY):
            known = {key: entry.server for key, entry in servers.items()}
            return await capacity(self._reader, known, self._options.may_read)

    def _assembled(
        self, known: Inventory, servers: Mapping[ServerKey, InventoryEntry], memory: Capacity | None
    ) -> FleetReport:
        options, of = self._options, self._findings
        findings = report.ranked(finding for some in of.findings.values() for finding in some)
        return FleetReport(
            at=self._reader.grid.end,
            window_seconds=options.window,
            prometheus=options.url,
            shard="{}/{}".format(*options.shard) if options.shard else None,
            servers=tuple(self._server(entry) for entry in servers.values()),
            findings=findings,
            rules=report.by_rule(findings, self._rules),
            top_servers=report.top_servers(findings),
            best=report.best(findings),
            blind=of.blind_spots,
            suppressed=sum(of.suppressed.values()),
            not_asked=of.not_asked,
            not_modelled=of.not_modelled,
            vanished=tuple(gone for gone in known.vanished if self._wants(ServerKey(gone.server, {}))),
            warnings=(*self._warnings, *known.warnings),
            capacity=memory,
            took_seconds=round(time.monotonic() - self._began, 3),
        )

    def _server(self, entry: InventoryEntry) -> FleetServer:
        server = entry.server
        return FleetServer(
            name=entry.key.name,
            identity=entry.key.labels,
            source=entry.source,
            flavour=server.flavour if server else None,
            version=server.version_text if server else None,
            up=entry.up,
            undecided=self._findings.undecided.get(entry.key.name, ()),
            notes=self._findings.notes.get(entry.key.name, ()),
        )


def _unknown(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, 3, 0.4)
    return f"no server {name}" + (f"; did you mean {', or '.join(near)}?" if near else f" among {len(names)} servers")
