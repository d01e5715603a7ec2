"""The server as the attacker: a program at its address answers statements without end, and in its own words."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Self

import httpx

from lab.attacks import probe
from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.attacks.probe import Latencies
from lab.processes.service import PLAIN
from lab.processes.usage import anonymous_mib, memory_mib
from lab.programs.hostile_answers import ANSWERS, other_names
from lab.programs.hostile_mysql import Attack as Answering
from lab.programs.hostile_mysql import HostileServer

MOST_MIB, MOST_OF_NAMES_MIB = 64.0, 160.0
"""Thousands of tables and indexes that are others at each collection fill the history, which is bounded, at once."""
"""Anonymous memory: a container's limit."""
SECONDS, SHORT_SECONDS = 10.0, 2.0
"""With one kind of answer."""
_PEAK_SECONDS = 0.05
WAIT_MS = 6000.0
"""A scrape waits five seconds for the server, and then has the values before. Prometheus gives up after ten."""
LONGEST_REASON = 700
"""Characters of a failure's reason: an error's text is cut at 512."""
_SHORT = (
    "rows without end",
    "a row of gigabytes",
    "columns without end",
    "an error of its own",
    "numbers out of range",
)


class _Peak:
    """The largest anonymous memory of a process while the block runs, MiB."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.mib = 0.0
        self._pid, self._over = sidecar.pid, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.mib = max(self.mib, anonymous_mib(self._pid))  # it still runs

    def _watch(self) -> None:
        while not self._over.wait(_PEAK_SECONDS):
            self.mib = max(self.mib, memory_mib(self._pid, "RssAnon") or 0.0)


def _answering(name: str) -> Answering:
    answer = other_names(1000) if name == OTHER_NAMES else ANSWERS[name]
    honest = ("", "session", "identity", "status", "cancel")
    return lambda collector, sql: None if collector in honest else answer(sql)


OTHER_NAMES = "other names each time"


def _run(stage: Stage) -> Iterator[Line]:
    names = _SHORT if stage.short else (*ANSWERS, OTHER_NAMES)
    seconds = SHORT_SECONDS if stage.short else SECONDS
    with (
        HostileServer() as server,
        stage.sidecar("--dsn", server.dsn, "--interval", "1s") as sidecar,
        _Peak(sidecar) as peak,
    ):
        before = probe.idle(sidecar, seconds)
        longest, peaks = 0, dict[str, float]()
        with probe.probing(sidecar) as measured:
            for name in names:
                stage.say(f"hostile server: {name}")
                server.attack, peak.mib = _answering(name), 0.0
                time.sleep(seconds)
                peaks[name] = peak.mib
                longest = max(longest, _longest_reason(sidecar))
        server.attack = lambda _collector, _sql: None
        yield from _lines(before, measured.latencies, short=stage.short)
        if OTHER_NAMES in peaks:
            yield _peak({OTHER_NAMES: peaks.pop(OTHER_NAMES)}, MOST_OF_NAMES_MIB)
        yield _peak(peaks, MOST_MIB)
        yield Line(
            "the longest reason of a failure",
            f"≤ {LONGEST_REASON} characters",
            f"{longest}",
            0 < longest <= LONGEST_REASON,
        )


def _peak(peaks: Mapping[str, float], most: float) -> Line:
    worst = max(peaks, key=peaks.__getitem__)
    return Line(
        "peak of anonymous memory", f"≤ {most:g} MiB", f"{peaks[worst]:.1f} MiB ({worst})", peaks[worst] <= most
    )


def _lines(before: Latencies, meanwhile: Latencies, *, short: bool) -> Iterator[Line]:
    yield probe.latency(before, meanwhile, *probe.PATHS[1:], short=short)
    scrapes = meanwhile.p99("/metrics")
    yield Line("p99 of /metrics meanwhile", f"≤ {WAIT_MS:.0f} ms", f"{scrapes:.0f} ms", scrapes <= WAIT_MS)
    failed = _without(meanwhile.failures, "/readyz: 503")  # which is the truth: the server cannot be read
    yield Line("scrapes and probes not answered", "0", f"{sum(failed.values())}", not failed)


def _without(failures: Mapping[str, int], kind: str) -> dict[str, int]:
    return {each: count for each, count in failures.items() if each != kind}


def _longest_reason(sidecar: Sidecar) -> int:
    found = httpx.get(f"{sidecar.url}/snapshot", timeout=30, **PLAIN).json()
    return max((len(each.get("reason") or "") for each in found.get("outcomes", {}).values()), default=0)


ATTACKS = (
    Attack(
        "hostile-server",
        "a program at the server's address answers without end, in odd types, and with errors in its own words",
        _run,
        (230.0, 20.0),
    ),
)
