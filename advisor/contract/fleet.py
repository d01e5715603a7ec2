"""The report of `innodb-advisor fleet` about many servers: the JSON of `--output json`, and of `/fleet`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from advisor.contract.recommendation import Action, Change, Effect, Evidence, Frozen, Severity


class Source(StrEnum):
    """Where what is known of a server comes from, the best first."""

    VERDICT = "verdict"
    """Its own sidecar judges it (innodb_advisor_*)."""
    SIDECAR = "own"
    """Series of innodb-advisor's exporter (innodb_*), without verdicts."""
    MYSQLD_EXPORTER = "peer"
    """Series of mysqld_exporter (mysql_*)."""


class FleetServer(Frozen):
    """A server as series know it."""

    name: str = Field(description="The identity's values, joined by a slash: eu/shop/db-1. Unique in a report.")
    identity: Mapping[str, str] = Field(description="The labels that make it this server.")
    source: Source
    flavour: str | None = None
    version: str | None = None
    up: bool | None = Field(None, description="Whether its exporter reaches it; null if no series says so.")
    undecided: tuple[str, ...] = Field(
        (), description="Rules that could not be judged on it: blind, failed, or left out by the model's budget."
    )
    notes: tuple[str, ...] = Field((), description="What to know of all that is said of it: an incomplete answer.")


class FleetFinding(Frozen):
    """A finding about one server."""

    server: str = Field(description="The name of a server in `servers`.")
    source: Source
    rule: str
    severity: Severity
    subject: Mapping[str, str]
    fingerprint: str = Field(description="As in the server's own /advise.")
    summary: str = Field("", description="Empty for a verdict: series hold no text.")
    confidence: float | None = Field(None, ge=0, le=1)
    changes: tuple[Change, ...] = ()
    actions: tuple[Action, ...] = Field((), description="What to do that is no setting: an index to add.")
    evidence: tuple[Evidence, ...] = ()
    effect: Effect | None = None
    read_bytes_saved_per_second: float | None = None
    scrape_interval_seconds: float | None = Field(
        None,
        description="Seconds between two samples of the series that it rests on, on average over the window. Null where"
        " it is not known, and of a verdict: the sidecar read the server itself.",
    )
    notes: tuple[str, ...] = Field((), description="What to know: an estimate a day old, SET GLOBAL is not to be had.")
    page_url: str | None = Field(None, description="The finding on its sidecar's page, where a series says where.")


class FleetBlindSpot(Frozen):
    """What a rule lacks on a number of servers: one line, not one for each server."""

    rule: str
    lacks: str
    source: Source
    servers: int
    examples: tuple[str, ...] = Field(description="Names of at most three of them.")
    cure: str | None = Field(None, description="The flag of mysqld_exporter, or the sidecar, that cures it.")


class NotAsked(Frozen):
    """Servers of which nothing is said, and why. Nothing old is shown as new."""

    servers: tuple[str, ...]
    reason: str


class Vanished(Frozen):
    """A server that series knew an hour ago and know no more."""

    server: str
    at: float = Field(description="Its last sample, Unix seconds.")


class RuleSum(Frozen):
    """A rule over all servers. Of two findings on one table only the larger counts for the bytes."""

    rule: str
    title: str = Field("", description="The rule's title; empty for a rule that is not known here.")
    severity: Severity
    findings: int
    servers: int
    read_bytes_saved_per_second: float | None = None


class ServerSum(Frozen):
    """The findings of a server together."""

    server: str
    findings: int
    worst: Severity
    read_bytes_saved_per_second: float | None = None


class CapacityEstimate(Frozen):
    """How much of a server's buffer pool could go, from what series of days say."""

    server: str
    pool_bytes: int
    enough_bytes: int
    may_go_bytes: int
    reads_now: float = Field(description="95th percentile of pages read a second.")
    reads_predicted: float = Field(description="The same at `enough_bytes`.")
    reads_most: float | None = Field(None, description="The most that it may be; this is what --may-read bounds.")
    error: float | None = Field(None, description="Relative error of the prediction, from the same method's tests.")
    method: str = Field(description="`warm-ups` or `model`.")
    warm_ups: int = Field(0, description="Restarts that it rests on; 0 for the model.")
    days: float = Field(description="Days that it rests on.")
    change: Change | None = Field(None, description="The trial, with its way back.")


class Capacity(Frozen):
    """The fleet's memory."""

    may_read: float = Field(description="Pages a second more that the user allows for each server.")
    servers: tuple[CapacityEstimate, ...]
    may_go_bytes: int
    left_out: Mapping[str, int] = Field(description="Number of servers by reason: younger than 30 days, no warm-up.")


class FleetReport(Frozen):
    """One reading of the fleet."""

    at: float = Field(description="The grid's end, Unix seconds.")
    window_seconds: float
    prometheus: str = Field(description="The URL, without a password.")
    shard: str | None = Field(None, description="As given: 2/8.")
    took_seconds: float
    servers: tuple[FleetServer, ...]
    findings: tuple[FleetFinding, ...] = Field(description="The worst first, then by bytes saved.")
    rules: tuple[RuleSum, ...]
    top_servers: tuple[ServerSum, ...]
    best: FleetFinding | None = Field(None, description="The one change that saves the most over all.")
    blind: tuple[FleetBlindSpot, ...] = ()
    suppressed: int = 0
    not_asked: tuple[NotAsked, ...] = ()
    not_modelled: tuple[str, ...] = Field((), description="Servers that the model's budget left out.")
    vanished: tuple[Vanished, ...] = ()
    warnings: tuple[str, ...] = Field((), description="What Prometheus said beside its answers, and what is odd.")
    capacity: Capacity | None = None


class Age(Frozen):
    """How old a report is that the service shows, and why there is no newer one."""

    age_seconds: float = Field(description="Seconds from `at` to this answer.")
    every_seconds: float = Field(description="Time between two readings.")
    problem: str | None = Field(None, description="Why the last reading failed; null if it did not.")
    problem_since: float | None = Field(None, description="Since when readings fail, Unix seconds.")


class ServedReport(FleetReport, Age):
    """The last report, as `/fleet` of the service shows it."""


class FleetAdvice(Age):
    """What the last report says of some of the servers: the answer of the service's `/advise`."""

    at: float = Field(description="The time that the report is of, Unix seconds.")
    servers: int = Field(description="Servers that the question is about.")
    server: FleetServer | None = Field(None, description="Where one was asked for, and series know it.")
    findings: tuple[FleetFinding, ...] = Field(description="The worst first, then by bytes saved.")
    not_asked: tuple[NotAsked, ...] = Field((), description="Of which nothing is said, and why.")
    not_modelled: tuple[str, ...] = Field((), description="Servers that the model's budget left out.")
    vanished: tuple[Vanished, ...] = ()
