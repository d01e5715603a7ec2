"""sysbench's point selects with a scrape every second, and without."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from lab.bench import exporters
from lab.bench.exporters import Exporter
from lab.bench.figures import Bound, Effort, Figure, Line, Measurement, Say, Values
from lab.bench.rig import rig
from lab.programs import sysbench
from lab.programs.sysbench import Result

TEST, ROWS, THREADS = "oltp_point_select", 100_000, 2
"""As many threads as cores, so that the sidecar's CPU time is taken from them."""
STRETCH, STRETCH_SHORT = 6, 4
"""Seconds; a stretch without scrapes is followed by one with each exporter."""
EVERY = 1.0
"""Seconds between two scrapes. The sidecar collects at each, or at every other one."""
_WITHOUT = "no scrape"
LINES = {
    "throughput": Line("point selects beside a scrape a second: throughput", "/s", _WITHOUT, Bound(least=0.98)),
    "worst": Line("point selects beside a scrape a second: worst latency", "ms", _WITHOUT, Bound(most=1.25)),
    "p95": Line("point selects beside a scrape a second: 95th percentile", "ms", _WITHOUT),
    "peer": Line("the same beside mysqld_exporter: throughput", "/s", _WITHOUT),
    "peer_worst": Line("the same beside mysqld_exporter: worst latency", "ms", _WITHOUT),
}


def measure(effort: Effort, say: Say) -> Measurement:
    """Stretches without a scrape, with the sidecar's and with the peer's, in turn."""
    with rig() as running:
        server = running.server
        say("making sysbench's table")
        sysbench.prepare(server, TEST, tables=1, table_size=ROWS)
        sysbench.run(server, TEST, threads=THREADS, seconds=2, tables=1, table_size=ROWS)
        found: dict[str, list[Result]] = {"": [], exporters.OURS: [], exporters.PEER: []}
        by_name: dict[str, Exporter | None] = {"": None} | {each.name: each for each in running.both}
        rounds, seconds = effort.rounds(10, 3), STRETCH_SHORT if effort.short else STRETCH
        for number in range(1, rounds + 1):
            for name in found if number % 2 else reversed(found):
                say(f"{seconds} s beside {name or 'nobody'}, {number} of {rounds}")
                with _scraped(by_name[name]):
                    result = sysbench.run(server, TEST, threads=THREADS, seconds=seconds, tables=1, table_size=ROWS)
                found[name].append(result)

        def line(name: str, attribute: str) -> Values:
            ours, without = (tuple(getattr(each, attribute) for each in found[one]) for one in (name, ""))
            return Values(ours=ours, beside=without, paired=attribute == "transactions_per_second")

        return Measurement(
            {
                "throughput": line(exporters.OURS, "transactions_per_second"),
                "worst": line(exporters.OURS, "latency_max"),
                "p95": line(exporters.OURS, "latency_p95"),
                "peer": line(exporters.PEER, "transactions_per_second"),
                "peer_worst": line(exporters.PEER, "latency_max"),
            },
            {"MySQL": server.version},
        )


@contextlib.contextmanager
def _scraped(exporter: Exporter | None) -> Iterator[None]:
    """Scrape it every second meanwhile."""
    ended = threading.Event()

    def work() -> None:
        while exporter is not None and not ended.is_set():
            began = time.monotonic()
            exporter.scrape()
            ended.wait(max(0.0, EVERY - (time.monotonic() - began)))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


FIGURE = Figure(
    name="load",
    title="A load beside it",
    about=(
        f"sysbench {TEST} with {THREADS} threads on a table of {ROWS:,} rows in memory, in stretches of {STRETCH} s:"
        " without scrapes, with one scrape of the sidecar a second, with one of mysqld_exporter a second. Each round"
        " reverses the order. Server, sysbench, exporter and scraper share the cores. The ratio of throughput is the"
        " median of the rounds' ratios. The sidecar runs in all stretches; mysqld_exporter is idle unless scraped."
    ),
    lines=LINES,
    measure=measure,
    seconds=(230.0, 60.0),
)
