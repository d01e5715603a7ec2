"""A sidecar under the demo's load, polled as a page polls it, with a Prometheus that has the shipped alerts."""

from __future__ import annotations

import contextlib
import datetime as dt
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from lab import demo, servers
from lab.bench import exporters
from lab.bench.exporters import Exporter
from lab.harness import records
from lab.packages.cache import REPOSITORY
from lab.processes.program import PLAIN, ProgramFailed
from lab.programs import prometheus
from lab.programs.prometheus import Prometheus
from lab.steady.record import Alerts, Poll, SteadyRecord, steadiness

SERVER = "mysql-9.7"
OPTIONS = {"innodb-buffer-pool-size": demo.POOL}
POLL_SECONDS = 2.0
ANSWER_SECONDS = 30.0
FIRST_FINDING_SECONDS = 300.0
SCRAPE_SECONDS = 15.0
RULES = REPOSITORY / "charts" / "innodb-advisor" / "alerts" / "innodb-advisor.rules.yaml"
_ADVICE = 'alertname="InnoDBAdvice"'


def measure(
    seconds: float,
    *,
    scraped: float = SCRAPE_SECONDS,
    options: Mapping[str, str] = OPTIONS,
    scanned: int = demo.SCANNED_PAGES,
    hot: int = demo.HOT_PAGES,
    progress: Callable[[Poll], None] = lambda _: None,
) -> SteadyRecord:
    """Run the load that long, and poll the sidecar.

    Args:
        seconds: From the first finding on.
        scraped: Seconds between two scrapes of Prometheus, and two evaluations of its rules.
        options: Lines of the server's option file.
        scanned: As in `demo.load`.
        hot: As in `demo.load`.
        progress: Takes each answer.

    Raises:
        Unavailable: The server or Prometheus is unavailable here.
        StartError, ProgramFailed: A program did not start.
    """
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="innodb-advisor-steady-")))
        server = stack.enter_context(servers.start(SERVER, options))
        stack.enter_context(demo.load(server, scanned, hot))
        sidecar = stack.enter_context(exporters.sidecar(server, "--interval", f"{POLL_SECONDS:g}s"))
        job = prometheus.job("innodb", f"127.0.0.1:{sidecar.port}")
        watching = stack.enter_context(
            prometheus.running(folder, [job], rules=[RULES], interval=scraped, evaluation=scraped)
        )
        polls, unanswered = _polls(sidecar, seconds, progress)
        return SteadyRecord(
            date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
            machine=records.machine(),
            version=server.version,
            seconds=round(polls[-1].at, 1),
            polls=len(polls),
            unanswered=unanswered,
            findings=steadiness(polls, _alerts(watching, polls[-1].at, scraped)),
        )


def _polls(sidecar: Exporter, seconds: float, progress: Callable[[Poll], None]) -> tuple[list[Poll], int]:
    """The answers of /advise, and the number of requests after the first answer that got none."""
    polls: list[Poll] = []
    unanswered = 0
    began = time.monotonic()
    until = began + FIRST_FINDING_SECONDS
    while time.monotonic() < until:
        advice, now = _advice(sidecar), time.monotonic()
        if advice is not None:
            began = began if polls else now
            ages = {_name(each): advice["at"] - each["judged_at"] for each in advice["recommendations"]}
            if ages and not any(each.ages for each in polls):
                until = now + seconds
            polls.append(Poll(now - began, ages))
            progress(polls[-1])
        else:
            unanswered += bool(polls)
        time.sleep(POLL_SECONDS)
    if not polls:
        raise ProgramFailed(f"no advice within {FIRST_FINDING_SECONDS:g} s")
    return polls, unanswered


def _advice(sidecar: Exporter) -> dict[str, Any] | None:
    """The advice; None while there is none, or when the answer takes too long."""
    try:
        answer = httpx.get(f"http://127.0.0.1:{sidecar.port}/advise", timeout=ANSWER_SECONDS, **PLAIN)
    except httpx.TimeoutException:
        return None
    return dict(answer.json()) if answer.is_success else None


def _name(found: Mapping[str, Any]) -> str:
    return " ".join((found["rule"], ".".join(found["subject"].values()))).strip()


def _alerts(watching: Prometheus, seconds: float, step: float) -> dict[str, Alerts]:
    """The alerts of findings over the last seconds, by finding."""
    until = time.time()
    since = until - seconds - step
    begins: dict[str, set[float]] = {}
    for series in watching.query_range(f"ALERTS_FOR_STATE{{{_ADVICE}}}", since, until, step):
        begins.setdefault(_alert_name(series.labels), set()).update(value for _, value in series.values)
    fired: dict[str, float] = {}
    for series in watching.query_range(f'ALERTS{{{_ADVICE},alertstate="firing"}}', since, until, step):
        name = _alert_name(series.labels)
        fired[name] = min(series.values[0][0], fired.get(name, until))
    return {
        name: Alerts(len(begun), round(fired[name] - min(begun)) if name in fired else None)
        for name, begun in begins.items()
    }


def _alert_name(labels: Mapping[str, str]) -> str:
    return f"{labels['rule']} {labels.get('subject', '')}".strip()
