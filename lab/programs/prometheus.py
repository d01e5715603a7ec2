"""Prometheus from Debian's package, unpacked into the cache, on a free port of the loopback address."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from lab.packages import debian
from lab.processes.program import LISTENING, PLAIN, ChildProcess
from lab.programs import promtool

PROGRAM = "usr/bin/prometheus"
OLDEST, NEWEST = promtool.OLDEST, promtool.NEWEST
READY_SECONDS = 300.0
ASK_SECONDS = 300.0


class PrometheusError(Exception):
    """Prometheus refuses or fails a request; the text is its own."""


@dataclass(frozen=True)
class Sample:
    """One series of an answer.

    Attributes:
        labels: Its labels; `__name__` is the metric's name, if there is one.
        values: Time (seconds since the epoch) and value of each point, oldest first; one for an instant query.
    """

    labels: Mapping[str, str]
    values: Sequence[tuple[float, float]]

    @property
    def value(self) -> float:
        """The newest value."""
        return self.values[-1][1]


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus: its URL, without a trailing slash, and its process."""

    url: str
    pid: int

    def query(self, expression: str, at: float | None = None) -> list[Sample]:
        """An instant query.

        Args:
            expression: PromQL.
            at: The time, in seconds since the epoch; None for now.

        Raises:
            PrometheusError: The expression is invalid, or too expensive.
        """
        at_time = {} if at is None else {"time": str(at)}
        return _samples(self._get("query", {"query": expression, **at_time}))

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[Sample]:
        """A range query.

        Args:
            expression: PromQL.
            start: Seconds since the epoch.
            end: Seconds since the epoch.
            step: Seconds between two points.

        Raises:
            PrometheusError: The expression is invalid, or too expensive.
        """
        span = {"start": str(start), "end": str(end), "step": str(step)}
        return _samples(self._get("query_range", {"query": expression, **span}))

    def parse(self, expression: str) -> dict[str, Any]:
        """The syntax tree of an expression. Needs Prometheus 3, which bookworm lacks.

        Raises:
            PrometheusError: The expression is invalid.
        """
        return dict(self._get("parse_query", {"query": expression}))

    def rules(self) -> list[dict[str, Any]]:
        """Rules of all groups, with their health, lastError and, for alerts, state."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def is_ready(self) -> bool:
        """Whether it answers queries."""
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/-/ready", timeout=ASK_SECONDS, **PLAIN).is_success
        return False

    def _get(self, what: str, parameters: Mapping[str, str] | None = None) -> Any:
        answer = httpx.get(f"{self.url}/api/v1/{what}", params=parameters, timeout=ASK_SECONDS, **PLAIN)
        try:
            content = answer.json()
        except ValueError:
            raise PrometheusError(f"{answer.status_code}: {answer.text.strip()}") from None
        if content["status"] != "success":
            raise PrometheusError(content["error"])
        return content["data"]


def job(name: str, *addresses: str, **more: Any) -> dict[str, Any]:
    """A scrape configuration.

    Args:
        name: The label `job`.
        addresses: Such as `127.0.0.1:9747`.
        more: Further keys, such as `scheme`, `tls_config`, `basic_auth`.
    """
    return {"job_name": name, "static_configs": [{"targets": list(addresses)}], **more}


def command(suite: str = OLDEST) -> list[str]:
    """The command line, to be followed by Prometheus' flags."""
    return debian.program(suite, promtool.PACKAGE, PROGRAM)


@contextlib.contextmanager
def running(
    folder: Path,
    jobs: Sequence[Mapping[str, Any]],
    *,
    rules: Sequence[Path] = (),
    alertmanagers: Sequence[str] = (),
    interval: float = 1.0,
    suite: str = OLDEST,
    data: Path | None = None,
    flags: Sequence[str] = (),
    port: int = 0,
) -> Iterator[Prometheus]:
    """Start Prometheus, wait until it is ready, and stop it at the end.

    The first scrape comes about five seconds later: Prometheus waits that long for more targets.

    Args:
        folder: For its configuration and its log.
        jobs: Its scrape configurations, from `job`.
        rules: Rule files.
        alertmanagers: Their addresses.
        interval: Seconds between two scrapes, and between two evaluations of rule groups without an interval.
        suite: The Debian suite of the package: `OLDEST` (2.42) or `NEWEST` (3.5).
        data: The folder of its data, which stays; None for one that is removed at the end.
        flags: Further ones, such as `--query.max-samples=1000`.
        port: Its port; 0 for any free one.
    """
    every = f"{round(interval * 1000)}ms"
    settings: dict[str, Any] = {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [str(path.resolve()) for path in rules],
        "scrape_configs": list(jobs),
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": list(alertmanagers)}]}] * bool(alertmanagers)},
    }
    text = json.dumps(settings)  # JSON is YAML
    with configured(folder, text, suite=suite, data=data, flags=flags, port=port) as prometheus:
        yield prometheus


@contextlib.contextmanager
def configured(
    folder: Path,
    configuration: str,
    *,
    suite: str = OLDEST,
    data: Path | None = None,
    flags: Sequence[str] = (),
    port: int = 0,
) -> Iterator[Prometheus]:
    """The same with the text of a configuration file."""
    file = folder / "prometheus.yml"
    file.write_text(configuration, encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="prometheus-") as own:
        all_flags = (
            f"--config.file={file}",
            f"--storage.tsdb.path={data or own}",
            f"--web.listen-address=127.0.0.1:{port}",
            *flags,
        )
        log = folder / "prometheus.log"
        with ChildProcess("Prometheus", [*command(suite), *all_flags], log=log, listening=LISTENING) as program:
            prometheus = Prometheus(f"http://127.0.0.1:{program.port}", program.pid)
            # It listens before it has read its data and rules, and ends if these are invalid.
            program.wait_until(prometheus.is_ready, READY_SECONDS)
            yield prometheus


def _samples(data: Mapping[str, Any]) -> list[Sample]:
    if data["resultType"] == "scalar":
        return [Sample({}, [_point(data["result"])])]
    return [
        Sample(series["metric"], [_point(point) for point in series.get("values") or [series["value"]]])
        for series in data["result"]
    ]


def _point(point: Sequence[Any]) -> tuple[float, float]:
    return float(point[0]), float(point[1])
