"""The record of a steady load: how often each finding and its alert came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import BaseModel

NAME = "steady"
"""lab/records/steady.json."""
FOR_SECONDS = 600.0
"""Delay of the alert InnoDBAdvice (`for`)."""
_SLACK_SECONDS = 60.0
"""Prometheus scrapes and evaluates every 15 s."""


@dataclass(frozen=True, slots=True)
class Poll:
    """An answer of /advise.

    Attributes:
        at: Seconds since the first answer.
        ages: By finding, the seconds between the snapshot that last showed it and the newest one.
    """

    at: float
    ages: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Alerts:
    """The alert of a finding in Prometheus.

    Attributes:
        began: How often it became pending.
        fired_after: Seconds from then until it fired; None if it did not.
    """

    began: int
    fired_after: float | None


class Steady(BaseModel):
    """How steady a finding was.

    Attributes:
        first: Seconds from the first answer to the first one with it.
        came: How often it came.
        polls: Answers with it.
        missing: Answers without it, after the first one with it.
        oldest: Most seconds that it stood since its rule had last made it.
        alerts: How often its alert began.
        fired_after: Seconds until its alert fired; None if it did not.
    """

    first: float
    came: int
    polls: int
    missing: int
    oldest: float
    alerts: int
    fired_after: float | None


class SteadyRecord(BaseModel):
    """A run.

    Attributes:
        date: ISO 8601.
        machine: As from `records.machine`.
        version: The server's.
        seconds: From the first answer to the last.
        polls: Answers.
        unanswered: Requests in between without advice.
        findings: By rule and subject.
    """

    date: str
    machine: dict[str, float | str]
    version: str
    seconds: float
    polls: int
    unanswered: int
    findings: dict[str, Steady]


def steadiness(polls: Sequence[Poll], alerts: Mapping[str, Alerts]) -> dict[str, Steady]:
    """How steady each finding was, in the order in which they came."""
    before = (Poll(0.0, {}), *polls)
    came = Counter(name for last, now in pairwise(before) for name in now.ages if name not in last.ages)
    found: dict[str, Steady] = {}
    for name, times in came.items():
        seen = [each for each in polls if name in each.ages]
        alert = alerts.get(name, Alerts(0, None))
        found[name] = Steady(
            first=round(seen[0].at, 1),
            came=times,
            polls=len(seen),
            missing=sum(each.at > seen[0].at for each in polls) + 1 - len(seen),
            oldest=round(max(each.ages[name] for each in seen), 1),
            alerts=alert.began,
            fired_after=alert.fired_after,
        )
    return found


def broken(record: SteadyRecord) -> Iterator[str]:
    """What is not as it must be: at least one finding; each comes once and stays, and so does its alert."""
    if not record.findings:
        yield "no finding came"
    for name, each in record.findings.items():
        if each.came > 1:
            yield f"{name} came {each.came} times"
        elif each.missing:
            yield f"{name} went, and was missing in {each.missing} answers"
        if each.alerts > 1:
            yield f"the alert of {name} began {each.alerts} times"
        if each.fired_after is None and record.seconds - each.first > FOR_SECONDS + _SLACK_SECONDS:
            yield f"the alert of {name} never fired"
