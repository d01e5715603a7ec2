"""One reading of the fleet: the stages in their order, and the report that they make."""

from __future__ import annotations

import contextlib
import difflib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace

from advisor.contract.fleet import Capacity, FleetReport, FleetServer, Source
from advisor.contract.templates import duration
from advisor.fleet import report, shards
from advisor.fleet.capacity import capacity
from advisor.fleet.client import PrometheusClient
from advisor.fleet.identity import Identity
from advisor.fleet.inventory import Inventory, InventoryEntry, inventory
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.report import FleetFindings, ServerFindings
from advisor.fleet.rules_stage import RulesStage
from advisor.fleet.series import Grid
from advisor.fleet.verdicts import verdicts
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


async def read(options: ReadingOptions, rules: RuleSet, progress: Progress) -> FleetReport:
    """Read the fleet once.

    Args:
        options: What to read.
        rules: The rules in force.
        progress: Follows the stages.

    Raises:
        QueryError: There is no inventory. What else could not be asked is in the report.
        UnknownServer: There is no such server.
    """
    began, findings = time.monotonic(), FleetFindings()
    async with opened(options, progress) as (reader, known):
        asked = chosen(options, known)
        clear = {key: entry for key, entry in asked.servers.items() if not entry.ambiguous}
        for key, entry in asked.servers.items():
            if entry.ambiguous:
                findings.leave({entry.ambiguous: [key.name]})
        judged = {key: entry for key, entry in clear.items() if entry.source is Source.VERDICT}
        with progress.during("verdicts"):
            found, left_out = await verdicts(reader, judged, rules, whole=len(asked.servers) == len(known.servers))
            findings.leave(left_out)
            for key, verdict in found.items():
                findings.take(key.name, Source.VERDICT, verdict)
            progress.show("verdicts", len(judged), len(judged))
        stage = RulesStage(reader, rules, options.model_seconds, progress, findings)
        await stage.run({key: entry for key, entry in clear.items() if key not in judged})
        memory = None
        if options.may_read is not None:
            with progress.during("capacity"):
                versions = {key: entry.server for key, entry in clear.items()}
                memory = await capacity(reader, versions, options.may_read)
    with progress.during("assembly"):
        return _report(options, rules, asked, findings, memory, at=reader.grid.end, began=began)


@contextlib.asynccontextmanager
async def opened(options: ReadingOptions, progress: Progress) -> AsyncIterator[tuple[FleetReader, Inventory]]:
    """A reader that ends at the time that is asked for, and all servers, with a warning where the clocks differ.

    Raises:
        QueryError: Prometheus does not tell its time, or there is no inventory.
    """
    async with PrometheusClient(options.url, options.settings, options.headers, progress.queries) as client:
        warnings: tuple[str, ...] = ()
        if options.at is None:
            now = await shards.patiently(client.now)
            grid, warnings = Grid.of(now, options.window), _clocks(options.clock() - now)
        else:
            grid = Grid.until(options.at, options.window)
        reader = FleetReader(client, options.identity, options.selector, grid)
        with progress.during("inventory"):
            known = await inventory(reader, options.services)
        yield reader, replace(known, warnings=(*warnings, *known.warnings))


def chosen(options: ReadingOptions, known: Inventory) -> Inventory:
    """Of all servers those of the shard, or the one that is asked for.

    Raises:
        UnknownServer: There is no such server.
    """
    servers = {key: entry for key, entry in known.servers.items() if _wants(options, key.name)}
    if options.server is not None and not servers:
        raise UnknownServer(_unknown(options.server, [key.name for key in known.servers]))
    vanished = tuple(gone for gone in known.vanished if _wants(options, gone.server))
    return replace(known, servers=servers, vanished=vanished)


def _wants(options: ReadingOptions, server: str) -> bool:
    if options.server is not None:
        return server == options.server
    return options.shard is None or shards.mine(server, *options.shard)


def _clocks(ahead: float) -> tuple[str, ...]:
    """A warning where this machine's clock is not Prometheus'; all times are by Prometheus'."""
    if abs(ahead) <= CLOCKS_SECONDS:
        return ()
    how = "ahead of" if ahead > 0 else "behind"
    return (f"the clock of this machine is {duration(abs(ahead))} {how} that of Prometheus",)


def _report(
    options: ReadingOptions,
    rules: RuleSet,
    asked: Inventory,
    of: FleetFindings,
    memory: Capacity | None,
    *,
    at: float,
    began: float,
) -> FleetReport:
    findings = report.ranked(finding for server in of.servers.values() for finding in server.findings)
    return FleetReport(
        at=at,
        window_seconds=options.window,
        prometheus=options.url,
        shard="{}/{}".format(*options.shard) if options.shard else None,
        servers=tuple(
            _server(entry, of.servers.get(key.name, ServerFindings())) for key, entry in asked.servers.items()
        ),
        findings=findings,
        rules=report.by_rule(findings, {rule.id: rule for rule in rules.rules}),
        top_servers=report.top_servers(findings),
        best=report.best(findings),
        blind=of.blind_spots,
        suppressed=sum(server.suppressed for server in of.servers.values()),
        not_asked=of.not_asked,
        not_modelled=of.not_modelled,
        vanished=asked.vanished,
        warnings=asked.warnings,
        capacity=memory,
        took_seconds=round(time.monotonic() - began, 3),
    )


def _server(entry: InventoryEntry, findings: ServerFindings) -> FleetServer:
    server = entry.server
    return FleetServer(
        name=entry.key.name,
        identity=entry.key.labels,
        source=entry.source,
        flavour=server.flavour if server else None,
        version=server.version_text if server else None,
        up=entry.up,
        undecided=findings.undecided,
        notes=findings.notes,
    )


def _unknown(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, 3, 0.4)
    return f"no server {name}" + (f"; did you mean {', or '.join(near)}?" if near else f" among {len(names)} servers")
