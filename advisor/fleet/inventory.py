"""The servers that a Prometheus knows: who watches them, which version they are, and which of them are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from advisor.contract.fleet import Source, Vanished
from advisor.fleet.identity import ServerKey
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader, Labels, ServerSeries
from advisor.fleet.shards import patiently
from exporter.server import Flavour, Managed, Server, identify

NOBODY = "no server: there are no series innodb_up or mysql_up"
SAME_START_SECONDS = 30.0
"""Starts that differ by more are those of two servers: clocks of two replicas differ by less."""
_TRUE = "true"
_UP = ("innodb_up", "mysql_up")

# Two instances under one identity are two servers, also where an instance is no part of the identity.
UP = FleetQuery(
    "inventory-up",
    'max by ($J, __name__) ({__name__=~"innodb_up|mysql_up",$S})',
    ("instance",),
    at_end=True,
)
_SIDECAR_LABELS = ("version_text", "version_comment", "flavour", "managed", "group_replication", "windows")
SIDECAR_INFO = FleetQuery(
    "inventory-sidecar",
    f"group by ($I, {', '.join(_SIDECAR_LABELS)}) (innodb_server_info{{$S}})",
    _SIDECAR_LABELS,
    at_end=True,
)
MYSQLD_EXPORTER_INFO = FleetQuery(
    "inventory-mysqld-exporter",
    "group by ($I, version, version_comment) (mysql_version_info{$S})",
    ("version", "version_comment"),
    at_end=True,
)
JUDGED = FleetQuery("inventory-judged", "max by ($I) (innodb_advisor_advice_timestamp_seconds{$S})", at_end=True)
# The start is the same for every scrape and every replica; the uptime is not.
STARTS = FleetQuery(
    "inventory-starts",
    " or ".join(
        f'label_replace({function} by ($I) (timestamp({metric}{{$S}}) - {metric}{{$S}}), "start", "{name}", "", "")'
        for function in ("max", "min")
        for name, metric in (
            (f"{function}_sidecar", "innodb_server_uptime_seconds"),
            (f"{function}_mysqld_exporter", "mysql_global_status_uptime"),
        )
    ),
    ("start",),
    at_end=True,
)
VANISHED = FleetQuery(
    "inventory-vanished",
    # timestamp() drops the name, and two exporters may have the same labels: hence two selectors.
    "max by ($I) (max_over_time(timestamp(innodb_up{$S})[1h:1m]) or max_over_time(timestamp(mysql_up{$S})[1h:1m]))"
    ' unless max by ($I) ({__name__=~"innodb_up|mysql_up",$S})',
    at_end=True,
)
SERVICE = FleetQuery("inventory-service", 'group by ($I) ({__name__=~"innodb_up|mysql_up",$S})', at_end=True)
QUERIES = (UP, SIDECAR_INFO, MYSQLD_EXPORTER_INFO, JUDGED, STARTS, VANISHED, SERVICE)
_FLAVOURS: tuple[str, ...] = get_args(Flavour)


@dataclass(frozen=True, slots=True)
class InventoryEntry:
    """A server that Prometheus knows.

    Attributes:
        key: Its labels.
        source: The best that there is.
        server: Flavour and version, and who runs it; None where unknown. Its performance_schema is not known
            here.
        up: Whether an exporter reaches it.
        judged_at: The time of its sidecar's newest verdict, Unix seconds; None without one.
        ambiguous: Why its identity is that of several servers; empty if it is not.
    """

    key: ServerKey
    source: Source
    server: Server | None = None
    up: bool = True
    judged_at: float | None = None
    ambiguous: str = ""

    @property
    def series(self) -> Source:
        """Whose series tell of it: a sidecar that judges it has series, too."""
        return Source.SIDECAR if self.source is Source.VERDICT else self.source


@dataclass(frozen=True, slots=True)
class Inventory:
    """The servers at a time.

    Attributes:
        servers: By key.
        vanished: Servers of the last hour that are gone.
        warnings: What is odd, in words.
    """

    servers: Mapping[ServerKey, InventoryEntry]
    vanished: tuple[Vanished, ...]
    warnings: tuple[str, ...]


async def inventory(reader: FleetReader, services: Sequence[tuple[str, Managed]] = ()) -> Inventory:
    """Ask which servers there are: six queries for the whole fleet, and one for each of ``services``.

    Args:
        reader: Asks at the end of its grid.
        services: Matchers, and the cloud service that runs what they match.

    Raises:
        QueryError: A query has no answer.
    """
    up = await patiently(lambda: reader.ask((UP,)))
    others = await patiently(lambda: reader.ask((SIDECAR_INFO, MYSQLD_EXPORTER_INFO, JUDGED, STARTS, VANISHED)))
    answers = [up, others]
    managed: dict[ServerKey, Managed] = {}
    for matchers, service in services:
        answers.append(await patiently(lambda matchers=matchers: reader.ask((SERVICE,), more=matchers)))  # type: ignore[misc]
        for key in answers[-1].servers:
            managed.setdefault(key, service)
    at, none = reader.grid.end, ServerSeries()
    keys = sorted(up.servers, key=lambda key: key.name)
    entries = [_entry(key, up.servers[key], others.servers.get(key, none), managed.get(key), at) for key in keys]
    servers = {entry.key: entry for entry in entries}
    partial = any(answer.partial for answer in answers)
    vanished = () if partial else tuple(_vanished(others.servers, servers, at))
    warnings = tuple(dict.fromkeys(warning for answer in answers for warning in answer.warnings))
    odd = _odd(reader, servers=len(servers), nameless=up.nameless, partial=partial)
    return Inventory(servers, vanished, (*warnings, *odd))


def _entry(
    key: ServerKey, up: ServerSeries, others: ServerSeries, service: Managed | None, at: float
) -> InventoryEntry:
    instances = {instance for name in _UP for (instance,) in up.series(name)}
    sidecars = [*others.values(SIDECAR_INFO.name, at)]
    infos = [labels for labels, _ in (*sidecars, *others.values(MYSQLD_EXPORTER_INFO.name, at))]
    judged_at = others.value(JUDGED.name, at)
    if judged_at is not None:
        source = Source.VERDICT
    elif sidecars or up.series("innodb_up"):
        source = Source.SIDECAR
    else:
        source = Source.MYSQLD_EXPORTER
    return InventoryEntry(
        replace(key, instances=frozenset(instances)) if key.instances else key,
        source,
        server=_server(infos, service),
        up=any(value > 0 for name in _UP for _, value in up.values(name, at)),
        judged_at=judged_at,
        ambiguous=_ambiguous(key, up, others, at),
    )


def _server(infos: Iterable[Labels], service: Managed | None) -> Server | None:
    """Flavour and version, from the first series that has them. mysqld_exporter's have a version and a comment only."""
    for text, comment, *more in infos:
        try:
            server = identify({"version": text, "version_comment": comment, "performance_schema": "ON"})
        except ValueError:
            continue
        flavour, managed, group_replication, windows = more or ("",) * 4
        known = next((name for name in get_args(Managed) if name == managed), None)
        return replace(
            server,
            flavour=flavour if flavour in _FLAVOURS else server.flavour,  # type: ignore[arg-type]
            managed=known or server.managed or service,
            group_replication=group_replication == _TRUE,
            windows=windows == _TRUE,
        )
    return None


def _ambiguous(key: ServerKey, up: ServerSeries, others: ServerSeries, at: float) -> str:
    """Why several servers share this identity; empty if they do not."""
    for name in _UP:
        instances = [instance for (instance,) in up.series(name)]
        if len(instances) > 1:
            both = f"{instances[0]} and {instances[-1]}"
            return f"identity is not unique: {both} are both {key}; try another --identity"
    starts = [start for _, start in others.values(STARTS.name, at)]
    apart = max(starts) - min(starts) if starts else 0.0
    if apart > SAME_START_SECONDS:
        return (
            f"identity is not unique: two servers that started {apart:.0f} s apart are both {key}; add a label with"
            " --identity (or it is one server that restarted within the last scrape)"
        )
    return ""


def _vanished(
    others: Mapping[ServerKey, ServerSeries], servers: Mapping[ServerKey, InventoryEntry], at: float
) -> Iterator[Vanished]:
    """Servers that are not there any more. A server may have lost one of its exporters only."""
    for key, series in sorted(others.items(), key=lambda item: item[0].name):
        last = series.value(VANISHED.name, at)
        if last is not None and key not in servers:
            yield Vanished(server=key.name, at=last)


def _odd(reader: FleetReader, *, servers: int, nameless: int, partial: bool) -> Iterator[str]:
    """Warnings of an inventory: no servers at all, a partial answer, or series without a name."""
    if not servers:
        yield NOBODY + (f" of {{{reader.selector}}}" if reader.selector else "")
    if partial:
        yield "the inventory is incomplete: a server that is not in this report may be there all the same"
    if nameless:
        yield f"{nameless} series of servers have none of the labels {reader.identity.by}: name others"
