"""The servers that a Prometheus knows: who watches them, which version they are, and which of them are gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from advisor.contract.fleet import Source, Vanished
from advisor.fleet import queries
from advisor.fleet.client import Prometheus
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.queries import Query
from advisor.fleet.series import Answer, Grid, Series
from advisor.fleet.shards import patiently
from exporter.server import Flavour, Managed, Server, identify

NOBODY = "no server: there are no series innodb_up or mysql_up"
SAME_START_SECONDS = 30.0
"""Starts that differ by more are those of two servers: clocks of two replicas differ by less."""
_TRUE = "true"
_FLAVOURS: tuple[str, ...] = get_args(Flavour)
_SERVICES: tuple[str, ...] = get_args(Managed)


@dataclass(frozen=True, slots=True)
class Known:
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

    servers: Mapping[ServerKey, Known]
    ambiguous: Mapping[ServerKey, str]
    vanished: tuple[Vanished, ...]
    warnings: tuple[str, ...]


async def inventory(
    client: Prometheus,
    identity: Identity,
    selector: str,
    at: float,
    services: Sequence[tuple[str, Managed]] = (),
) -> Inventory:
    """Ask which servers there are: six queries for the whole fleet, and one for each of ``services``.

    Args:
        client: Whom to ask.
        identity: What makes a server.
        selector: The user's matchers, without braces; may be empty.
        at: Unix seconds.
        services: Matchers, and the cloud service that runs what they match.

    Raises:
        PrometheusError: A query has no answer.
    """
    asked = _Asked(client, identity, selector, at)
    # Two instances under one identity are two servers, also where an instance is no part of the identity.
    up = await asked.answer(queries.UP, by=tuple(dict.fromkeys((*identity.names, "instance"))))
    own, peer = await asked.grouped(queries.OWN_INFO), await asked.grouped(queries.PEER_INFO)
    judged, starts = await asked.grouped(queries.JUDGED), await asked.grouped(queries.STARTS)
    gone = await asked.grouped(queries.VANISHED)
    managed: dict[ServerKey, Managed] = {}
    for matchers, service in services:
        for key in await asked.grouped(queries.SERVICE, matchers):
            managed.setdefault(key, service)
    reached, keys = identity.grouped(up), _keys(identity, up)
    servers = {
        key: Known(
            key,
            source=_source(key in judged, reached[key], key in own),
            server=_server(own.get(key, ()), peer.get(key, ()), managed.get(key)),
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

    def __init__(self, client: Prometheus, identity: Identity, selector: str, at: float) -> None:
        self.client, self.identity, self.selector, self.at = client, identity, selector, at
        self.partial = False
        self._said: dict[str, None] = {}

    async def answer(self, query: Query, more: str = "", by: Sequence[str] = ()) -> Answer:
        matchers = ",".join(filter(None, (more, self.selector)))
        text = query.of(", ".join(by or self.identity.names), matchers, Grid(self.at, 0.0, 1))
        found = await patiently(lambda: self.client.instant(text, self.at))
        self.partial = self.partial or found.partial
        self._said.update(dict.fromkeys(found.warnings))
        return found

    async def grouped(self, query: Query, more: str = "") -> Mapping[ServerKey, tuple[Series, ...]]:
        return self.identity.grouped(await self.answer(query, more))

    def warnings(self, servers: int, nameless: int) -> Iterable[str]:
        """What is odd.

        Args:
            servers: How many were found.
            nameless: Series that tell of no server.
        """
        yield from self._said
        if not servers:
            yield NOBODY + (f" of {{{self.selector}}}" if self.selector else "")
        if self.partial:
            yield "the inventory is incomplete: a server that is not in this report may be there all the same"
        if nameless:
            yield f"{nameless} series of servers have none of the labels {self.identity.by}: name others"


def _keys(identity: Identity, up: Answer) -> Iterable[ServerKey]:
    """The servers, each with all values of the label instance that its series have."""
    found: dict[ServerKey, ServerKey] = {}
    for series in up.series:
        if (key := identity.server(series.labels)) is not None:
            before = found.get(key)
            found[key] = key if before is None else replace(key, instances=before.instances | key.instances)
    return sorted(found.values(), key=lambda key: key.name)


def _source(judged: bool, reached: Sequence[Series], own: bool) -> Source:  # noqa: FBT001
    if judged:
        return Source.VERDICT
    return Source.OWN if own or any(each.labels.get("__name__") == "innodb_up" for each in reached) else Source.PEER


def _server(own: Sequence[Series], peer: Sequence[Series], service: Managed | None) -> Server | None:
    """Flavour and version, of the sidecar's series where it has any."""
    for labels in (each.labels for each in (*own, *peer)):
        text = labels.get("version_text") or labels.get("version", "")
        comment = labels.get("version_comment", "")
        try:
            found = identify({"version": text, "version_comment": comment, "performance_schema": "ON"})
        except ValueError:
            continue
        flavour, said = labels.get("flavour", found.flavour), labels.get("managed")
        known = next((each for each in get_args(Managed) if each == said), None)
        return replace(
            found,
            flavour=flavour if flavour in _FLAVOURS else found.flavour,  # type: ignore[arg-type]
            managed=known or found.managed or service,
            group_replication=labels.get("group_replication") == _TRUE,
            windows=labels.get("windows") == _TRUE,
        )
    return None


def _ambiguous(
    identity: Identity,
    up: Answer,
    starts: Mapping[ServerKey, tuple[Series, ...]],
    servers: Mapping[ServerKey, Known],
) -> Mapping[ServerKey, str]:
    """Identities that several servers share."""
    found: dict[ServerKey, str] = {}
    seen: dict[tuple[ServerKey, str], str] = {}
    for series in up.series:
        key, instance = identity.server(series.labels), series.labels.get("instance", "")
        if key is None:
            continue
        other = seen.setdefault((key, series.labels.get("__name__", "")), instance)
        if other != instance:
            found[key] = f"identity is not unique: {other} and {instance} are both {key}; try another --identity"
    for key, some in starts.items():
        values = [series.value for series in some]
        apart = max(values) - min(values)
        if key in servers and key not in found and apart > SAME_START_SECONDS:
            found[key] = (
                f"identity is not unique: two servers that started {apart:.0f} s apart are both {key}; add a label with"
                " --identity (or it is one server that restarted within the last scrape)"
            )
    return found


def _vanished(gone: Mapping[ServerKey, tuple[Series, ...]], servers: Mapping[ServerKey, Known]) -> tuple[Vanished, ...]:
    """Who is not there any more. A server may have lost one of its exporters only."""
    return tuple(
        Vanished(server=key.name, at=max(series.value for series in some))
        for key, some in sorted(gone.items(), key=lambda each: each[0].name)
        if key not in servers
    )
