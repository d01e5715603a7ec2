"""What-if questions about a pool of 128 GiB beside scrapes: the model must not delay a scrape."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import httpx

from lab.bench.exporters import Exporter
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.rig import watched
from lab.bench.scan_load import scan_load
from lab.processes.service import PLAIN

POOL = "128G"
PCTS = (5, 15, 25, 37, 50, 60, 70, 80, 90, 95)
WATCH = 10.0
"""Seconds; long enough for several scans."""
EVERY = 0.05
"""Seconds between two scrapes."""
LINES = {
    "answer": Line("what if the pool had 128 GiB: an answer", "s", "a scrape every 50 ms", Bound(most=1.0, of="value")),
    "scrape": Line("scrapes meanwhile: the slowest", "ms", "", Bound(most=100.0, of="value")),
    "median": Line("scrapes meanwhile: latency", "ms", "nobody asks the model"),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """Ask without scrapes, scrape without questions, then both at the same time."""
    with scan_load() as server, watched(server, "--interval", "1s") as ours:
        say(f"{WATCH:.0f} s of watching")
        time.sleep(WATCH)
        seconds = float(effort.rounds(15, 6))
        say(f"{seconds:.0f} s of questions")
        until = time.monotonic() + seconds
        alone: list[float] = []
        _ask(ours.port, alone, lambda: time.monotonic() > until)
        say(f"{seconds:.0f} s of scrapes")
        quiet = _scraped(ours, seconds)
        say(f"{seconds:.0f} s of scrapes and questions")
        ended = threading.Event()
        answers: list[float] = []
        asking = threading.Thread(target=_ask, args=(ours.port, answers, ended.is_set))
        asking.start()
        try:
            busy_ = _scraped(ours, seconds)
        finally:
            ended.set()
            asking.join()
        return Measurement(
            {
                "answer": Values(ours=tuple(alone), beside=tuple(answers)),
                "scrape": Values(ours=(max(busy_),)),
                "median": Values(ours=tuple(busy_), beside=tuple(quiet)),
            },
            {"MySQL": server.version},
        )


def _scraped(exporter: Exporter, seconds: float) -> list[float]:
    """Latencies of scrapes over this many seconds, milliseconds."""
    until, found = time.monotonic() + seconds, []
    while time.monotonic() < until:
        found.append(exporter.scrape().seconds * 1000)
        time.sleep(EVERY)
    return found


def _ask(port: int, answers: list[float], ended: Callable[[], bool]) -> None:
    """Ask one question after the other; append the seconds of each to ``answers``."""
    for pct in itertools.cycle(PCTS):
        if ended():
            return
        question = {"set": {"innodb_buffer_pool_size": POOL, "innodb_old_blocks_pct": pct}}
        began = time.perf_counter()
        httpx.post(f"http://127.0.0.1:{port}/whatif", json=question, timeout=60, **PLAIN).raise_for_status()
        answers.append(time.perf_counter() - began)


FIGURE = Figure(
    name="whatif",
    title="The model beside the scrapes",
    about=(
        "The same continuous load, watched for a while. Then `POST /whatif` with a pool of 128 GiB and ten values of"
        " innodb_old_blocks_pct, one question after the other, alone and with a scrape every 50 ms. The figure `model`"
        " is the sweep over 150 configurations of such a pool."
    ),
    lines=LINES,
    measure=measure,
    seconds=(60.0, 40.0),
)
