"""The state of the watch: which server, whether it can be seen, and how far the rules are with it."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from pydantic import Field

from advisor.advice.judgement import Assessment
from advisor.advice.service import Service
from advisor.contract.recommendation import Frozen, Severity
from advisor.observe.limits import LEAST_SECONDS
from advisor.observe.source import Replay
from advisor.observe.window import Window
from exporter import __version__
from exporter.collectors.status import STATUS
from exporter.knowledge import Flavour
from exporter.server import Server
from exporter.snapshot import Snapshot

_NAMES: dict[Flavour, str] = {
    "mysql": "MySQL",
    "mariadb": "MariaDB",
    "percona": "Percona Server",
    "aurora": "Aurora MySQL",
}
_JUDGED = frozenset({"firing", "set aside", "silent"})


class Starting(Frozen):
    """What the first verdicts wait for."""

    waits_for: str
    seconds_left: float | None = Field(description="Null where it is not known.")


class Recorded(Frozen):
    """A recording, and the time that it covers."""

    name: str = Field(description="The file's name.")
    from_: float = Field(alias="from", serialization_alias="from", description="Its first snapshot, Unix seconds.")
    to: float = Field(description="Its last snapshot, Unix seconds.")


class RulesInForce(Frozen):
    """The rules in force."""

    count: int
    loaded_at: float = Field(description="When their files were read, Unix seconds.")
    problem: str | None = Field(description="Why the last attempt to load them anew was refused.")


class Judged(Frozen):
    """The last verdicts. While the server is away they are those from before."""

    rules: int = Field(description="Rules that apply to this server.")
    ok: int = Field(description="Those that could be judged, with or without a finding.")
    blind: int = Field(description="Those that lack something they need.")
    failed: int
    seconds: float = Field(description="Length of the window that was judged.")
    at: float = Field(description="Time of the newest snapshot in it, Unix seconds.")
    computed_at: float | None = Field(description="When the newest verdict was made, Unix seconds.")


class PageLinks(Frozen):
    """Where the page leads."""

    dashboard: str | None = Field(description="A dashboard with the server's metrics; null where none is named.")


class State(Frozen):
    """The server, and what the sidecar knows of it now."""

    target: str | None = Field(description="The server's address, without its login; null for a recording.")
    server: str | None = Field(
        description="Name and version of the last server that was seen, for people, and the older version whose "
        "behaviour is assumed of a newer one; null before the first."
    )
    flavour: Flavour | None
    version: str | None = Field(description="As the server prints it.")
    up_since: float | None = Field(description="When the server started, Unix seconds; null while it cannot be seen.")
    now: float = Field(description="The sidecar's clock, Unix seconds.")
    state: Literal["starting", "watching", "away", "recording"] = Field(
        description="The first verdicts are still to come, also after a restart or a change of settings; there are "
        "verdicts; the server cannot be reached; this is a recording."
    )
    problem: str | None = Field(description="Why the server cannot be reached.")
    problem_since: float | None = Field(description="Since when, Unix seconds.")
    starting: Starting | None = Field(
        description="What complete verdicts wait for: at the start, and after a restart or a change of settings. Null "
        "while there are some."
    )
    recording: Recorded | None = Field(description="Null for a server.")
    at: float | None = Field(description="Time of the newest snapshot, Unix seconds; null before the first.")
    interval_seconds: float | None = Field(description="Time between two snapshots; null for a recording.")
    rules: RulesInForce
    judged: Judged | None = Field(description="Null before the first verdict.")
    counts: dict[Severity, int] = Field(description="Findings by severity.")
    links: PageLinks
    sidecar: str = Field(description="The sidecar's version.")


def state(service: Service) -> State:
    """The state now, from memory."""
    source, rules = service.source, service.rules
    newest = source.history[-1] if source.history else None
    server = None if newest is None else newest.server
    verdict, last, refused = service.verdict, service.last_verdict, rules.problem
    away = source.problem is not None
    return State(
        target=service.target,
        server=None if server is None else _name(server),
        flavour=None if server is None else server.flavour,
        version=None if server is None else server.version_text,
        up_since=_up_since(source.latest),
        now=service.now(),
        state=_state(service, last),
        problem=str(source.problem) if away else None,
        problem_since=(service.timeline.away_since or service.now()) if away else None,
        starting=None if away else _starting(service, verdict),
        recording=_recorded(source) if isinstance(source, Replay) else None,
        at=None if newest is None else newest.at,
        interval_seconds=source.interval,
        rules=RulesInForce(
            count=len(rules.rules),
            loaded_at=rules.rule_set.loaded_at,
            problem=None if refused is None else str(refused),
        ),
        judged=None if last is None else _judged(last),
        counts=_counts(last),
        links=PageLinks(dashboard=None if service.links is None else service.links.dashboard),
        sidecar=__version__,
    )


def _state(service: Service, last: Assessment | None) -> Literal["starting", "watching", "away", "recording"]:
    if isinstance(service.source, Replay):
        return "recording"
    if service.source.problem is not None:
        return "away"
    return "watching" if _is_of_more(last) else "starting"


def _is_of_more(verdict: Assessment | None) -> bool:
    """Whether it is of more than a moment, in which no rule can see anything."""
    return verdict is not None and verdict.advice.watched_seconds >= LEAST_SECONDS


def _starting(service: Service, verdict: Assessment | None) -> Starting | None:
    window = service.seen
    if window is None:
        return Starting(waits_for="the first snapshot", seconds_left=None)
    if verdict is None or not _is_of_more(verdict):
        if window.seconds < LEAST_SECONDS:
            return Starting(waits_for="the second snapshot", seconds_left=_until_next(service, window))
        return Starting(waits_for="the first verdicts", seconds_left=None)
    fitting = [blind.rule for blind in verdict.advice.blind if blind.lacks == "time"]
    if fitting:
        return Starting(waits_for=f"the models of {', '.join(fitting)}", seconds_left=None)
    return None


def _until_next(service: Service, window: Window) -> float | None:
    interval = service.source.interval
    return None if interval is None else round(max(0.0, window.latest.at + interval - service.now()), 1)


def _name(server: Server) -> str:
    name = f"{_NAMES[server.flavour]} {'.'.join(map(str, server.version))}"
    return name if server.behaves_like is None else f"{name} (assumed to behave like {server.behaves_like})"


def _up_since(latest: Snapshot | None) -> float | None:
    status = None if latest is None else latest[STATUS]
    return None if latest is None or status is None else latest.at - status["uptime"]


def _recorded(replay: Replay) -> Recorded:
    return Recorded(name=replay.name, from_=replay.history[0].at, to=replay.history[-1].at)


def _judged(last: Assessment) -> Judged:
    states = [rule.state for rule in last.states.values() if rule.state is not None]
    return Judged(
        rules=len(states),
        ok=sum(state in _JUDGED for state in states),
        blind=states.count("blind"),
        failed=states.count("failed"),
        seconds=last.advice.watched_seconds,
        at=last.advice.at,
        computed_at=last.advice.computed_at,
    )


def _counts(last: Assessment | None) -> dict[Severity, int]:
    counts = Counter(finding.severity for finding in last.advice.recommendations) if last else Counter[Severity]()
    return {severity: counts[severity] for severity in reversed(Severity)}
