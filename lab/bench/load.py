"""sysbench's point selects with a scrape every second, and without."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from lab.bench import rig
from lab.bench.exporters import Exporter
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.programs import sysbench

TEST, ROWS, THREADS = "oltp_point_select", 100_000, 2
"""As many threads as cores, so that the sidecar's CPU time is taken from them."""
STRETCH, STRETCH_SHORT = 6, 4
"""Seconds; a stretch without scrapes is followed by one with each exporter."""
EVERY = 1.0
"""Seconds between two scrapes. The sidecar collects at each, or at every other one."""
_ALONE = "no scrape"


def measure(run: BenchRun) -> None:
    """Stretches without a scrape, with the sidecar's and with the peer's, in turn."""
    stretches: dict[str, list[sysbench.SysbenchReport]] = {"": [], "ours": [], "theirs": []}
    seconds = STRETCH_SHORT if run.short else STRETCH
    with rig.idle(run) as (server, ours, theirs):

        def selects(seconds: int) -> sysbench.SysbenchReport:
            return sysbench.run(server, TEST, threads=THREADS, seconds=seconds, tables=1, table_size=ROWS)

        exporters = {"": None, "ours": ours, "theirs": theirs}
        run.say("making sysbench's table")
        sysbench.prepare(server, TEST, tables=1, table_size=ROWS)
        selects(2)
        for number in run.rounds(f"{len(stretches)} stretches of {seconds} s,", 10, 3):
            for name in stretches if number % 2 else reversed(stretches):
                with _scraped(exporters[name]):
                    stretches[name].append(selects(seconds))
    for key, client, quantity in (
        ("throughput", "ours", "transactions_per_second"),
        ("worst", "ours", "latency_max"),
        ("p95", "ours", "latency_p95"),
        ("peer", "theirs", "transactions_per_second"),
        ("peer_worst", "theirs", "latency_max"),
    ):
        with_scrapes, without = ([getattr(stretch, quantity) for stretch in stretches[name]] for name in (client, ""))
        run.put(key, with_scrapes, without)


@contextlib.contextmanager
def _scraped(exporter: Exporter | None) -> Iterator[None]:
    """Scrape it every second meanwhile."""
    ended = threading.Event()

    def work() -> None:
        while exporter is not None and not ended.is_set():
            began = time.monotonic()
            exporter.get()
            ended.wait(max(0.0, EVERY - (time.monotonic() - began)))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


BENCHMARK = Benchmark(
    name="load",
    title="A load beside it",
    method=(
        f"sysbench {TEST} with {THREADS} threads on a table of {ROWS:,} rows in memory, in stretches of {STRETCH} s:"
        " without scrapes, with one scrape of the sidecar a second, with one of mysqld_exporter a second. Each round"
        " reverses the order. Server, sysbench, exporter and scraper share the cores. The ratio of throughput is the"
        " median of the rounds' ratios. The sidecar runs in all stretches; mysqld_exporter is idle unless scraped."
    ),
    figures={
        "throughput": Figure(
            "point selects beside a scrape a second: throughput", "/s", _ALONE, least_ratio=0.98, paired=True
        ),
        "worst": Figure("point selects beside a scrape a second: worst latency", "ms", _ALONE, most_ratio=1.25),
        "p95": Figure("point selects beside a scrape a second: 95th percentile", "ms", _ALONE),
        "peer": Figure("the same beside mysqld_exporter: throughput", "/s", _ALONE, paired=True),
        "peer_worst": Figure("the same beside mysqld_exporter: worst latency", "ms", _ALONE),
    },
    measure=measure,
    seconds=(230.0, 60.0),
)
