"""Which labels make a server: two exporters of one server are one server, and so are the replicas of an HA pair."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.fleet.series import QueryAnswer, QuerySeries

KUBERNETES = ("cluster", "namespace", "pod")
HOST = ("cluster", "instance")
REPLICA_LABELS = ("prometheus_replica", "replica", "__replica__")
"""Labels that tell the replicas of an HA pair apart, where no --replica-label is given."""
_PORT = re.compile(r":\d+$")
_ANY_PORT = "(:[0-9]+)?"
_MEANT = re.compile(r"([\\.+*?()|\[\]{}^$])")


@dataclass(frozen=True, slots=True)
class ServerKey:
    """A server as series know it. Two keys are equal if their names are.

    Attributes:
        name: The values of its labels, joined by a slash.
        labels: The labels that make it this server.
        instances: Values of the label instance that its series have, where that label makes it this server; with
            ports, one for each exporter. Empty where they are not known.
    """

    name: str
    labels: Mapping[str, str] = field(compare=False)
    instances: frozenset[str] = field(default=frozenset(), compare=False)

    def __str__(self) -> str:
        return self.name

    @property
    def is_pod(self) -> bool:
        """Whether its labels find the series of its pod."""
        return {"namespace", "pod"} <= self.labels.keys() <= {*KUBERNETES}


@dataclass(frozen=True, slots=True)
class Identity:
    """The labels of --identity and --replica-label.

    Without ``labels`` a server is a pod (cluster, namespace and pod, where the last two exist), else a host (cluster,
    and instance without its port).

    Attributes:
        labels: All that make a server; empty for the default.
        replica_labels: None of these makes one.
    """

    labels: tuple[str, ...] = ()
    replica_labels: tuple[str, ...] = REPLICA_LABELS

    def __post_init__(self) -> None:
        """Raise ValueError where a label is a replica's."""
        for name in self.labels:
            if name in self.replica_labels:
                raise ValueError(f"{name} tells replicas of one server apart, so it cannot be part of its identity")

    @property
    def by(self) -> str:
        """The labels for ``by (...)`` in a query: $I of the design."""
        return ", ".join(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels that queries keep."""
        return self.labels or (*KUBERNETES, "instance")

    def server(self, labels: Mapping[str, str]) -> ServerKey | None:
        """The server that a series is about; None if it has none of the labels."""
        if self.labels:
            return _key({name: labels[name] for name in self.labels if labels.get(name)})
        if labels.get("namespace") and labels.get("pod"):
            return _key({name: labels[name] for name in KUBERNETES if labels.get(name)})
        instance = labels.get("instance")
        if not instance:
            return None
        of_host = {name: labels[name] for name in HOST if labels.get(name)} | {"instance": host(instance)}
        return _key(of_host, frozenset((instance,)))

    def selector(self, keys: Iterable[ServerKey]) -> str:
        """Matchers, without braces, of the series of some servers.

        They may match series of other servers too: drop what `server` does not find among the keys.

        Args:
            keys: Servers with the same labels, as `shards.over` gives them.
        """
        these = tuple(keys)
        names = {name for key in these for name in key.labels}
        return ",".join(f'{name}=~"{self._values(name, these)}"' for name in self.names if name in names)

    def _values(self, name: str, keys: Sequence[ServerKey]) -> str:
        if name == "instance" and not self.labels:
            whole = {instance for key in keys for instance in key.instances}
            bare = {key.labels[name] for key in keys if not key.instances and name in key.labels}
            return "|".join([*_alternatives(whole), *(host + _ANY_PORT for host in _alternatives(bare))])
        return "|".join(_alternatives({key.labels.get(name, "") for key in keys}))

    def of_servers(self, answer: QueryAnswer) -> Iterator[tuple[ServerKey | None, QuerySeries]]:
        """The server of each series; None where it has none of the labels."""
        names, keys = self.names, dict[tuple[str | None, ...], ServerKey | None]()  # a server has hundreds of series
        for series in answer.series:
            values = tuple(map(series.labels.get, names))
            if values not in keys:
                keys[values] = self.server(series.labels)
            yield keys[values], series


def host(instance: str) -> str:
    """The host of a label instance: without the port, and without the brackets of an IPv6 address."""
    bare = _PORT.sub("", instance) if instance.count(":") == 1 or instance.startswith("[") else instance
    return bare[1:-1] if bare.startswith("[") and bare.endswith("]") else bare


def quoted(value: str) -> str:
    """A text as PromQL quotes it, without the quotes."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _key(labels: dict[str, str], instances: frozenset[str] = frozenset()) -> ServerKey | None:
    return ServerKey("/".join(labels.values()), labels, instances) if labels else None


def _alternatives(values: set[str]) -> list[str]:
    """The values for a regular expression in PromQL's quotes."""
    return [quoted(_MEANT.sub(r"\\\1", value)) for value in sorted(values)]
