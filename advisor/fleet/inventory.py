"""The servers that a Prometheus knows: who watches them, which version they are, and which of them are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from advisor.contract.fleet import Source, Vanished
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.queries import FleetQuery
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import QueryAnswer, QuerySeries
from advisor.fleet.shards import patiently
from exporter.server import Flavour, Managed, Server, identify

NOBODY = "no server: there are no series innodb_up or mysql_up"
SAME_START_SECONDS = 30.0
"""Starts that differ by more are those of two servers: clocks of two replicas differ by less."""
_TRUE = "true"

UP = FleetQuery("inventory-up", 'max by ($I, __name__) ({__name__=~"innodb_up|mysql_up",$S})', at_end=True)
SIDECAR_INFO = FleetQuery(
    "inventory-sidecar",
    "group by ($I, flavour, version_text, version_comment, managed, group_replication, windows)"
    " (innodb_server_info{$S})",
    at_end=True,
)
MYSQLD_EXPORTER_INFO = FleetQuery(
    "inventory-mysqld-exporter", "group by ($I, version, version_comment) (mysql_version_info{$S})", at_end=True
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
    """What the inventory says of a server.

    Attributes:
        key: Its labels.
        source: The best that there is.
        server: Flavour and version, and who runs it; None where no series says so. Whether performance_schema is on
            is not known here.
        up: Whether an exporter reaches it; None where no series says so.
        started: Unix seconds; None where no series says so.
        judged_at: The time of its sidecar's newest verdict, Unix seconds; None without one.
    """

    key: ServerKey
    source: Source
    server: Server | None = None
    up: bool | None = None
    started: float | None = None
    judged_at: float | None = None


@dataclass(frozen=True, slots=True)
class Inventory:
    """The servers at a time.

    Attributes:
        servers: By key.
        ambiguous: Why an identity is that of several servers, by key; they are among ``servers`` too.
        vanished: Servers of the last hour that are gone.
        warnings: What is odd, in words.
    """

    servers: Mapping[ServerKey, InventoryEntry]
    ambiguous: Mapping[ServerKey, str]
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
    asked, identity = _Asked(reader), reader.identity
    # Two instances under one identity are two servers, also where an instance is no part of the identity.
    up = await asked.answer(UP, by=tuple(dict.fromkeys((*identity.names, "instance"))))
    sidecars, exporters = await asked.grouped(SIDECAR_INFO), await asked.grouped(MYSQLD_EXPORTER_INFO)
    judged, starts = await asked.grouped(JUDGED), await asked.grouped(STARTS)
    gone = await asked.grouped(VANISHED)
    managed: dict[ServerKey, Managed] = {}
    for matchers, service in services:
        for key in await asked.grouped(SERVICE, matchers):
            managed.setdefault(key, service)
    reached, keys = identity.grouped(up), _keys(identity, up)
    servers = {
        key: InventoryEntry(
            key,
            source=_source(key in judged, reached[key], key in sidecars),
            server=_server((*sidecars.get(key, ()), *exporters.get(key, ())), managed.get(key)),
            up=any(series.value > 0 for series in reached[key]),
            started=max((series.value for series in starts.get(key, ())), default=None),
            judged_at=max((series.value for series in judged.get(key, ())), default=None),
        )
        for key in keys
    }
    lost = () if asked.partial else _vanished(gone, servers)
    nameless = sum(identity.server(series.labels) is None for series in up.series)
    warnings = tuple(asked.warnings(len(servers), nameless))
    return Inventory(servers, _ambiguous(identity, up, starts, servers), lost, warnings)


class _Asked:
    """The queries of the inventory, and what was said beside their answers."""

    def __init__(self, reader: FleetReader) -> None:
        self.reader = reader
        self.partial = False
        self._said: dict[str, None] = {}

    async def answer(self, query: FleetQuery, more: str = "", by: Sequence[str] = ()) -> QueryAnswer:
        answer = await patiently(lambda: self.reader.answer(query, more=more, by=by))
        self.partial = self.partial or answer.partial
        self._said.update(dict.fromkeys(answer.warnings))
        return answer

    async def grouped(self, query: FleetQuery, more: str = "") -> Mapping[ServerKey, tuple[QuerySeries, ...]]:
        return self.reader.identity.grouped(await self.answer(query, more))

    def warnings(self, servers: int, nameless: int) -> Iterable[str]:
        """What is odd.

        Args:
            servers: How many were found.
            nameless: Series that tell of no server.
        """
        yield from self._said
        if not servers:
            yield NOBODY + (f" of {{{self.reader.selector}}}" if self.reader.selector else "")
        if self.partial:
            yield "the inventory is incomplete: a server that is not in this report may be there all the same"
        if nameless:
            yield f"{nameless} series of servers have none of the labels {self.reader.identity.by}: name others"


def _keys(identity: Identity, up: QueryAnswer) -> Iterable[ServerKey]:
    """The servers, each with all values of the label instance that its series have."""
    keys: dict[ServerKey, ServerKey] = {}
    for series in up.series:
        if (key := identity.server(series.labels)) is not None:
            before = keys.get(key)
            keys[key] = key if before is None else replace(key, instances=before.instances | key.instances)
    return sorted(keys.values(), key=lambda key: key.name)


def _source(judged: bool, reached: Sequence[QuerySeries], sidecar: bool) -> Source:  # noqa: FBT001
    if judged:
        return Source.VERDICT
    return (
        Source.SIDECAR
        if sidecar or any(up.labels.get("__name__") == "innodb_up" for up in reached)
        else Source.MYSQLD_EXPORTER
    )


def _server(infos: Sequence[QuerySeries], service: Managed | None) -> Server | None:
    """Flavour and version, from the first series that tells them."""
    for labels in (info.labels for info in infos):
        text = labels.get("version_text") or labels.get("version", "")
        comment = labels.get("version_comment", "")
        try:
            server = identify({"version": text, "version_comment": comment, "performance_schema": "ON"})
        except ValueError:
            continue
        flavour, managed = labels.get("flavour"), labels.get("managed")
        known = next((name for name in get_args(Managed) if name == managed), None)
        return replace(
            server,
            flavour=flavour if flavour in _FLAVOURS else server.flavour,  # type: ignore[arg-type]
            managed=known or server.managed or service,
            group_replication=labels.get("group_replication") == _TRUE,
            windows=labels.get("windows") == _TRUE,
        )
    return None


def _ambiguous(
    identity: Identity,
    up: QueryAnswer,
    starts: Mapping[ServerKey, tuple[QuerySeries, ...]],
    servers: Mapping[ServerKey, InventoryEntry],
) -> Mapping[ServerKey, str]:
    """Identities that several servers share."""
    reasons: dict[ServerKey, str] = {}
    seen: dict[tuple[ServerKey, str], str] = {}
    for series in up.series:
        key, instance = identity.server(series.labels), series.labels.get("instance", "")
        if key is None:
            continue
        other = seen.setdefault((key, series.labels.get("__name__", "")), instance)
        if other != instance:
            reasons[key] = f"identity is not unique: {other} and {instance} are both {key}; try another --identity"
    for key, some in starts.items():
        values = [series.value for series in some]
        apart = max(values) - min(values)
        if key in servers and key not in reasons and apart > SAME_START_SECONDS:
            reasons[key] = (
                f"identity is not unique: two servers that started {apart:.0f} s apart are both {key}; add a label with"
                " --identity (or it is one server that restarted within the last scrape)"
            )
    return reasons


def _vanished(
    gone: Mapping[ServerKey, tuple[QuerySeries, ...]], servers: Mapping[ServerKey, InventoryEntry]
) -> tuple[Vanished, ...]:
    """Who is not there any more. A server may have lost one of its exporters only."""
    return tuple(
        Vanished(server=key.name, at=max(series.value for series in some))
        for key, some in sorted(gone.items(), key=lambda item: item[0].name)
        if key not in servers
    )
