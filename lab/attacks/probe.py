"""The scrape and the probes, asked again and again beside an attack, in a process of their own.

`python -m lab.attacks.probe URL` is that process; `probing` starts it. The attackers' own work does not lengthen what
it measures, as it would in a thread beside them.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import BaseModel

from lab.attacks.attack import Line, Sidecar
from lab.bench.exporters import HEADERS
from lab.packages.cache import REPOSITORY

PATHS = ("/metrics", "/healthz", "/readyz")
MORE_MS, SHORT_MORE_MS = 100.0, 400.0
"""What an attack may add to the 99th percentile of an idle sidecar, milliseconds, on an idle machine; and on that of
CI, which may be slow and do other work."""
PAUSE_SECONDS = 0.02
"""Between two requests for the same."""
_CLOSED = ("RemoteDisconnected", "ConnectionResetError", "BrokenPipeError")
_LONGEST_SECONDS = 10.0
"""Prometheus' own patience (scrape_timeout); then the request counts as unanswered."""


class Latencies(BaseModel):
    """What became of the requests.

    Attributes:
        ms: By path, milliseconds from the request to the last byte of the answer, or to its failure.
        failures: By kind, such as `/metrics: 503`, how many answers were not 200.
    """

    ms: Mapping[str, tuple[float, ...]]
    failures: Mapping[str, int]

    def p99(self, *paths: str) -> float:
        """The 99th percentile of some paths, milliseconds."""
        found = sorted(each for path in paths or PATHS for each in self.ms[path])
        return found[math.ceil(0.99 * len(found)) - 1]


@dataclass
class Probing:
    """A measurement.

    Attributes:
        found: What was measured; None until it ends.
    """

    found: Latencies | None = None

    @property
    def latencies(self) -> Latencies:
        """What was measured, once it has ended."""
        assert self.found is not None  # noqa: S101 - `probing` has ended
        return self.found


@contextlib.contextmanager
def probing(sidecar: Sidecar, headers: Mapping[str, str] | None = None) -> Iterator[Probing]:
    """Measure for as long as the block takes.

    Args:
        sidecar: Whom to ask.
        headers: To send beside Prometheus' own, such as a login.
    """
    more = [f"{name}: {value}" for name, value in (headers or {}).items()]
    command = [sys.executable, "-m", "lab.attacks.probe", sidecar.url, *more]
    measured = Probing()
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None  # noqa: S101 - a pipe
            process.stdout.readline()  # it has begun
            yield measured
            said, _ = process.communicate(timeout=3 * _LONGEST_SECONDS)  # closing its standard input ends it
            measured.found = Latencies.model_validate_json(said)
        finally:
            process.kill()


def idle(sidecar: Sidecar, seconds: float, headers: Mapping[str, str] | None = None) -> Latencies:
    """What a sidecar takes that nobody else asks for anything."""
    with probing(sidecar, headers) as measured:
        time.sleep(seconds)
    return measured.latencies


def latency(before: Latencies, meanwhile: Latencies, *paths: str, short: bool) -> Line:
    """The line of a table: the 99th percentile of some paths beside an attack."""
    idle_ms, ms, more = before.p99(*paths), meanwhile.p99(*paths), SHORT_MORE_MS if short else MORE_MS
    return Line(
        what=f"p99 of {' and '.join(paths)} meanwhile",
        bound=f"idle ({idle_ms:.0f} ms) + {more:.0f} ms",
        measured=f"{ms:.0f} ms",
        kept=ms <= idle_ms + more,
    )


def lines(before: Latencies, meanwhile: Latencies, *, short: bool) -> Sequence[Line]:
    """The lines of a table: what the scrape and the probes took beside an attack."""
    failed = sum(meanwhile.failures.values())
    asked = sum(map(len, meanwhile.ms.values()))
    told = ", ".join(f"{count} × {kind}" for kind, count in meanwhile.failures.items())
    refused = Line(
        what="scrapes and probes not answered with 200", bound="0", measured=told or f"0 of {asked}", kept=not failed
    )
    taken = (latency(before, meanwhile, *paths, short=short) for paths in (PATHS[:1], PATHS[1:]))
    return (*taken, refused)


def _measure(url: str, headers: Mapping[str, str], ended: threading.Event) -> Latencies:
    """Ask for all paths side by side, each again and again over a connection of its own, as Prometheus does."""
    with ThreadPoolExecutor(len(PATHS)) as pool:
        asked = {path: pool.submit(_ask, urlsplit(url).netloc, path, headers, ended) for path in PATHS}
        found = {path: each.result() for path, each in asked.items()}
    failures = Counter(f"{path}: {failure}" for path, each in found.items() for _, failure in each if failure)
    return Latencies(ms={path: tuple(ms for ms, _ in each) for path, each in found.items()}, failures=failures)


def _ask(where: str, path: str, headers: Mapping[str, str], ended: threading.Event) -> list[tuple[float, str | None]]:
    """Milliseconds of each request, and its failure."""
    connection = http.client.HTTPConnection(where, timeout=_LONGEST_SECONDS)
    found = []
    while not ended.is_set():
        began = time.perf_counter()
        kept = connection.sock is not None
        failure = _failure(connection, path, headers)
        if kept and failure in _CLOSED:  # a kept connection may be closed at any time: Go asks over a new one, too
            failure = _failure(connection, path, headers)
        found.append(((time.perf_counter() - began) * 1000, failure))
        time.sleep(PAUSE_SECONDS)
    return found


def _failure(connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str]) -> str | None:
    """Ask once: the status or the kind of a failure; None for 200."""
    try:
        connection.request("GET", path, headers=dict(headers))
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return type(error).__name__
    return None if answer.status == http.client.OK else str(answer.status)


def _main() -> None:
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    print("begun", flush=True)
    headers = HEADERS | dict(each.split(": ", 1) for each in sys.argv[2:])
    print(_measure(sys.argv[1], headers, ended).model_dump_json())


if __name__ == "__main__":
    _main()
