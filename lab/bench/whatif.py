"""What-if questions about a pool of 128 GiB beside scrapes: the model must not delay a scrape."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from http import HTTPStatus

import httpx

from lab.bench import rig
from lab.bench.exporters import settle, sidecar
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.processes.program import PLAIN

POOL = "128G"
PCTS = (5, 15, 25, 37, 50, 60, 70, 80, 90, 95)
WATCH = 10.0
"""Seconds; long enough for several scans."""
EVERY = 0.05
"""Seconds between two scrapes."""


def measure(run: BenchRun) -> None:
    """Ask without scrapes, scrape without questions, then both at the same time."""
    seconds = float(run.scaled(15, 6))
    with rig.under_scans(run) as server, sidecar(server, "--interval", "1s") as ours:
        settle(ours)
        run.say(f"{WATCH:.0f} s of watching")
        time.sleep(WATCH)
        run.say(f"{seconds:.0f} s of questions")
        until = time.monotonic() + seconds
        alone: list[float] = []
        _ask(ours.port, alone, lambda: time.monotonic() > until)
        run.say(f"{seconds:.0f} s of scrapes")
        unasked = ours.latencies(seconds, EVERY)
        run.say(f"{seconds:.0f} s of scrapes and questions")
        ended = threading.Event()
        answers: list[float] = []
        asking = threading.Thread(target=_ask, args=(ours.port, answers, ended.is_set))
        asking.start()
        try:
            asked = ours.latencies(seconds, EVERY)
        finally:
            ended.set()
            asking.join()
        run.put("answer", alone, answers)
        run.put("scrape", max(asked))
        run.put("median", asked, unasked)


def _ask(port: int, answers: list[float], ended: Callable[[], bool]) -> None:
    """Ask one question after the other, as fast as the sidecar allows; append the seconds of each to ``answers``."""
    for pct in itertools.cycle(PCTS):
        question = {"set": {"innodb_buffer_pool_size": POOL, "innodb_old_blocks_pct": pct}}
        while not ended():
            began = time.perf_counter()
            answer = httpx.post(f"http://127.0.0.1:{port}/whatif", json=question, timeout=60, **PLAIN)
            if answer.status_code != HTTPStatus.TOO_MANY_REQUESTS:
                answer.raise_for_status()
                answers.append(time.perf_counter() - began)
                break
            time.sleep(float(answer.headers["Retry-After"]))
        else:
            return


BENCHMARK = Benchmark(
    name="whatif",
    title="The model beside the scrapes",
    method=(
        "The same continuous load, watched for a while. Then `POST /whatif` with a pool of 128 GiB and ten values of"
        " innodb_old_blocks_pct, one question after the other, alone and with a scrape every 50 ms. The figure `model`"
        " is the sweep over 150 configurations of such a pool."
    ),
    figures={
        "answer": Figure("what if the pool had 128 GiB: an answer", "s", "a scrape every 50 ms", most=1.0),
        "scrape": Figure("scrapes meanwhile: the slowest", "ms", most=100.0),
        "median": Figure("scrapes meanwhile: latency", "ms", "nobody asks the model"),
    },
    measure=measure,
    seconds=(60.0, 40.0),
)
