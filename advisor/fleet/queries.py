"""Queries, by the stages and names of docs/fleet.md; each module of the fleet has its own.

In their texts ``$I`` stands for the identity's labels, ``$J`` for these and ``instance``, ``$S`` for the matchers of
the user and of the shard, ``$D`` for the time between two points of the grid, ``$G`` for that less a millisecond, as
Prometheus 2 counts samples at both ends of a range, ``$W`` for the whole window, and ``$M`` for all days of a grid of
days.

Replicas of a Prometheus are one server: each query takes ``max by`` (identity) before it sums. A value of a window is
the last one of five minutes: no scrape interval in use is longer. Inventory and verdicts take plain selectors: a series
that ended is no longer there then, while last_over_time would show it for five minutes more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from string import Template
from typing import Any

from advisor.contract.settings import SETTINGS
from advisor.fleet.identity import Identity
from advisor.fleet.series import Grid, QuerySeries
from exporter.collectors.base import Collector

_LEAST = 0.001
"""Seconds between two samples at least: Prometheus counts milliseconds."""

WORDS = tuple(name for name, setting in SETTINGS.items() if setting.kind == "text" and len(setting.words_on(None)) != 2)
"""Settings that are neither numbers nor ON or OFF: innodb_change_buffering and innodb_flush_method."""

NUMBERS = tuple(name for name in SETTINGS if name not in WORDS)
"""The others."""


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """A query about the servers of a shard.

    Attributes:
        name: In docs/fleet.md. Series without a name of their own get it.
        text: PromQL.
        labels: Labels beside the identity's that distinguish the series of a server; None for all there are.
        at_end: Whether it is asked at the end of the grid alone.
        of_pod: Whether it is about the servers' pods, whose series have none of the user's labels. Only servers that
            are pods are asked about.
    """

    name: str
    text: str
    labels: tuple[str, ...] | None = ()
    at_end: bool = False
    of_pod: bool = False

    def of(self, identity: Identity, matchers: str, grid: Grid) -> str:
        """The text for a shard.

        Args:
            identity: What makes a server.
            matchers: Of label values, with commas.
            grid: The points that are asked for.
        """
        whole = grid.step * (grid.count - 1)
        times = {"D": grid.step, "G": grid.step - _LEAST, "W": whole, "M": whole + grid.step}
        return Template(self.text).substitute(
            I=identity.by,
            J=", ".join(dict.fromkeys((*identity.names, "instance"))),
            S=matchers,
            **{name: f"{round(seconds * 1000)}ms" for name, seconds in times.items()},
        )

    def labels_of(self, series: QuerySeries, identity: Identity) -> tuple[str, ...]:
        """The values of ``labels``; where these are all there are, as name=value."""
        if self.labels is not None:
            return tuple([series.labels.get(label, "") for label in self.labels])
        beside = (*identity.names, "__name__")
        return tuple(sorted(f"{name}={value}" for name, value in series.labels.items() if name not in beside))


def named(metrics: Iterable[str], matchers: str = "") -> str:
    """A selector of several metrics.

    Args:
        metrics: Their names.
        matchers: More matchers, each with a comma behind it.
    """
    return f'{{__name__=~"{"|".join(metrics)}",{matchers}$S}}'


def last(
    name: str, selector: str, *labels: str, by_name: bool = False, at_end: bool = False, positive: bool = False
) -> FleetQuery:
    """A query for the last values of five minutes.

    Args:
        name: The query's.
        selector: Of the series.
        labels: Labels beside the identity's that distinguish the series of a server.
        by_name: Whether the metric's name does too.
        at_end: Whether it is asked at the end of the grid alone.
        positive: Whether zeros are left out.
    """
    by = ", ".join(("$I", *(("__name__",) if by_name else ()), *labels))
    return FleetQuery(
        name, f"max by ({by}) (last_over_time({selector}[5m])){' > 0' if positive else ''}", labels, at_end
    )


def present(name: str, selector: str, *labels: str) -> FleetQuery:
    """A query for the labels of series that are there at the end, whatever their values."""
    return FleetQuery(
        name, f"group by ({', '.join(('$I', *labels))}) (last_over_time({selector}[5m]))", labels, at_end=True
    )


def shown(name: str, *collectors: Collector[Any], labels: tuple[str, ...], at_end: bool = False) -> FleetQuery:
    """A query for the last values of the metrics that show fields of these collectors' items under these labels."""
    return last(name, named(exposed(*collectors, labels=labels)), *labels, by_name=True, at_end=at_end)


def exposed(*collectors: Collector[Any], labels: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The metrics that show fields of these collectors' sections under exactly these labels."""
    return tuple(
        metric.name
        for collector in collectors
        for metric in collector.metrics
        if metric.field is not None and metric.labels == labels
    )
