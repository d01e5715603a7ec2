"""A long steady load: each finding must come once, stay, and outlive the delay of its alert.

`python -m lab.steady`, or `make steady`: a sidecar under the load of `make run`, polled as a page polls it, with a
Prometheus that has the shipped alerts.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import click
import httpx
from pydantic import BaseModel

from lab import demo
from lab.bench import exporters
from lab.bench.exporters import Exporter
from lab.harness import records
from lab.harness.campaign import Campaign, Study, judged
from lab.harness.records import Data, NotShown, Part, Say
from lab.packages.cache import REPOSITORY
from lab.processes.program import PLAIN
from lab.programs import prometheus
from lab.programs.prometheus import Prometheus
from lab.reports.markdown import ran_on, table
from lab.servers import PrivateServer

GROUP = "steady"
HOUR = 3600.0
RECORDED_SECONDS = 1200.0
"""A shorter run proves little: its alerts have just fired."""
SERVER = "mysql-9.7"
POLL_SECONDS = 2.0
ANSWER_SECONDS = 30.0
FIRST_FINDING_SECONDS = 300.0
SCRAPE_SECONDS = 15.0
"""Seconds between two scrapes of Prometheus, and two evaluations of its rules."""
FOR_SECONDS = 600.0
"""Delay of the alert InnoDBAdvice (`for`)."""
SLACK_SECONDS = 60.0
"""Prometheus scrapes and evaluates every 15 s."""
RULES = REPOSITORY / "charts" / "innodb-advisor" / "alerts" / "innodb-advisor.rules.yaml"
_ADVICE = 'alertname="InnoDBAdvice"'
_TITLES = (
    *("finding", "first seen after", "came", "answers with it", "answers without it afterwards"),
    *("longest since its rule made it", "its alert began", "its alert fired after"),
)
_HEAD = f"""\

## A steady load

`make steady` runs the load of `make run` for an hour: scans of a table beside point lookups that never change. A real
sidecar is asked for `/advise` every two seconds, and a Prometheus with the shipped alerts scrapes it. Each finding must
come once and stay. Its alert must begin once, and fire after {FOR_SECONDS / 60:.0f} minutes (`for: 10m`).

"""


class Poll(NamedTuple):
    """An answer of /advise.

    Attributes:
        at: Seconds since the first answer.
        ages: By finding, the seconds between the snapshot that last showed it and the newest one.
    """

    at: float
    ages: Mapping[str, float]


class SteadyFinding(BaseModel):
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
        seconds: From the first answer to the last.
        polls: Answers.
        unanswered: Requests in between without advice.
        findings: By rule and subject.
    """

    seconds: float
    polls: int
    unanswered: int
    findings: dict[str, SteadyFinding]

    def __str__(self) -> str:
        return self.model_dump_json(indent=1)

    def broken(self) -> Iterator[str]:
        """What is wrong: at least one finding must come, each once and to stay, and so must its alert."""
        if not self.findings:
            yield "no finding came"
        for name, finding in self.findings.items():
            if finding.came > 1:
                yield f"{name} came {finding.came} times"
            elif finding.missing:
                yield f"{name} went, and was missing in {finding.missing} answers"
            if finding.alerts > 1:
                yield f"the alert of {name} began {finding.alerts} times"
            if finding.fired_after is None and self.seconds - finding.first > FOR_SECONDS + SLACK_SECONDS:
                yield f"the alert of {name} never fired"


def study(seconds: float = HOUR) -> Study:
    """The load for so many seconds from the first finding on."""
    part = Part(GROUP, SERVER, SERVER, {"innodb-buffer-pool-size": demo.POOL}, partial(_run, seconds))
    return judged([part], SteadyRecord.model_validate)


def _run(seconds: float, server: PrivateServer, say: Say) -> Data:
    """Put the load on the server, and poll the sidecar."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="innodb-advisor-steady-")))
        stack.enter_context(demo.load(server))
        sidecar = stack.enter_context(exporters.sidecar(server, "--interval", f"{POLL_SECONDS:g}s"))
        job = prometheus.job("innodb", f"127.0.0.1:{sidecar.port}")
        watching = stack.enter_context(prometheus.running(folder, [job], rules=[RULES], interval=SCRAPE_SECONDS))
        say("the sidecar is polled")
        polls, unanswered = _polls(sidecar, seconds)
        record = SteadyRecord(
            seconds=round(polls[-1].at, 1),
            polls=len(polls),
            unanswered=unanswered,
            findings=_findings(polls, watching),
        )
        return record.model_dump(mode="json")


def _polls(sidecar: Exporter, seconds: float) -> tuple[list[Poll], int]:
    """The answers of /advise, and the number of requests after the first answer that got none."""
    polls: list[Poll] = []
    unanswered, began = 0, time.monotonic()
    until = began + FIRST_FINDING_SECONDS
    while time.monotonic() < until:
        advice, now = _advice(sidecar), time.monotonic()
        if advice is None:
            unanswered += bool(polls)
        else:
            began = began if polls else now
            ages = {
                _finding(recommendation): advice["at"] - recommendation["judged_at"]
                for recommendation in advice["recommendations"]
            }
            if ages and not any(poll.ages for poll in polls):
                until = now + seconds
            for name in sorted(ages.keys() ^ (polls[-1].ages.keys() if polls else ())):
                click.echo(f"{now - began:6.0f} s  {name} {'comes' if name in ages else 'goes'}")
            polls.append(Poll(now - began, ages))
        time.sleep(POLL_SECONDS)
    if not polls:
        raise NotShown(f"no advice within {FIRST_FINDING_SECONDS:g} s")
    return polls, unanswered


def _advice(sidecar: Exporter) -> dict[str, Any] | None:
    """The advice; None while there is none, or when the answer takes too long."""
    try:
        answer = httpx.get(f"http://127.0.0.1:{sidecar.port}/advise", timeout=ANSWER_SECONDS, **PLAIN)
    except httpx.TimeoutException:
        return None
    return dict(answer.json()) if answer.is_success else None


def _finding(recommendation: Mapping[str, Any]) -> str:
    return " ".join((recommendation["rule"], ".".join(recommendation["subject"].values()))).strip()


def _findings(polls: Sequence[Poll], watching: Prometheus) -> dict[str, SteadyFinding]:
    """How steady each finding and its alert was, in the order in which they came."""
    until = time.time()
    since = until - polls[-1].at - SCRAPE_SECONDS
    begins: dict[str, set[float]] = {}
    for series in watching.query_range(f"ALERTS_FOR_STATE{{{_ADVICE}}}", since, until, SCRAPE_SECONDS):
        begins.setdefault(_alert(series.labels), set()).update(value for _, value in series.values)
    fired: dict[str, float] = {}
    for series in watching.query_range(f'ALERTS{{{_ADVICE},alertstate="firing"}}', since, until, SCRAPE_SECONDS):
        name = _alert(series.labels)
        fired[name] = min(series.values[0][0], fired.get(name, until))
    findings = {}
    for name in dict.fromkeys(name for poll in polls for name in poll.ages):
        seen = [poll for poll in polls if name in poll.ages]
        present = [False, *(name in poll.ages for poll in polls)]
        begun = begins.get(name, set())
        findings[name] = SteadyFinding(
            first=round(seen[0].at, 1),
            came=sum(now and not before for before, now in pairwise(present)),
            polls=len(seen),
            missing=sum(poll.at >= seen[0].at for poll in polls) - len(seen),
            oldest=round(max(poll.ages[name] for poll in seen), 1),
            alerts=len(begun),
            fired_after=round(fired[name] - min(begun)) if begun and name in fired else None,
        )
    return findings


def _alert(labels: Mapping[str, str]) -> str:
    return f"{labels['rule']} {labels.get('subject', '')}".strip()


def section() -> str:
    """The section of docs/proofs.md; empty while there is no record."""
    recorded = records.load(GROUP)
    if recorded is None:
        return ""
    record = SteadyRecord.model_validate(records.data(recorded)[SERVER])
    return (
        f"{_HEAD}{table(_TITLES, (_row(name, finding) for name, finding in record.findings.items()))}\n"
        f"The recorded run took {record.seconds / 60:.0f} minutes, with {record.polls} answers; {record.unanswered}"
        f" requests got none. {ran_on(recorded)}\n"
    )


def _row(name: str, finding: SteadyFinding) -> tuple[str, ...]:
    rule, _, subject = name.partition(" ")
    return (
        f"`{rule}` {subject}".strip(),
        f"{finding.first:.0f} s",
        _times(finding.came),
        str(finding.polls),
        str(finding.missing),
        f"{finding.oldest:.0f} s",
        _times(finding.alerts),
        "did not fire" if finding.fired_after is None else f"{finding.fired_after:.0f} s",
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--seconds", default=HOUR, show_default=True, help="After the first finding. Below 1200: no record.")
def main(seconds: float) -> None:
    """Run the load of `make run` for an hour, and count how often each finding comes.

    A real MySQL 9.7, a real sidecar that collects and is asked every 2 s, and a real Prometheus with the shipped
    alerts. Each finding must come once and stay, its alert must begin once and fire.

    The record is lab/records/steady.json, and `python -m tools.docs` makes the section of docs/proofs.md from it.

    Exit status: 0 all is so, 1 it is not, 2 a program is unavailable here, 130 interrupted.
    """
    Campaign([study(seconds)], attempts=1).run(record=seconds >= RECORDED_SECONDS)


if __name__ == "__main__":
    main()
